"""What a model is told of each error: what was wrong, and what to do now."""

from typing import Any, Final

from ricordo.errors import (
    AccessDenied,
    CategoryNotAllowed,
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    InvalidPolicy,
    ModelUnavailable,
    NotFound,
    RicordoError,
    StorageBusy,
    told_outside,
)

_GO_ON: Final = "Memory does not work right now. Go on without it, and say so if it matters."
_LATER: Final = "Memory is busy. Go on without it, or call again once."
HINT_OF: Final[dict[type[RicordoError], str]] = {
    InvalidInput: "Mend the call as the message says, then try again.",
    InvalidPolicy: _GO_ON,  # the operator's mistake
    NotFound: "It may be gone or was never there. Look it up again; do not guess ids or names.",
    Conflict: "Read it again, then decide whether it still needs to be done.",
    CategoryNotAllowed: "Use a category (theme) that the message allows, or go on without it.",
    AccessDenied: "You may not do this. Do not try again; go on without it.",
    StorageBusy: _LATER,
    EmbedderUnavailable: _LATER,
    ModelUnavailable: _LATER,
    RicordoError: _GO_ON,
}


_MISTAKES: Final = (InvalidInput, NotFound, Conflict, AccessDenied)


def is_mistake(error: RicordoError | None) -> bool:
    """Whether it is the model that has erred, rather than that memory does not work."""
    return isinstance(error, _MISTAKES) and not isinstance(error, InvalidPolicy)


def told(error: RicordoError, location: str) -> dict[str, Any]:
    """An error as the answer of a tool; where the store is, is nothing that a model needs."""
    return {
        "error": {
            "type": type(error).__name__,
            "message": told_outside(error, location),
            "hint": hint_of(error),
        }
    }


def hint_of(error: RicordoError) -> str:
    """What to do about an error: that of its nearest parent in the table."""
    return next(HINT_OF[kind] for kind in type(error).__mro__ if kind in HINT_OF)
