"""What of a conversation may become memory: only what the user said themselves, and tool results.

A message is divided into the user's own voice and material, each stretch of it with a reason:
recalled memories, injected context, pasted text, attacks on the model and secrets. Material is cut
out. Nothing is ever put in: a passage consists of pieces of the turn, in their order, with a line
break between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE, Material, Passage, source_role
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
from ricordo.formation.cleaning.voice import Part, Reason, Voice, parts
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
_CUTTERS: Final[tuple[tuple[Reason, Cutter], ...]] = (
    (Reason.RECALLED, fence_cuts),
    (Reason.CODE, code_cuts),
    (Reason.INJECTED, _injected_cuts),
    (Reason.INJECTED, headed_cuts),
    (Reason.SECRET, secret_cuts),  # before the data, so that the words around a long key go with it
    (Reason.DATA, data_cuts),
    (Reason.QUOTATION, quotation_cuts),
    (Reason.MAIL, mail_cuts),
    (Reason.CHAT_LOG, chat_log_cuts),
    (Reason.ATTACK, attack_cuts),
)


def passages(turns: Sequence[Turn]) -> list[Passage]:
    """The parts of these turns that memory may rest on, in order; turns without any give none."""
    return [passage for passage in divided(turns) if passage.text]


def divided(turns: Sequence[Turn]) -> list[Passage]:
    """The turns that are sources, each with its own words and its material; some have no words."""
    return [_passage(turn, role) for turn in turns if (role := source_role(turn.role)) is not None]


def kept_pieces(
    content: str, *, is_from_tool: bool = False, is_from_user: bool = False
) -> list[str]:
    """The pieces of a text that are left after all cuts, each a part of it, in order.

    Of what a tool gave back, orders to the assistant are cut out too, and only the head and the
    tail of a long result are kept; of what a user says, all that is not in their own voice.
    """
    found = _parts(content, is_from_tool=is_from_tool, is_from_user=is_from_user)
    pieces = [content[start:end] for start, end in _kept(content, found)]
    return _head_and_tail(pieces, MAX_TOOL_PASSAGE_CHARS) if is_from_tool else pieces


def without_fenced(text: str) -> str:
    """Anybody's text without what ricordo recalled into it."""
    view = plain_view(text)
    cuts = [
        Part(view.original(span), Voice.MATERIAL, Reason.RECALLED)
        for span in merged(fence_cuts(view.text))
    ]
    return "\n".join(text[start:end] for start, end in _kept(text, cuts))


def _parts(content: str, *, is_from_tool: bool, is_from_user: bool) -> list[Part]:
    """What of a text is not surely its speaker's own voice, by place in the text."""
    view = plain_view(content)
    seen = view.text
    found: list[Part] = []
    cutters = (*_CUTTERS, (Reason.ORDER, order_cuts)) if is_from_tool else _CUTTERS
    for reason, cutter in cutters:
        cuts = merged(cutter(seen))
        found += [Part(span, Voice.MATERIAL, reason) for span in cuts]
        seen = blanked(seen, cuts) if cuts else seen
    if is_from_user:
        if any(part.reason is Reason.ATTACK for part in found):
            found.append(Part((0, len(seen)), Voice.UNSURE, Reason.ATTACK))
        found += parts(seen, view.text)
    return [Part(view.original(part.span), part.voice, part.reason) for part in found]


def _kept(content: str, found: Iterable[Part]) -> list[Span]:
    """The spans outside of the material that say something, without the space around them."""
    cuts = [part.span for part in found if part.voice is Voice.MATERIAL]
    kept = []
    for start, end in outside(cuts, len(content)):
        piece = content[start:end]
        if any(letter.isalnum() for letter in piece):
            left = start + len(piece) - len(piece.lstrip())
            kept.append((left, left + len(piece.strip())))
    return kept


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


def _passage(turn: Turn, role: str) -> Passage:
    is_from_user = role == USER_ROLE
    found = _parts(turn.content, is_from_tool=role == TOOL_ROLE, is_from_user=is_from_user)
    spans = _kept(turn.content, found)
    pieces = [turn.content[start:end] for start, end in spans]
    if role == TOOL_ROLE:
        pieces = _head_and_tail(pieces, MAX_TOOL_PASSAGE_CHARS)
    return Passage(
        turn_id=turn.id,
        position=turn.position,
        role=role,
        actor=turn.actor,
        message_id=turn.message_id,
        at=turn.at,
        text="\n".join(pieces),
        unsure=tuple(_places(spans, found, Voice.UNSURE, Voice.DOUBTFUL)),
        doubtful=tuple(_places(spans, found, Voice.DOUBTFUL)),
        material=tuple(
            Material(turn.content[slice(*part.span)], part.reason.value)
            for part in found
            if part.voice is Voice.MATERIAL
        ),
        observed_by=turn.observed_by,
    )


def _places(kept: Sequence[Span], found: Iterable[Part], *voices: Voice) -> Iterator[Span]:
    """Where the passage, which is the kept pieces joined, is in one of these voices."""
    spoken = merged(part.span for part in found if part.voice in voices)
    place = 0
    for start, end in kept:
        for first, last in spoken:
            if first < end and start < last:
                yield place + max(first - start, 0), place + min(last, end) - start
        place += end - start + 1
