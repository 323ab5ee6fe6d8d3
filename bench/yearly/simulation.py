"""One run of the simulation: what users do, and every job that comes due."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from bench.yearly.ledger import Ledger
from bench.yearly.store_size import StoreSize, most_jobs_of_a_user, size_of
from bench.yearly.stream import Action, Kind, Stream
from ricordo.errors import InvalidValue, Occupied, RicordoError
from ricordo.limits import MAX_CHANGES
from ricordo.memory import Memory
from ricordo.model.item import Change
from ricordo.model.proposal import Proposed
from ricordo.model.vocabulary import Source, Status
from ricordo.testing import ManualClock
from ricordo.transfer.exports import Progress
from ricordo.user_memory import UserMemory

MONTH_DAYS: Final = 30
_RESTORED_USERS: Final = 10
_RESTORED_EACH: Final = 2
_PARTS_OF_A_DAY: Final = 4  # after each of them the jobs are run that are due
_FOUND: Final = 3  # memories that a search recalls


@dataclass
class Course:
    """What came of it. ``restored`` counts the forgotten memories that were brought back to see
    whether they can be, ``taken`` those whose text somebody had stated anew meanwhile. ``asked``
    are those that users consented to, ``refused`` those that were taken for secrets: both because
    invented words resemble everything a little."""

    months: list[StoreSize] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    statements: int = 0
    asked: int = 0
    refused: int = 0
    searches: int = 0
    jobs: int = 0
    job_seconds: float = 0.0
    most_jobs: int = 0
    restored: int = 0
    taken: int = 0
    problems: list[str] = field(default_factory=list)


class Simulation:
    """Users who talk, search and are looked after, in one store with a clock of its own."""

    def __init__(self, memory: Memory, clock: ManualClock, users: int) -> None:
        self._memory = memory
        self._clock = clock
        self.streams = {name: Stream(name) for name in (f"user-{n}" for n in range(users))}
        settings = memory.settings
        self.ledgers = {
            name: Ledger(
                timedelta(days=settings.forget_after_days),
                timedelta(days=settings.purge_after_days),
            )
            for name in self.streams
        }
        self._last_job = 0
        self.course = Course()

    def run(self, days: int, progress: Progress) -> Course:
        """Let so many days go by."""
        start = self._clock()
        for day in range(1, days + 1):
            self._day(start + timedelta(days=day - 1))
            self.course.rows.append(size_of(self._memory, day).rows)
            if day % MONTH_DAYS == 0 or day == days:
                self._month(day)
            progress(day, days)
        self._check_pinned()
        self.course.problems += [
            f"{name}: {problem}"
            for name, ledger in self.ledgers.items()
            for problem in ledger.problems
        ]
        return self.course

    def _day(self, midnight: datetime) -> None:
        acted = {part: list(found) for part, found in groupby(self._acted(), _part)}
        for part in range(_PARTS_OF_A_DAY):
            for name, action in acted.get(part, ()):
                self._clock.set(midnight + timedelta(minutes=action.minute))
                self._act(name, action)
            self._clock.set(midnight + (part + 1) * timedelta(days=1) / _PARTS_OF_A_DAY)
            self._run_jobs()
        most, self._last_job = most_jobs_of_a_user(self._memory, self._last_job)
        self.course.most_jobs = max(self.course.most_jobs, most)

    def _acted(self) -> list[tuple[str, Action]]:
        everything = [
            (name, action) for name, stream in self.streams.items() for action in stream.day()
        ]
        return sorted(everything, key=lambda one: one[1].minute)

    def _act(self, name: str, action: Action) -> None:
        user, ledger, now = self._memory.user(name), self.ledgers[name], self._clock()
        if action.kind is Kind.SEARCH:
            self.course.searches += 1
            for hit in user.search(action.text, limit=_FOUND):
                ledger.touch(hit.id, now)
            return
        self.course.statements += 1
        source = Source.USER_EXPLICIT if action.is_explicit else Source.CONVERSATION
        try:
            added = user.add(
                action.text,
                theme=action.theme,
                source=source,
                importance=action.importance,
                pinned=action.is_pinned or None,  # what takes the place of one inherits its pin
            )
        except InvalidValue:
            self.course.refused += 1
            return
        if isinstance(added, Proposed):
            self.course.asked += 1
            assert added.proposal_id is not None  # nobody turns anything down here
            added = user.approve(added.proposal_id)
        if not added.duplicate:
            ledger.touch(added.id, now, is_pinned=action.is_pinned)

    def _run_jobs(self) -> None:
        started = time.process_time()
        while done := self._memory.run_jobs():
            self.course.jobs += done
        self.course.job_seconds += time.process_time() - started

    def _month(self, day: int) -> None:
        self.course.months.append(size_of(self._memory, day))
        for number, (name, ledger) in enumerate(self.ledgers.items()):
            user = self._memory.user(name)
            for change in _new_changes(user, ledger.revision):
                ledger.follow(change)
            if number < _RESTORED_USERS:
                self._bring_back(user, ledger)

    def _bring_back(self, user: UserMemory, ledger: Ledger) -> None:
        """Whether what is forgotten can be restored; it is forgotten again."""
        for item_id in ledger.restorable(self._clock())[:_RESTORED_EACH]:
            try:
                user.restore(item_id)
                user.forget(item_id)
            except Occupied:
                self.course.taken += 1
            except RicordoError as problem:
                self.course.problems.append(f"memory {item_id} cannot be restored: {problem}")
            else:
                self.course.restored += 1

    def _check_pinned(self) -> None:
        for name, ledger in self.ledgers.items():
            for item_id in ledger.pinned:
                user = self._memory.user(name)
                item = user.get(item_id)
                while after := user.lineage(item.id).successor:  # which is pinned, too
                    item = after
                if item.status is not Status.ACTIVE or not item.pinned:
                    self.course.problems.append(
                        f"{name}: pinned memory {item_id} ends as {item.id}, {item.status}"
                    )


def _part(acted: tuple[str, Action]) -> int:
    return acted[1].minute * _PARTS_OF_A_DAY // (24 * 60)


def _new_changes(user: UserMemory, since: int) -> Iterator[Change]:
    while True:
        page = user.changes(since, limit=MAX_CHANGES)
        yield from page
        if not page.more:
            return
        since = page.changes[-1].revision
