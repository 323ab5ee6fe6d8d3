"""What stands between the bytes that come from the upstream and those that go to the caller."""

from typing import Protocol

from ricordo.proxy.events import EventReader, EventSplicer
from ricordo.proxy.said import NOTHING_HEARD, Said
from ricordo.proxy.wire import Wire


class Tap(Protocol):
    """Lets an answer pass, and may hear it."""

    def feed(self, chunk: bytes) -> bytes:
        """What may go out, now that this has come."""
        ...

    def flush(self) -> bytes:
        """What may go out, now that no more comes."""
        ...

    def heard(self) -> Said:
        """What was said, as far as it came."""
        ...


class Untouched:
    """Lets everything pass and hears nothing."""

    def feed(self, chunk: bytes) -> bytes:
        """The same."""
        return chunk

    def flush(self) -> bytes:
        """Nothing: nothing was held back."""
        return b""

    def heard(self) -> Said:
        """Nothing."""
        return NOTHING_HEARD


class MemoryTap:
    """Adds the memories to the first event, and hears what is said."""

    def __init__(self, wire: Wire, memories: str) -> None:
        self._splicer = EventSplicer("memories", memories, wire.may_carry)
        self._reader = EventReader()
        self._ear = wire.ear()

    def feed(self, chunk: bytes) -> bytes:
        """The chunk, perhaps with the memories in it."""
        for event in self._reader.feed(chunk):
            self._ear.hear(event)
        return self._splicer.feed(chunk)

    def flush(self) -> bytes:
        """The rest of a stream that ended early."""
        return self._splicer.flush()

    def heard(self) -> Said:
        """The answer; of one that broke off, its beginning."""
        for event in self._reader.finish():
            self._ear.hear(event)
        return self._ear.heard()
