"""Telling a conversation in short without a model: by its most telling sentences."""

import re
from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from ricordo.conversation.choosing import MAX_SENTENCE_CHARS, Sentence, shortened, within
from ricordo.formation.text_spans import sentences
from ricordo.limits import MAX_BRIDGE_CHARS, MAX_COMPACTION_CHARS
from ricordo.model.thread import Turn
from ricordo.text.analyser import Analyser

_BREAK: Final = "\n\n"
_NEWEST_SHARE: Final = 0.55  # of a bridge, for what was said last
_NEXT_SHARE: Final = 0.6  # of what is left then, for what was said before that, and so on
_OPENING_CHARS: Final = 200  # kept free for how it began
_MIN_BLOCK_CHARS: Final = 80  # less is not worth its room
_OLDEST_WEIGHT: Final = 0.5  # of what was said last; in between it rises evenly
_SPOKEN = re.compile(r"(?P<speaker>[^\s:][^:\n]{0,59}): (?P<said>\S.*)")


def extract_summary(turns: Sequence[Turn], analyser: Analyser, zone: tzinfo) -> str:
    """What was said in these turns, within ``MAX_COMPACTION_CHARS``; empty where nobody spoke."""
    from ricordo.conversation.said import sentences_of  # takes long to load

    return within(sentences_of(turns, zone), MAX_COMPACTION_CHARS, analyser)


def extended_bridge(former: str | None, summary: str, analyser: Analyser) -> str:
    """A bridge that also tells the next stretch, within ``MAX_BRIDGE_CHARS``.

    Stretches are parted by blank lines. What is older gets shorter each time, and in the end goes,
    but for how the conversation began.
    """
    parts = [part.strip("\n") for part in [*(former or "").split(_BREAK), summary]]
    blocks = [part for part in parts if part.strip()]
    joined = _BREAK.join(blocks)
    if len(joined) <= MAX_BRIDGE_CHARS:
        return joined
    newest = condensed(blocks.pop(), int(MAX_BRIDGE_CHARS * _NEWEST_SHARE), analyser)
    room = MAX_BRIDGE_CHARS - len(newest) - len(_BREAK)
    kept = [newest]
    for place in range(len(blocks) - 1, 0, -1):
        share = int((room - _OPENING_CHARS) * _NEXT_SHARE)
        if share < _MIN_BLOCK_CHARS:
            break
        kept.append(condensed(blocks[place], share, analyser))
        room -= len(kept[-1]) + len(_BREAK)
    if blocks:
        kept.append(condensed(blocks[0], room, analyser, keeps_first=True))
    return _BREAK.join(part for part in reversed(kept) if part)


def condensed(text: str, room: int, analyser: Analyser, *, keeps_first: bool = False) -> str:
    """A summary or a bridge in fewer characters; what stands later counts for more."""
    if len(text) <= room:
        return text
    lines = text.splitlines()
    found: list[Sentence] = []
    for place, line in enumerate(lines):
        spoken = _SPOKEN.fullmatch(line)
        speaker, said = (spoken["speaker"], spoken["said"]) if spoken else ("", line)
        weight = _OLDEST_WEIGHT + (1 - _OLDEST_WEIGHT) * (place + 1) / len(lines)
        for sentence in sentences(said):
            short = shortened(sentence, min(MAX_SENTENCE_CHARS, room // 2))
            if short:
                found.append(Sentence(place, speaker, short, weight))
    return within(found, room, analyser, keeps_first=keeps_first)
