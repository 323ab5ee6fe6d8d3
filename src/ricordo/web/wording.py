"""What happened to memories, in plain words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ricordo.frozen import dataclass
from ricordo.model.checks import parse_moment
from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Ownership, Source
from ricordo.user_memory import UserMemory
from ricordo.web.former_texts import NOT_KEPT, Moment, Text, texts_at
from ricordo.web.rendering import isolated


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose memories a page shows, in words for its reader: "your memories" for one's own, "ana's
    memories" for somebody else's, "global memories" for everybody's."""

    owner: str
    is_reader: bool

    @property
    def is_global(self) -> bool:
        return self.owner == GLOBAL_OWNER

    @property
    def your(self) -> str:
        if self.is_global:
            return "global"
        return "your" if self.is_reader else f"{isolated(self.owner)}'s"

    @property
    def you(self) -> str:
        if self.is_global:
            return "everybody"
        return "you" if self.is_reader else isolated(self.owner)

    def does(self, verb: str, of_others: str | None = None) -> str:
        """What they do: "you decide", "ana decides"."""
        is_you = self.is_reader and not self.is_global
        return f"{self.you} {verb if is_you else of_others or f'{verb}s'}"

    def titled(self, noun: str) -> str:
        """A heading: "Memories", "ana's memories", "Global memories"."""
        if self.is_global:
            return f"Global {noun.lower()}"
        return noun if self.is_reader else f"{self.your} {noun.lower()}"

    @property
    def option(self) -> str:
        """How the command line names them."""
        return "--global" if self.is_global else f"--user {self.owner}"


def ownerships(whose: Whose) -> dict[str, str]:
    """The filter by ownership: its values, and their labels."""
    return {
        "": "All",
        Ownership.OWN: "Yours" if whose.is_reader else f"{whose.your} own",
        Ownership.SHARED: "Shared with others",
        Ownership.RECEIVED: f"Shared with {whose.you}",
        Ownership.GROUP: "From groups",
        Ownership.GLOBAL: "Global",
    }


SOURCES: Final[Mapping[Source, str]] = {
    Source.USER_EXPLICIT: "The user asked to remember it",
    Source.CONVERSATION: "Learned from a conversation",
    Source.TOOL_CALL: "From the result of a tool",
    Source.AUTO_DISCOVERY: "Discovered automatically",
    Source.SYSTEM: "Created by ricordo",
    Source.IMPORT: "Imported",
    Source.FILE: "From a file",
}
"""How a memory came to be known."""

JOBS: Final = {
    "form": "Learning from a conversation",
    "form-stale": "Finding conversations to learn from",
    "webhook-changes": "Finding changes for webhooks",
    "webhook": "Delivering to webhooks",
    "compact": "Summarising long conversations",
    "summarise": "Updating the summary of a user",
    "lapse-proposals": "Closing expired proposals",
    "lifecycle": "Removing expired memories",
    "embed": "Computing vectors",
    "reindex": "Rebuilding the word index",
    "scrub": "Overwriting erased data",
    "plan-upkeep": "Planning the daily upkeep",
    "upkeep": "Daily upkeep",
    "consolidate": "Merging duplicates",
    "insights": "Finding insights",
    "relate": "Relating similar memories",
}
"""Background jobs by kind."""

_ACTORS: Final = {
    "owner": "its owner",
    "viewer": "the user it was shared with",
    "system": "ricordo",
    "formation": "ricordo, from a conversation",
}
_CONSENT: Final = {
    "proposed": "Proposed",
    "heard": "Said again while open",
    "said again": "Approved by saying it again",
    "approved": "Approved",
    "rejected": "Rejected",
    "expired": "Expired",
    "offered": "Offered to another user",
    "withdrawn": "No longer offered",
}
_MOMENTS: Final = ("valid_from", "valid_to", "expires_at")
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class HistoryLine(NamedTuple):
    """The words for a change, and the name of its icon."""

    words: str
    sign: str


_WORDS: Final[Mapping[Event, HistoryLine]] = {
    Event.ADD: HistoryLine("Learned", "add"),
    Event.UPDATE: HistoryLine("Changed", "update"),
    Event.ARCHIVE: HistoryLine("Archived", "archive"),
    Event.DELETE: HistoryLine("Forgotten", "forget"),
    Event.RESTORE: HistoryLine("Restored", "back"),
    Event.SUPERSEDE: HistoryLine("Replaced", "replace"),
    Event.MERGE: HistoryLine("Merged", "merge"),
    Event.LINK: HistoryLine("Shared", "link"),
    Event.UNLINK: HistoryLine("No longer shared", "unlink"),
    Event.TTL: HistoryLine("Expired", "time"),
    Event.PURGE: HistoryLine("Removed for good", "gone"),
    Event.CONSENT: HistoryLine("Proposal", "ask"),
    Event.PIN: HistoryLine("Pinned", "pin"),
    Event.VERIFY: HistoryLine("Verified", "check"),
    Event.UNDO: HistoryLine("Undone", "back"),
    Event.RATE: HistoryLine("Rated", "rate"),
}
_RATED: Final = {
    "used": "Said to have helped",
    "wrong": "Called wrong",
    "outdated": "Called outdated",
    "withdrawn": "Rating taken back",
}
NAMED_FIELDS: Final = {
    "content": "Text",
    "key": "Key",
    "type": "Type",
    "tags": "Tags",
    "importance": "Importance",
    "confidence": "Confidence",
    "pinned": "Pinned",
    "valid_from": "Valid from",
    "valid_to": "Valid until",
    "expires_at": "Expires",
}
"""The fields of a memory that a change lists, and their labels."""


