"""What is remembered of the sessions of a set, and what of it the next session is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.work.sessions import Expected, Session
from ricordo.coding_agents.brief import brief, matters_for_prompt
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.memory import Memory
from ricordo.model.item import Item
from ricordo.testing import ManualClock
from ricordo.text.tokens import estimate_tokens
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

KINDS = ("decision", "convention", "command", "pitfall", "failed", "open")
ALL = "all"
_USER = "ana"
BRIEF_TOKENS = 600


@dataclass(slots=True)
class Tally:
    """Of one kind: what should be known and was, and what is remembered and should be."""

    expected: int = 0
    found: int = 0
    stored: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.expected if self.expected else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.stored if self.stored else 1.0


@dataclass(slots=True)
class Measured:
    """``needed``: what the first prompts of sessions need of earlier ones; how much of it was
    ``in_brief``, ``in_prompt`` and in either. ``shown``: memories shown for prompts, and how many
    of these were needed. ``tokens``: of each brief.

    ``outdated``: what is remembered though it is over. ``never``: what is remembered
    though it must not be. ``personal``: what is remembered of the person, not of a project.
    """

    kinds: dict[str, Tally] = field(default_factory=dict)
    over: int = 0
    outdated: list[str] = field(default_factory=list)
    forbidden: int = 0
    never: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    personal: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    needed: int = 0
    in_brief: int = 0
    in_prompt: int = 0
    in_either: int = 0
    prompts: int = 0
    shown: int = 0
    shown_needed: int = 0
    tokens: list[int] = field(default_factory=list)
    not_shown: list[str] = field(default_factory=list)


def measure(sessions: Sequence[Session], **settings: Any) -> Measured:
    """Observe and form session by session, with a clock that goes along."""
    measured = Measured({kind: Tally() for kind in (*KINDS, ALL)})
    clock = ManualClock()
    settings = {"model_provider": None, "upkeep": False, **settings}
    with open_memory(":memory:", run_jobs=False, clock=clock, **settings) as memory:
        for project in dict.fromkeys(one.project for one in sessions):
            of_project = [one for one in sessions if one.project == project]
            for session in of_project:
                _show(measured, memory, clock, of_project, session)
                _form(memory, clock, session)
            _judge(measured, of_project, memory.user(_USER), project)
        personal = _listed(memory.user(_USER))
        measured.personal = [one.content for one in personal if one.project_id is None]
    return measured


def _show(
    measured: Measured,
    memory: Memory,
    clock: ManualClock,
    sessions: Sequence[Session],
    session: Session,
) -> None:
    """The brief of a session and what is shown for its first prompt, each as if it were alone."""
    clock.set(session.at)
    user = memory.user(_USER)
    known = {one.id: one for other in sessions for one in other.known}
    begun = brief(user, session.project, session=session.thread, budget_tokens=BRIEF_TOKENS)
    prompt = matters_for_prompt(
        user, session.project, session.first_prompt, f"{session.thread} alone"
    )
    if begun.text:
        measured.tokens.append(estimate_tokens(begun.text))
    texts = [
        [(kind_of(one), one.content) for one in user.get_many(shown.ids)] if shown.ids else []
        for shown in (begun, prompt)
    ]
    for name in session.needs:
        in_brief, in_prompt = (
            any(known[name].is_said_by(kind, text) for kind, text in shown) for shown in texts
        )
        measured.needed += 1
        measured.in_brief += in_brief
        measured.in_prompt += in_prompt
        measured.in_either += in_brief or in_prompt
        if not in_prompt:
            measured.not_shown.append(f"{session.id} {name}: {session.first_prompt[:80]}")
    needs = [known[name] for name in session.needs]
    measured.prompts += bool(prompt.ids)
    measured.shown += len(texts[1])
    measured.shown_needed += sum(
        any(one.is_said_by(kind, text) for one in needs) for kind, text in texts[1]
    )


def _form(memory: Memory, clock: ManualClock, session: Session) -> None:
    clock.set(session.at + timedelta(minutes=len(session.turns)))
    user = memory.user(_USER, project=session.project)
    user.observe(list(session.turns), thread=session.thread)
    user.form(session.thread)


def _listed(user: UserMemory) -> list[Item]:
    return list(user.list(limit=MAX_PAGE_ITEMS).items)


def _judge(measured: Measured, sessions: Sequence[Session], user: UserMemory, project: str) -> None:
    kept = [one for one in _listed(user) if one.project_id == project]
    over = {name for session in sessions for name in session.over}
    known = [one for session in sessions for one in session.known]
    current = [one for one in known if one.id not in over]
    also = [one for session in sessions for one in session.also]
    never = [one for session in sessions for one in session.never]
    ended = [one for one in known if one.id in over]
    measured.over += len(ended)
    measured.forbidden += len(never)
    for expected in current:
        found = any(_says(item, expected) for item in kept)
        kind = expected.kinds[0]
        for tally in (measured.kinds[kind], measured.kinds[ALL]):
            tally.expected += 1
            tally.found += found
        if not found:
            measured.missed.append(f"{project} {expected.id} {expected.words}")
    for item in kept:
        right = any(_says(item, one) for one in (*current, *also))
        outdated = next((one for one in ended if _says(item, one)), None)
        for tally in (measured.kinds[kind_of(item)], measured.kinds[ALL]):
            tally.stored += 1
            tally.right += right
        line = f"{project} {kind_of(item)}: {item.content}"
        measured.stored.append(line)
        if not right and outdated is not None:
            measured.outdated.append(line)
        elif not right:
            measured.wrong.append(line)
        measured.never += [f"{one.id}: {line}" for one in never if _says(item, one)]


def kind_of(item: Item) -> str:
    return next((kind for kind in KINDS if kind in item.tags), ALL)


def _says(item: Item, expected: Expected) -> bool:
    return expected.is_said_by(kind_of(item), item.content)
