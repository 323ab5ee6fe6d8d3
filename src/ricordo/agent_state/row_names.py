"""What names a row of a program's state: checked so that both databases can index it."""

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_ROW_NAME_BYTES


def name_part(field: str, value: object, maximum: int) -> str:
    """One part of a row's name, kept exactly; it may be empty.

    Raises:
        InvalidValue: not text, too long, or with characters that cannot be stored.
    """
    if not isinstance(value, str):
        raise InvalidValue(field, f"expected text, got {type(value).__name__}")
    if len(value) > maximum:
        raise InvalidValue(field, f"{len(value)} characters; allowed: at most {maximum}")
    if "\x00" in value:
        raise InvalidValue(field, "must not contain NUL characters")
    _size(field, value)
    return value


def check_together(field: str, *parts: str) -> None:
    """Refuse a name that is too long as a whole.

    Raises:
        InvalidValue: says how long it is.
    """
    size = sum(_size(field, part) for part in parts)
    if size > MAX_ROW_NAME_BYTES:
        raise InvalidValue(
            field,
            f"{size} bytes with all that belongs to the name; allowed: at most"
            f" {MAX_ROW_NAME_BYTES}",
        )


def _size(field: str, text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidValue(field, "is not valid Unicode (lone surrogates)") from None
