"""Why a floor is missed, in one place: what a figure's name has in it, and the cause.

Only what somebody has looked into stands here. Any other shortfall is told as one whose cause is
not known: a guess would read like a finding.
"""

from typing import Final

_CAUSES: Final = {
    "add, single": "a memory is more than a row: index terms, history, revision and a job are"
    " written in the same synced transaction, beside checks",
    "ricordo search from nothing": "loading the program and the embedding model; on a file with one"
    " memory it takes nearly as long. A service loads once",
    "most important first": "an order without an index sorts all memories of the user",
    "by theme": "an order without an index sorts all memories of the user",
}
_UNKNOWN: Final = "not known"


def cause_of(figure: str) -> str:
    """Why a figure of this name misses its floor."""
    return next((cause for part, cause in _CAUSES.items() if part in figure), _UNKNOWN)
