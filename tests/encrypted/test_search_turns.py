"""What holds for any store (tests/contract/test_search_turns.py), on an encrypted one."""

from tests.contract.test_search_turns import *  # noqa: F403
