"""The gate: a small model of ours that says of every word of a message what it is.

It knows nine languages. A word is part of something lasting about the user (``home``, ``job``,
``like``…), or of something that is not kept: a question, a wish, a quotation, a secret. Readers
propose; the gate judges each candidate by the words that it rests on. ``training/gate`` has the
recipe.
"""

import json
import math
import re
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ricordo.fork_safety import OnePerProcess
from ricordo.formation.resources import lines, pattern, words
from ricordo.frozen import dataclass
from ricordo.providers.local_embedder import session_of
from ricordo.text.normalise import is_dense, is_hangul

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Chances = NDArray[np.float32]

LANGUAGES: Final = frozenset({"en", "id", "de", "es", "fr", "pt", "ja", "zh", "ko"})
REMEMBER: Final = "remember"
JOIN: Final = "-"
STEPS: Final = "steps"
NOT_KEPT: Final = dict(row.split(": ") for row in lines("gate", "not kept"))
"""The labels of what is not kept, and how a decision explains them."""

_EARLIER, _ASKED, _TEXT = 1, 2, 3
_CONTEXT_TOKENS: Final = 40
_CONTEXT_CHARS: Final = 200
_WINDOW: Final = 150
_OVERLAP: Final = 24
_THREADS: Final = 2
_PUNCTUATION: Final = re.compile(r"[\s,.;:!?、。，．！？；：…\-–—()\[\]\"'“”«»「」*]+")
_TAIL: Final = pattern("gate", "tail", re.IGNORECASE)
# Fitted to the development sets: what was kept rightly and wrongly of them.
_LEAST: Final = 1e-3
_OF_LENGTH: Final = 1.5
_OFTEN_OF_THE_MOMENT: Final = 0.9
OF_THE_MOMENT: Final = words("gate", "often of the moment")
_AT_A_STOP: Final = 0.7
_BETWEEN_WORDS: Final = 2.5
_IN_A_WORD: Final = 8.0
_FROM_FACT_TO_FACT: Final = 2.5
_DENSE_STOPS: Final = "。！？"
_STOP: Final = re.compile(r"(?:(?<!\d)[.!?…]+[\"'»”)]*|[。！？\n])\s*$")
_BORDER: Final = re.compile(r"[,.;:!?、。，！？；：…\n–—(]|\s-\s")


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that belong together: where they are, what they are, and how surely."""

    start: int
    end: int
    label: str
    chance: float
    tokens: int = 1

    @property
    def is_kept(self) -> bool:
        return self.label not in NOT_KEPT

    @property
    def evidence(self) -> float:
        """How much speaks for keeping it: many words that look lasting are surer than a few."""
        odds = math.log(max(self.chance, _LEAST) / max(1 - self.chance, _LEAST))
        kind = _OFTEN_OF_THE_MOMENT if self.label in OF_THE_MOMENT else 0.0
        return odds + _OF_LENGTH * math.log(self.tokens) - kind


class Reading:
    def __init__(
        self,
        text: str,
        offsets: Sequence[tuple[int, int]],
        chances: "Chances",
        labels: list[str],
        *,
        asked: str,
    ) -> None:
        self.text = text
        self.asked = asked
        self._offsets = offsets
        self._chances = chances
        self.labels = labels
        self._kept = [place for place, label in enumerate(labels) if label not in NOT_KEPT]
        self._pieces: list[Piece] | None = None

    @property
    def answers(self) -> bool:
        """Whether the assistant had asked something."""
        return self.asked.rstrip().endswith(("?", "？"))

    def judged(self, start: int, end: int) -> Piece:
        """The words between two places: kept if that is likelier than not."""
        return self._piece(self._between(start, end), start, end)

    def chance_of(self, label: str, start: int, end: int) -> float:
        """How likely one of the words between two places is of this kind."""
        found = self._chances[self._between(start, end), self.labels.index(label)]
        return float(found.max(initial=0.0))

    def mean_of(self, label: str, start: int, end: int) -> float:
        found = self._chances[self._between(start, end), self.labels.index(label)]
        return float(found.mean()) if len(found) else 0.0

    def kept_words(self, start: int, end: int) -> str:
        parts = [(max(one.start, start), min(one.end, end)) for one in self.pieces() if one.is_kept]
        return "\n".join(self.text[first:last] for first, last in parts if first < last)

    def _between(self, start: int, end: int) -> list[int]:
        return [
            place
            for place, (first, last) in enumerate(self._offsets)
            if first < end and last > start
        ]

    def pieces(self) -> list[Piece]:
        """The message cut where its words change their kind.

        The likeliest sequence of kinds, where a change costs little at a comma or a stop, more
        between two words and most inside of one.
        """
        if self._pieces is None:
            self._pieces = self._cut()
        return list(self._pieces)

    def _cut(self) -> list[Piece]:
        found: list[list[int]] = []
        kinds = self._kinds()
        whole = self.labels.index(STEPS)
        for n, kind in enumerate(kinds):
            changes = not found or kind != kinds[n - 1]
            if changes or (kind != whole and self._begins_sentence(n)):
                found.append([])
            found[-1].append(n)
        pieces = [self._piece(run, *self._span(run)) for run in found]
        return [piece for piece in pieces if piece.start < piece.end]

    def _kinds(self) -> list[int]:
        import numpy as np

        if not len(self._offsets):
            return []
        gains = np.log(self._chances + 1e-4).astype(np.float64)
        every, kept = np.arange(len(self.labels)), np.zeros(len(self.labels), dtype=bool)
        kept[self._kept] = True
        from_fact = np.where(kept, _FROM_FACT_TO_FACT, 0.0)
        score = gains[0]
        came_from = []
        for n in range(1, len(gains)):
            cost = self._cost(n)
            origin = score.argmax()
            changed = score[origin] - cost
            if cost > _AT_A_STOP:
                among_kept = score - from_fact
                before_fact = among_kept.argmax()
                changed = np.where(kept, among_kept[before_fact] - cost, changed)
                origin = np.where(kept, before_fact, origin)
            stays = score >= changed
            came_from.append(np.where(stays, every, origin))
            score = np.where(stays, score, changed) + gains[n]
        kinds = [int(score.argmax())]
        for origins in reversed(came_from):
            kinds.append(int(origins[kinds[-1]]))
        return kinds[::-1]

    def _begins_sentence(self, n: int) -> bool:
        start = self._offsets[n][0]
        found = _STOP.search(self.text, self._offsets[n - 1][0], start)
        around = self.text[start - 1 : start + 1]
        return found is not None and (around.strip() != around or found[0].strip() in _DENSE_STOPS)

    def _cost(self, n: int) -> float:
        """Of a change of kind before this token."""
        before, start = self._offsets[n - 1], self._offsets[n][0]
        around = self.text[before[0] : start + 1]
        if _BORDER.search(around):
            return _AT_A_STOP
        letter = self.text[start : start + 1]
        has_no_spaces = is_dense(letter) and not is_hangul(letter)
        begins_word = start != before[1] or not letter.isalnum() or has_no_spaces
        return _BETWEEN_WORDS if begins_word else _IN_A_WORD

    def _span(self, run: Sequence[int]) -> tuple[int, int]:
        """Without the spaces and signs around it."""
        start, end = self._offsets[run[0]][0], self._offsets[run[-1]][1]
        lead = _PUNCTUATION.match(self.text, start, end)
        start = lead.end() if lead else start
        end = start + len(_TAIL.sub("", self.text[start:end]))
        return start, end

    def _piece(self, run: Sequence[int], start: int, end: int) -> Piece:
        if not run:
            return Piece(start, end, JOIN, 1.0)
        mean = self._chances[list(run)].mean(0)
        kept = float(mean[self._kept].sum())
        if kept > 0.5:
            best = max(self._kept, key=lambda place: float(mean[place]))
            return Piece(start, end, self.labels[best], kept, len(run))
        best = max(
            (place for place in range(len(self.labels)) if place not in self._kept),
            key=lambda place: float(mean[place]),
        )
        return Piece(start, end, self.labels[best], 1 - kept, len(run))


class Gate:
    def __init__(self) -> None:
        from tokenizers import Tokenizer

        folder = resources.files(__package__) / "gate_model"
        self._session = session_of((folder / "gate.onnx").read_bytes(), _THREADS)
        self._tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text("utf-8"))
        self.labels: list[str] = json.loads((folder / "labels.json").read_text("utf-8"))

    def read(self, text: str, *, asked: str = "", earlier: str = "") -> Reading:
        """Judge a message of the user, after what the assistant asked and what was said earlier."""
        import numpy as np

        context = [*self._context(_EARLIER, earlier), *self._context(_ASKED, asked), _TEXT]
        encoded = self._tokenizer.encode(text)
        parts = [
            self._chances(context, encoded.ids, first)
            for first in range(0, len(encoded.ids), _WINDOW)
        ]
        chances = np.concatenate([np.zeros((0, len(self.labels)), np.float32), *parts])
        return Reading(text, encoded.offsets, chances, self.labels, asked=asked)

    def _context(self, mark: int, said: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(said[-_CONTEXT_CHARS:]).ids
        return [mark, *ids[-_CONTEXT_TOKENS:]] if ids else []

    def _chances(self, context: list[int], ids: list[int], first: int) -> Any:
        """Those of one window of a long message; it sees a little of what comes before it."""
        import numpy as np

        seen = max(0, first - _OVERLAP)
        row = np.array([[*context, *ids[seen : first + _WINDOW]]], dtype=np.int64)
        found = self._session.run(None, {"ids": row, "mask": np.ones_like(row)})[0]
        return found[0, len(context) + first - seen :]


gate: Final = OnePerProcess(Gate).get
