"""What of a model's summary may be kept: it may have repeated what it should not."""

from ricordo.formation.cleaning.injected import fence_cuts
from ricordo.formation.cleaning.plain_view import plain_view
from ricordo.formation.cleaning.prompt_attacks import attack_cuts
from ricordo.formation.cleaning.secret_patterns import secret_cuts
from ricordo.formation.cleaning.text_spans import Span, blanked, merged, outside


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
