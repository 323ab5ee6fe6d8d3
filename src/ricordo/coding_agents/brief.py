"""What a coding agent's session is shown: a brief of the project when it begins, and what matters
for each prompt.

Nothing is shown twice in a session: what was shown is kept beside it in the store. All of it is
data between the markers that formation knows, so that it is never learnt from.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ricordo import fork_safety
from ricordo.coding_agents.capture import MAX_MESSAGE_CHARS, clean, thread_of
from ricordo.coding_agents.ingest import Event, Place
from ricordo.coding_agents.staleness import Standing, archive_stale, standing_of
from ricordo.errors import CheckpointNotFound
from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE
from ricordo.formation.passages import without_blocks
from ricordo.formation.runs import PURPOSES, Call, calls_in
from ricordo.formation.work import WorkKind, is_about_work, sentences_of
from ricordo.formation.work_known import kind_of, known_of_project
from ricordo.frozen import dataclass
from ricordo.limits import MAX_WORK_TURNS
from ricordo.model.item import Item
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.prompt.fence import DATA_NOTE, fenced, one_line
from ricordo.recall.search import question_in
from ricordo.storage.formation import turns_between
from ricordo.text.dates import spelled
from ricordo.text.secrets import without_secrets
from ricordo.text.tokens import TokenCounter, estimate_tokens

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.user_memory import UserMemory

DEFAULT_BRIEF_TOKENS: Final = 600
DEFAULT_PROMPT_TOKENS: Final = 300
_MOST_LINE_CHARS: Final = 240
_MOST_PROMPT_CHARS: Final = 140
_LAST_THREADS: Final = 20
_LAST_TURNS: Final = 120
_MOST_COMMITS: Final = 3
_MOST_FILES: Final = 5
_SEARCHED: Final = 20
_SHOWN_KEPT: Final = 500
_LEAST_OF_A_LINE: Final = 12  # tokens
_SHARE_OF_BEST: Final = 0.4
_COMMITTED: Final = re.compile(
    r"\[(?P<branch>[^\]\n]{1,200}?) (?P<commit>[0-9a-f]{7,40})\] (?P<said>.+)"
)

_TITLE: Final = "What is known of this project, from earlier sessions."
_FOR_PROMPT: Final = "From earlier sessions, and may matter here:"
_LAST: Final = "Last session:"
_SECTIONS: Final = (
    ("Open ends:", (WorkKind.OPEN,), 2),
    ("Decisions and conventions:", (WorkKind.DECISION, WorkKind.CONVENTION), 3),
    ("Commands that worked:", (WorkKind.COMMAND,), 2),
    ("Pitfalls:", (WorkKind.PITFALL,), 1),
    ("Tried, and did not work:", (WorkKind.FAILED,), 1),
)
"""Each with how many of it come before more of the others."""
_NOTES: Final = "Other notes of the project:"
_OF_THE_PERSON: Final = "The user's standing wishes:"
_FEW: Final = 1
_MAY_BE_OUTDATED: Final = " (may be outdated: its files have changed since)"
_FILES_GONE: Final = " (may be outdated: its files are gone)"

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text for an agent, and the memories that it shows; empty where nothing is known."""

    text: str = ""
    ids: tuple[int, ...] = ()


Brief = Shown


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    item_id: int | None = None


def brief(
    user: "UserMemory",
    project: str,
    *,
    session: str | None = None,
    root: Path | None = None,
    budget_tokens: int = DEFAULT_BRIEF_TOKENS,
    deadline: float | None = None,
    count: TokenCounter = estimate_tokens,
) -> Brief:
    """What is known of a project, for the beginning of a session; empty where nothing is.

    ``user`` is not kept to a project. ``session`` is the thread of the session that begins;
    ``root`` is where the project's files lie, to see which memories may be outdated. After
    ``deadline`` seconds it is empty, and nothing counts as shown.

    Raises:
        StorageError: the store cannot be read; nothing counts as shown.
    """

    def made() -> Brief:
        sections = list(_sections(user, project, session, root))
        return _fitted(_TITLE, sections, budget_tokens, count)

    shown = _within(deadline, made)
    if shown is not None and shown.ids and session is not None:
        _note_shown(user, session, shown.ids, begins=True)
    return shown or Brief()


