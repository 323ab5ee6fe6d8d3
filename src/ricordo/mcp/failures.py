"""What each error is over MCP, in one table.

It is for resources, prompts and lists. A tool that fails is no error of the protocol: it answers
what a model can act on (``ricordo.tools.failures``).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from ricordo.errors import (
    AccessDenied,
    Conflict,
    EmbeddingError,
    FilesUnavailable,
    InvalidInput,
    InvalidPolicy,
    LanguageModelError,
    NotFound,
    RicordoError,
    StorageError,
    told_outside,
)
from ricordo.observing.current import note_error
from ricordo.tools.failures import hint_of

ACCESS_DENIED: Final = -32003
CONFLICT: Final = -32004
UNAVAILABLE: Final = -32005
MODEL_FAILED: Final = -32006
"""These four are ours: the protocol leaves -32000 to -32019 to servers, and its libraries use the
first three."""

CODE_OF: Final[dict[type[RicordoError], int]] = {
    InvalidInput: INVALID_PARAMS,
    InvalidPolicy: INTERNAL_ERROR,  # the operator's mistake, not the caller's
    NotFound: INVALID_PARAMS,  # as the protocol wants it since 2026-07-28; ``data`` tells the type
    Conflict: CONFLICT,
    AccessDenied: ACCESS_DENIED,
    StorageError: UNAVAILABLE,
    FilesUnavailable: UNAVAILABLE,
    EmbeddingError: MODEL_FAILED,
    LanguageModelError: MODEL_FAILED,
    RicordoError: INTERNAL_ERROR,
}
_UNEXPECTED: Final = "something went wrong inside; the log has more"
_log = logging.getLogger(__name__)


def code_of(error: RicordoError) -> int:
    """The code of an error: that of its nearest parent in the table."""
    return next(CODE_OF[kind] for kind in type(error).__mro__ if kind in CODE_OF)


def as_mcp(error: RicordoError, location: str) -> MCPError:
    """One of our errors as the protocol tells it; ``location`` of the store is left out."""
    told = {"type": type(error).__name__, "hint": hint_of(error)}
    return MCPError(code_of(error), told_outside(error, location), told)


@contextmanager
def told_as_mcp(location: str) -> Iterator[None]:
    """Let errors become those of the protocol.

    Of one that nobody foresaw the caller hears nothing but that: it may quote anything.

    Raises:
        MCPError: something failed.
    """
    try:
        yield
    except MCPError:
        raise
    except RicordoError as error:
        note_error(error)
        raise as_mcp(error, location) from None
    except Exception as error:  # noqa: BLE001 - the last resort: the caller needs an answer
        note_error(error)
        _log.exception("a request over MCP failed")
        raise MCPError(INTERNAL_ERROR, _UNEXPECTED) from None
