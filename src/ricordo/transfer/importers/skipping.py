"""Counting what an importer leaves out, by reason."""

from ricordo.transfer.merging import Findings


def is_kept(found: Findings, text: str, maximum: int) -> bool:
    """True for a text that can be stored; one that is empty or too long is counted as skipped."""
    if not text:
        found.skipped["empty"] += 1
    elif len(text) > maximum:
        found.skipped[f"longer than {maximum} characters"] += 1
    else:
        return True
    return False