def matters_for_prompt(
    user: "UserMemory",
    project: str,
    message: str,
    session: str,
    *,
    root: Path | None = None,
    budget_tokens: int = DEFAULT_PROMPT_TOKENS,
    deadline: float | None = None,
    count: TokenCounter = estimate_tokens,
) -> Shown:
    """What matters for a prompt and was not shown in this session; empty where nothing does.

    The rest is as for :func:`brief`.
    """

    def made() -> Shown:
        known = _shown_before(user, session)
        lines = [one for one in _fitting(user, project, message, root) if one.item_id not in known]
        return _fitted("", [(_FOR_PROMPT, lines, len(lines))], budget_tokens, count)

    shown = _within(deadline, made)
    if shown is not None and shown.ids:
        _note_shown(user, session, shown.ids)
    return shown or Shown()


# -- what there is


_Section = tuple[str, Sequence[_Line], int]


def _sections(
    user: "UserMemory", project: str, session: str | None, root: Path | None
) -> Iterator[_Section]:
    user_id = user.scope.user_id
    with user.database.read(user_id) as view:
        known = known_of_project(view, user_id, project)
    if last := _last_session(user, project, session):
        yield _LAST, last, len(last)
    standing = standing_of(known, root)
    for title, kinds, most in _SECTIONS:
        of_kind = [item for item in known if kind_of(item) in kinds]
        of_kind = [item for item in of_kind if not _is_left_out(item, standing[item.id])]
        of_kind.sort(key=lambda item: _rank(item, standing[item.id]))
        yield title, [_line_of(item, standing[item.id]) for item in of_kind], most
    notes = user.narrow(project=project).list(project_id=project, limit=_SEARCHED).items
    others = [one for one in notes if kind_of(one) is None and one.source is not Source.FILE]
    yield _NOTES, [_line_of(one, Standing.CURRENT) for one in others], _FEW
    wishes = user.list(type=MemoryType.INSTRUCTION, limit=_SEARCHED).items
    of_person = [one for one in wishes if one.project_id is None and one.user_id == user_id]
    lines = [_line_of(one, Standing.CURRENT) for one in of_person]
    yield _OF_THE_PERSON, lines, _FEW


def _rank(item: Item, standing: Standing) -> tuple[bool, int, int]:
    """What surely holds first, then commands in the order of their purposes, the rest by weight."""
    purpose = (item.key or "").removeprefix("command: ")
    order = list(PURPOSES).index(purpose) if purpose in PURPOSES else len(PURPOSES)
    return standing is not Standing.CURRENT, order, -item.importance


def _is_left_out(item: Item, standing: Standing) -> bool:
    """What helped against a pitfall in files that are gone is of no use."""
    return standing is Standing.GONE and kind_of(item) is WorkKind.PITFALL


def _line_of(item: Item, standing: Standing) -> _Line:
    text = one_line(without_secrets(item.content))
    if len(text) > _MOST_LINE_CHARS:
        text = f"{text[: _MOST_LINE_CHARS - 1].rstrip()}…"
    note = {Standing.CHANGED: _MAY_BE_OUTDATED, Standing.GONE: _FILES_GONE}.get(standing, "")
    since = "" if kind_of(item) is WorkKind.COMMAND else f"{spelled(item.valid_from)}: "
    return _Line(f"- {since}{text}{note}", item.id)


