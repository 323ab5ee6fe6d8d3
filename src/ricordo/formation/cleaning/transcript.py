"""A conversation as text for a model that is to find memories in it.

Every turn is a block under a header line. Only ricordo writes header lines: what looks like one in
a turn is changed, so that nobody can put words into another's mouth.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import USER_ROLE, Passage
from ricordo.formation.cleaning.hygiene import passages, without_fenced
from ricordo.model.thread import Turn

_ASSISTANT_ROLE: Final = "assistant"
_CITABLE: Final = "NEW, may be quoted"
_CONTEXT: Final = "earlier, context only"
_NO_SOURCE: Final = "not a source"

_MARK: Final = "==="
_LIKE_A_MARK = re.compile(r"[=＝﹦═〓]{3,}")
_SPACE = re.compile(r"\s+")
_CUT: Final = " … "
# Of a turn that is cut, at least so much is shown; with less room it is left out.
_MIN_SHOWN_CHARS: Final = 40
_NOTICE_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Transcript:
    """``passages``: the new ones that the text shows, whole or in part; only they may be quoted."""

    text: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    header: str
    body: str
    citable: Passage | None

    @property
    def whole(self) -> str:
        return f"{self.header}\n{self.body}"


def render(turns: Sequence[Turn], *, first_new_position: int) -> Transcript:
    """The turns as text of at most ``MAX_TRANSCRIPT_CHARS``, head and tail kept.

    What users said and tools gave back is shown after hygiene, and may be quoted from
    ``first_new_position`` on. What the assistant said is shown in short; what a system or anybody
    else said is left out, and so are turns of which nothing is left.
    """
    cleaned = {passage.turn_id: passage for passage in passages(turns)}
    blocks = []
    for turn in turns:
        passage = cleaned.get(turn.id)
        if passage is not None:
            blocks.append(_of_source(turn, passage, is_new=turn.position >= first_new_position))
        elif turn.role == _ASSISTANT_ROLE:
            blocks.append(_Block(_header(turn, _ASSISTANT_ROLE, _NO_SOURCE), _reply(turn), None))
    return _fitted([block for block in blocks if block.body], limits.MAX_TRANSCRIPT_CHARS)


def _of_source(turn: Turn, passage: Passage, *, is_new: bool) -> _Block:
    who = USER_ROLE if passage.is_from_user else "tool result"
    header = _header(turn, who, _CITABLE if is_new else _CONTEXT)
    return _Block(header, _harmless(passage.text), passage if is_new else None)


def _header(turn: Turn, who: str, standing: str) -> str:
    actor = f" ({_name(turn.actor)})" if turn.actor else ""
    when = turn.at.strftime("%A, %Y-%m-%d %H:%M")
    return f"{_MARK} turn {turn.position} | {who}{actor} | {when} | {standing} {_MARK}"


def _reply(turn: Turn) -> str:
    said = without_fenced(turn.content)
    if turn.tool_calls and said.startswith("[calls "):
        said = ""  # what stands in for the content of a message that only calls tools
    shown = [_harmless(_shortened(said, limits.MAX_TRANSCRIPT_REPLY_CHARS))] if said else []
    calls = turn.tool_calls or []
    shown += [f"calls {_called(call)}" for call in calls[: limits.MAX_TRANSCRIPT_CALLS]]
    if len(calls) > limits.MAX_TRANSCRIPT_CALLS:
        shown.append(f"and {len(calls) - limits.MAX_TRANSCRIPT_CALLS} more calls")
    return "\n".join(shown)


def _called(call: object) -> str:
    """A tool call as ``name(arguments)``, in the forms of the common chat programs."""
    described = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(described, Mapping):
        return "tool()"
    arguments = described.get("arguments", described.get("input", ""))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    shown = _SPACE.sub(" ", without_fenced(arguments))
    name = _name(described.get("name") or "tool")
    return _harmless(f"{name}({_shortened(shown, limits.MAX_TRANSCRIPT_CALL_CHARS)})")


def _name(name: object) -> str:
    """A name on one line, without the signs that part a header."""
    plain = _SPACE.sub(" ", _harmless(str(name)).replace("|", "/").replace("\x00", ""))
    return plain[: limits.MAX_TRANSCRIPT_NAME_CHARS].strip()


def _harmless(text: str) -> str:
    """The text without anything that could be taken for the mark of a header."""
    return _LIKE_A_MARK.sub("==", text)


def _shortened(text: str, maximum: int) -> str:
    if len(text) <= maximum:
        return text
    half = (maximum - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"


def _fitted(blocks: Sequence[_Block], maximum: int) -> Transcript:
    """All blocks if they fit, else as many whole ones and parts as do from both ends."""
    whole = "\n\n".join(block.whole for block in blocks)
    if len(whole) <= maximum:
        return _transcript(whole, blocks)
    room = (maximum - _NOTICE_CHARS) // 2
    head, first_left, taken = _head(blocks, room)
    tail, shown_from_end = _tail(blocks[first_left:], room, taken)
    kept = len("\n\n".join([*head, *tail]))
    notice = f"{_MARK} {len(whole) - kept} characters left out here {_MARK}"
    shown = [*blocks[: first_left + (taken > 0)], *blocks[len(blocks) - shown_from_end :]]
    return _transcript("\n\n".join([*head, notice, *tail]), shown)


def _head(blocks: Sequence[_Block], room: int) -> tuple[list[str], int, int]:
    """Blocks from the start; the place of the first not shown whole, and how much of it is."""
    shown: list[str] = []
    for place, block in enumerate(blocks):
        if len(block.whole) > room:
            part = room - len(block.header) - 1
            if part < _MIN_SHOWN_CHARS:
                return shown, place, 0
            return [*shown, f"{block.header}\n{block.body[:part]}"], place, part
        shown.append(block.whole)
        room -= len(block.whole) + 2
    return shown, len(blocks), 0


def _tail(blocks: Sequence[_Block], room: int, taken: int) -> tuple[list[str], int]:
    """Blocks from the end, and how many; ``taken`` characters of the first are shown already.

    The rest of a block that the head began follows without a header, right after the notice.
    """
    shown: list[str] = []
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        was_begun = place == 0 and taken > 0
        text = block.body[taken:] if was_begun else block.whole
        if len(text) > room:
            part = room if was_begun else room - len(block.header) - 1
            if part < _MIN_SHOWN_CHARS:
                break
            body = block.body[-part:]
            return [body if was_begun else f"{block.header}\n{body}", *shown], len(shown) + 1
        shown.insert(0, text)
        room -= len(text) + 2
    return shown, len(shown)


def _transcript(text: str, shown: Sequence[_Block]) -> Transcript:
    citable = {block.citable.turn_id: block.citable for block in shown if block.citable}
    return Transcript(text, tuple(citable.values()))
