"""Summaries of conversation segments: by a model where there is one, otherwise extractive."""

import heapq
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from typing import Final

from pydantic import BaseModel

from ricordo import limits
from ricordo.errors import LanguageModelError, ModelUnavailable, in_log
from ricordo.formation import resources
from ricordo.formation.injected import attack_cuts, fence_cuts
from ricordo.formation.passages import kept_pieces, secret_cuts
from ricordo.formation.screening import holds_secret
from ricordo.frozen import dataclass
from ricordo.limits import MAX_BRIDGE_CHARS, MAX_COMPACTION_CHARS
from ricordo.metering import MeteredModel
from ricordo.model.thread import EXTRACT, Turn
from ricordo.providers.chat_model import Message
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import capitalised_inside_sentence, is_dense
from ricordo.text.spans import Span, blanked, merged, outside, plain_view, sentences

CUT_MARK: Final = "…"
MAX_SENTENCE_CHARS: Final = 240
_LONGEST_WORD: Final = 60
# The score of a sentence without any content word, such as "Yes.".
_BARE_WORTH: Final = 0.1
# Added to lengths, so that very short sentences do not win by being short.
_LENGTH_OFFSET: Final = 30
NOTHING_TO_REPEAT: Final = "[…]"
"""Stands for a turn that has nothing to repeat, such as code alone."""
SETUP_ROLES: Final = frozenset({"system", "developer"})
"""Roles that set a conversation up and are not summarised."""
_USER_ROLE: Final = "user"
_ROLE_WEIGHTS: Final = {_USER_ROLE: 1.5, "tool": 0.6, "function": 0.6}
_ENDS: Final = 1.3  # the first and the last turn
_NUMBER: Final = 1.2
_NAME: Final = 1.15
_DECISION: Final = 1.3
_OPEN_QUESTION: Final = 1.4
_REPEATS_NOTHING: Final = 0.3
# A very long turn is read from both ends.
_FIRST_SENTENCES: Final = 24
_LAST_SENTENCES: Final = 8
_MAX_SPEAKER_CHARS: Final = 40
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_QUESTION = re.compile(r"[?？¿؟]")
# Decisions and requests score a bit higher; other languages do without.
_DECIDES = re.compile(
    r"\b(?:decide[ds]?|agree[ds]?|let'?s|we'?ll|i'?ll|must|should|need to|have to|please|remember"
    r"|don'?t|never|always|instead|deadline|promise[ds]?"
    r"|sepakat|putuskan|harus|tolong|jangan|perlu|ingat"
    r"|entschieden|einigen|müssen|bitte|sollen|nie|immer"
    r"|decidido|debemos|hay que|por favor|recuerda|décidé|il faut|deciso|dobbiamo)\b"
    r"|決め|決まり|決定|必ず|お願い|ください|しましょう|决定|必须|请|记住",
    re.IGNORECASE,
)
_BREAK: Final = "\n\n"
_NEWEST_SHARE: Final = 0.55  # of a bridge, for the newest segment
_NEXT_SHARE: Final = 0.6  # of the remaining room, for the segment before, and so on
_OPENING_CHARS: Final = 200  # reserved for the beginning
_MIN_BLOCK_CHARS: Final = 80  # less is not worth it
_OLDEST_WEIGHT: Final = 0.5  # of the weight of the newest sentence; rises linearly
_SPOKEN = re.compile(r"(?P<speaker>[^\s:][^:\n]{0,59}): (?P<said>\S.*)")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPolicy:
    """How many turns are shown verbatim, and the time zone of days.

    At ``window_turns`` the oldest are summarised, and ``kept_turns`` stay.
    """

    window_turns: int
    kept_turns: int
    zone: tzinfo

    @property
    def segment_turns(self) -> int:
        return self.window_turns - self.kept_turns

    def day_of(self, moment: datetime) -> str:
        return moment.astimezone(self.zone).date().isoformat()


# Pure functions: the same sentences always give the same selection.


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """One sentence. Those of one ``place`` are joined after the speaker's name."""

    place: int
    speaker: str
    text: str
    weight: float