def _last_session(user: "UserMemory", project: str, session: str | None) -> list[_Line]:
    """When it was, on which branch, what was asked for, what came of it."""
    scoped = user.narrow(project=project)
    threads = scoped.threads(limit=_LAST_THREADS).items
    last = next(
        (
            one
            for one in threads
            if one.project_id == project and one.thread_id != session and one.turn_count
        ),
        None,
    )
    if last is None:
        return []
    user_id = user.scope.user_id
    first = max(1, last.turn_count - min(_LAST_TURNS, MAX_WORK_TURNS) + 1)
    with user.database.read(user_id) as view:
        turns = turns_between(view.connection, user_id, last.thread_id, first, last.turn_count)
    if not turns:
        return []
    calls = calls_in(turns)
    commits = [
        found
        for call in calls
        if call.failed is False and (found := _COMMITTED.search(call.output))
    ]
    day = spelled(turns[-1].at)
    branch = f", branch {one_line(commits[-1]['branch'])}" if commits else ""
    told = [_asked(turns), _outcome(turns)]
    what = "; ".join(filter(None, told))
    lines = [f"- {day}{branch}{': ' if what else ''}{what}"]
    if commits:
        said = (f"{one['commit'][:7]} {one_line(one['said'])}" for one in commits[-_MOST_COMMITS:])
        lines.append(f"- Commits: {'; '.join(said)}")
    elif files := _edited(calls):
        lines.append(f"- Changed: {', '.join(map(one_line, files[-_MOST_FILES:]))}")
    return [_Line(without_secrets(line)) for line in lines]


def _asked(turns: Sequence[Turn]) -> str:
    said = (one.content for one in turns if one.role == USER_ROLE)
    first = next((part for text in said for part in _tellable(text)), "")
    return f"asked: {_cut(first)}" if first else ""


def _outcome(turns: Sequence[Turn]) -> str:
    """What the agent said last after it had done something, or else last."""
    said: list[str] = []
    reported: list[str] = []
    has_worked = False
    for turn in turns:
        if turn.role == "assistant":
            (reported if has_worked else said).append(turn.content)
        has_worked = turn.role == TOOL_ROLE or (has_worked and turn.role != USER_ROLE)
    told = [*said, *reported]
    last = next((part for text in reversed(told) for part in _tellable(text)), "")
    return f"then: {_cut(last)}" if last else ""


def _tellable(text: str) -> Iterator[str]:
    """What of a message is about the work."""
    parts = sentences_of(without_blocks(text))
    return (one for one in parts if is_about_work(one))


def _cut(text: str) -> str:
    plain = one_line(text)
    if len(plain) <= _MOST_PROMPT_CHARS:
        return plain
    return f"{plain[: _MOST_PROMPT_CHARS - 1].rstrip()}…"


def _edited(calls: Iterable[Call]) -> list[str]:
    return list(dict.fromkeys(path for one in calls if one.is_edit for path in one.files))


def _fitting(user: "UserMemory", project: str, message: str, root: Path | None) -> Iterator[_Line]:
    """The memories that matter for a message, the surest first."""
    question = question_in(message)
    if not question:
        return
    least = user.parts.prompting.policy.threshold
    scoped = user.narrow(project=project)
    hits = scoped.search(question, limit=_SEARCHED, threshold=least)
    best = max((hit.confidence for hit in hits), default=0.0)
    sure = [hit.id for hit in hits if hit.confidence >= _SHARE_OF_BEST * best]
    if not sure:
        return
    found = {item.id: item for item in scoped.get_many(sure)}
    standing = standing_of(list(found.values()), root)
    for item in (found[one] for one in sure if one in found):
        if not _is_left_out(item, standing[item.id]):
            yield _line_of(item, standing[item.id])


# -- how much of it


