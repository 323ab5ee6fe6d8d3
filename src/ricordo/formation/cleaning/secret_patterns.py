"""What must never be remembered: the sentences that give away a secret."""

from collections.abc import Iterator

from ricordo.formation.cleaning.text_spans import Paragraphs, Sentences, Span
from ricordo.text.secrets import secrets_in


def secret_cuts(view: str) -> Iterator[Span]:
    """The sentences of a plain view that hold a secret; a key block to the end of its paragraph.

    Where the line before ends with the colon after which the secret comes, it goes too.
    """
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in secrets_in(view):
        first, last = sentences.around(start, end)
        if view.startswith("-----begin", start):
            last = paragraphs.end_after(end)
        before = view[:first].rstrip()
        if before.endswith((":", "=")):
            first = sentences.around(len(before) - 1, len(before))[0]
        yield first, last
