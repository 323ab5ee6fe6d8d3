"""How what a session tells stands to what is known of its project."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import Candidate
from ricordo.formation.conflicts import (
    CONTRADICTION,
    CORRECTED,
    IDENTICAL,
    NEW,
    NOT_NEWER,
    REDUNDANT,
    SAME_KEY,
    Resolution,
)
from ricordo.formation.statements import opposed, says_nothing_new
from ricordo.formation.work import CHANGES, DONE, WORK_THEME, WorkKind, terms_of
from ricordo.model.filters import Sort
from ricordo.model.item import Item
from ricordo.model.vocabulary import Action, Status
from ricordo.recall.stance import stances
from ricordo.storage.database import ReadTransaction
from ricordo.storage.items import page_of_items
from ricordo.storage.tables import items
from ricordo.storage.where import not_expired
from ricordo.text.dates import CLEAR_MONTHS
from ricordo.text.normalise import canonical

NARROWER: Final = "a part of the command that is known"
NOT_REPEATED: Final = "another command is known to work"
_MONTHS: Final = frozenset(chain.from_iterable(map(terms_of, CLEAR_MONTHS)))
_SURE: Final = 3  # the importance of a command that was named or repeated
_MOST_OF_IT: Final = 0.5
_THE_SAME: Final = 0.8
_FEWEST_SHARED: Final = 2
_ENDS: Final = 0.9
_ENDS_IF_CHANGED: Final = 0.6
_RULES: Final = frozenset({WorkKind.DECISION, WorkKind.CONVENTION})


def known_of_project(view: ReadTransaction, user_id: str, project_id: str) -> list[Item]:
    """What is remembered about work on a project, the newest first."""
    where = (
        (items.c.user_id == user_id)
        & (items.c.project_id == project_id)
        & (items.c.theme == WORK_THEME)
        & (items.c.status == Status.ACTIVE.value)
        & not_expired(view.now)
    )
    page = page_of_items(view.connection, where, Sort(), limits.MAX_WORK_KNOWN, None)
    return list(page.items)


def kind_of(item: Item) -> WorkKind | None:
    return next((one for one in WorkKind if one.value in item.tags), None)


def resolve_work(candidates: Sequence[Candidate], known: Sequence[Item]) -> list[Resolution]:
    """Resolutions for candidates in the order in which they were said.

    What ends nothing has none.
    """
    found: list[Resolution] = []
    gone: set[int] = set()
    for place, candidate in enumerate(candidates):
        present = [item for item in known if item.id not in gone]
        if candidate.kind == DONE:
            one = _closing(candidate, present)
        else:
            one = _overtaken(candidate, candidates[place + 1 :]) or _resolved(candidate, present)
        if one is not None:
            found.append(one)
            if one.action in (Action.REPLACE, Action.CLOSE):
                gone.update(item.id for item in one.targets)
    return found


def _overtaken(candidate: Candidate, later: Sequence[Candidate]) -> Resolution | None:
    """Whether the same session repeats, changes or settles it further on."""
    for other in later:
        if other.kind == DONE:
            if (
                candidate.kind == WorkKind.OPEN
                and candidate.key is None
                and _settles(other, candidate.content)
            ):
                return _ignored(candidate, CORRECTED)
            continue
        if candidate.key is not None and candidate.key == other.key:
            return _ignored(candidate, CORRECTED)
        if _group(candidate.kind) != _group(other.kind) or other.key is not None:
            continue
        if _says_the_same(candidate.content, other.content):
            return _ignored(candidate, REDUNDANT)
        if _group(candidate.kind) == _group(WorkKind.DECISION) and _replaces(
            other, candidate.content
        ):
            return _ignored(candidate, CORRECTED)
    return None


def _closing(candidate: Candidate, known: Sequence[Item]) -> Resolution | None:
    """What is done ends what was open, if it was open before."""
    ended = tuple(
        item
        for item in known
        if kind_of(item) is WorkKind.OPEN
        and item.valid_from < candidate.passage.at
        and (
            item.key == candidate.key
            if candidate.key is not None
            else item.key is None and _settles(candidate, item.content)
        )
    )
    if not ended:
        return None
    reason = f"done: {candidate.content}"[: limits.MAX_REASON_CHARS]
    return Resolution(candidate=candidate, action=Action.CLOSE, reason=reason, targets=ended)


def _settles(done: Candidate, left: str) -> bool:
    """Whether what is said to be done has most words of what was left."""
    wanted, said = terms_of(left) - _MONTHS, terms_of(done.content)
    shared = len(wanted & said)
    return shared >= min(_FEWEST_SHARED, len(wanted)) and shared >= _MOST_OF_IT * len(wanted)


def _resolved(candidate: Candidate, known: Sequence[Item]) -> Resolution:
    if candidate.key is not None:
        present = next((item for item in known if item.key == candidate.key), None)
        return _new(candidate) if present is None else _of_same_key(candidate, present)
    group = _group(candidate.kind)
    related = [item for item in known if item.key is None and _group(kind_of(item)) == group]
    for item in related:
        if canonical(item.content) == canonical(candidate.content):
            return _ignored(candidate, IDENTICAL, item)
        if _says_the_same(candidate.content, item.content):
            return _ignored(candidate, REDUNDANT, item)
    if group != _group(WorkKind.DECISION):
        return _new(candidate)
    ended = [item for item in related if _replaces(candidate, item.content)]
    newer = [item for item in ended if item.valid_from >= candidate.passage.at]
    if newer:
        return _ignored(candidate, NOT_NEWER, newer[0])
    if not ended:
        return _new(candidate)
    return Resolution(
        candidate=candidate, action=Action.REPLACE, reason=CONTRADICTION, targets=tuple(ended)
    )


def _of_same_key(candidate: Candidate, present: Item) -> Resolution:
    if canonical(present.content) == canonical(candidate.content):
        return _ignored(candidate, IDENTICAL, present)
    if candidate.passage.at <= present.valid_from:
        return _ignored(candidate, NOT_NEWER, present)
    if candidate.kind == WorkKind.COMMAND and candidate.importance < _SURE:
        new, old = candidate.quote, present.content
        reason = NARROWER if f"{old.rstrip('`')} " in f"{candidate.content} " else NOT_REPEATED
        return _ignored(candidate, NARROWER if new in old else reason, present)
    return Resolution(
        candidate=candidate, action=Action.UPDATE, reason=SAME_KEY, targets=(present,)
    )


def _group(kind: str | None) -> str | None:
    return "rules" if kind in _RULES else kind


def _says_the_same(new: str, old: str) -> bool:
    if says_nothing_new(new, old):
        return True
    one, other = terms_of(new), terms_of(old)
    return bool(one | other) and len(one & other) >= _THE_SAME * len(one | other)


def _replaces(candidate: Candidate, old: str) -> bool:
    """Whether a decision takes the place of an earlier one, which it may not name itself."""
    new = candidate.content
    if opposed(new, old):
        return True
    shared = terms_of(new) & terms_of(old)
    changes = CHANGES.search(new) is not None
    told = [new]
    if changes and candidate.answers:
        told.append(f"{candidate.answers} {new}")
        shared |= terms_of(candidate.answers) & terms_of(old)
    if len(shared) < (1 if changes else _FEWEST_SHARED):
        return False
    least = _ENDS_IF_CHANGED if changes else _ENDS
    return any(stances(text, [old])[0].replaced >= least for text in told)


def _ignored(candidate: Candidate, reason: str, match: Item | None = None) -> Resolution:
    return Resolution(
        candidate=candidate,
        action=Action.IGNORE,
        reason=reason,
        targets=() if match is None else (match,),
        similarity=None if match is None else 1.0,
    )


def _new(candidate: Candidate) -> Resolution:
    return Resolution(candidate=candidate, action=Action.ADD, reason=NEW)
