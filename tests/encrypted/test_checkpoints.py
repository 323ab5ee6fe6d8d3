"""What holds for any store (tests/agent_state/test_checkpoints.py), on an encrypted one."""

from tests.agent_state.test_checkpoints import *  # noqa: F403
