"""Insights: a few observations a day, drawn by a model from a user's recent activity."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import sqlalchemy as sa
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.errors import BadAnswer, ModelRefused, in_log
from ricordo.formation import resources
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.conflicts import KnownMemories
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import supports
from ricordo.formation.passages import both_ends, kept_pieces
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.statements import opposed, says_nothing_new, share_of_words
from ricordo.formation.writing_rules import has_dangling_time, validated
from ricordo.frozen import dataclass
from ricordo.index.relations import PreparedWrite
from ricordo.memories.additions import add_all
from ricordo.metering import MeteredModel
from ricordo.model.draft import NewMemory
from ricordo.model.filters import IN_NO_PROJECT, ItemFilter, Sort, SortColumn
from ricordo.model.group import is_person
from ricordo.model.item import Item
from ricordo.model.reports import INSIGHTS_DROPPED, INSIGHTS_WRITTEN, InsightReport
from ricordo.model.scope import Scope
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import EventStatus, MemoryType, Source, Status
from ricordo.providers.chat_model import Message
from ricordo.recall.service import Recall
from ricordo.storage.activity import put_events, tally
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction, retried
from ricordo.storage.formation import speakers_in
from ricordo.storage.items import active, find_items, page_of_items
from ricordo.storage.search_rows import text_hash
from ricordo.storage.sql import Condition
from ricordo.storage.tables import formation, items, turns
from ricordo.storage.threads import page_of_threads
from ricordo.storage.users import note_upkeep, upkeep_state
from ricordo.storage.where import is_of
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash, folded

_TURN_COLUMNS: Final = [turns.c[field.name] for field in fields(Turn)]
_OWN_WORDS: Final = (MemoryType.INSIGHT, MemoryType.SUMMARY)
"""Generated types; nothing is learned from them."""

_MIN_SHOWN_CHARS: Final = 40  # of a truncated turn; with less room it is left out
_CUT: Final = "…"

SENSITIVE: Final = "sensitive"
KNOWN: Final = "known_already"
NOT_ABOUT_THE_USER: Final = "not_about_the_user"
_SUBJECT: Final = re.compile(
    r"(?:the |der |die |el |la |o |a |le )?(?:user|pengguna|(?:be)?nutzer(?:in)?|usuari[oa]"
    r"|usuári[oa]|gebruiker)\b|l['’](?:utente|utilisateur|utilisatrice)\b|ユーザー",
    re.IGNORECASE,
)
_NEAR: Final = 8
THEME: Final = "insights"
REASON: Final = "drawn from recent activity"
OF_EVERYBODY: Final = "global memories are about nobody"
TOO_SOON: Final = "the last run was less than a day ago"
NOTHING_NEW: Final = "nothing was said or learned since"
NOTHING_THERE: Final = "there is nothing to draw from"
OVERTAKEN: Final = "another run was faster, or the user was erased"
NO_ANSWER: Final = "the model gave no usable answer"
_IMPORTANCE: Final = 1
_CONFIDENCE: Final = 50

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InsightSource:
    """One statement shown to the model, on one line."""

    at: datetime
    text: str

    @property
    def line(self) -> str:
        """The statement with its day."""
        return f"- ({self.at.date().isoformat()}) {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightMaterial:
    """What was read in one snapshot, and the rows it came from.

    ``last_run``: when insights were drawn before.
    """

    last_run: datetime | None
    read_at: datetime
    lately: Sequence[InsightSource]
    known: Sequence[InsightSource]
    said: Sequence[InsightSource]
    items: Sequence[Item]
    turn_ids: Sequence[int]

    @property
    def statements(self) -> list[str]:
        return [one.text for one in (*self.lately, *self.known, *self.said)]

    def is_unchanged(self, writing: WriteTransaction) -> bool:
        """Whether none of it was changed, forgotten or erased since."""
        listed = items.c.id.in_([item.id for item in self.items])
        mine = listed & active(writing.user_id, writing.now)
        present = {item.id: item.content for item in find_items(writing.connection, mine)}
        said = sa.select(sa.func.count()).where(
            turns.c.user_id == writing.user_id, turns.c.id.in_(self.turn_ids)
        )
        return present == {item.id: item.content for item in self.items} and (
            writing.connection.execute(said).scalar_one() == len(self.turn_ids)
        )


def is_anything_new(view: ReadTransaction, user_id: str, since: datetime) -> bool:
    """Whether the user said something since then, or something was learned about them."""
    said = sa.exists().where(formation.c.user_id == user_id, formation.c.observed_at > since)
    learned = sa.exists().where(_stated(user_id, view.now), items.c.updated_at > since)
    return bool(view.connection.execute(sa.select(sa.or_(said, learned))).scalar_one())


def gather(view: ReadTransaction, user_id: str, last_run: datetime | None) -> InsightMaterial:
    """The latest episodes (or memories), the newest other memories, and the latest turns.

    Everything is screened as in formation: no tool output, pasted context, secrets, recalled
    memories or prompt injections.
    """
    stated = _stated(user_id, view.now)
    is_episode = items.c.type == MemoryType.EPISODE.value
    lately = _latest(view, stated & is_episode, limits.MAX_INSIGHT_EPISODES)
    if not lately:
        lately = _latest(view, stated, limits.MAX_INSIGHT_EPISODES)
    others = stated & ~is_episode & items.c.id.not_in([item.id for item in lately])
    known = _latest(view, others, limits.MAX_INSIGHT_FACTS)
    said = _latest_said(view, user_id)
    return InsightMaterial(
        last_run=last_run,
        read_at=view.now,
        lately=_as_sources(lately),
        known=_as_sources(known),
        said=[one for _, one in said],
        items=[*lately, *known],
        turn_ids=[turn_id for turn_id, _ in said],
    )


def lines_of(shown: Iterable[InsightSource]) -> str:
    return "\n".join(one.line for one in shown) or "(nothing)"


def _stated(user_id: str, now: datetime) -> Condition:
    """Valid memories from somebody's statements; procedures say nothing about the user, nor does
    what is so in one project."""
    left_out = [kind.value for kind in (*_OWN_WORDS, MemoryType.PROCEDURE)]
    return active(user_id, now) & is_of(items, None) & items.c.type.not_in(left_out)


def _latest(view: ReadTransaction, where: Condition, limit: int) -> Sequence[Item]:
    return page_of_items(view.connection, where, Sort(SortColumn.VALID_FROM), limit, None).items


def _as_sources(found: Iterable[Item]) -> list[InsightSource]:
    """Memories as statements, the oldest first, without those that screening leaves empty."""
    sources = []
    most = limits.MAX_INSIGHT_STATEMENT_CHARS
    for item in sorted(found, key=lambda item: (item.valid_from, item.id)):
        text = _clean(item.content)
        if len(text) > most:
            text = f"{text[: most - 1]}{_CUT}"
        if text:
            sources.append(InsightSource(item.valid_from, text))
    return sources


def _latest_said(view: ReadTransaction, user_id: str) -> list[tuple[int, InsightSource]]:
    """The user's latest turns that fit, by turn id, oldest first."""
    shown: list[tuple[int, InsightSource]] = []
    room = limits.MAX_INSIGHT_CONVERSATION_CHARS
    for turn in _own_turns(view, user_id):
        one = InsightSource(turn.at, _clean(both_ends(turn.content), is_from_user=True))
        if not one.text:
            continue
        if len(one.line) > room:
            left = room - (len(one.line) - len(one.text)) - len(_CUT)
            if left >= _MIN_SHOWN_CHARS:
                shown.append((turn.id, InsightSource(turn.at, f"{one.text[:left]}{_CUT}")))
            break
        shown.append((turn.id, one))
        room -= len(one.line) + 1
    return shown[::-1]


