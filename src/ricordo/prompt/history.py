"""The turns before a message, as messages of a request."""

from collections.abc import Sequence
from typing import Final

from ricordo.formation.hygiene import without_fenced
from ricordo.formation.injected import FENCE_START
from ricordo.limits import MAX_TOOL_PASSAGE_CHARS
from ricordo.model.thread import Turn
from ricordo.prompt.budget import MESSAGE_TOKENS, Purse
from ricordo.prompt.fencing import fenced, may_open_a_tag, one_line
from ricordo.text.tokens import fit_tail_tokens

Message = dict[str, str]

_USER: Final = "user"
_ASSISTANT: Final = "assistant"


def history_messages(turns: Sequence[Turn], message: str, purse: Purse) -> list[Message]:
    """The latest turns that can be paid for, in order.

    The message itself is left out where it was recorded before it is answered. Of a turn that is
    too long the end is shown, where there is room for any of it; but nothing that is fenced is cut,
    because its fence would be cut with it.
    """
    said = [shown for turn in turns if (shown := _message(turn)) is not None]
    if said and said[-1] == {"role": _USER, "content": message}:
        said.pop()
    kept: list[Message] = []
    while said:
        content = said[-1]["content"]
        price = purse.count(content) + MESSAGE_TOKENS
        if price > purse.left:
            break
        purse.left -= price
        purse.spent += price
        kept.append(said.pop())
    if said:
        purse.left_out.append(f"{len(said)} turns")
        if FENCE_START not in said[-1]["content"]:
            kept += _end_of(said[-1], purse)
    return kept[::-1]


def _end_of(message: Message, purse: Purse) -> list[Message]:
    content = fit_tail_tokens(message["content"], purse.left - MESSAGE_TOKENS, purse.count)
    price = purse.count(content) + MESSAGE_TOKENS
    if not content or price > purse.left:
        return []
    purse.left -= price
    purse.spent += price
    return [{"role": message["role"], "content": content}]


def _message(turn: Turn) -> Message | None:
    """A turn as a message.

    What ricordo once recalled into it is cut out. What a tool gave back, or a system prompt said,
    is data here: the call that it answers, and who set it up, are not part of this request.
    """
    if turn.role in (_USER, _ASSISTANT):
        content = turn.content
        if may_open_a_tag(content):
            content = without_fenced(content)
        return {"role": turn.role, "content": content} if content else None
    passage = one_line(turn.content[:MAX_TOOL_PASSAGE_CHARS])
    return {"role": _USER, "content": fenced([f"({one_line(turn.role)}) {passage}"])}
