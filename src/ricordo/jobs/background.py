"""What sees to it that queued jobs are run."""

from typing import Protocol


class Background(Protocol):
    """Threads of this process, or a broker that wakes workers elsewhere."""

    def start(self) -> None:
        """Begin."""

    def wake(self) -> None:
        """There is a new job in the queue."""

    def stop(self) -> None:
        """End, as far as this process is concerned."""
