"""What holds for any store (tests/contract/test_search.py), on an encrypted one."""

from tests.contract.test_search import *  # noqa: F403
