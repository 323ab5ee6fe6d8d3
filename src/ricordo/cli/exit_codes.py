"""What each outcome is to the shell that called us, in one table."""

from typing import Final

from ricordo.errors import (
    AccessDenied,
    Conflict,
    EmbeddingError,
    FilesUnavailable,
    InvalidInput,
    LanguageModelError,
    NotFound,
    RicordoError,
    StorageError,
)

OK: Final = 0
UNEXPECTED: Final = 1
INVALID_INPUT: Final = 2
NOT_FOUND: Final = 3
CONFLICT: Final = 4
ACCESS_DENIED: Final = 5
STORAGE_ERROR: Final = 6
EMBEDDING_ERROR: Final = 7
MODEL_ERROR: Final = 8
FILES_ERROR: Final = 9
INTERRUPTED: Final = 130

EXIT_CODES: Final[dict[type[RicordoError], int]] = {
    InvalidInput: INVALID_INPUT,
    NotFound: NOT_FOUND,
    Conflict: CONFLICT,
    AccessDenied: ACCESS_DENIED,
    StorageError: STORAGE_ERROR,
    EmbeddingError: EMBEDDING_ERROR,
    LanguageModelError: MODEL_ERROR,
    FilesUnavailable: FILES_ERROR,
}


def exit_code_of(error: BaseException) -> int:
    """The exit code of an error: that of its nearest parent in the table."""
    for kind in type(error).__mro__:
        if kind in EXIT_CODES:
            return EXIT_CODES[kind]
    return UNEXPECTED
