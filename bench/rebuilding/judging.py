"""Whether each search went by the vectors of a provider that it was allowed to go by."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.rebuilding.providers import Provider, Vectors, vectors_in

_ROUNDING: Final = 0.0006  # cosines are shown with four digits, of vectors stored as 32-bit floats


@dataclass(frozen=True, slots=True)
class Search:
    """One search. Times are of ``time.monotonic``, which all processes of a machine share.

    ``hits`` are the id of each memory found and the cosine that the search explained it with.
    """

    began: float
    ended: float
    search_ms: float
    question: str
    hits: tuple[tuple[int, float | None], ...]
    problem: str | None = None
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """When a user has chosen a provider: some time between the two moments."""

    provider: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the searches were like. ``by_provider`` counts those that went by vectors at all."""

    failed: tuple[str, ...]
    stale: tuple[Search, ...]
    degraded: int
    by_words: int
    by_provider: Mapping[str, int]


class Judge:
    """Knows every vector that there can be."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        contents: Mapping[int, str],
        questions: Sequence[str],
    ) -> None:
        self._providers = providers
        self._contents = contents
        self._row = {item_id: row for row, item_id in enumerate(contents)}
        texts = list(contents.values())
        self._memories = {name: vectors_in(name, texts) for name in providers}
        self._questions: dict[str, dict[str, Vectors]] = {
            name: dict(zip(questions, vectors_in(name, questions), strict=True))
            for name in providers
        }

    def verdict(self, searches: Sequence[Search], choices: Sequence[Choice]) -> Verdict:
        """Judge all searches, given which provider was chosen when."""
        failed = [one.problem for one in searches if one.problem is not None]
        answered = [one for one in searches if one.problem is None]
        used: Counter[str] = Counter()
        stale = []
        by_words = 0
        for one in answered:
            if all(cosine is None for _, cosine in one.hits):
                by_words += 1
                continue
            agreeing = [name for name in allowed(one, choices) if self._agrees(one, name)]
            if agreeing:
                used[agreeing[0]] += 1
            else:
                stale.append(one)
        degraded = sum(one.degraded is not None for one in answered)
        return Verdict(tuple(failed), tuple(stale), degraded, by_words, dict(used))

    def _agrees(self, one: Search, name: str) -> bool:
        """True where every cosine is the one of this provider, of a vector that it had made."""
        shown = [(item_id, cosine) for item_id, cosine in one.hits if cosine is not None]
        asked_at = self._providers[name].asked_at
        for item_id, _ in shown:
            if asked_at.get(self._contents[item_id], np.inf) > one.ended:
                return False
        rows = [self._row[item_id] for item_id, _ in shown]
        right = self._memories[name][rows] @ self._questions[name][one.question]
        return bool(np.all(np.abs(right - [cosine for _, cosine in shown]) <= _ROUNDING))


def allowed(one: Search, choices: Sequence[Choice]) -> list[str]:
    """The providers that were chosen at some moment of a search."""
    found = []
    for place, choice in enumerate(choices):
        until = choices[place + 1].ended if place + 1 < len(choices) else np.inf
        if choice.began <= one.ended and one.began <= until:
            found.append(choice.provider)
    return found
