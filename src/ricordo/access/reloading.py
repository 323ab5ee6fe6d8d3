"""A policy file that people edit while the process runs."""

from pathlib import Path

from ricordo.access.loading import parse_policy, read_policy
from ricordo.access.policy import AccessPolicy


class PolicyFile:
    """Where the policy of a process comes from; without a path, everything is allowed.

    The file is read at every call, which costs some microseconds, and parsed again when its bytes
    have changed. Size and time of change would not do: a file edited twice within one tick of the
    file system's clock can keep both, and the old rules would stay in force.

    Safe in threads without a lock: all that ever changes is one reference to an immutable pair.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._latest: tuple[bytes, AccessPolicy] | None = None
        self._open = AccessPolicy.open()

    def current(self) -> AccessPolicy:
        """The policy as the file says now.

        Raises:
            InvalidPolicy: the file is missing or not valid. The last good policy does not go on:
                the edit may have been made to take a permission away.
        """
        if self._path is None:
            return self._open
        raw = read_policy(self._path)
        latest = self._latest
        if latest is None or latest[0] != raw:
            latest = (raw, parse_policy(self._path, raw))
            self._latest = latest
        return latest[1]
