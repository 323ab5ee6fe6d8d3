"""Why a floor is missed, in one place: what a figure's name has in it, and the cause.

Only what somebody has looked into stands here. Any other shortfall is told as one whose cause is
not known: a guess would read like a finding.
"""

from typing import Final

_SECOND_READING: Final = (
    "the best results are read again with the question, in up to 60 ms, which makes more of the"
    " first ones right; `RICORDO_RERANKED=0` leaves it out"
)
_CAUSES: Final = {
    "search, 10": _SECOND_READING,
    "context (tools+recall": _SECOND_READING,
    "add, single": "a memory is more than a row: its index, history and revision touch 18 b-trees"
    " and write some 100 kB to the log in one transaction. The same statements alone, by the bare"
    " driver, take about 0.25 ms before anything is synced",
    "add_many": "each text is taken apart for the text index in Python, and its rows are written to"
    " 18 b-trees; together that is most of the time of a memory",
    "ricordo search from nothing": "loading the program and the embedding model; on a file with one"
    " memory it takes nearly as long. A service loads once",
    "most important first": "an order without an index sorts all memories of the user",
    "by theme": "an order without an index sorts all memories of the user",
}
_UNKNOWN: Final = "not known"


def cause_of(figure: str) -> str:
    """Why a figure of this name misses its floor."""
    return next((cause for part, cause in _CAUSES.items() if part in figure), _UNKNOWN)
