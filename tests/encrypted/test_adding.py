"""What holds for any store (tests/contract/test_adding.py), on an encrypted one."""

from tests.contract.test_adding import *  # noqa: F403
