"""What formation stores of labelled conversations: the format, the scorer, the run."""

import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from ricordo import limits
from ricordo.errors import BadAnswer, ImportFailed, InvalidValue, LanguageModelError
from ricordo.formation.sensitive import SENSITIVE_FIELDS, sensitive_fields_of
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.activity import COMPLETION_TOKENS, MODEL_CALLS, PROMPT_TOKENS
from ricordo.model.record import Record
from ricordo.model.vocabulary import MemoryType, ProposalKind, Source
from ricordo.providers.embedder import Embedder
from ricordo.transfer.exports import Progress, no_progress
from ricordo.transfer.foreign_files import (
    JsonObject,
    a_list,
    a_text,
    an_object,
    kind_of,
    parsed,
    read_text,
)
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Latency, latency

ROLES: Final = ("user", "assistant", "system", "developer", "tool", "function")
TYPES: Final = tuple(kind.value for kind in MemoryType)
EVERYTHING: Final = "all"
_SUFFIX: Final = ".jsonl"
_OF_FACT: Final = ("what", "must_contain", "must_not_contain", "type", "explicit", "sensitive")
_OF_SNIPPET: Final = (
    *("id", "language", "category", "turns", "facts", "optional", "nothing", "never"),
    "note",
)

Checked = TypeVar("Checked")


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True)
class Fact:
    """One thing that should, or may, be stored or proposed.

    ``explicit`` is true when the user asked to remember it or gave a standing instruction;
    ``sensitive`` names the field that asks for consent, if any.
    """

    what: str
    must_contain: tuple[str, ...]
    must_not_contain: tuple[str, ...]
    types: tuple[str, ...]
    explicit: bool
    sensitive: str | None


@dataclass(frozen=True)
class Snippet:
    """A conversation with what has to come of it.

    ``facts`` are expected, ``optional`` are allowed, everything else is wrong; the words of
    ``never`` may stand in no stored content at all.
    """

    id: str
    language: str
    category: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    optional: tuple[Fact, ...]
    nothing: bool
    never: tuple[str, ...]
    note: str

    def said(self, *roles: str) -> str:
        """The text of all turns, or of those with one of the roles."""
        return "\n".join(turn.content for turn in self.turns if not roles or turn.role in roles)


def read_labelled(path: Path, limit: int | None = None) -> tuple[Snippet, ...]:
    """The conversations of a file, or of all ``.jsonl`` files of a folder, in order.

    ``limit`` is how many of each file are read.

    Raises:
        ImportFailed: nothing there can be read, or a line breaks the format; the message says
            where, and what is allowed.
    """
    files = sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise ImportFailed(f"{path}: no {_SUFFIX} file in this folder")
    snippets: dict[str, Snippet] = {}
    for file in files:
        text = read_text(file, limits.MAX_IMPORT_FILE_BYTES)
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        for number, line in lines[:limit]:
            place = f"{file}, line {number}"
            snippet = _snippet(place, line)
            if snippet.id in snippets:
                raise ImportFailed(f"{place}, id: {snippet.id!r} is there twice")
            snippets[snippet.id] = snippet
    if not snippets:
        raise ImportFailed(f"{path}: no conversation in it")
    return tuple(snippets.values())


def _snippet(place: str, line: str) -> Snippet:
    given = _fields(place, parsed(place, line), _OF_SNIPPET)

    def entries(name: str, read: Callable[[str, object], Checked]) -> tuple[Checked, ...]:
        listed = a_list(f"{place}, {name}", given.get(name, []))
        return tuple(
            read(f"{place}, {name} {number}", entry) for number, entry in enumerate(listed, 1)
        )

    turns = entries("turns", _turn)
    if not turns:
        raise ImportFailed(f"{place}, turns: there are none")
    facts, optional = entries("facts", _fact), entries("optional", _fact)
    nothing = _flag(f"{place}, nothing", given.get("nothing", not (facts or optional)))
    if nothing is bool(facts or optional):
        raise ImportFailed(f"{place}, nothing: must be true without facts and optional, else false")
    return Snippet(
        id=_checked(checks.reference, f"{place}, id", given.get("id")),
        language=_checked(checks.reference, f"{place}, language", given.get("language")),
        category=a_text(f"{place}, category", given.get("category", "")),
        turns=turns,
        facts=facts,
        optional=optional,
        nothing=nothing,
        never=_words(f"{place}, never", given.get("never", [])),
        note=a_text(f"{place}, note", given.get("note", "")),
    )


def _turn(place: str, entry: object) -> Turn:
    given = _fields(place, entry, ("role", "content"))
    content = f"{place}, content"
    return Turn(
        role=_one_of(f"{place}, role", given.get("role"), ROLES),
        content=_checked(checks.text, content, given.get("content"), limits.MAX_TURN_CHARS),
    )