def within(
    sentences: Sequence[ScoredSentence], room: int, analyser: Analyser, *, keeps_first: bool = False
) -> str:
    """The best sentences that fit into ``room`` characters, in order, one line per place.

    Sentences score by new terms per length, rare terms higher. ``keeps_first`` always takes the
    very first sentence.
    """
    terms = [frozenset(analyser.terms(sentence.text)) for sentence in sentences]
    frequency = Counter(term for found in terms for term in found)
    worth = {term: math.log(1 + len(terms) / count) for term, count in frequency.items()}
    covered: set[str] = set()
    opened: set[int] = set()
    chosen: list[int] = []
    repeated: set[str] = set()

    def gain(index: int) -> float:
        sentence = sentences[index]
        if sentence.text in repeated:
            return 0.0
        # fsum, because the order of sets differs between processes.
        new = math.fsum(worth[term] for term in terms[index] - covered)
        return (
            sentence.weight * (new + _BARE_WORTH) / math.sqrt(len(sentence.text) + _LENGTH_OFFSET)
        )

    def take(index: int) -> None:
        nonlocal room
        sentence = sentences[index]
        cost = len(sentence.text) + 1
        if sentence.speaker and sentence.place not in opened:
            cost += len(sentence.speaker) + 2
        if cost <= room:
            room -= cost
            opened.add(sentence.place)
            covered.update(terms[index])
            repeated.add(sentence.text)
            chosen.append(index)

    waiting = [(-gain(index), index) for index in range(len(sentences))]
    if keeps_first and sentences:
        take(0)
        del waiting[0]
    heapq.heapify(waiting)
    while waiting:
        _, index = heapq.heappop(waiting)
        now = gain(index)  # the stored score is an upper bound: choosing others can only lower it
        if now <= 0:
            continue
        if waiting and -now > waiting[0][0]:
            heapq.heappush(waiting, (-now, index))
        else:
            take(index)
    lines: dict[int, str] = {}
    for sentence in (sentences[index] for index in sorted(chosen)):
        if sentence.place in lines:
            lines[sentence.place] += f" {sentence.text}"
        else:
            speaker = f"{sentence.speaker}: " if sentence.speaker else ""
            lines[sentence.place] = f"{speaker}{sentence.text}"
    return "\n".join(lines.values())


def shortened(text: str, maximum: int) -> str:
    """The text on one line, cut between words with ``…`` where it is too long.

    Scripts without spaces and absurdly long words are cut after any character.
    """
    flat = " ".join(text.split())
    if len(flat) <= maximum:
        return flat
    end = maximum - len(CUT_MARK)
    if end <= 0:
        return ""
    if flat[end] != " " and not is_dense(flat[end]) and not is_dense(flat[end - 1]):
        space = flat.rfind(" ", 0, end)
        begins = space + 1
        if end - begins <= _LONGEST_WORD:
            end = max(space, 0)
    head = flat[:end].rstrip()
    return f"{head}{CUT_MARK}" if head else ""


# Recalled, injected or pasted text and secrets are not repeated: a summary would launder them.


def sentences_of(turns: Sequence[Turn], zone: tzinfo) -> list[ScoredSentence]:
    """The sentences of turns that may be repeated, in order; the first of each day names it."""
    spoken = [turn for turn in turns if turn.role not in SETUP_ROLES]
    answered = max(
        (place for place, turn in enumerate(spoken) if turn.role != _USER_ROLE), default=-1
    )
    found: list[ScoredSentence] = []
    day = ""
    for place, turn in enumerate(spoken):
        today = turn.at.astimezone(zone).date().isoformat()
        speaker = _speaker(turn) if today == day else f"{_speaker(turn)}, {today}"
        day = today
        for number, text in enumerate(_texts(turn)):
            weight = _weight(turn, text, is_unanswered=place > answered)
            if (place == 0 and number == 0) or place == len(spoken) - 1:
                weight *= _ENDS
            found.append(ScoredSentence(place, speaker, text, weight))
    return found


def _texts(turn: Turn) -> Iterator[str]:
    pieces = kept_pieces(
        turn.content,
        is_from_tool=turn.role in {"tool", "function"},
        is_from_user=turn.role == _USER_ROLE,
    )
    split = [
        sentence for piece in pieces for sentence in sentences(piece) if not holds_secret(sentence)
    ]
    if len(split) > _FIRST_SENTENCES + _LAST_SENTENCES:
        split = [*split[:_FIRST_SENTENCES], *split[-_LAST_SENTENCES:]]
    short = (shortened(text, MAX_SENTENCE_CHARS) for text in split)
    yield from [text for text in short if text] or [NOTHING_TO_REPEAT]


def _weight(turn: Turn, text: str, *, is_unanswered: bool) -> float:
    if text == NOTHING_TO_REPEAT:
        return _REPEATS_NOTHING
    weight = _ROLE_WEIGHTS.get(turn.role, 1.0)
    if _DIGIT.search(text):
        weight *= _NUMBER
    if any(capitalised_inside_sentence(text, *word.span()) for word in _WORD.finditer(text)):
        weight *= _NAME
    if _DECIDES.search(text):
        weight *= _DECISION
    if is_unanswered and _QUESTION.search(text):
        weight *= _OPEN_QUESTION
    return weight


