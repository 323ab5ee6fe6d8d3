"""Looking all the time at how far a user's vectors have come."""

import contextlib
import threading
from collections.abc import Iterator

from ricordo.model.embedding import EmbeddingStatus
from ricordo.user_memory import UserMemory

_PAUSE_SECONDS = 0.02


class Watch:
    """Notes the counts that do not make up all memories, and when a model has made all vectors."""

    def __init__(self, user: UserMemory, memories: int, last_model: str) -> None:
        self._user = user
        self._memories = memories
        self._last_model = last_model
        self._stopping = threading.Event()
        self.looks = 0
        self.wrong: list[EmbeddingStatus] = []
        self.finished = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Look until the end of the block."""
        thread = threading.Thread(target=self._run, name="watch")
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            status = self._user.embedding_status()
            self.looks += 1
            if status.ready + status.pending + status.error != self._memories:
                self.wrong.append(status)
            if status.model == self._last_model and status.ready == self._memories:
                self.finished.set()