def _fact(place: str, entry: object) -> Fact:
    given = _fields(place, entry, _OF_FACT)
    must_contain = _words(f"{place}, must_contain", given.get("must_contain", []))
    if not must_contain:
        raise ImportFailed(f"{place}, must_contain: name at least one word of the content")
    kinds = given.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else a_list(f"{place}, type", kinds)
    if not kinds:
        raise ImportFailed(f"{place}, type: name at least one of: {', '.join(TYPES)}")
    sensitive = given.get("sensitive")
    return Fact(
        what=a_text(f"{place}, what", given.get("what")),
        must_contain=must_contain,
        must_not_contain=_words(f"{place}, must_not_contain", given.get("must_not_contain", [])),
        types=tuple(_one_of(f"{place}, type", kind, TYPES) for kind in kinds),
        explicit=_flag(f"{place}, explicit", given.get("explicit", False)),
        sensitive=None
        if sensitive is None
        else _one_of(f"{place}, sensitive", sensitive, SENSITIVE_FIELDS),
    )


def _fields(place: str, value: object, allowed: Sequence[str]) -> JsonObject:
    """A misspelt field would change the score without a word, so none beside these is read."""
    given = an_object(place, value)
    for name in given:
        if name not in allowed:
            raise ImportFailed(f"{place}: {name!r} is not one of: {', '.join(allowed)}")
    return given


