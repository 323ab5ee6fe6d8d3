"""What sessions of coding agents tell about a project.

Decisions, conventions, failed attempts and open ends are said: by the user, or by the agent where
the user agreed. Commands that work, and pitfalls with what helped, are seen in what was run. The
words are in ``words/work.txt``.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE, Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import LITTLE
from ricordo.formation.gate import Reading, gate
from ricordo.formation.injected import has_attack
from ricordo.formation.passages import without_blocks
from ricordo.formation.resources import pattern, words
from ricordo.formation.runs import (
    COMMIT_SUBJECT,
    COMMITTED,
    LOOKS_ONLY,
    MOST_ERROR_CHARS,
    PURPOSES,
    TAKES_BACK,
    TRIVIAL,
    Call,
    calls_in,
    essential_line,
    is_same_run,
    is_whole,
)
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.frozen import dataclass, replace
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import MemoryType
from ricordo.text.normalise import fold_letters, fold_marks
from ricordo.text.secrets import has_secret, without_secrets
from ricordo.text.spans import plain_view

WORK_THEME: Final = "project"
FILE_TAG: Final = "file:"
COMMIT_TAG: Final = "commit:"
BLOB_TAG: Final = "blob:"
_ASSISTANT: Final = "assistant"


class WorkKind(StrEnum):
    """What a memory about work is; its tag."""

    DECISION = "decision"
    CONVENTION = "convention"
    COMMAND = "command"
    PITFALL = "pitfall"
    FAILED = "failed"
    OPEN = "open"


DONE: Final = "done"
"""The kind of a candidate that only ends what was open."""
_TYPES: Final = {
    WorkKind.CONVENTION: MemoryType.INSTRUCTION,
    WorkKind.FAILED: MemoryType.EPISODE,
}
_IMPORTANCE: Final = {WorkKind.DECISION: 3, WorkKind.CONVENTION: 3, WorkKind.OPEN: 3}
_PRIVATE_FIELDS: Final = frozenset({"health", "faith", "sexuality", "identifiers"})


def _words(section: str) -> re.Pattern[str]:
    return pattern("work", section, re.IGNORECASE)


_QUESTION: Final = _words("question")
_HYPOTHETICAL: Final = _words("hypothetical")
_PERSONAL: Final = _words("personal")
_DECIDES: Final = _words("decides")
CHANGES: Final = _words("changes")
_STANDING: Final = _words("standing")
_AGREES: Final = _words("agrees")
_DENIES: Final = _words("denies")
_PROPOSES: Final = _words("proposes")
_DOES: Final = _words("does")
_HOLDS: Final = _words("holds")
_TRIED: Final = _words("tried")
_DID_NOT_WORK: Final = _words("did not work")
_GIVES_UP: Final = _words("gives up")
_DROPS: Final = _words("drops")
_LEFT: Final = _words("left")
_LEFT_BY_AGENT: Final = _words("left by an agent")
_POSTPONES: Final = _words("postpones")
_NOT_DONE: Final = _words("is done")
_RESOLVED: Final = _words("resolved")
_AS_ALWAYS: Final = _words("as always")
_ALTERNATIVES: Final = _words("alternatives")
_WITHOUT: Final = _words("without")
_GOES_ON: Final = _words("goes on")
_EITHER_OR: Final = re.compile(r"\b(?:or|oder|atau|ou|o)\b|[:;]", re.IGNORECASE)
_SETTLES: Final = _words("settles")
_REASON: Final = _words("reason")
_NO_PITFALLS: Final = frozenset({"lint", "format"})
_OPEN_PURPOSES: Final = frozenset({"test", "e2e", "build", "lint", "types"})
_OF_THE_MOMENT: Final = words("work", "of the moment")

_ASKS: Final = ("?", "？")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_QUOTE_PART: Final = re.compile(r"[^\W_][\w.+#/-]*[^\W_]|[^\W_]")
_MOST_SENTENCE_CHARS: Final = 400
_MOST_FIXES: Final = 3
_MOST_FILES: Final = 5
_LONGEST_ANSWER_WORDS: Final = 15
_FEWEST_OF_REASON: Final = 5
_FEWEST_TERMS: Final = 2
_STEM: Final = 6
_MOST_CHOSEN_WORDS: Final = 5
_RULE: Final = frozenset({"rule"})
_LIKELY: Final = 0.85
_NO_REASONS: Final = frozenset({"ask", "steps", "chat", "mood", "oneoff", "remember"})
_OPTION: Final = re.compile(r"^\W*(?:option )?(?P<name>[a-e]|[1-5])\W{0,2}(?: please| then)?\W*$")
_LISTED: Final = re.compile(
    r"(?:^|[\s,;:])\(?(?P<name>[a-e]|[1-5])[).:]\s+(?P<said>[^,;\n]{3,160})"
)
_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_FEWEST_TOLD: Final = 3
_BLOB_CHARS: Final = 16


OF_WORK: Final = words("work", "kinds of work")
"""What the gate calls statements that are about work rather than about somebody."""


def terms_of(text: str) -> frozenset[str]:
    """The words that say what a text is about, without endings."""
    found = (one.casefold() for one in _QUOTE_PART.findall(fold_letters(fold_marks(text))))
    return frozenset(
        one[:_STEM] for one in found if one not in LITTLE and one not in _OF_THE_MOMENT
    )


def read_work(
    turns: Sequence[Turn],
    first_new: int,
    passages: Sequence[Passage],
    by_model: Sequence[Candidate] = (),
) -> tuple[list[Candidate], list[tuple[str, Rejection]]]:
    """Candidates for the memory of a project, and what was refused.

    ``turns`` are those of the session so far; those from position ``first_new`` on are new.
    ``passages`` are what its user said, and ``by_model`` what a language model read in it: what
    the rules read themselves is not repeated.
    """
    session = _Session(turns, first_new, passages)
    read = list(session.read())
    read += [one for one in by_model if not any(_tells_same(one, other) for other in read)]
    found: list[Candidate] = []
    refused: list[tuple[str, Rejection]] = []
    for candidate in read:
        problem = problem_of(candidate)
        if problem is None:
            found.append(candidate)
        else:
            refused.append((without_secrets(candidate.content), problem))
    most = limits.MAX_WORK_CANDIDATES
    refused += [
        (one.content, Rejection(RejectionCode.TOO_MANY, "too many of one session"))
        for one in found[most:]
    ]
    return sorted(found[:most], key=lambda one: one.passage.position), refused


def _tells_same(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates rest on the same words, or on nearly the same."""
    if one.kind != other.kind and DONE in (one.kind, other.kind):
        return False
    if one.passage.turn_id == other.passage.turn_id:
        return one.quote in other.content or other.quote in one.quote or one.quote in other.quote
    mine, theirs = terms_of(one.content), terms_of(other.content)
    return one.kind == other.kind and 2 * len(mine & theirs) > len(mine)


