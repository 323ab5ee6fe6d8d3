"""What of a model's summary may be kept: it may have repeated what it should not."""

from ricordo.formation.hygiene import secret_cuts
from ricordo.formation.injected import attack_cuts, fence_cuts
from ricordo.formation.text_spans import Span, blanked, merged, outside, plain_view


def repeatable(text: str) -> str:
    """The text without recalled memory, secrets and attacks on a model."""
    view = plain_view(text)
    seen = view.text
    cuts: list[Span] = []
    for cutter in (fence_cuts, secret_cuts, attack_cuts):
        found = merged(cutter(seen))
        cuts += found
        seen = blanked(seen, found)
    kept = outside(map(view.original, cuts), len(text))
    pieces = (text[start:end].strip() for start, end in kept)
    return "\n".join(piece for piece in pieces if any(map(str.isalnum, piece)))
