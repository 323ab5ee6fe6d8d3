"""History as pages tell it: each write with its words and the memories that it names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import Event
from ricordo.user_memory import UserMemory
from ricordo.web.wording import Difference, Told, acting, differences, told

_NAMED_AS: Final = {
    Event.SUPERSEDE: "by",
    Event.MERGE: "into",
    Event.UPDATE: "before that",
    Event.CONSENT: "stored as",
}


@dataclass(frozen=True, slots=True)
class Mention:
    """Another memory that a write names; ``item`` is None where it is no longer there."""

    role: str
    id: int
    item: Item | None


@dataclass(frozen=True, slots=True)
class Step:
    """One write as it is shown. ``item`` is the memory that it is about, if it is still there."""

    change: Change
    told: Told
    by: str
    item: Item | None
    mentions: tuple[Mention, ...]
    differences: Sequence[Difference] = ()

    @property
    def is_about_proposal(self) -> bool:
        """Whether it tells of something that waits for a choice, rather than of a memory."""
        meta = self.change.meta
        is_said = "consent" in meta and "proposal" not in meta and self.change.other_user is None
        return self.change.event is Event.CONSENT and is_said


def steps(
    memory: UserMemory, changes: Iterable[Change], present: Mapping[str, Any] | None = None
) -> list[Step]:
    """Writes in the order in which they are given, with the memories that they name.

    ``present`` is what one memory says now, for writes that are all about that one, the oldest
    first: then each update tells what it replaced.
    """
    listed = tuple(changes)
    ids = {named for change in listed for named in _named(change)}
    known = {item.id: item for item in memory.get_many(ids, include_deleted=True)}
    replaced = [()] * len(listed) if present is None else differences(listed, present)
    return [
        Step(
            change,
            told(change),
            acting(change),
            known.get(change.item_id),
            _mentions(change, known),
            changed,
        )
        for change, changed in zip(listed, replaced, strict=True)
    ]


def _named(change: Change) -> tuple[int, ...]:
    refs = (change.item_id, change.old_ref, change.new_ref)
    return tuple(named for named in refs if named is not None)


def _mentions(change: Change, known: Mapping[int, Item]) -> tuple[Mention, ...]:
    role = _NAMED_AS.get(change.event)
    if role is None:
        return ()
    others = (named for named in _named(change) if named != change.item_id)
    return tuple(Mention(role, other, known.get(other)) for other in others)
