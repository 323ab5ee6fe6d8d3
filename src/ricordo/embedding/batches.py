"""Texts made fit for a model, and parted into requests of bounded size."""

from collections.abc import Iterator, Sequence


def fitted(text: str, max_chars: int) -> str:
    """The text cut to a length, without anything that cannot be sent.

    Endpoints refuse empty texts, so a blank one becomes a full stop: a vector near nothing.
    """
    cut = text[:max_chars].replace("\x00", " ")
    if not cut.isascii():  # lone surrogates have no UTF-8 form
        cut = cut.encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."


def in_batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[Sequence[str]]:
    """Consecutive runs of texts within both bounds; a text over the second stands alone."""
    start, chars = 0, 0
    for place, text in enumerate(texts):
        full = place - start == max_texts or chars + len(text) > max_chars
        if full and place > start:
            yield texts[start:place]
            start, chars = place, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]