def _fitted(title: str, sections: Sequence[_Section], budget: int, count: TokenCounter) -> Shown:
    """As much as fits: a few of each section, then a few more of each, and so on."""
    chosen: list[list[_Line]] = [[] for _ in sections]
    ranked = [
        (number // share, place, line)
        for place, (_, lines, share) in enumerate(sections)
        for number, line in enumerate(lines)
    ]
    text = ""
    left = budget
    for _, place, line in sorted(ranked, key=lambda one: one[:2]):
        if left < _LEAST_OF_A_LINE:
            break
        if count(line.text) > left:  # quicker than counting the whole
            continue
        chosen[place].append(line)
        wider = _text(title, sections, chosen)
        if count(wider) > budget:
            chosen[place].pop()
        else:
            text, left = wider, budget - count(wider)
    ids = [one.item_id for lines in chosen for one in lines if one.item_id is not None]
    return Shown(text, tuple(ids)) if text else Shown()


def _text(title: str, sections: Sequence[_Section], chosen: Sequence[Sequence[_Line]]) -> str:
    lines = [title] if title else []
    for (heading, _, _), of_section in zip(sections, chosen, strict=True):
        if of_section:
            lines += [heading, *(one.text for one in of_section)]
    return f"{DATA_NOTE}\n{fenced(lines)}"


# -- what was shown


def _checkpoint_of(session: str) -> str:
    return f"shown:{session}"


def _shown_before(user: "UserMemory", session: str) -> frozenset[int]:
    try:
        saved = user.load_checkpoint(_checkpoint_of(session)).state
    except CheckpointNotFound:
        return frozenset()
    return (
        frozenset(one for one in saved if isinstance(one, int))
        if isinstance(saved, list)
        else frozenset()
    )


def _note_shown(
    user: "UserMemory", session: str, ids: Sequence[int], *, begins: bool = False
) -> None:
    before = () if begins else sorted(_shown_before(user, session))
    both = [*before, *(one for one in ids if one not in before)]
    user.save_checkpoint(_checkpoint_of(session), both[-_SHOWN_KEPT:])


# -- in time


def _within(deadline: float | None, work: Callable[[], R]) -> R | None:
    """What it gives within so many seconds; None if it takes longer."""
    if deadline is None:
        return work()
    running: Future[R] = _threads().submit(work)
    try:
        return running.result(timeout=max(0.0, deadline))
    except TookTooLong:
        running.cancel()
    return None


def _made_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=4, thread_name_prefix="ricordo-brief")


_threads: Final = fork_safety.OnePerProcess(_made_threads).get

_OWN: Final = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)\s*", re.DOTALL)
_NO_PROMPTS: Final = ("<task-notification>", "<system-reminder>", "<local-command", "<command-")
"""What an agent gives as a prompt that nobody wrote."""


def at_start(memory: "Memory", place: Place, event: Event) -> str:
    """The brief of a session that starts; nothing where it goes on and has been shown one. Raises
    StorageError: the store cannot be read."""
    if event.payload.get("source") == "resume":
        return ""
    return _brief(memory, place, thread_of(event.agent, event.session_id))


def noted(memory: "Memory", place: Place) -> str:
    """The brief of the next session, whichever it is, after what is outdated for good was put
    aside. Raises StorageError: the store cannot be read."""
    if not place.rules.is_off:
        archive_stale(memory.user(place.user), place.project.id, place.project.root)
    return _brief(memory, place, None)


def _brief(memory: "Memory", place: Place, session: str | None) -> str:
    settings = place.rules.settings
    if place.rules.is_off or not settings.brief:
        return ""
    made = brief(
        memory.user(place.user),
        place.project.id,
        root=place.project.root,
        session=session,
        budget_tokens=settings.brief_tokens,
    )
    return made.text


def for_prompt(memory: "Memory", place: Place, event: Event, seconds: float) -> str:
    """What is known that matters for a prompt, and was not shown in this session yet; nothing
    where that takes longer than so many seconds."""
    settings = place.rules.settings
    prompt = _OWN.sub("", str(event.payload.get("prompt") or "")).strip()
    if place.rules.is_off or not settings.recall or not prompt or prompt.startswith(_NO_PROMPTS):
        return ""
    shown = matters_for_prompt(
        memory.user(place.user),
        place.project.id,
        clean(prompt, MAX_MESSAGE_CHARS),
        thread_of(event.agent, event.session_id),
        root=place.project.root,
        budget_tokens=settings.recall_tokens,
        deadline=seconds,
    )
    return shown.text