def _own_turns(view: ReadTransaction, user_id: str) -> list[Turn]:
    """The user's turns in their latest conversations of no project, the latest first.

    With several speakers, only the turns of the one with the user's name.
    """
    said: list[Turn] = []
    latest = page_of_threads(
        view.connection, user_id, limits.MAX_INSIGHT_THREADS, None, IN_NO_PROJECT
    ).items
    for thread_id in (thread.thread_id for thread in latest):
        wanted = (
            sa.select(*_TURN_COLUMNS)
            .where(
                turns.c.user_id == user_id,
                turns.c.thread_id == thread_id,
                turns.c.role == USER_ROLE,
            )
            .order_by(turns.c.position.desc())
            .limit(limits.MAX_INSIGHT_TURNS_PER_THREAD)
        )
        found = [Turn.from_row(row) for row in view.connection.execute(wanted).mappings()]
        speakers = speakers_in(view.connection, user_id, thread_id, USER_ROLE)
        is_alone = len({folded(name) for name in speakers}) < 2
        said += [
            turn
            for turn in found
            if is_alone or turn.actor is None or folded(turn.actor) == folded(user_id)
        ]
    return sorted(said, key=lambda turn: (turn.at, turn.id), reverse=True)


def _clean(text: str, *, is_from_user: bool = False) -> str:
    """What screening leaves, on one line."""
    return " ".join(" ".join(kept_pieces(text, is_from_user=is_from_user)).split())


