"""Consolidation: compare near pairs of memories, and merge, supersede or link them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from ricordo import limits
from ricordo.errors import BadAnswer, LanguageModelError, ModelUnavailable
from ricordo.formation.conflicts import Judge
from ricordo.formation.schedule import FormationPolicy
from ricordo.memories.lifecycle import SYSTEM_ACTED, is_expired
from ricordo.memories.replacement import absorb
from ricordo.model.activity import Report
from ricordo.model.group import is_person
from ricordo.model.item import Item
from ricordo.model.reports import (
    CONSOLIDATION_LINKED,
    CONSOLIDATION_MERGED,
    CONSOLIDATION_PAIRS,
    CONSOLIDATION_SUPERSEDED,
    ConsolidationReport,
    PairAction,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, EventStatus, Status
from ricordo.recall.service import Recall
from ricordo.storage.activity import put_events, tally, tally_of
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.items import items_by_id, replaced_before, shared_among
from ricordo.storage.relations import add_relations, note_checked
from ricordo.storage.users import note_upkeep, upkeep_state
from ricordo.upkeep.pairs import (
    NearPair,
    Neighbours,
    PairRules,
    Ruling,
    as_question,
    read_pool,
    unchecked_pairs,
)
from ricordo.upkeep.schedule import UpkeepPolicy

NODE: Final = "consolidation"
_HISTORY: Final = {PairAction.MERGE: Event.MERGE, PairAction.SUPERSEDE: Event.SUPERSEDE}
_COUNTERS: Final = {
    PairAction.MERGE: CONSOLIDATION_MERGED,
    PairAction.SUPERSEDE: CONSOLIDATION_SUPERSEDED,
    PairAction.LINK: CONSOLIDATION_LINKED,
}
_DECIDED_BY: Final = (
    "content",
    "theme",
    "type",
    "key",
    "agent_id",
    "source",
    "valid_from",
    "valid_to",
    "expires_at",
)

DAY_IS_FULL: Final = "the day's pairs are used up"
NOT_ASKED: Final = "a dry run does not ask the model"


class PairWriter:
    """Writes decisions: each replacement in its own transaction, pairs that both stay together in
    one."""

    def __init__(self, database: Database, daily_pairs: int) -> None:
        self.database = database
        self._daily_pairs = daily_pairs

    @retried
    def apply(self, user_id: str, ruling: Ruling) -> bool:
        """Replace one memory by the other and record the pair, in one transaction.

        False where either memory has changed since, or the day's pairs are used up.
        """
        ids = [ruling.kept.id, ruling.other.id]
        with self.database.write(user_id, touching=ids) as writing:
            found = items_by_id(writing.connection, [(user_id, one) for one in ids])
            if (
                not self._left_today(writing)
                or not _is_current(ruling, found, writing.now)
                or found[ruling.other.id].pinned
                or shared_among(writing.connection, user_id, [ruling.other.id])
                or replaced_before(writing.connection, user_id, ids)
            ):
                return False
            absorb(
                writing,
                Scope(user_id, actor_id=SYSTEM_ACTED),
                ruling.kept.id,
                [ruling.other.id],
                _HISTORY[ruling.action],
                ruling.reason,
            )
            _note(writing, [ruling])
        return True

    @retried
    def note(self, user_id: str, rulings: Sequence[Ruling]) -> list[Ruling]:
        """Link and record pairs that both stay, in one transaction; returns those that were
        written."""
        ids = {item.id for ruling in rulings for item in (ruling.kept, ruling.other)}
        with self.database.write(user_id) as writing:
            found = items_by_id(writing.connection, [(user_id, one) for one in sorted(ids)])
            current = [one for one in rulings if _is_current(one, found, writing.now)]
            current = current[: self._left_today(writing)]
            links = [one for one in current if one.action is PairAction.LINK]
            add_relations(
                writing, [(one.kept.id, one.other.id, one.pair.similarity) for one in links]
            )
            _note(writing, current)
        return current

    @retried
    def note_progress(
        self, user_id: str, waiting_since: datetime | None, *, is_complete: bool
    ) -> None:
        """Record whether pairs are left, and the time of a complete consolidation."""
        with self.database.write(user_id) as writing:
            done = {"consolidated_at": writing.now} if is_complete else {}
            note_upkeep(writing, pairs_wait_since=waiting_since, **done)

    def _left_today(self, writing: WriteTransaction) -> int:
        done = tally_of(writing.connection, writing.user_id, writing.now, CONSOLIDATION_PAIRS)
        return max(0, self._daily_pairs - done)


def _is_current(ruling: Ruling, found: Mapping[int, Item], now: datetime) -> bool:
    """Whether both memories are active and unchanged since the decision."""
    for decided in (ruling.kept, ruling.other):
        item = found.get(decided.id)
        if item is None or item.status is not Status.ACTIVE or is_expired(item, now):
            return False
        if any(getattr(item, name) != getattr(decided, name) for name in _DECIDED_BY):
            return False
    return True


def _note(writing: WriteTransaction, rulings: Sequence[Ruling]) -> None:
    """Record the decisions about these pairs."""
    counts = Counter({CONSOLIDATION_PAIRS: len(rulings)})
    happened: list[dict[str, Any]] = []
    for ruling in rulings:
        kept, other = ruling.kept.id, ruling.other.id
        note_checked(writing, kept, other, ruling.pair.fingerprint, ruling.action.value)
        if ruling.action in _COUNTERS:
            counts[_COUNTERS[ruling.action]] += 1
        happened.append(
            {
                "node": NODE,
                "op": ruling.action.value,
                "status": EventStatus.OK.value,
                "item_id": kept,
                "similarity": round(ruling.pair.similarity, 4),
                "detail": f"beside memory {other}",
            }
        )
    tally(writing, counts)
    put_events(writing, happened)


@dataclass(slots=True)
class ConsolidationPlan:
    """A day's pairs, the most similar first: decided by rules, and doubtful ones.

    ``waiting`` counts the rest. Changes from ``changed_since`` on are considered.
    """

    changed_since: datetime
    ruled: list[Ruling] = field(default_factory=list)
    doubtful: list[NearPair] = field(default_factory=list)
    waiting: int = 0


def plan(
    blocks: Iterable[Sequence[NearPair]],
    most: int,
    rules: PairRules,
    has_judge: bool,
    changed_since: datetime,
) -> ConsolidationPlan:
    """Decide by rules, the most similar pairs first, up to the day's limit.

    A memory that one pair removes is not paired again. Doubtful pairs wait for the judge, or stay
    unchanged without one.
    """
    made = ConsolidationPlan(changed_since)
    gone: set[int] = set()
    for pair in (pair for block in blocks for pair in block):
        if not gone.isdisjoint((pair.older.id, pair.newer.id)):
            continue
        if len(made.ruled) + len(made.doubtful) >= most:
            made.waiting += 1
            continue
        ruling = rules.by_words(pair)
        if ruling is None and not has_judge:
            ruling = rules.keep_both(pair)
        if ruling is None:
            made.doubtful.append(pair)
            continue
        made.ruled.append(ruling)
        if ruling.removes_other:
            gone.add(ruling.other.id)
    return made


def _batch_size(pairs: Sequence[NearPair]) -> int:
    """The size of the next batch for the model, so that batches are about equal.

    At most ten and at least five, unless there are fewer.
    """
    questions = -(-len(pairs) // limits.MAX_JUDGED_PAIRS)
    return -(-len(pairs) // questions) if questions else 0


class Consolidation:
    """No state is kept between steps: every decision is recorded with its effect, so an interrupted
    run is continued by the next.
    """

    def __init__(
        self,
        database: Database,
        recall: Recall,
        formation_policy: FormationPolicy,
        policy: UpkeepPolicy,
        link_min: float,
        judge: Judge | None,
    ) -> None:
        self._database = database
        self._daily_pairs = policy.daily_pairs
        self._judge = judge
        self._neighbours = Neighbours(database, recall, formation_policy.judge_min)
        self._rules = PairRules(database.analyser, formation_policy.redundant_min, link_min)
        self._writer = PairWriter(database, policy.daily_pairs)

    def run(self, user_id: str, report: Report, *, dry_run: bool = False) -> ConsolidationReport:
        """Process as many pairs as the user's day allows.

        A dry run reports what would be done without the model, and writes nothing. ``report`` is
        called between steps and may stop the run by raising; the next run continues. Raises
        ModelUnavailable: the model is down; what could be done without it was done.
        """
        if not is_person(user_id) or not self._daily_pairs:
            return ConsolidationReport(dry_run=dry_run)
        planned = self._plan(user_id, report)
        if dry_run:
            waits = DAY_IS_FULL if planned.waiting else None
            if planned.doubtful:
                waits = NOT_ASKED
            waiting = planned.waiting + len(planned.doubtful)
            return _counted(planned.ruled, waiting, waits, dry_run=True)
        work = _Run(self._writer, self._rules, user_id, report)
        work.apply_ruled(planned.ruled)
        trouble = None if self._judge is None else work.ask(self._judge, planned.doubtful)
        if isinstance(trouble, ModelUnavailable):
            self._writer.note_progress(user_id, planned.changed_since, is_complete=False)
            raise trouble
        waiting = planned.waiting + work.unanswered
        waiting_since = planned.changed_since if waiting else None
        self._writer.note_progress(user_id, waiting_since, is_complete=True)
        waits = DAY_IS_FULL if planned.waiting else None
        if trouble is not None:
            waits = " ".join(str(trouble).split())
        return _counted(work.done, waiting, waits, dry_run=False)

    def _plan(self, user_id: str, report: Report) -> ConsolidationPlan:
        with self._database.read(user_id) as view:
            done = tally_of(view.connection, user_id, view.now, CONSOLIDATION_PAIRS)
            state = upkeep_state(view.connection, user_id)
            usual = view.now - timedelta(hours=limits.POOL_CHANGED_HOURS)
            known = (state.consolidated_at, state.pairs_wait_since)
            since = min([usual, *(moment for moment in known if moment is not None)])
            pool = read_pool(view, user_id, since)
        # Not interrupted in the middle, because the next run would start it again.
        near = self._neighbours.of(user_id, pool)
        report(f"{len(near)} near pairs of {len(pool)} memories")
        blocks = unchecked_pairs(self._database, user_id, near, since)
        most = max(0, self._daily_pairs - done)
        return plan(blocks, most, self._rules, self._judge is not None, since)


class _Run:
    def __init__(self, writer: PairWriter, rules: PairRules, user_id: str, report: Report) -> None:
        self._writer = writer
        self._rules = rules
        self._user_id = user_id
        self._report = report
        self._gone: set[int] = set()
        self.done: list[Ruling] = []
        self.unanswered = 0

    def apply_ruled(self, rulings: Sequence[Ruling]) -> None:
        """Apply the rules' decisions: replacements one by one, the others together."""
        for ruling in rulings:
            if ruling.removes_other:
                self._report(f"{len(self.done)} pairs done")
                self._apply(ruling)
        staying = [ruling for ruling in rulings if not ruling.removes_other]
        if staying:
            self._report(f"{len(self.done)} pairs done")
            self.done += self._writer.note(self._user_id, staying)

    def ask(self, judge: Judge, doubtful: Sequence[NearPair]) -> LanguageModelError | None:
        """Ask the model about doubtful pairs in batches; returns the error that left some.

        An unusable answer only leaves its own batch for another day.
        """
        trouble: LanguageModelError | None = None
        left = list(doubtful)
        while left := [pair for pair in left if self._is_there(pair)]:
            count = _batch_size(left)
            batch, left = left[:count], left[count:]
            self._report(f"{len(self.done)} pairs done, asking about {count} more")
            try:
                verdicts = judge(self._user_id, [as_question(pair) for pair in batch])
            except BadAnswer as problem:
                self.unanswered += count
                trouble = problem
                continue
            except LanguageModelError as problem:
                self.unanswered += count + len(left)
                return problem
            # Not interrupted here, which would waste the answer.
            for pair, verdict in zip(batch, verdicts, strict=True):
                if self._is_there(pair):
                    self._apply(self._rules.by_verdict(pair, verdict))
        return trouble

    def _apply(self, ruling: Ruling) -> None:
        if not ruling.removes_other:
            self.done += self._writer.note(self._user_id, [ruling])
        elif self._writer.apply(self._user_id, ruling):
            self.done.append(ruling)
            self._gone.add(ruling.other.id)

    def _is_there(self, pair: NearPair) -> bool:
        return self._gone.isdisjoint((pair.older.id, pair.newer.id))


def _counted(
    rulings: Sequence[Ruling], waiting: int, waits: str | None, *, dry_run: bool
) -> ConsolidationReport:
    actions = [one.action for one in rulings]
    return ConsolidationReport(
        pairs=len(rulings),
        merged=actions.count(PairAction.MERGE),
        superseded=actions.count(PairAction.SUPERSEDE),
        linked=actions.count(PairAction.LINK),
        waiting=waiting,
        waits=waits,
        decisions=tuple(one.decision for one in rulings),
        dry_run=dry_run,
    )
