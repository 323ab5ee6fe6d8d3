"""Running something in a forked child."""

import os
import warnings
from collections.abc import Callable


def succeeds_in_child(check: Callable[[], bool]) -> bool:
    """Fork, check there, and say how it went; the child ends without cleaning up after tests."""
    with warnings.catch_warnings():
        # Newer Pythons warn of forks beside threads, which is what is tried out here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status == 0