def described(change: Change) -> HistoryLine:
    """What a change did."""
    words, sign = _WORDS[change.event]
    if change.event is Event.CONSENT:
        step = str(change.meta.get("consent"))
        other = change.other_user and isolated(change.other_user)
        if other is None:
            words = _CONSENT.get(step, words)
        elif step == "rejected":
            words = f"The offer with {other} was rejected"
        else:
            words = f"Offered to {other}" if step == "offered" else f"No longer offered to {other}"
    elif change.event is Event.UPDATE and _has_new_text(change):
        words, sign = _WORDS[Event.SUPERSEDE]
    elif change.event is Event.SUPERSEDE and change.new_ref is None and change.other_user is None:
        words = "No longer current"
    elif change.event is Event.RATE:
        words = _RATED.get(str(change.meta.get("verdict")), words)
    elif change.event is Event.PIN and change.meta.get("pinned") is False:
        words = "No longer pinned"
    elif change.event in (Event.LINK, Event.UNLINK) and change.other_user is not None:
        has_accepted = "consent" in change.meta
        by_owner = change.actor == "owner" or has_accepted
        words += f" {'by' if by_owner else 'with'} {isolated(change.other_user)}"
        words += ", accepted" if has_accepted else ""
    return HistoryLine(words, sign)


def _has_new_text(change: Change) -> bool:
    """Whether an update replaced the text; the former one is a memory of its own then."""
    return change.old_ref is not None or "content" in (change.before or {})


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
    text: Text


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One change as it is shown. ``item`` is its memory, if it still exists, ``text`` what that
    said then, and ``was`` what it said before an update."""

    change: Change
    line: HistoryLine
    by: str
    item: Item | None
    text: Text
    was: Text | None
    mentions: tuple[Mention, ...]
    differences: Sequence[Difference] = ()

    @property
    def is_about_proposal(self) -> bool:
        """Whether it is about a proposal rather than a memory."""
        meta = self.change.meta
        is_own = "consent" in meta and "proposal" not in meta and self.change.other_user is None
        return self.change.event is Event.CONSENT and is_own

    @property
    def changed(self) -> list[str]:
        """What else than the text an update changed."""
        before = self.change.before or {}
        if self.change.event is not Event.UPDATE or "content" in before:
            return []
        return [label.lower() for name, label in NAMED_FIELDS.items() if name in before]


def steps(
    memory: UserMemory, changes: Iterable[Change], present: Mapping[str, Any] | None = None
) -> list[HistoryStep]:
    """Changes with the memories that they refer to, as those were then.

    With ``present``, the current values of one memory, and its changes, oldest first, each update
    also lists what it replaced.
    """
    listed = tuple(changes)
    ids = {named for change in listed for named in _referenced(change)}
    known = {item.id: item for item in memory.get_many(ids, include_deleted=True)}
    moments = {moment for change in listed for moment in _moments(change)}
    texts = texts_at(memory, moments, known)
    replaced = [()] * len(listed) if present is None else differences(listed, present)
    return [
        HistoryStep(
            change,
            described(change),
            _ACTORS.get(change.actor, change.actor),
            known.get(change.item_id),
            texts[_then(change, change.item_id)],
            texts[_just_before(change)] if _replaces_text(change) else None,
            _mentions(change, known, texts),
            [_as_kept(one, change, texts) for one in changed],
        )
        for change, changed in zip(listed, replaced, strict=True)
    ]


def _as_kept(one: Difference, change: Change, texts: Mapping[Moment, Text]) -> Difference:
    """Without a text that was forgotten since on its own."""
    if one.field != "content":
        return one
    old, new = texts[_just_before(change)], texts[_then(change, change.item_id)]
    return one._replace(
        old=None if old.instead == NOT_KEPT else one.old,
        new=None if new.instead == NOT_KEPT else one.new,
    )


def _referenced(change: Change) -> tuple[int, ...]:
    refs = (change.item_id, change.old_ref, change.new_ref)
    return tuple(named for named in refs if named is not None)


def _moments(change: Change) -> Iterator[Moment]:
    yield from (_then(change, named) for named in _referenced(change))
    if _replaces_text(change):
        yield _just_before(change)


def _replaces_text(change: Change) -> bool:
    return change.event is Event.UPDATE and _has_new_text(change)


def _then(change: Change, item_id: int) -> Moment:
    return Moment(item_id, change.revision, change.at)


def _just_before(change: Change) -> Moment:
    """Before any change, so that the text is never taken for the present one."""
    return Moment(change.item_id, change.revision - 1, _LONG_AGO)


def _mentions(
    change: Change, known: Mapping[int, Item], texts: Mapping[Moment, Text]
) -> tuple[Mention, ...]:
    role = _NAMED_AS.get(change.event)
    if role is None:
        return ()
    others = (named for named in _referenced(change) if named != change.item_id)
    return tuple(
        Mention(role, other, known.get(other), texts[_then(change, other)]) for other in others
    )