@dataclass(frozen=True, slots=True)
class FilteredInsights:
    """Observations to store, and why each of the others was rejected."""

    kept: Sequence[str]
    dropped: Sequence[str]


class InsightFilter:
    """Checks a model's observations against what it was shown and what is known."""

    def __init__(self, database: Database, recall: Recall, policy: FormationPolicy) -> None:
        self._database = database
        self._recall = recall
        self._policy = policy
        self._known = KnownMemories(database, recall)

    def filter(
        self, user_id: str, observed: Iterable[str], material: InsightMaterial
    ) -> FilteredInsights:
        """The valid ones, in order. No transaction may be open."""
        kept: list[str] = []
        dropped: list[str] = []
        for place, one in enumerate(observed):
            if place >= limits.MAX_INSIGHTS:
                dropped.append(RejectionCode.TOO_MANY.value)
                continue
            content, problem = self._checked(one, material)
            if problem is None and self._is_known(user_id, content, kept):
                problem = KNOWN
            if problem is None:
                kept.append(content)
            else:
                dropped.append(problem)
        return FilteredInsights(kept, dropped)

    def _checked(self, observed: str, material: InsightMaterial) -> tuple[str, str | None]:
        """The normalised observation, and what is wrong with it by itself."""
        shown = material.statements
        # For the validator, everything shown is one passage that the user has said.
        passage = Passage(
            turn_id=0,
            position=0,
            role=USER_ROLE,
            actor=None,
            message_id=None,
            at=material.read_at,
            text="\n".join(shown),
        )
        # Without control characters, which a database refuses.
        content = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in observed)
        checked = validated(
            Candidate(content=content, quote=shown[-1], passage=passage, type=MemoryType.INSIGHT)
        )
        if isinstance(checked, Rejection):
            return observed, checked.code.value
        content = checked.content
        if not _SUBJECT.match(content):
            return content, NOT_ABOUT_THE_USER
        if has_dangling_time(content):
            return content, RejectionCode.DANGLING_TIME.value
        if not supports(content, passage.text):
            return content, RejectionCode.UNSUPPORTED.value
        if sensitive_fields_of(content, "", None) & self._policy.sensitive_fields:
            return content, SENSITIVE
        return content, None

    def _is_known(self, user_id: str, content: str, kept: Sequence[str]) -> bool:
        """Whether it repeats one of these, a stored fact or an earlier insight."""
        near = self._known.near(user_id, content, MemoryType.FACT)
        compared = [(one.item.content, one.similarity) for one in near]
        compared += self._near_insights(user_id, content)
        compared += [(one, share_of_words(self._analyser, content, one)) for one in kept]
        return self._is_stored(user_id, content) or any(
            says_nothing_new(content, other)
            or (similarity >= self._policy.redundant_min and not opposed(content, other))
            for other, similarity in compared
        )

    def _near_insights(self, user_id: str, content: str) -> list[tuple[str, float]]:
        """The active insights nearest to a text, with their similarity."""
        wanted = ItemFilter(statuses=(Status.ACTIVE,), types=(MemoryType.INSIGHT,))
        found = self._recall.memories.find(user_id, content, _NEAR, wanted)
        return [
            (
                item.content,
                share_of_words(self._analyser, content, item.content)
                if ranked.cosine is None
                else ranked.cosine,
            )
            for item, ranked in zip(found.items, found.ranked, strict=True)
        ]

    def _is_stored(self, user_id: str, content: str) -> bool:
        """Whether an insight with this text is stored, even archived or deleted: then the user does
        not want it back every day."""
        same = sa.exists().where(
            items.c.user_id == user_id,
            items.c.type == MemoryType.INSIGHT.value,
            items.c.content_hash == content_hash(content),
        )
        with self._database.read(user_id) as view:
            return bool(view.connection.execute(sa.select(same)).scalar_one())

    @property
    def _analyser(self) -> Analyser:
        return self._database.analyser


