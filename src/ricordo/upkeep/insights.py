"""Insights: a few observations a day, drawn by a model from what a user was recently busy with.

They are read in one view of the database, thought of outside of any transaction, and written in
one, which first looks whether somebody else has done the same meanwhile.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.errors import BadAnswer, ModelRefused, in_log
from ricordo.formation import prompts
from ricordo.formation.schedule import FormationPolicy
from ricordo.index.relations import Neighbours
from ricordo.memories.additions import add_all
from ricordo.metering import MeteredModel
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.reports import INSIGHTS_DROPPED, INSIGHTS_WRITTEN, InsightReport
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, EventStatus, MemoryType, Source
from ricordo.providers.chat_model import Message
from ricordo.recall.service import Recall
from ricordo.storage.daily_counters import tally
from ricordo.storage.database import Database, retried
from ricordo.storage.history import put_events
from ricordo.storage.search_rows import text_hash
from ricordo.storage.transaction import Writing
from ricordo.storage.users import note_upkeep, upkeep_state
from ricordo.upkeep.insight_checking import InsightSieve, Sifted
from ricordo.upkeep.insight_material import Material, gather, is_anything_new, lines_of

THEME: Final = "insights"
REASON: Final = "drawn from recent activity"

OF_EVERYBODY: Final = "global memories are about nobody"
TOO_SOON: Final = "looked less than a day ago"
NOTHING_NEW: Final = "nothing was said or learned since"
NOTHING_THERE: Final = "nothing to look at"
OVERTAKEN: Final = "somebody else has looked meanwhile, or the user is gone"
NO_ANSWER: Final = "the model gave no usable answer"

_CHANGED: Final = "changed_meanwhile"
_NODE: Final = "insights"
_ANSWER_TOKENS: Final = 220
_IMPORTANCE: Final = 1
_CONFIDENCE: Final = 50

_log = logging.getLogger(__name__)


class Observed(BaseModel, defer_build=True):
    """What the model noticed."""

    # Only told, not checked: what exceeds it is turned away and counted.
    observations: Annotated[list[str], Field(json_schema_extra={"maxItems": limits.MAX_INSIGHTS})]


@dataclass(frozen=True, slots=True)
class _Look:
    """What is looked at, and when the look before was."""

    material: Material
    last: datetime | None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What is to be written, with its vectors and what they are near to."""

    sifted: Sifted
    known: KnownVectors
    near: Neighbours


def draw_insights(
    database: Database,
    recall: Recall,
    formation_policy: FormationPolicy,
    model: MeteredModel,
    user_id: str,
) -> InsightReport:
    """Look at what a user was recently busy with, unless that was done less than a day ago.

    Raises:
        BudgetExhausted: the day's tokens are used up; nothing was noted.
        ModelUnavailable: the model is down; nothing was noted, try again.
        StorageError: the database could not do it.
    """
    look = _look(database, user_id)
    if isinstance(look, str):
        return InsightReport(skipped=look)
    try:
        observed = _ask(model, user_id, look.material)
    except (BadAnswer, ModelRefused) as problem:  # trying again today would not help
        _log.warning("no insights for today: %s", in_log(problem))
        return _note_failure(database, user_id, look, problem)
    sifted = InsightSieve(database, recall, formation_policy).sift(user_id, observed, look.material)
    known = recall.embedders.known_vectors(user_id, sifted.kept)
    near = recall.relating.neighbours(user_id, known)
    return _write(database, recall, user_id, look, _Drawn(sifted, known, near))


def _look(database: Database, user_id: str) -> _Look | str:
    """What there is to look at, or why nothing is."""
    if user_id == GLOBAL_OWNER:
        return OF_EVERYBODY
    with database.read(user_id) as view:
        last = upkeep_state(view.connection, user_id).insights_at
        if last is not None:
            if timedelta(0) <= view.now - last < timedelta(hours=limits.INSIGHT_HOURS):
                return TOO_SOON
            if not is_anything_new(view, user_id, last):
                return NOTHING_NEW
        material = gather(view, user_id)
    return _Look(material, last) if material.statements else NOTHING_THERE


def _ask(model: MeteredModel, user_id: str, material: Material) -> list[str]:
    prompt = prompts.render(
        prompts.INSIGHTS,
        most=limits.MAX_INSIGHTS,
        characters=limits.MAX_FORMED_CHARS,
        lately=lines_of(material.lately),
        known=lines_of(material.known),
        said=lines_of(material.said),
    )
    asked = [Message("user", prompt)]
    return model.ask(user_id, asked, Observed, max_tokens=_ANSWER_TOKENS).observations


@retried
def _write(
    database: Database, recall: Recall, user_id: str, look: _Look, drawn: _Drawn
) -> InsightReport:
    """Store what was noticed and note the look, unless another look came first.

    What rests on something that was changed or forgotten meanwhile is not stored.
    """
    with database.write(user_id, known=drawn.known) as writing:
        if not _is_ours(writing, look):
            return InsightReport(skipped=OVERTAKEN)
        kept, dropped = drawn.sifted.kept, list(drawn.sifted.dropped)
        if kept and not look.material.still_holds(writing):
            dropped += [_CHANGED] * len(kept)
            kept = ()
        written = _add(writing, recall, kept, drawn)
        put_events(
            writing,
            [
                *(_event("add", REASON, item_id=item_id, theme=THEME) for item_id in written),
                *(_event("drop", reason) for reason in dropped),
            ],
        )
        tally(writing, {INSIGHTS_WRITTEN: len(written), INSIGHTS_DROPPED: len(dropped)})
        note_upkeep(writing, insights_at=look.material.looked_at)
    return InsightReport(written=tuple(written), dropped=len(dropped))


def _add(writing: Writing, recall: Recall, kept: Sequence[str], drawn: _Drawn) -> list[int]:
    drafts = [
        NewMemory(
            content=content,
            theme=THEME,
            type=MemoryType.INSIGHT,
            source=Source.SYSTEM,
            importance=_IMPORTANCE,
            confidence=_CONFIDENCE,
            pinned=False,
        )
        for content in kept
    ]
    if not drafts:
        return []
    added = add_all(writing, Scope(writing.user_id), drafts, REASON)
    new = [
        (one.id, text_hash(draft.content))
        for one, draft in zip(added, drafts, strict=True)
        if one.is_new
    ]
    recall.relating.note(writing, new, drawn.known, drawn.near)
    return [item_id for item_id, _ in new]


@retried
def _note_failure(
    database: Database, user_id: str, look: _Look, problem: BadAnswer | ModelRefused
) -> InsightReport:
    with database.write(user_id) as writing:
        if not _is_ours(writing, look):
            return InsightReport(skipped=OVERTAKEN)
        put_events(writing, [_event("ask", type(problem).__name__, EventStatus.ERROR)])
        note_upkeep(writing, insights_at=look.material.looked_at)
    return InsightReport(skipped=NO_ANSWER)


def _is_ours(writing: Writing, look: _Look) -> bool:
    """Whether nobody has looked since, and the user is still there."""
    present = upkeep_state(writing.connection, writing.user_id).insights_at
    return not writing.is_first and present == look.last


def _event(
    op: str, detail: str, status: EventStatus = EventStatus.OK, **more: Any
) -> dict[str, Any]:
    return {"node": _NODE, "op": op, "status": status.value, "detail": detail, **more}
