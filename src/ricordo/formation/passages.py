"""Cuts out of messages what the user did not say, and renders the rest as a transcript.

Material (recalled memories, injected context, pasted text, attacks on the model, secrets) is cut
out of a message, each piece with a reason. Nothing is ever added: a passage consists of pieces of
the turn, in order, joined by line breaks. The ``…_cuts`` functions take a plain view (see
``text/spans.py``) and return the spans to cut.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE, Material, Passage
from ricordo.formation.injected import (
    attack_cuts,
    block_cuts,
    fence_cuts,
    headed_cuts,
    order_cuts,
    template_cuts,
)
from ricordo.formation.resources import pattern, words
from ricordo.formation.voice import Reason, Voice, VoicePart, parts
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_TOOL_PASSAGE_CHARS
from ricordo.model.thread import Turn, source_role
from ricordo.text.normalise import lazy_pattern
from ricordo.text.pieces import first_piece
from ricordo.text.secrets import secrets_in
from ricordo.text.spans import (
    Paragraphs,
    PlainView,
    Sentences,
    Span,
    blanked,
    lines,
    merged,
    outside,
    plain_view,
)

_FENCE = lazy_pattern(r"[ \t]*+(?P<mark>`{3,}+|~{3,}+)")
_INDENTED = lazy_pattern(r"(?: {4}|[ ]{0,3}\t)")
_LIST_ENTRY = lazy_pattern(r"[ \t]*+(?:[-*•+]|[0-9]{1,3}[.)])[ \t]")
_CODE_LINE = pattern("material", "code line")
_QUOTATION = lazy_pattern(r"[ \t]{0,8}>")

# A longer quotation is a statement, not just a word in quotation marks.
_LONG_QUOTATION = lazy_pattern(r"(?<![\w\"])\"[^\"\n]{60,4000}+\"(?!\w)|「[^「」\n]{30,2000}+」")
_QUOTED_SENTENCE = pattern("material", "quoted sentence")
_QUOTED_BLOCK = lazy_pattern(r"(?:^|\n)[ \t]*+\"[^\"]{12,8000}+\"[ \t.]*+(?=\n|$)")

# URLs, and runs of characters too long for any word
_DATA = pattern("material", "data")

_MAIL_FIELD = pattern("material", "mail field")
_MAIL_SENDERS: Final = frozenset({"from", "von", "dari", "差出人", "received"})
_MAIL_START = pattern("material", "mail start")

_MODEL_SPEAKERS: Final = words("material", "model speakers")
_PERSON_SPEAKERS: Final = words("material", "person speakers")
_SPEAKER_LINE = pattern("material", "speaker line")
_MIN_LOG_LINES: Final = 3

Cutter = Callable[[str], Iterable[Span]]

_ASSISTANT_ROLE: Final = "assistant"
_CITABLE: Final = "NEW, may be quoted"
_CONTEXT: Final = "earlier, context only"
_NO_SOURCE: Final = "not a source"

_MARK: Final = "==="
_LEFT_OUT: Final = f"characters left out here {_MARK}"
_LIKE_A_MARK = re.compile(r"[=＝﹦═〓]{3,}")
_SPACE = re.compile(r"\s+")
_CUT: Final = " … "
# A turn is left out if less than this would be shown.
_MIN_SHOWN_CHARS: Final = 40
_NOTICE_CHARS: Final = 60


def code_cuts(view: str) -> Iterator[Span]:
    """Fenced code, to the end if the fence is not closed, and unfenced lines of code."""
    fence = ""
    start = 0
    for line_start, line_end in lines(view):
        found = _FENCE.match(view, line_start, line_end)
        if fence:
            if found and found["mark"].startswith(fence):
                yield start, line_end
                fence = ""
        elif found:
            fence, start = found["mark"], line_start
        elif _CODE_LINE.match(view, line_start, line_end) or (
            _INDENTED.match(view, line_start, line_end)
            and not _LIST_ENTRY.match(view, line_start, line_end)
        ):
            yield line_start, line_end
    if fence:
        yield start, len(view)


def quotation_cuts(view: str) -> Iterator[Span]:
    for quotation in (_LONG_QUOTATION, _QUOTED_BLOCK, _QUOTED_SENTENCE):
        yield from (found.span() for found in quotation.finditer(view))
    for start, end in lines(view):
        if _QUOTATION.match(view, start, end):
            yield start, end


def mail_cuts(view: str) -> Iterator[Span]:
    """From the header of a pasted e-mail, or a signature mark, to the end of the text."""
    fields: set[str] = set()
    head = 0
    for start, end in lines(view):
        if _MAIL_START.fullmatch(view, start, end):
            yield start, len(view)
            return
        if found := _MAIL_FIELD.match(view, start, end):
            head = head if fields else start
            fields.add(found["field"])
            if len(fields) > 1 and fields & _MAIL_SENDERS:
                yield head, len(view)
                return
        elif view[start:end].strip():
            fields.clear()


def chat_log_cuts(view: str) -> Iterator[Span]:
    """A chat log: a model among the speakers, or speakers who take turns.

    From the first line with a speaker to the end of the paragraph of the last.
    """
    spoken = [
        (found.start(), found.end(), found["name"])
        for start, end in lines(view)
        if (found := _SPEAKER_LINE.match(view, start, end))
    ]
    names = Counter(name for _, _, name in spoken)
    with_model = any(name in _MODEL_SPEAKERS for name in names)
    known = {name for name in names if name in _MODEL_SPEAKERS | _PERSON_SPEAKERS}
    take_turns = len(spoken) >= _MIN_LOG_LINES and sum(n > 1 for n in names.values()) > 0
    if with_model and len(known) > 1:
        spoken = [entry for entry in spoken if entry[2] in known]
    elif not (take_turns and len(names) > 1):
        return
    yield spoken[0][0], Paragraphs(view).end_after(spoken[-1][1])


def secret_cuts(view: str) -> Iterator[Span]:
    """Sentences with a secret; a key block to the end of its paragraph.

    A line before it that ends with a colon is cut too.
    """
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in secrets_in(view):
        first, last = sentences.around(start, end)
        if view.startswith("-----begin", start):
            last = paragraphs.end_after(end)
        before = view[:first].rstrip()
        if before.endswith((":", "=")):
            first = sentences.around(len(before) - 1, len(before))[0]
        yield first, last


def _injected_cuts(view: str) -> Iterator[Span]:
    """Injected blocks, and the template around them."""
    blocks = merged(block_cuts(view))
    yield from blocks
    yield from template_cuts(blanked(view, blocks), blocks[0][0] if blocks else None)


_BEGUN_CHARS: Final = 400
_FOUND_IN_WHOLE: Final = 3  # of the following: what is between marks, which may be far apart
# In order.
_CUTTERS: Final[tuple[tuple[Reason, Cutter], ...]] = (
    (Reason.RECALLED, fence_cuts),
    (Reason.CODE, code_cuts),
    (Reason.INJECTED, _injected_cuts),
    (Reason.INJECTED, headed_cuts),
    (Reason.SECRET, secret_cuts),  # before data: cuts the words around a long key too
    (Reason.DATA, lambda view: (found.span() for found in _DATA.finditer(view))),
    (Reason.QUOTATION, quotation_cuts),
    (Reason.MAIL, mail_cuts),
    (Reason.CHAT_LOG, chat_log_cuts),
    (Reason.ATTACK, attack_cuts),
)


def passages(turns: Sequence[Turn]) -> list[Passage]:
    """The passages that memories may be formed from, in order; turns without text give none."""
    return [passage for passage in divided(turns) if passage.text]


def divided(turns: Sequence[Turn]) -> list[Passage]:
    """The passages of all turns that are sources, even with empty text."""
    return [_passage(turn, role) for turn in turns if (role := source_role(turn.role)) is not None]


def kept_pieces(
    content: str, *, is_from_tool: bool = False, is_from_user: bool = False
) -> list[str]:
    """The pieces of a text that are left after all cuts, in order.

    Of a tool result, orders to the assistant are cut out too, and a long one is cut to its head and
    tail; of a user's message, everything that is not in their own voice.
    """
    found = _parts(content, is_from_tool=is_from_tool, is_from_user=is_from_user)
    pieces = [content[start:end] for start, end in _kept(content, found)]
    return _head_and_tail(pieces, MAX_TOOL_PASSAGE_CHARS) if is_from_tool else pieces


def both_ends(content: str) -> str:
    """A text, or the beginning and end of one that is too long to be read whole.

    Code and injected blocks are cut out of the whole: in a part they could not be recognised.
    """
    if len(content) <= limits.MAX_READ_TURN_CHARS:
        return content
    kept = "\n\n".join(_left(content, _CUTTERS[:_FOUND_IN_WHOLE]))
    half = limits.MAX_READ_TURN_CHARS // 2
    if len(kept) <= 2 * half:
        return kept or "…"
    tail = kept[-half:]
    begun = first_piece(tail, _BEGUN_CHARS)  # probably in the middle of a line
    return f"{first_piece(kept, half)}\n\n…\n\n{tail[len(begun) :]}"


def without_fenced(text: str) -> str:
    """The text without memories that ricordo recalled into it."""
    return "\n".join(_left(text, [(Reason.RECALLED, fence_cuts)]))


def without_blocks(text: str) -> str:
    """What an agent writes, without code and blocks that a program put in."""
    return "\n".join(_left(text, _CUTTERS[:_FOUND_IN_WHOLE]))


def _left(content: str, cutters: Iterable[tuple[Reason, Cutter]]) -> list[str]:
    view = plain_view(content)
    found, _ = _cut(view.text, cutters)
    return [content[start:end] for start, end in _kept(content, _in_original(view, found))]


def _cut(view: str, cutters: Iterable[tuple[Reason, Cutter]]) -> tuple[list[VoicePart], str]:
    """The material, and the view without it. Each cutter sees it without the earlier cuts."""
    found: list[VoicePart] = []
    for reason, cutter in cutters:
        cuts = merged(cutter(view))
        found += [VoicePart(span, Voice.MATERIAL, reason) for span in cuts]
        view = blanked(view, cuts) if cuts else view
    return found, view


def _in_original(view: PlainView, found: Iterable[VoicePart]) -> list[VoicePart]:
    return [replace(part, span=view.original(part.span)) for part in found]


def _parts(content: str, *, is_from_tool: bool, is_from_user: bool) -> list[VoicePart]:
    """The parts of a text that are not certainly the speaker's own voice."""
    view = plain_view(content)
    cutters = (*_CUTTERS, (Reason.ORDER, order_cuts)) if is_from_tool else _CUTTERS
    found, seen = _cut(view.text, cutters)
    if is_from_user:
        if any(part.reason is Reason.ATTACK for part in found):
            found.append(VoicePart((0, len(seen)), Voice.UNSURE, Reason.ATTACK))
        found += parts(seen, view.text)
    return _in_original(view, found)


