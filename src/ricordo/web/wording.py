"""What happened to memories, in plain words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ricordo.model.checks import parse_moment
from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import Event, Source
from ricordo.user_memory import UserMemory

SOURCES: Final[Mapping[Source, str]] = {
    Source.USER_EXPLICIT: "Told on purpose, to be remembered",
    Source.CONVERSATION: "Formed from a conversation",
    Source.TOOL_CALL: "From what a tool answered",
    Source.AUTO_DISCOVERY: "Found out along the way",
    Source.SYSTEM: "Made by ricordo itself",
    Source.IMPORT: "Imported",
    Source.FILE: "From a file",
}
"""How a memory came to be known."""

JOBS: Final = {
    "form": "Forming memories from a conversation",
    "form-stale": "Looking for conversations that fell silent",
    "compact": "Telling long conversations in short",
    "summarise": "Telling anew what is known of somebody",
    "lapse-proposals": "Closing proposals that nobody decided in time",
    "lifecycle": "Letting go of what has expired",
    "embed": "Making vectors",
    "reindex": "Indexing all words anew",
    "scrub": "Overwriting what was erased",
    "plan-upkeep": "Planning the daily upkeep",
    "upkeep": "Daily upkeep",
    "consolidate": "Merging what says the same",
    "insights": "Drawing observations",
    "relate": "Relating what is about the same",
}
"""Background jobs by kind."""

_ACTORS: Final = {
    "owner": "its owner",
    "viewer": "who it was shared with",
    "system": "ricordo",
    "formation": "ricordo, from what was said",
}
_CONSENT: Final = {
    "proposed": "Proposed",
    "heard": "Was said again while it waits",
    "said again": "Agreed to by saying it again",
    "approved": "Agreed to",
    "rejected": "Turned down",
    "expired": "Was not decided in time",
    "offered": "Offered to somebody",
    "withdrawn": "No longer offered",
}
_MOMENTS: Final = ("valid_from", "valid_to", "expires_at")


class HistoryLine(NamedTuple):
    """The words for a change, and the name of its icon."""

    words: str
    sign: str


_WORDS: Final[Mapping[Event, HistoryLine]] = {
    Event.ADD: HistoryLine("Noted", "add"),
    Event.UPDATE: HistoryLine("Changed", "update"),
    Event.ARCHIVE: HistoryLine("Archived", "archive"),
    Event.DELETE: HistoryLine("Forgotten", "forget"),
    Event.RESTORE: HistoryLine("Restored", "back"),
    Event.SUPERSEDE: HistoryLine("Superseded", "replace"),
    Event.MERGE: HistoryLine("Merged", "merge"),
    Event.LINK: HistoryLine("Shared", "link"),
    Event.UNLINK: HistoryLine("No longer shared", "unlink"),
    Event.TTL: HistoryLine("Expired", "time"),
    Event.PURGE: HistoryLine("Removed for good", "gone"),
    Event.CONSENT: HistoryLine("Consent", "ask"),
    Event.PIN: HistoryLine("Pinned", "pin"),
    Event.VERIFY: HistoryLine("Found to be still true", "check"),
    Event.UNDO: HistoryLine("Undone", "back"),
}
NAMED_FIELDS: Final = {
    "content": "Text",
    "key": "Key",
    "type": "Type",
    "tags": "Tags",
    "importance": "Importance",
    "confidence": "Confidence",
    "pinned": "Pinned",
    "valid_from": "True from",
    "valid_to": "True until",
    "expires_at": "Expires",
}
"""The fields of a memory that a change lists, and their labels."""


def told(change: Change) -> HistoryLine:
    """What a change did."""
    words, sign = _WORDS[change.event]
    if change.event is Event.CONSENT:
        step = str(change.meta.get("consent"))
        other = change.other_user
        words = _CONSENT.get(step, words) if other is None else _offered(step, other)
    elif change.event is Event.PIN and change.meta.get("pinned") is False:
        words = "No longer pinned"
    elif change.event in (Event.LINK, Event.UNLINK) and change.other_user is not None:
        has_accepted = "consent" in change.meta
        by_owner = change.actor == "owner" or has_accepted
        words = _shared(change.event, change.other_user, by_owner=by_owner)
        words += ", accepted" if has_accepted else ""
    return HistoryLine(words, sign)


def acting(change: Change) -> str:
    return _ACTORS.get(change.actor, change.actor)


def _offered(step: str, other: str) -> str:
    if step == "rejected":
        return f"The offer between {other} and you was turned down"
    return f"Offered to {other}" if step == "offered" else f"No longer offered to {other}"


def _shared(event: Event, other: str, *, by_owner: bool) -> str:
    if event is Event.LINK:
        return f"Shared by {other}" if by_owner else f"Shared with {other}"
    return f"No longer shared by {other}" if by_owner else f"No longer shared with {other}"


class Difference(NamedTuple):
    """A value that an update replaced."""

    field: str
    label: str
    old: Any
    new: Any


def differences(changes: tuple[Change, ...], present: Mapping[str, Any]) -> list[list[Difference]]:
    """What each change replaced, in the order of the changes (oldest first).

    History keeps the values before each update. The values after it are those that the next update
    replaced, or ``present``, the current ones as JSON.
    """
    after = dict(present)
    listed: list[list[Difference]] = []
    for change in reversed(changes):
        before = change.before or {}
        listed.append(
            [
                Difference(name, label, _read(name, before[name]), _read(name, after.get(name)))
                for name, label in NAMED_FIELDS.items()
                if change.event is Event.UPDATE and name in before
            ]
        )
        after.update(before)
    return listed[::-1]


def _read(name: str, value: Any) -> Any:
    return parse_moment(name, value) if name in _MOMENTS and value is not None else value


_NAMED_AS: Final = {
    Event.SUPERSEDE: "by",
    Event.MERGE: "into",
    Event.UPDATE: "before that",
    Event.CONSENT: "stored as",
}


@dataclass(frozen=True, slots=True)
class Mention:
    """Another memory that a change refers to; ``item`` is None where it no longer exists."""

    role: str
    id: int
    item: Item | None


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One change as it is shown. ``item`` is its memory, if it still exists."""

    change: Change
    told: HistoryLine
    by: str
    item: Item | None
    mentions: tuple[Mention, ...]
    differences: Sequence[Difference] = ()

    @property
    def is_about_proposal(self) -> bool:
        """Whether it is about a proposal rather than a memory."""
        meta = self.change.meta
        is_said = "consent" in meta and "proposal" not in meta and self.change.other_user is None
        return self.change.event is Event.CONSENT and is_said


def steps(
    memory: UserMemory, changes: Iterable[Change], present: Mapping[str, Any] | None = None
) -> list[HistoryStep]:
    """Changes with the memories that they refer to.

    With ``present``, the current values of one memory, and its changes, oldest first, each update
    also lists what it replaced.
    """
    listed = tuple(changes)
    ids = {named for change in listed for named in _referenced(change)}
    known = {item.id: item for item in memory.get_many(ids, include_deleted=True)}
    replaced = [()] * len(listed) if present is None else differences(listed, present)
    return [
        HistoryStep(
            change,
            told(change),
            acting(change),
            known.get(change.item_id),
            _mentions(change, known),
            changed,
        )
        for change, changed in zip(listed, replaced, strict=True)
    ]


def _referenced(change: Change) -> tuple[int, ...]:
    refs = (change.item_id, change.old_ref, change.new_ref)
    return tuple(named for named in refs if named is not None)


def _mentions(change: Change, known: Mapping[int, Item]) -> tuple[Mention, ...]:
    role = _NAMED_AS.get(change.event)
    if role is None:
        return ()
    others = (named for named in _referenced(change) if named != change.item_id)
    return tuple(Mention(role, other, known.get(other)) for other in others)
