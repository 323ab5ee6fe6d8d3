"""What of a conversation may become memory: only what the user said themselves, and tool results.

Recalled memories, injected context, pasted text, attacks on the model and secrets are cut out
first. Nothing is ever put in: a passage consists of pieces of the turn, in their order, with a line
break between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ricordo.formation.candidate import TOOL_ROLE, Passage, source_role
from ricordo.formation.cleaning.headed_context import headed_cuts, template_cuts
from ricordo.formation.cleaning.injected import FENCE_END, FENCE_START, block_cuts, fence_cuts
from ricordo.formation.cleaning.pasted import (
    chat_log_cuts,
    code_cuts,
    data_cuts,
    mail_cuts,
    quotation_cuts,
)
from ricordo.formation.cleaning.plain_view import plain_view
from ricordo.formation.cleaning.prompt_attacks import attack_cuts, order_cuts
from ricordo.formation.cleaning.secret_patterns import secret_cuts
from ricordo.formation.cleaning.text_spans import Span, blanked, merged, outside
from ricordo.limits import MAX_TOOL_PASSAGE_CHARS
from ricordo.model.thread import Turn

__all__ = ["FENCE_END", "FENCE_START", "kept_pieces", "passages", "without_fenced"]

Cutter = Callable[[str], Iterable[Span]]


def _injected_cuts(view: str) -> Iterator[Span]:
    """Injected blocks, and the template around them when there is one."""
    blocks = merged(block_cuts(view))
    yield from blocks
    yield from template_cuts(blanked(view, blocks), blocks[0][0] if blocks else None)


# In this order: each sees the text without what the ones before it cut out.
_CUTTERS: Final[tuple[Cutter, ...]] = (
    fence_cuts,
    code_cuts,
    _injected_cuts,
    headed_cuts,
    secret_cuts,  # before the data, so that the words around a long key go with it
    data_cuts,
    quotation_cuts,
    mail_cuts,
    chat_log_cuts,
    attack_cuts,
)


def passages(turns: Sequence[Turn]) -> list[Passage]:
    """The parts of these turns that memory may rest on, in order; turns without any give none."""
    found = []
    for turn in turns:
        role = source_role(turn.role)
        if role is None:
            continue
        text = "\n".join(kept_pieces(turn.content, is_from_tool=role == TOOL_ROLE))
        if text:
            found.append(_passage(turn, role, text))
    return found


def kept_pieces(content: str, *, is_from_tool: bool = False) -> list[str]:
    """The pieces of a text that are left after all cuts, each a part of it, in order.

    Of what a tool gave back, orders to the assistant are cut out too, and only the head and the
    tail of a long result are kept.
    """
    cutters = (*_CUTTERS, order_cuts) if is_from_tool else _CUTTERS
    pieces = _pieces(content, cutters)
    return _head_and_tail(pieces, MAX_TOOL_PASSAGE_CHARS) if is_from_tool else pieces


def without_fenced(text: str) -> str:
    """Anybody's text without what ricordo recalled into it."""
    return "\n".join(_pieces(text, (fence_cuts,)))


def _pieces(content: str, cutters: Iterable[Cutter]) -> list[str]:
    view = plain_view(content)
    seen = view.text
    cuts: list[Span] = []
    for cutter in cutters:
        found = merged(cutter(seen))
        cuts += found
        seen = blanked(seen, found) if found else seen
    kept = outside(map(view.original, cuts), len(content))
    pieces = (content[start:end].strip() for start, end in kept)
    return [piece for piece in pieces if any(letter.isalnum() for letter in piece)]


def _head_and_tail(pieces: list[str], maximum: int) -> list[str]:
    """The pieces if they fit when joined, else as much of both ends as does."""
    if len("\n".join(pieces)) <= maximum:
        return pieces
    half = (maximum - 1) // 2
    head = _first(pieces, half)
    tail = [piece[::-1] for piece in _first([piece[::-1] for piece in reversed(pieces)], half)]
    return [*head, *reversed(tail)]


def _first(pieces: Iterable[str], maximum: int) -> list[str]:
    taken: list[str] = []
    for piece in pieces:
        room = maximum - sum(len(part) + 1 for part in taken)
        if room <= 0:
            break
        taken.append(piece[:room])
    return taken


def _passage(turn: Turn, role: str, text: str) -> Passage:
    return Passage(
        turn_id=turn.id,
        position=turn.position,
        role=role,
        actor=turn.actor,
        message_id=turn.message_id,
        at=turn.at,
        text=text,
        observed_by=turn.observed_by,
    )
