"""What holds for any store (tests/faults/test_processes.py), on an encrypted one."""

from tests.faults import test_processes
from tests.faults.test_processes import *  # noqa: F403

# Its other process holds the lock with the standard driver, which cannot open this file.
del globals()[test_processes.test_a_locked_file_is_a_clear_error.__name__]