def _kept(content: str, found: Iterable[VoicePart]) -> list[Span]:
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


def _places(kept: Sequence[Span], found: Iterable[VoicePart], *voices: Voice) -> Iterator[Span]:
    spoken = merged(part.span for part in found if part.voice in voices)
    place = 0
    for start, end in kept:
        for first, last in spoken:
            if first < end and start < last:
                yield place + max(first - start, 0), place + min(last, end) - start
        place += end - start + 1


@dataclass(frozen=True, slots=True)
class Transcript:
    """``passages``: the new ones that the text shows, at least in part; only they may be quoted."""

    text: str
    passages: tuple[Passage, ...]

    def pieces(self, chars: int) -> list[str]:
        """The text, or pieces of about this many characters where it is much longer.

        A turn longer than that goes on in the next piece, under its header. Pieces without a turn
        that may be quoted are left out.
        """
        if len(self.text) <= 2 * chars:
            return [self.text]
        made: list[str] = []
        header = ""
        for block in self.text.removeprefix(f"{_MARK} ").split(f"\n\n{_MARK} "):
            first, _, body = block.partition("\n")
            if not first.endswith(_LEFT_OUT):  # else the turn goes on
                header = f"{_MARK} {first}\n"
            for part in filter(None, _parts_of(body, chars)):
                if made and len(made[-1]) + len(part) <= chars:
                    made[-1] += f"\n\n{header}{part}"
                else:
                    made.append(f"{header}{part}")
        return [piece for piece in made if f"| {_CITABLE} {_MARK}\n" in piece]


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

    User messages and tool results are shown without material, and may be quoted from
    ``first_new_position`` on. Assistant messages are shortened; all others and empty turns are left
    out.

    Each turn is a block under a header line. Anything like a header inside a turn is changed, so
    that nobody can put words into another's mouth.
    """
    cleaned = {passage.turn_id: passage for passage in passages(turns)}
    blocks = []
    for turn in turns:
        passage = cleaned.get(turn.id)
        if passage is not None:
            is_new = turn.position >= first_new_position
            who = USER_ROLE if passage.is_from_user else "tool result"
            header = _header(turn, who, _CITABLE if is_new else _CONTEXT)
            blocks.append(_Block(header, _harmless(passage.text), passage if is_new else None))
        elif turn.role == _ASSISTANT_ROLE:
            blocks.append(_Block(_header(turn, _ASSISTANT_ROLE, _NO_SOURCE), _reply(turn), None))
    return _fitted([block for block in blocks if block.body], limits.MAX_TRANSCRIPT_CHARS)


def _parts_of(text: str, chars: int) -> Iterator[str]:
    """A text in parts of about this many characters, divided between sentences where it can be."""
    part = ""
    for start, end in Sentences(text).spans():
        for place in range(start, end, chars):
            sentence = text[place : min(place + chars, end)]
            if part and len(part) + len(sentence) > chars:
                yield part.strip()
                part = ""
            part += sentence
    yield part.strip()


def _header(turn: Turn, who: str, use: str) -> str:
    actor = f" ({_name(turn.actor)})" if turn.actor else ""
    when = turn.at.strftime("%A, %Y-%m-%d %H:%M")
    return f"{_MARK} turn {turn.position} | {who}{actor} | {when} | {use} {_MARK}"


def _reply(turn: Turn) -> str:
    said = without_fenced(turn.content)
    if turn.tool_calls and said.startswith("[calls "):
        said = ""  # the placeholder of a message that only calls tools
    shown = [_harmless(_shortened(said, limits.MAX_TRANSCRIPT_REPLY_CHARS))] if said else []
    calls = turn.tool_calls or []
    shown += [f"calls {_called(call)}" for call in calls[: limits.MAX_TRANSCRIPT_CALLS]]
    if len(calls) > limits.MAX_TRANSCRIPT_CALLS:
        shown.append(f"and {len(calls) - limits.MAX_TRANSCRIPT_CALLS} more calls")
    return "\n".join(shown)


def _called(call: object) -> str:
    """A tool call as ``name(arguments)``, in the formats of the common chat APIs."""
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
    plain = _SPACE.sub(" ", _harmless(str(name)).replace("|", "/").replace("\x00", ""))
    return plain[: limits.MAX_TRANSCRIPT_NAME_CHARS].strip()


def _harmless(text: str) -> str:
    return _LIKE_A_MARK.sub("==", text)


def _shortened(text: str, maximum: int) -> str:
    if len(text) <= maximum:
        return text
    half = (maximum - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"


def _fitted(blocks: Sequence[_Block], maximum: int) -> Transcript:
    """All blocks if they fit, else blocks and parts of blocks from both ends."""
    whole = "\n\n".join(block.whole for block in blocks)
    if len(whole) <= maximum:
        return _transcript(whole, blocks)
    room = (maximum - _NOTICE_CHARS) // 2
    head, first_left, taken = _head(blocks, room)
    tail, shown_from_end = _tail(blocks[first_left:], room, taken)
    kept = len("\n\n".join([*head, *tail]))
    notice = f"{_MARK} {len(whole) - kept} {_LEFT_OUT}"
    shown = [*blocks[: first_left + (taken > 0)], *blocks[len(blocks) - shown_from_end :]]
    return _transcript("\n\n".join([*head, notice, *tail]), shown)


def _head(blocks: Sequence[_Block], room: int) -> tuple[list[str], int, int]:
    """Blocks from the start; the index of the first one cut, and how much of it is shown."""
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
