"""What holds for any store (tests/contract/test_jobs.py), on an encrypted one."""

from tests.contract.test_jobs import *  # noqa: F403
