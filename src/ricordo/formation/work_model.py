"""What a language model reads in a session of a coding agent, checked against what was said."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import resources
from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE, Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import find_quote, reason_in_material, supports
from ricordo.formation.gate import gate
from ricordo.formation.passages import without_blocks
from ricordo.formation.runs import calls_in, essential_line
from ricordo.formation.work import (
    WorkKind,
    agrees_with,
    is_statement,
    passage_of,
    sentences_of,
    work_candidate,
)
from ricordo.formation.writing_rules import tidied
from ricordo.frozen import replace
from ricordo.metering import MeteredModel
from ricordo.model.thread import Turn
from ricordo.providers.chat_model import Message
from ricordo.text.secrets import without_secrets

_AGENT: Final = "assistant"
_MOST_AGENT_CHARS: Final = 600
_OF_THE_USER: Final = frozenset({WorkKind.DECISION, WorkKind.CONVENTION})
_NOT_MEANT: Final = frozenset({"ask", "hypo", "unsure", "fiction", "quote", "inject", "secret"})
_SURELY: Final = 0.9


class WorkEntry(BaseModel, defer_build=True):
    """One entry as the model writes it; the quote comes first, as in other extractions."""

    quote: str
    content: str
    kind: Literal["decision", "convention", "pitfall", "failed", "open"]


class WorkFound(BaseModel, defer_build=True):
    # In the schema only, not validated: excess entries are left out.
    entries: Annotated[
        list[WorkEntry], Field(json_schema_extra={"maxItems": limits.MAX_EXTRACTED_CANDIDATES})
    ]


def read_work_with_model(
    model: MeteredModel,
    user_id: str,
    turns: Sequence[Turn],
    first_new: int,
    said: Sequence[Passage],
) -> tuple[list[Candidate], list[tuple[str, Rejection]]]:
    """Candidates in the order in which they were told, and what was refused.

    Raises:
        BudgetExhausted, LanguageModelError: the model could not answer.
    """
    passages = [*said, *_of_agent(turns)]
    found: list[Candidate] = []
    refused: list[tuple[str, Rejection]] = []
    for shown in _portions(turns, first_new, model.read_chars):
        most = limits.MAX_EXTRACTED_CANDIDATES
        prompt = resources.render(resources.WORK, transcript=shown, most=most)
        answer = model.ask(user_id, [Message("user", prompt)], WorkFound)
        for entry in answer.entries[:most]:
            result = _candidate(entry, passages, turns, first_new, shown)
            if isinstance(result, Rejection):
                refused.append((without_secrets(entry.content), result))
            else:
                found.append(result)
    return sorted(found, key=lambda one: one.passage.position), refused


def _of_agent(turns: Sequence[Turn]) -> Iterator[Passage]:
    for turn in turns:
        if turn.role == _AGENT and (text := without_blocks(turn.content)):
            yield passage_of(turn, text)


def _portions(turns: Sequence[Turn], first_new: int, chars: int) -> Iterator[str]:
    """The session line by line, as much at once as the model reads."""
    lines: list[str] = []
    size = 0
    has_new = False
    for turn in turns:
        is_new = turn.position >= first_new
        line = "\n".join(f"{'NEW ' if is_new else ''}{one}" for one in _lines(turn))
        if not line:
            continue
        if lines and size + len(line) > chars:
            if has_new:
                yield "\n".join(lines)
            lines, size, has_new = [], 0, False
        lines.append(line[:chars])
        size += len(line) + 1
        has_new = has_new or is_new
    if has_new:
        yield "\n".join(lines)


def _lines(turn: Turn) -> Iterator[str]:
    if turn.role == TOOL_ROLE:
        for call in calls_in([turn]):
            if call.command:
                failed = f" failed: {essential_line(call.output)}" if call.failed else ""
                yield f"tool: {call.command}{failed}"
            elif call.is_edit:
                yield f"tool: changed {', '.join(call.files)}"
    elif turn.role in (USER_ROLE, _AGENT):
        text = " ".join(without_blocks(turn.content).split())
        if text:
            is_user = turn.role == USER_ROLE
            yield f"user: {text}" if is_user else f"agent: {text[:_MOST_AGENT_CHARS]}"


def _candidate(
    entry: WorkEntry,
    passages: Sequence[Passage],
    turns: Sequence[Turn],
    first_new: int,
    shown: str,
) -> Candidate | Rejection:
    match = find_quote(entry.quote, passages)
    if match is None:
        reason = reason_in_material(entry.quote, passages)
        if reason is not None:
            return Rejection(RejectionCode.MATERIAL, reason)
        return Rejection(RejectionCode.NO_EVIDENCE, "the quote was not said")
    passage, quote = match
    if passage.position < first_new:
        return Rejection(RejectionCode.REPEATED, "read already")
    if not supports(entry.content, quote, replace(passage, text=shown)):
        return Rejection(RejectionCode.UNSUPPORTED, "names or numbers that were not said")
    kind = WorkKind(entry.kind)
    if passage.is_from_user:
        if not _is_meant(quote, passage):
            return Rejection(RejectionCode.NOT_KEPT, "asked, supposed, or about a person")
    elif kind in _OF_THE_USER:
        agreed = _agreement(passage, passages, turns)
        if agreed is None:
            return Rejection(RejectionCode.NOT_ASKED_FOR, "nobody agreed to it")
        passage, quote = agreed, agreed.text
    content = tidied(entry.content, keep_lines=False)
    if not content:
        return Rejection(RejectionCode.EMPTY, "no statement is left")
    found = work_candidate(kind, content, quote[: limits.MAX_QUOTE_CHARS], passage)
    return replace(found, is_in_own_words=False, is_by_model=True)


def _is_meant(quote: str, passage: Passage) -> bool:
    """By the words of the sentence that the quote is in, and by the gate in other languages."""
    around = [one for one in sentences_of(passage.text) if quote in one or one in quote]
    if any(not is_statement(one) for one in around):
        return False
    start = passage.text.find(quote)
    judged = gate().read(passage.text).judged(start, start + len(quote))
    return not (judged.label in _NOT_MEANT and judged.chance >= _SURELY)


def _agreement(
    passage: Passage, passages: Sequence[Passage], turns: Sequence[Turn]
) -> Passage | None:
    """What the user said to a proposal, if that is a yes."""
    after = (one for one in turns if one.position > passage.position and one.role == USER_ROLE)
    turn = next(after, None)
    answer = None if turn is None else next((p for p in passages if p.turn_id == turn.id), None)
    return answer if answer is not None and agrees_with(answer.text) else None