def _one_of(place: str, value: object, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ImportFailed(f"{place}: {value!r} is not one of: {', '.join(allowed)}")
    return str(value)


def _words(place: str, value: object) -> tuple[str, ...]:
    words = tuple(a_text(place, entry) for entry in a_list(place, value))
    if not all(word.strip() for word in words):
        raise ImportFailed(f"{place}: a word is empty, and would be in every content")
    return words


def _flag(place: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ImportFailed(f"{place}: expected true or false, got {kind_of(value)}")
    return value


def _checked(check: Callable[..., str], place: str, *value: object) -> str:
    try:
        return check(place, *value)
    except InvalidValue as problem:
        raise ImportFailed(str(problem)) from None


# Precision asks of everything stored whether it should have been; recall asks of everything
# expected whether it is there. Both are counted over memories, not over conversations, so that a
# talkative one weighs what it stores.


@dataclass(frozen=True)
class Stored:
    """A memory that was written or proposed. A ``type`` of None, of a system without types, fits
    every fact."""

    content: str
    type: str | None
    explicit: bool
    sensitive: str | None


@dataclass(frozen=True)
class Judgement:
    """One conversation's result.

    ``leaked`` are the stored contents with a word that may never be stored (they are in ``wrong``
    too). ``misflagged`` names the facts that were found but would have been treated wrongly by
    the consent step, because ``explicit`` or ``sensitive`` is not as labelled.
    """

    snippet_id: str
    language: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    leaked: tuple[str, ...]
    found: tuple[str, ...]
    missed: tuple[str, ...]
    misflagged: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Many results together. The lists pair the id of a conversation with what went wrong there."""

    precision: float
    recall: float
    stored: int
    right: int
    expected: int
    found: int
    wrong: list[tuple[str, str]]
    missed: list[tuple[str, str]]
    leaked: list[tuple[str, str]]
    misflagged: list[tuple[str, str]]


def judge(snippet: Snippet, stored: Sequence[Stored]) -> Judgement:
    """Compare what was stored with the labels.

    A memory says one thing: each stored content answers for one fact at most, and each fact is
    answered once, so a second content for the same fact is a duplicate and counts as wrong.
    """
    facts = (*snippet.facts, *snippet.optional)
    leaked = {n for n, one in enumerate(stored) if _has_any(one.content, snippet.never)}
    fitting = [
        [n for n, one in enumerate(stored) if n not in leaked and _fits(fact, one)]
        for fact in facts
    ]
    answers = _pair(fitting)
    used = set(answers.values())
    expected = range(len(snippet.facts))
    return Judgement(
        snippet_id=snippet.id,
        language=snippet.language,
        right=tuple(one.content for n, one in enumerate(stored) if n in used),
        wrong=tuple(one.content for n, one in enumerate(stored) if n not in used),
        leaked=tuple(stored[n].content for n in sorted(leaked)),
        found=tuple(facts[number].what for number in expected if number in answers),
        missed=tuple(facts[number].what for number in expected if number not in answers),
        misflagged=tuple(
            facts[number].what
            for number in sorted(answers)
            if not _same_consent(facts[number], stored[answers[number]])
        ),
    )


def total(judgements: Iterable[Judgement]) -> Figures:
    """All results in one. Where nothing was stored, or expected, the share is 1: no mistake."""
    results = list(judgements)
    right = sum(len(one.right) for one in results)
    found = sum(len(one.found) for one in results)
    wrong = [(one.snippet_id, content) for one in results for content in one.wrong]
    missed = [(one.snippet_id, what) for one in results for what in one.missed]
    return Figures(
        precision=_share(right, right + len(wrong)),
        recall=_share(found, found + len(missed)),
        stored=right + len(wrong),
        right=right,
        expected=found + len(missed),
        found=found,
        wrong=wrong,
        missed=missed,
        leaked=[(one.snippet_id, content) for one in results for content in one.leaked],
        misflagged=[(one.snippet_id, what) for one in results for what in one.misflagged],
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _fits(fact: Fact, stored: Stored) -> bool:
    content = _comparable(stored.content)
    return (
        (stored.type is None or stored.type in fact.types)
        and all(_comparable(word) in content for word in fact.must_contain)
        and not _has_any(stored.content, fact.must_not_contain)
    )


def _has_any(content: str, words: Iterable[str]) -> bool:
    comparable = _comparable(content)
    return any(_comparable(word) in comparable for word in words)


def _comparable(text: str) -> str:
    """Case does not count, diacritics do, however they are encoded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _same_consent(fact: Fact, stored: Stored) -> bool:
    return fact.explicit == stored.explicit and fact.sensitive == stored.sensitive


def _pair(fitting: Sequence[Sequence[int]]) -> dict[int, int]:
    """Fact number to content number, as many pairs as there can be, earlier facts first.

    A fact that finds its contents taken asks their facts to move to another one (augmenting
    paths), so the order in which contents were stored does not change the result, and optional
    facts, which come last, never take a content from an expected one.
    """
    taken: dict[int, int] = {}

    def find(fact: int, asked: set[int]) -> bool:
        for content in fitting[fact]:
            if content in asked:
                continue
            asked.add(content)
            if content not in taken or find(taken[content], asked):
                taken[content] = fact
                return True
        return False

    for fact in range(len(fitting)):
        find(fact, set())
    return {fact: content for content, fact in taken.items()}


# Every conversation has a user of its own in a temporary store: all its turns are observed, then
# they are formed. Time is measured around both, and divided by the turns.


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conversation. With a ``problem``, the model gave no usable answer."""

    judgement: Judgement
    ms_per_turn: float
    stored: tuple[Stored, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """A set and what became of it. ``model`` is who read, as provider:model, if any."""

    name: str
    model: str | None
    outcomes: tuple[Outcome, ...]

    @property
    def figures(self) -> Figures:
        return total(one.judgement for one in self.outcomes)

    @property
    def by_language(self) -> "dict[str, MeasuredSet]":
        """All of it first, then each language."""
        languages = sorted({one.judgement.language for one in self.outcomes})
        parts = {
            language: tuple(one for one in self.outcomes if one.judgement.language == language)
            for language in languages
        }
        return {EVERYTHING: self} | {
            language: replace(self, outcomes=part) for language, part in parts.items()
        }


def measure_formation(
    name: str,
    snippets: Sequence[Snippet],
    progress: Progress = no_progress,
    *,
    embedder: Embedder | None = None,
    settings: Mapping[str, Any] | None = None,
) -> MeasuredSet:
    """Form every conversation of a set, with the settings of the environment and those given.

    Raises:
        InvalidValue, UnknownField: a setting is not allowed.
        LanguageModelError: the model cannot be reached, or refuses, from the beginning.
    """
    outcomes: list[Outcome] = []
    given = settings or {}
    with open_memory(":memory:", run_jobs=False, embedder=embedder, **given) as memory:
        model = memory.parts.formation.model
        _warm_up(memory)
        for snippet in snippets:
            answered = any(one.problem is None for one in outcomes)
            outcomes.append(_formed(memory, snippet, goes_on=answered))
            progress(len(outcomes), len(snippets))
    return MeasuredSet(name, None if model is None else model.name, tuple(outcomes))


def _formed(memory: Memory, snippet: Snippet, *, goes_on: bool) -> Outcome:
    """An answer that cannot be used is a result; no answer is one only where it ``goes_on``."""
    user = memory.user(snippet.id)
    messages = [{"role": turn.role, "content": turn.content} for turn in snippet.turns]
    started = time.perf_counter()
    try:
        user.observe(messages, thread=snippet.id)
        problem = user.form(snippet.id).waits
    except LanguageModelError as error:
        if not goes_on and not isinstance(error, BadAnswer):
            raise
        problem = str(error)
    whole_ms = (time.perf_counter() - started) * 1_000
    counts = user.counters().counts
    stored = _stored(user)
    return Outcome(
        judge(snippet, stored),
        whole_ms / len(snippet.turns),
        stored,
        calls=counts.get(MODEL_CALLS, 0),
        prompt_tokens=counts.get(PROMPT_TOKENS, 0),
        completion_tokens=counts.get(COMPLETION_TOKENS, 0),
        problem=problem,
    )


def _warm_up(memory: Memory) -> None:
    """What is loaded once is not part of a turn. A model is not asked for this."""
    user = memory.user("bench:warm-up")
    user.observe([{"role": "user", "content": "Hello, I live in a house."}], thread="warm-up")
    if memory.parts.formation.model is None:
        user.form("warm-up")


def _stored(user: UserMemory) -> tuple[Stored, ...]:
    kept = [
        Stored(
            item.content,
            item.type.value,
            item.source is Source.USER_EXPLICIT,
            _field(sensitive_fields_of(item.content, item.source_context or "", item.key)),
        )
        for item in user.list(limit=limits.MAX_PAGE_ITEMS)
    ]
    for proposal in user.proposals():
        fields = proposal.fields if proposal.kind is ProposalKind.CONSENT else ()
        if proposal.content is not None:
            kept.append(Stored(proposal.content, str(proposal.type), False, _field(fields)))
    return tuple(kept)


def _field(touched: Collection[str]) -> str | None:
    """The field that stands first in the list of them."""
    return next((field for field in SENSITIVE_FIELDS if field in touched), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationRow(Record):
    """A set, or its conversations in one ``language``; that of all is ``all``.

    ``leaked`` counts what was stored though it may never be; ``misflagged`` what was found but
    not marked as asked for, or as sensitive, as the labels say; ``failed`` the conversations for
    which the model gave no usable answer. Times are per turn, so many as conversations.
    """

    set_name: str
    language: str
    conversations: int
    precision: float
    recall: float
    stored: int
    right: int
    expected: int
    found: int
    leaked: int
    misflagged: int
    failed: int
    per_turn: Latency
    model_calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake(Record):
    """``kind`` is wrong, missed, leaked, misflagged or failed; ``text`` the content, the name of
    the fact, or what the model said."""

    set_name: str
    conversation: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationMeasures(Record):
    """``model`` is who read, as provider:model, if any. ``mistakes`` is None where they were not
    asked for."""

    model: str | None
    rows: tuple[FormationRow, ...]
    mistakes: tuple[Mistake, ...] | None


def measures(sets: Sequence[MeasuredSet], *, with_mistakes: bool) -> FormationMeasures:
    """The figures of some sets, read alike."""
    return FormationMeasures(
        model=sets[0].model,
        rows=tuple(
            _row(language, part) for one in sets for language, part in one.by_language.items()
        ),
        mistakes=tuple(mistake for one in sets for mistake in _mistakes(one))
        if with_mistakes
        else None,
    )


def _row(language: str, measured: MeasuredSet) -> FormationRow:
    figures, outcomes = measured.figures, measured.outcomes
    return FormationRow(
        set_name=measured.name,
        language=language,
        conversations=len(outcomes),
        precision=figures.precision,
        recall=figures.recall,
        stored=figures.stored,
        right=figures.right,
        expected=figures.expected,
        found=figures.found,
        leaked=len(figures.leaked),
        misflagged=len(figures.misflagged),
        failed=sum(one.problem is not None for one in outcomes),
        per_turn=latency([one.ms_per_turn for one in outcomes]),
        model_calls=sum(one.calls for one in outcomes),
        prompt_tokens=sum(one.prompt_tokens for one in outcomes),
        completion_tokens=sum(one.completion_tokens for one in outcomes),
    )


def _mistakes(measured: MeasuredSet) -> Iterator[Mistake]:
    figures = measured.figures
    kinds = {
        "wrong": figures.wrong,
        "missed": figures.missed,
        "leaked": figures.leaked,
        "misflagged": figures.misflagged,
        "failed": [
            (one.judgement.snippet_id, one.problem)
            for one in measured.outcomes
            if one.problem is not None
        ],
    }
    for kind, found in kinds.items():
        for conversation, text in found:
            yield Mistake(set_name=measured.name, conversation=conversation, kind=kind, text=text)


def model_settings(
    provider: str | None, model: str | None, base_url: str | None, api_key: str | None
) -> dict[str, Any]:
    """Settings for a model that is named here, not by the environment; without any, none reads.

    The key may come from the environment.
    """
    if provider is None and model is None and base_url is None:
        if api_key is not None:
            raise InvalidValue("api_key", "needs a model, too")
        return dict.fromkeys(("model_provider", "model_name", "model_base_url", "model_api_key"))
    settings: dict[str, Any] = {
        "model_provider": provider or ("openai" if base_url is None else "custom_http"),
        "model_name": model,
        "model_base_url": base_url,
    }
    return settings if api_key is None else {**settings, "model_api_key": api_key}
