"""A process that works off the queue until its standard input is closed, or it is killed."""

import sys

from bench.rebuilding.searching import SETTINGS
from ricordo.wiring import open_memory

LEASE_SECONDS = 1.0
"""After a worker is killed, another one may take its job so much later."""


def main() -> None:
    """Make the vectors that the store at an address waits for."""
    lease = {"job_lease_seconds": LEASE_SECONDS, "job_poll_seconds": 0.1}
    with open_memory(sys.argv[1], run_jobs=True, **SETTINGS, **lease):
        sys.stdin.read()


if __name__ == "__main__":
    main()
