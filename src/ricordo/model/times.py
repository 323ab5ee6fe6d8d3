"""Times are UTC inside and ISO 8601 with offset on every surface."""

from datetime import UTC, date, datetime

from ricordo.errors import InvalidValue

_ALLOWED = "an ISO 8601 time such as 2026-01-31T12:00:00+00:00, or a date"


def parse_moment(field: str, value: datetime | date | str) -> datetime:
    """Read a time given by a caller as UTC.

    Text without an offset, and dates, are taken as UTC. A ``datetime`` without a zone is refused,
    because in Python it usually means local time.

    Raises:
        InvalidValue: not a time, or outside the years 1 to 9999.
    """
    if isinstance(value, str):
        parsed = _from_text(field, value)
    elif isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidValue(field, "a datetime needs a time zone, e.g. datetime.now(UTC)")
        parsed = value
    elif isinstance(value, date):
        parsed = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        raise InvalidValue(field, f"expected {_ALLOWED}, got {type(value).__name__}")
    try:
        return parsed.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(field, "is outside the years 1 to 9999") from None


def _from_text(field: str, value: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidValue(field, f"expected {_ALLOWED}, got {value[:40]!r}") from None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def format_moment(moment: datetime) -> str:
    """The one textual form of a time: fixed width, so that it sorts like the time itself."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")