class Observation(BaseModel, defer_build=True):
    """What the model noticed."""

    # A hint for the model, not validated: extra observations are rejected and counted.
    observations: Annotated[list[str], Field(json_schema_extra={"maxItems": limits.MAX_INSIGHTS})]


@dataclass(frozen=True, slots=True)
class _Insights:
    """What is to be written, with its vectors and neighbours."""

    filtered: FilteredInsights
    prepared: PreparedWrite


def draw_insights(
    database: Database,
    recall: Recall,
    formation_policy: FormationPolicy,
    model: MeteredModel,
    user_id: str,
) -> InsightReport:
    """Draw insights from a user's recent activity, at most once a day.

    Read in one snapshot, sent to the model outside of any transaction, and written in one, which
    first checks that no other run was faster.

    Raises:
        BudgetExhausted: the day's tokens are used up; nothing was written.
        ModelUnavailable: the model is down; nothing was written, try again.
        StorageError: the database failed.
    """
    material = _read_material(database, user_id)
    if isinstance(material, str):
        return InsightReport(skipped=material)
    try:
        observed = _ask(model, user_id, material)
    except (BadAnswer, ModelRefused) as problem:  # trying again today would not help
        _log.warning("no insights for today: %s", in_log(problem))
        return _note_failure(database, user_id, material, problem)
    filtered = InsightFilter(database, recall, formation_policy).filter(user_id, observed, material)
    drawn = _Insights(filtered, recall.prepare(user_id, filtered.kept))
    return _write(database, recall, user_id, material, drawn)


def _read_material(database: Database, user_id: str) -> InsightMaterial | str:
    """The material, or why there is none."""
    if not is_person(user_id):
        return OF_EVERYBODY
    with database.read(user_id) as view:
        last = upkeep_state(view.connection, user_id).insights_at
        if last is not None:
            if timedelta(0) <= view.now - last < timedelta(hours=limits.INSIGHT_HOURS):
                return TOO_SOON
            if not is_anything_new(view, user_id, last):
                return NOTHING_NEW
        material = gather(view, user_id, last)
    return material if material.statements else NOTHING_THERE


def _ask(model: MeteredModel, user_id: str, material: InsightMaterial) -> list[str]:
    prompt = resources.render(
        resources.INSIGHTS,
        most=limits.MAX_INSIGHTS,
        characters=limits.MAX_FORMED_CHARS,
        lately=lines_of(material.lately),
        known=lines_of(material.known),
        said=lines_of(material.said),
    )
    messages = [Message("user", prompt)]
    return model.ask(user_id, messages, Observation).observations


@retried
def _write(
    database: Database, recall: Recall, user_id: str, material: InsightMaterial, drawn: _Insights
) -> InsightReport:
    """Store insights and record the run, unless another run was faster.

    Nothing is stored if the material was changed or forgotten meanwhile.
    """
    with database.write(user_id, known=drawn.prepared.known) as writing:
        if not _is_first_run(writing, material):
            return InsightReport(skipped=OVERTAKEN)
        kept, dropped = drawn.filtered.kept, list(drawn.filtered.dropped)
        if kept and not material.is_unchanged(writing):
            dropped += ["changed_meanwhile"] * len(kept)
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
        note_upkeep(writing, insights_at=material.read_at)
    return InsightReport(written=tuple(written), dropped=len(dropped))


def _add(
    writing: WriteTransaction, recall: Recall, kept: Sequence[str], drawn: _Insights
) -> list[int]:
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
    recall.relating.note(writing, new, *drawn.prepared)
    return [item_id for item_id, _ in new]


@retried
def _note_failure(
    database: Database, user_id: str, material: InsightMaterial, problem: BadAnswer | ModelRefused
) -> InsightReport:
    with database.write(user_id) as writing:
        if not _is_first_run(writing, material):
            return InsightReport(skipped=OVERTAKEN)
        put_events(writing, [_event("ask", type(problem).__name__, EventStatus.ERROR)])
        note_upkeep(writing, insights_at=material.read_at)
    return InsightReport(skipped=NO_ANSWER)


def _is_first_run(writing: WriteTransaction, material: InsightMaterial) -> bool:
    """Whether no other run was faster, and the user still exists."""
    present = upkeep_state(writing.connection, writing.user_id).insights_at
    return not writing.is_first and present == material.last_run


def _event(
    op: str, detail: str, status: EventStatus = EventStatus.OK, **more: Any
) -> dict[str, Any]:
    return {"node": "insights", "op": op, "status": status.value, "detail": detail, **more}
