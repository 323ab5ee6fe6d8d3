"""What holds for any store (tests/contract/test_transfer.py), on an encrypted one."""

from tests.contract.test_transfer import *  # noqa: F403