def blob_tag(blobs: Mapping[str, str], files: Sequence[str]) -> str | None:
    """What tells whether any of these files has changed; None where one is not known."""
    if not files or any(one not in blobs for one in files):
        return None
    listed = "\n".join(f"{one} {blobs[one]}" for one in sorted(files))
    return f"{BLOB_TAG}{hashlib.sha256(listed.encode()).hexdigest()[:_BLOB_CHARS]}"


def is_about_work(sentence: str) -> bool:
    """Whether a sentence may be shown to an agent as what a session was about."""
    is_short = len(sentence.split()) < _FEWEST_TOLD
    return not (is_short or _PERSONAL.search(sentence) or has_secret(sentence))


def as_convention(candidate: Candidate) -> Candidate:
    """A standing instruction that was given while working on a project."""
    kind = WorkKind.CONVENTION
    return replace(candidate, kind=kind.value, theme=WORK_THEME, key=None, tags=(kind.value,))


def problem_of(candidate: Candidate) -> Rejection | None:
    """Why something must not be remembered about a project, if so."""
    said = f"{candidate.content}\n{candidate.quote}"
    if has_secret(said):
        return Rejection(RejectionCode.SECRET, "holds a secret")
    if has_attack(plain_view(said).text):
        return Rejection(RejectionCode.ADDRESSES_THE_MODEL, "speaks to the model")
    if candidate.kind == DONE or candidate.passage.role == TOOL_ROLE:
        return None
    if sensitive_fields_of(candidate.content, "", None) & _PRIVATE_FIELDS:
        return Rejection(RejectionCode.NOT_KEPT, "about a person")
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an agent said before an answer, and what the user had said before that."""

    said: str
    before: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    number: int
    of: Sequence[str]
    reading: Reading

    def is_surely(self, text: str, labels: AbstractSet[str], least: float) -> bool:
        """Whether the gate takes a sentence of the message for one of these."""
        start = self.reading.text.find(text)
        judged = self.reading.judged(start, start + len(text))
        return start >= 0 and judged.label in labels and judged.chance >= least

    @property
    def following(self) -> str:
        return self.of[self.number + 1] if self.number + 1 < len(self.of) else ""

    @property
    def preceding(self) -> str:
        return self.of[self.number - 1] if self.number else ""

    @property
    def words(self) -> int:
        return len(self.text.split())


def sentences_of(text: str) -> list[str]:
    found = (one.strip() for one in _SENTENCE.split(text))
    return [one for one in found if any(map(str.isalnum, one))]


def is_statement(sentence: str) -> bool:
    """Neither a question nor a supposition, and nothing about the speaker."""
    return not (
        len(sentence) > _MOST_SENTENCE_CHARS
        or _QUESTION.search(sentence)
        or _HYPOTHETICAL.search(sentence)
        or _PERSONAL.search(sentence)
    )


class _Session:
    def __init__(self, turns: Sequence[Turn], first_new: int, passages: Sequence[Passage]) -> None:
        self.turns = turns
        self.first_new = first_new
        self.said = {one.turn_id: one for one in passages if one.is_from_user}
        self.calls = calls_in(turns)

    def read(self) -> Iterator[Candidate]:
        told = [*self._told(), *self._left_by_agent()]
        seen = [*self._pitfalls(), *self._taken_back(told), *self._commands(), *self._failing()]
        yield from map(self._tied, told)
        yield from seen
        yield from self._done()

    # -- what is said

    def _told(self) -> Iterator[Candidate]:
        for place, turn in enumerate(self.turns):
            passage = self.said.get(turn.id)
            if passage is None or turn.position < self.first_new:
                continue
            asked = self._asked_before(place)
            reading = gate().read(passage.text)
            found: list[tuple[WorkKind, str, str]] = []
            parts = sentences_of(passage.text)
            for number, text in enumerate(parts):
                one = _Sentence(text, number, parts, reading)
                kind, content = None, ""
                if is_statement(text):
                    told = [content for _, content, _ in found]
                    kind, content = self._kind_of(one, asked, turn, told)
                is_told = kind is WorkKind.FAILED and not terms_of(text)
                if kind is None or (is_told and any(kind is before for before, _, _ in found)):
                    continue
                if found and found[-1][0] is kind and found[-1][1].endswith(one.preceding):
                    joined = content.removeprefix(one.preceding).strip()
                    found[-1] = (kind, f"{found[-1][1]} {joined}", found[-1][2])
                elif not any(text in content for _, content, _ in found):
                    found.append((kind, content, text))
            for kind, content, quote in found:
                yield replace(work_candidate(kind, content, quote, passage), answers=asked.said)

    def _asked_before(self, place: int) -> "_Asked":
        """What the agent said since the user spoke last, and what the user had said then."""
        said = ""
        for turn in reversed(self.turns[:place]):
            if turn.role == _ASSISTANT and not said:
                said = without_blocks(turn.content)
            if turn.role == USER_ROLE:
                passage = self.said.get(turn.id)
                return _Asked(said, "" if passage is None else passage.text)
        return _Asked(said, "")

    def _kind_of(
        self, one: _Sentence, asked: "_Asked", turn: Turn, told: Sequence[str]
    ) -> tuple[WorkKind | None, str]:
        text = one.text
        is_bare = not terms_of(_AGREES.sub("", text)) or _DENIES.match(text)
        if is_bare and (answer := _answer(one, asked)):
            return WorkKind.DECISION, answer
        if failed := self._failed_attempt(one, turn):
            return WorkKind.FAILED, failed
        if _LEFT.search(text) and terms_of(text) and not _GOES_ON.match(text):
            return WorkKind.OPEN, text
        if _DENIES.match(text) and not _HOLDS.search(text):
            return None, ""
        if _DECIDES.search(text):
            content = _with_reason(one, told)
            return (WorkKind.DECISION, content) if terms_of(content) else (None, "")
        is_rule = one.is_surely(text, _RULE, _LIKELY)
        if (
            (is_rule or _STANDING.search(_AS_ALWAYS.sub("", text)))
            and one.words > _FEWEST_TERMS
            and terms_of(text)
        ):
            return WorkKind.CONVENTION, text
        return (WorkKind.DECISION, answer) if (answer := _answer(one, asked)) else (None, "")

    def _failed_attempt(self, one: _Sentence, turn: Turn) -> str | None:
        text = one.text
        if _TRIED.search(text):
            if _DID_NOT_WORK.search(text) or _GIVES_UP.search(text):
                return text
            if _DID_NOT_WORK.search(one.following):
                return f"{text} {one.following}"
        if _GIVES_UP.search(text) and (terms_of(text) or one.preceding):
            return text if len(terms_of(text)) >= _FEWEST_TERMS else f"{one.preceding} {text}"
        if _DROPS.search(text) and self._has_failed_before(turn):
            parts = [text]
            if len(terms_of(text)) < _FEWEST_TERMS:
                parts = [self._wanted_before(turn), text]
            if _REASON.match(one.following):
                parts.append(one.following)
            return " ".join(filter(None, parts))
        return None

    def _has_failed_before(self, turn: Turn) -> bool:
        """Whether the last run of a command before this turn failed."""
        runs = [one for one in self.calls if one.turn.position < turn.position and one.command]
        return bool(runs) and runs[-1].failed is True

    def _wanted_before(self, turn: Turn) -> str:
        """The last sentence of what the user had asked for."""
        before = [one for one in self.turns if one.position < turn.position]
        said = (self.said.get(one.id) for one in reversed(before))
        wanted = next((one for one in said if one is not None), None)
        parts = [] if wanted is None else sentences_of(wanted.text)
        return parts[-1] if parts and _PERSONAL.search(parts[-1]) is None else ""

    def _left_by_agent(self) -> Iterator[Candidate]:
        """What the agent says is left, where it did no more, or the user put it off."""
        for place, turn in enumerate(self.turns):
            if turn.role != _ASSISTANT or turn.position < self.first_new:
                continue
            rest = self.turns[place + 1 :]
            goes_on = any(one.is_edit and one.turn.position > turn.position for one in self.calls)
            answer = next((one.content for one in rest if one.role == USER_ROLE), "")
            is_last = not any(one.role == _ASSISTANT for one in rest)
            if goes_on and not is_last and not _POSTPONES.search(answer):
                continue
            for text in sentences_of(without_blocks(turn.content)):
                is_left = _LEFT_BY_AGENT.search(text) and not text.endswith(_ASKS)
                if is_left and len(terms_of(text)) >= _FEWEST_TERMS:
                    passage = passage_of(turn, without_blocks(turn.content))
                    yield work_candidate(WorkKind.OPEN, text, text, passage)

    def _done(self) -> Iterator[Candidate]:
        """What is said to be done, and committed: it may end what was open."""
        edits = [one.turn.position for one in self.calls if one.is_edit]
        for turn in self.turns:
            if turn.position < self.first_new:
                continue
            passage = self.said.get(turn.id)
            if passage is not None:
                parts = [one for one in sentences_of(passage.text) if _RESOLVED.search(one)]
            elif turn.role == _ASSISTANT and any(one < turn.position for one in edits):
                passage = passage_of(turn, without_blocks(turn.content))
                parts = [one for one in sentences_of(passage.text) if not _NOT_DONE.search(one)]
            else:
                continue
            for text in parts:
                if not (text.endswith(_ASKS) or _LEFT.search(text)) and terms_of(text):
                    yield work_candidate(DONE, text, text, passage)
        for call in self._new(self.calls):
            subject = COMMIT_SUBJECT.search(call.command)
            if subject and call.failed is False and terms_of(subject["said"]):
                quote = subject["said"]
                yield work_candidate(DONE, quote, quote, passage_of(call.turn, call.command))

    # -- what is seen

    def _new(self, calls: Iterable[Call]) -> list[Call]:
        return [one for one in calls if one.turn.position >= self.first_new]

    def _commands(self) -> Iterator[Candidate]:
        """The command for each purpose that worked, one of them."""
        named = "\n".join(one.text for one in self.said.values())
        by_purpose: dict[str, list[Call]] = {}
        for call in self._new(self.calls):
            if call.command and call.failed is False and call.purpose is not None:
                by_purpose.setdefault(call.purpose, []).append(call)
        for purpose, runs in by_purpose.items():
            times = Counter(one.command for one in runs)

            def rank(one: Call, times: Mapping[str, int] = times) -> tuple[bool, bool, int, int]:
                command = one.command
                return command in named, is_whole(command), times[command], one.turn.position

            best = max(runs, key=rank)
            is_sure = best.command in named or times[best.command] > 1
            found = work_candidate(
                WorkKind.COMMAND,
                f"{PURPOSES[purpose][1]}: `{best.command}`",
                best.command,
                passage_of(best.turn, best.command),
            )
            yield replace(found, key=f"command: {purpose}", importance=3 if is_sure else 2)
        yield from self._repeated(named)
        for call in self._new(self.calls):
            if call.failed is False and call.command:
                done = work_candidate(
                    DONE,
                    f"`{call.command}` works",
                    call.command,
                    passage_of(call.turn, call.command),
                )
                yield replace(done, key=_open_key(call.command))

    def _repeated(self, named: str) -> Iterator[Candidate]:
        """Commands without a known purpose that worked more than once, or that the user named."""
        runs = [
            one
            for one in self._new(self.calls)
            if one.command and one.failed is False and one.purpose is None and not one.is_routine
        ]
        times = Counter(one.command for one in runs)
        for one in {call.command: call for call in runs}.values():
            if (times[one.command] > 1 or one.command in named) and is_whole(one.command):
                passage = passage_of(one.turn, one.command)
                content = f"Works: `{one.command}`"
                found = work_candidate(WorkKind.COMMAND, content, one.command, passage)
                yield replace(found, key=f"command: {one.command}"[: limits.MAX_KEY_CHARS])

    def _pitfalls(self) -> Iterator[Candidate]:
        """Commands that failed and worked later, with what was done in between."""
        open_runs: list[Call] = []
        between: dict[int, list[Call]] = {}
        for call in self.calls:
            for run in open_runs:
                between[id(run)].append(call)
            if not call.command or call.failed is None:
                continue
            met = [run for run in open_runs if is_same_run(run.command, call.command)]
            for run in met:
                open_runs.remove(run)
                since = between.pop(id(run))
                if call.turn.position >= self.first_new and self._comes_to_work(call):
                    yield from self._pitfall(run, since, call)
            if call.failed and not LOOKS_ONLY.match(call.command):
                open_runs.append(call)
                between[id(call)] = []

    def _comes_to_work(self, run: Call) -> bool:
        """Whether a run worked, or a later one did before the changes were taken back."""
        for call in self.calls[self.calls.index(run) :]:
            if TAKES_BACK.match(call.command):
                return False
            if call.failed is False and is_same_run(run.command, call.command):
                return True
        return False

    def _pitfall(self, failed: Call, since: Sequence[Call], then: Call) -> Iterator[Candidate]:
        """Of one failed run and the next run of the same: none if that failed for the same."""
        error = essential_line(failed.output)
        if not error or failed.purpose in _NO_PITFALLS or TRIVIAL.search(failed.output):
            return
        if then.failed and essential_line(then.output) == error:
            return
        files = list(dict.fromkeys(path for one in since if one.is_edit for path in one.files))
        helped = [
            one.command
            for one in since[:-1]
            if one.command
            and one.failed is False
            and not (LOOKS_ONLY.match(one.command) or TAKES_BACK.match(one.command))
        ]
        if then.command != failed.command and not then.failed:
            helped.append(then.command)
        helped = list(dict.fromkeys(helped))[-_MOST_FIXES:]
        if not files and not helped:
            return
        what = [f"`{one}`" for one in helped]
        if files:
            shown = ", ".join(files[:_MOST_FILES])
            what.append(f"a change of {shown}")
        content = f"`{failed.command}` failed: {error} What helped: {'; '.join(what)}."
        explained = self._explanation(failed, then, error, files)
        content = f"{content} {explained}".strip()
        found = work_candidate(
            WorkKind.PITFALL, content, error, passage_of(then.turn, failed.output)
        )
        yield replace(found, tags=(*found.tags, *self._ties(files)))

    def _explanation(self, failed: Call, then: Call, error: str, files: Sequence[str]) -> str:
        """What the agent said about it, in one sentence."""
        about = terms_of(error) | terms_of(" ".join(files)) | terms_of(failed.command)
        first, last = failed.turn.position, then.turn.position
        for turn in self.turns:
            if turn.role != _ASSISTANT or not first < turn.position <= last + 1:
                continue
            for text in sentences_of(without_blocks(turn.content)):
                is_short = len(text) <= MOST_ERROR_CHARS
                if is_short and not text.endswith(_ASKS) and terms_of(text) & about:
                    return text
        return ""

    def _taken_back(self, told: Sequence[Candidate]) -> Iterator[Candidate]:
        """Changes that were taken back after a command failed, where nobody said so."""
        failed: Call | None = None
        for call in self.calls:
            if call.failed is not None and call.command and call.purpose is not None:
                failed = call if call.failed else None
            if failed is None or not TAKES_BACK.match(call.command) or call.failed:
                continue
            position = call.turn.position
            is_told = any(
                one.kind == WorkKind.FAILED and 0 <= position - one.passage.position < 4
                for one in told
            )
            wanted = self._wanted_before(call.turn)
            error = essential_line(failed.output)
            if position >= self.first_new and not is_told and wanted and error:
                content = f"Tried and taken back: {wanted} `{failed.command}` failed: {error}"
                passage = passage_of(failed.turn, failed.output)
                yield work_candidate(WorkKind.FAILED, content, error, passage)
            failed = None

    def _failing(self) -> Iterator[Candidate]:
        """Commands whose last run failed."""
        last: dict[str, Call] = {}
        for call in self.calls:
            if call.command and call.failed is not None and call.purpose in _OPEN_PURPOSES:
                last[call.purpose or ""] = call
        taken_back = [one.turn.position for one in self.calls if TAKES_BACK.match(one.command)]
        for call in self._new(last.values()):
            error = essential_line(call.output)
            if not call.failed or any(one > call.turn.position for one in taken_back):
                continue
            content = f"`{call.command}` fails" + (f": {error}" if error else ".")
            passage = passage_of(call.turn, call.output or call.command)
            found = work_candidate(WorkKind.OPEN, content, error or call.command, passage)
            yield replace(found, key=_open_key(call.command))

    # -- candidates

    def _tied(self, candidate: Candidate) -> Candidate:
        """With the files that were changed for it, and the commit that they went into."""
        if candidate.kind not in (WorkKind.DECISION, WorkKind.CONVENTION):
            return candidate
        files: list[str] = []
        for call in self.calls:
            if call.turn.position <= candidate.passage.position:
                continue
            if candidate.kind == WorkKind.DECISION and call.is_edit:
                files += call.files
            found = COMMITTED.search(call.output) if "git commit" in call.command else None
            if found and call.failed is False:
                commit = f"{COMMIT_TAG}{found[1][:7]}"
                return replace(candidate, tags=(*candidate.tags, *self._ties(files), commit))
            if any(
                candidate.passage.position < one.position < call.turn.position
                for one in self.turns
                if one.role == USER_ROLE
            ):
                break
        return replace(candidate, tags=(*candidate.tags, *self._ties(files)))

    def _ties(self, files: Iterable[str]) -> tuple[str, ...]:
        """Tags of files, and what tells whether they have changed since."""
        longest = limits.MAX_TAG_CHARS - len(FILE_TAG)
        tied = [one for one in dict.fromkeys(files) if len(one) <= longest][:_MOST_FILES]
        blobs = {path: blob for call in self.calls for path, blob in call.blobs.items()}
        noted = blob_tag(blobs, tied)
        return (*(f"{FILE_TAG}{one}" for one in tied), *((noted,) if noted else ()))


def work_candidate(kind: WorkKind | str, content: str, quote: str, passage: Passage) -> Candidate:
    known = WorkKind(kind) if kind != DONE else None
    return Candidate(
        content=_tidy(content),
        quote=quote,
        passage=passage,
        type=MemoryType.FACT if known is None else _TYPES.get(known, MemoryType.FACT),
        theme=WORK_THEME,
        importance=2 if known is None else _IMPORTANCE.get(known, 2),
        is_in_own_words=True,
        kind=str(kind),
        tags=() if known is None else (known.value,),
    )


def _choice(one: _Sentence, asked: _Asked) -> str | None:
    """An answer to a choice that the user had put to the agent."""
    question = next((part for part in sentences_of(asked.before) if part.endswith(_ASKS)), "")
    wanted = terms_of(one.text)
    is_one_of_these = wanted and wanted <= terms_of(question)
    if one.words > _MOST_CHOSEN_WORDS or not is_one_of_these or not _ALTERNATIVES.search(question):
        return None
    why = one.following if is_statement(one.following) else ""
    return f"“{question}” – {one.text} {why}".strip()


def _are_named(answer: str, text: str) -> bool:
    """Whether a text has a word of an answer, however it is written together."""
    together = _NOT_LETTERS.sub("", text.casefold())
    parts = _NOT_LETTERS.sub("", " ".join(_telling(answer)).casefold())
    return bool(terms_of(answer) & terms_of(text)) or bool(parts and parts in together)


def _telling(answer: str) -> list[str]:
    return [one for one in answer.split() if terms_of(one)]


def agrees_with(answer: str) -> bool:
    """Whether an answer says yes to what was proposed."""
    first = next(iter(sentences_of(answer)), "")
    return _AGREES.match(first) is not None and not _DENIES.match(first)


def passage_of(turn: Turn, text: str) -> Passage:
    return Passage(
        turn_id=turn.id,
        position=turn.position,
        role=turn.role,
        actor=turn.actor,
        message_id=turn.message_id,
        at=turn.at,
        text=text,
        observed_by=turn.observed_by,
    )


def _with_reason(one: _Sentence, told: Sequence[str]) -> str:
    """A decision with the sentence that says why, unless that was told already."""
    text = one.text
    if _REASON.match(one.following):
        return f"{text} {one.following}"
    before = one.preceding
    is_long = len(before.split()) >= _FEWEST_OF_REASON and is_statement(before)
    is_told = any(before in content for content in told)
    is_reason = is_long and not is_told and not one.is_surely(before, _NO_REASONS, 0.0)
    return f"{before} {text}" if is_reason and not _AGREES.match(before) else text


def _answer(one: _Sentence, asked: _Asked) -> str | None:
    """What the user settles by an answer, with what it answers."""
    if not asked.said or one.words > _LONGEST_ANSWER_WORDS:
        return None
    text = one.text
    if option := _OPTION.match(text.lower()):
        listed = {found["name"]: found["said"].strip() for found in _LISTED.finditer(asked.said)}
        said = listed.get(option["name"])
        return None if said is None else f"“{said.rstrip('.?!')}” – {text}"
    agreed = _AGREES.match(text)
    rest = text[agreed.end() :] if agreed else text
    if (choice := _choice(one, asked)) is not None:
        return choice
    about = terms_of(asked.said) | terms_of(asked.before)
    if _WITHOUT.match(text) and terms_of(text) and terms_of(text) <= about:
        return text
    offers = [part for part in sentences_of(asked.said) if _PROPOSES.search(part)]
    chosen = [part for part in offers if not _DOES.search(part)]
    if agreed:
        if len(rest.split()) > _FEWEST_TERMS and _HOLDS.search(rest):
            return rest if terms_of(rest) & about else None
        return f"“{chosen[0].rstrip('.?!')}” – {text}" if chosen else None
    if denied := _DENIES.match(text):
        rest = text[denied.end() :].strip(" ,.;:–-")
        return rest if _HOLDS.search(rest) and rest else None
    named = [part for part in chosen if _are_named(text, part)]
    if not named and not _are_named(text, asked.before):
        return None
    if chosen and _are_named(text, asked.said):
        offered = (named or chosen)[0].rstrip(".?!")
        parts = (part.strip() for part in _EITHER_OR.split(offered))
        return f"{text} (“{next((one for one in parts if _are_named(text, one)), offered)}”)"
    return text if _SETTLES.search(text) else None


def _open_key(command: str) -> str:
    return f"open: {command}"[: limits.MAX_KEY_CHARS]


def _tidy(content: str) -> str:
    plain = " ".join(content.split())
    return plain[: limits.MAX_FORMED_CHARS * 2].strip()