def _speaker(turn: Turn) -> str:
    """The speaker's name, sanitised."""
    named = (turn.actor or turn.role).replace(":", " ")
    return shortened(named, _MAX_SPEAKER_CHARS) or turn.role[:_MAX_SPEAKER_CHARS]


def extract_summary(turns: Sequence[Turn], analyser: Analyser, zone: tzinfo) -> str:
    """An extractive summary within ``MAX_COMPACTION_CHARS``; empty where nobody spoke."""
    return within(sentences_of(turns, zone), MAX_COMPACTION_CHARS, analyser)


def extended_bridge(former: str | None, summary: str, analyser: Analyser) -> str:
    """The bridge with the next segment's summary added, within ``MAX_BRIDGE_CHARS``.

    Segments are separated by blank lines. Older ones shrink each time and finally disappear, except
    for the beginning of the conversation.
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
    """A summary or bridge in fewer characters; later sentences count more."""
    if len(text) <= room:
        return text
    lines = text.splitlines()
    found: list[ScoredSentence] = []
    for place, line in enumerate(lines):
        spoken = _SPOKEN.fullmatch(line)
        speaker, said = (spoken["speaker"], spoken["said"]) if spoken else ("", line)
        weight = _OLDEST_WEIGHT + (1 - _OLDEST_WEIGHT) * (place + 1) / len(lines)
        for sentence in sentences(said):
            short = shortened(sentence, min(MAX_SENTENCE_CHARS, room // 2))
            if short:
                found.append(ScoredSentence(place, speaker, short, weight))
    return within(found, room, analyser, keeps_first=keeps_first)


def repeatable(text: str) -> str:
    """The text without recalled memory, secrets and prompt injections."""
    view = plain_view(text)
    seen = view.text
    cuts: list[Span] = []
    for cutter in (fence_cuts, secret_cuts, attack_cuts):
        found = merged(cutter(seen))
        cuts += found
        seen = blanked(seen, found)
    kept = outside(map(view.original, cuts), len(text))
    pieces = (
        " ".join(one for one in sentences(text[start:end].strip()) if not holds_secret(one))
        for start, end in kept
    )
    return "\n".join(piece for piece in pieces if any(map(str.isalnum, piece)))


class SpanSummary(BaseModel, defer_build=True):
    """A model's summary. Its limits are in the prompt, not checked: a longer text is cut."""

    summary: str
    bridge: str


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """The summary of a segment, and the bridge up to its end."""

    summary: str
    bridge: str
    made_by: str


class Summariser:
    def __init__(
        self, analyser: Analyser, policy: ConversationPolicy, model: MeteredModel | None
    ) -> None:
        self._analyser = analyser
        self._policy = policy
        self._model = model

    def summarise(
        self, user_id: str, former: str | None, turns: Sequence[Turn], *, is_patient: bool
    ) -> SummaryPart:
        """Summarise a segment. No transaction may be open.

        Falls back to an extractive summary where the model's answer is unusable. ``is_patient``
        says that the caller will retry where the model is down. Raises ModelUnavailable: the model
        is down, and this is patient.
        """
        if self._model is not None:
            try:
                summary = self._ask_model(self._model, user_id, former, turns)
            except LanguageModelError as problem:
                if is_patient and isinstance(problem, ModelUnavailable):
                    raise
                _log.warning("a conversation is summarised without the model: %s", in_log(problem))
            else:
                if summary is not None:
                    return summary
        return self.extract(former, turns)

    def extract(self, former: str | None, turns: Sequence[Turn]) -> SummaryPart:
        """Summarise a segment without a model: always possible, and deterministic."""
        summary = extract_summary(turns, self._analyser, self._policy.zone)
        return SummaryPart(summary, extended_bridge(former, summary, self._analyser), EXTRACT)

    def _ask_model(
        self, model: MeteredModel, user_id: str, former: str | None, turns: Sequence[Turn]
    ) -> SummaryPart | None:
        """The model's summary; None where it may be shown nothing, or its answer is unusable."""
        from ricordo.formation.passages import render  # loads slowly

        transcript = render(turns, first_new_position=turns[0].position).text
        if not transcript:
            return None
        prompt = resources.render(
            resources.COMPACT,
            summary=limits.MAX_COMPACTION_CHARS,
            bridge=limits.MAX_BRIDGE_CHARS,
            before=former or "(nothing)",
            transcript=transcript,
        )
        made = model.ask(user_id, [Message("user", prompt)], SpanSummary)
        summary, bridge = repeatable(made.summary), repeatable(made.bridge)
        if not summary or not bridge:
            return None
        return SummaryPart(
            condensed(summary, limits.MAX_COMPACTION_CHARS, self._analyser),
            condensed(bridge, limits.MAX_BRIDGE_CHARS, self._analyser),
            model.name,
        )
