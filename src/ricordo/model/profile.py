"""The profile of a user: short fields such as name, city or tone, each an ordinary keyed memory."""

import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.item import Item
from ricordo.model.record import Record
from ricordo.text.normalise import canonical, slug

# A field is in the theme ``profile``, has the tag ``profile`` and its name as key, and reads
# ``City: Bekasi``. History, undo, export and erasure work as for every memory.

PROFILE_THEME: Final = "profile"
PROFILE_TAG: Final = "profile"
"""Distinguishes a field from other memories of the theme."""

_SIGN: Final = ": "
_NOT_IN_ONE_LINE: Final = frozenset({"Cc", "Zl", "Zp"})
_TURNS_TEXT_AROUND: Final = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_COMMENT_SIGNS: Final = ("<!--", "-->")


class FieldOutcome(StrEnum):
    """The outcome of one field of an update."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    PROPOSED = "proposed"
    WAITING = "waiting"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileField(Record):
    """One field of a profile. ``item_id`` is its memory."""

    key: str
    label: str
    value: str
    item_id: int
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Record):
    """A user's profile, the oldest field first.

    ``problems`` has one line for each edit of ``USER.md`` that could not be applied.
    """

    fields: tuple[ProfileField, ...] = ()
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> str:
        return self._by_key()[field_key(name) or name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and field_key(name) in self._by_key()

    def _by_key(self) -> dict[str, str]:
        return {field.key: field.value for field in self.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldUpdate(Record):
    """The outcome of one field: ``applied``, ``unchanged``, ``removed``, ``proposed`` (waits for
    consent), ``waiting`` (to be confirmed) or ``refused`` (the user rejected it before).
    """

    key: str
    label: str
    outcome: FieldOutcome
    item_id: int | None = None
    proposal_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileUpdate(Record):
    """The outcome of each field of an update, in the order given.

    ``problems`` has one line for each edit of ``USER.md`` that could not be applied.
    """

    fields: tuple[FieldUpdate, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A new value of a field, None to remove it. Validated."""

    label: str
    value: str | None

    @property
    def key(self) -> str:
        return field_key(self.label)

    @property
    def content(self) -> str:
        return field_content(self.label, self.value or "")


def checked_changes(given: object) -> tuple[FieldChange, ...]:
    """Parse a caller's changes, each field once. Raises InvalidValue: no fields or too many, one
    twice, or a name or value that is not allowed."""
    if not isinstance(given, Mapping):
        raise InvalidValue("fields", f"expected an object, got {type(given).__name__}")
    if not 1 <= len(given) <= limits.MAX_PROFILE_FIELDS:
        raise InvalidValue(
            "fields", f"{len(given)} fields; allowed: 1 to {limits.MAX_PROFILE_FIELDS}"
        )
    changes = tuple(checked_change(name, value) for name, value in given.items())
    named: set[str] = set()
    for change in changes:
        if change.key in named:
            raise InvalidValue("fields", f"{change.label!r} is given twice")
        named.add(change.key)
    return changes


def checked_change(name: object, value: object) -> FieldChange:
    """Parse one change. Raises InvalidValue: a name or value that is not allowed."""
    label = field_label(name)
    if value is None:
        return FieldChange(label, None)
    where = f"profile field {label!r}"
    text = checks.text(where, value, limits.MAX_PROFILE_VALUE_CHARS)
    _check_one_line(where, text)
    return FieldChange(label, text)


def field_label(name: object) -> str:
    """The display name of a field: ``preferred_name`` is ``Preferred name``. Raises InvalidValue:
    too long, without a letter or digit, or with signs that a line of a profile cannot have."""
    where = "profile field"
    text = checks.text(where, name, limits.MAX_PROFILE_FIELD_CHARS)
    _check_one_line(where, text)
    if ":" in text:
        raise InvalidValue(where, f"{text!r} must not contain a colon")
    words = " ".join(text.replace("_", " ").split())
    label = words[:1].upper() + words[1:]
    if len(label) > limits.MAX_PROFILE_FIELD_CHARS or not field_key(label):
        raise InvalidValue(where, f"{text!r} has no letters or digits to make a name of")
    return label


def field_key(label: str) -> str:
    return slug(label.replace("_", " ")).replace("-", "_")


def field_content(label: str, value: str) -> str:
    return f"{label}{_SIGN}{value}"


def profile_of(items: Iterable[Item]) -> tuple[ProfileField, ...]:
    found = [item for item in items if is_field(item)]
    return tuple(_field(item) for item in sorted(found, key=lambda item: item.id))


def is_field(item: Item) -> bool:
    return item.theme == PROFILE_THEME and item.key is not None and PROFILE_TAG in item.tags


def profile_text(profile: Profile) -> str:
    """The profile as lines of text, ``City: Bekasi``; empty without fields."""
    return "\n".join(field_content(field.label, field.value) for field in profile.fields)


def says_the_same(one: str, other: str) -> bool:
    """Whether two values differ only in case, space or a final full stop."""
    return canonical(one) == canonical(other)


def _field(item: Item) -> ProfileField:
    key = item.key or ""
    label, found, value = item.content.partition(_SIGN)
    if not found or field_key(label) != key:  # a conversation has put it in words of its own
        label, value = _label_of_key(key), item.content
    return ProfileField(
        key=key,
        label=label,
        value=" ".join(value.splitlines()),
        item_id=item.id,
        updated_at=item.updated_at,
    )


def _label_of_key(key: str) -> str:
    words = " ".join(key.replace(":", " ").replace("_", " ").split()) or key
    return words[:1].upper() + words[1:]


def _check_one_line(where: str, text: str) -> None:
    for letter in text:
        if unicodedata.category(letter) in _NOT_IN_ONE_LINE or letter in _TURNS_TEXT_AROUND:
            raise InvalidValue(where, "must be one line without control characters")
    if any(sign in text for sign in _COMMENT_SIGNS):
        raise InvalidValue(where, "must not contain the signs of a comment, <!-- or -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Record):
    """The narrative about a user.

    It was made from the memories as of ``revision``; ``is_current`` says whether they have changed
    since. ``made_by`` is a model, or ``template``.
    """

    content: str
    revision: int
    made_by: str
    updated_at: datetime
    is_current: bool
