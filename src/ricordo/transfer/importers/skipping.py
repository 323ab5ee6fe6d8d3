"""Gathering what an importer finds, and counting what it leaves out, by reason."""

from collections.abc import Iterable, Iterator

from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.transfer.merging import Findings


def in_batches(pieces: Iterable[Findings]) -> Iterator[Findings]:
    """The same memories, as many together as are written at once."""
    gathered = Findings()
    for piece in pieces:
        gathered.memories += piece.memories
        gathered.skipped.update(piece.skipped)
        if len(gathered.memories) >= WRITE_BATCH_ITEMS:
            yield gathered
            gathered = Findings()
    yield gathered


def is_kept(found: Findings, text: str, maximum: int) -> bool:
    """True for a text that can be stored; one that is empty or too long is counted as skipped."""
    if not text:
        found.skipped["empty"] += 1
    elif len(text) > maximum:
        found.skipped[f"longer than {maximum} characters"] += 1
    else:
        return True
    return False
