"""What becomes of two memories that lie near each other: the table of consolidation.

| the two …                                             | then                                     |
|-------------------------------------------------------|------------------------------------------|
| contradict each other, in one theme                   | the newer takes the place of the older   |
| say the same, the newer with more detail              | the newer takes the place of the older   |
| say the same, the newer with nothing new              | merged; what says more survives          |
| are much alike, and add words on one side only        | merged                                   |
| are none of these                                     | a model is asked; without one, linked    |

Rules speak only where all words of one stand in the other in the same order: a word exchanged or
moved may be all the difference (another day, another person, from or to). Contradictions are told
by rules of their own.

Not everything may go: what is pinned, what others see too, what answers a key that the survivor
does not have, what was put there on purpose beside what was not, what lasts longer, and what stands
under another theme, for another agent or on another day than the survivor stay, and are linked at
most. A model may not overrule what words show: figures and denials that differ are never the same.
"""

from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

from ricordo.formation.conflicts import Pair, Relationship, Verdict
from ricordo.formation.opposition import opposed, refines, says_nothing_new
from ricordo.formation.statements import (
    CONTRADICTION_MIN,
    figures_and_denials,
    keep_the_order,
    share_words,
    statements_of,
)
from ricordo.model.item import Item
from ricordo.model.reports import PairAction, PairDecision
from ricordo.model.vocabulary import ON_PURPOSE, MemoryType
from ricordo.text.analyser import Analyser
from ricordo.upkeep.consolidating.pairs import NearPair

SAME: Final = "says the same"
NOTHING_NEW: Final = "says nothing new"
MORE_SPECIFIC: Final = "more specific"
CONTRADICTION: Final = "contradicts what was known"
ALIKE: Final = "about the same"
APART: Final = "not near enough to be linked"
MAY_NOT_GO: Final = "neither may be taken away"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be done with a pair. Where both stay, ``kept`` and ``other`` are just the two."""

    pair: NearPair
    action: PairAction
    reason: str
    kept: Item
    other: Item

    @property
    def takes_away(self) -> bool:
        """True where ``other`` is to be replaced by ``kept``."""
        return self.action in (PairAction.MERGE, PairAction.SUPERSEDE)

    @property
    def decision(self) -> PairDecision:
        """As reports show it."""
        return PairDecision(
            kept=self.kept.id,
            action=self.action,
            reason=self.reason,
            similarity=round(self.pair.similarity, 4),
            replaced=self.other.id if self.takes_away else None,
            beside=None if self.takes_away else self.other.id,
        )


class Table:
    """Decides about pairs. ``link_min`` is the similarity from which what stays is linked."""

    def __init__(self, analyser: Analyser, redundant_min: float, link_min: float) -> None:
        self._analyser = analyser
        self._redundant_min = redundant_min
        self._link_min = link_min

    def by_rules(self, pair: NearPair) -> Ruling | None:
        """What words and similarity tell; None where they do not suffice.

        Where neither may go, there is nothing to ask a model.
        """
        if not _may_go(pair, pair.older, pair.newer) and not _may_go(pair, pair.newer, pair.older):
            return self.beside_each_other(pair, MAY_NOT_GO)
        newer, older = pair.newer.content, pair.older.content
        against = opposed(newer, older)
        if against is not None:
            if pair.newer.theme != pair.older.theme or pair.similarity < CONTRADICTION_MIN:
                return None
            return self._supersede(pair, f"{CONTRADICTION}: {against}")
        if not keep_the_order(newer, older):
            return None
        if refines(newer, older):
            return self._supersede(pair, MORE_SPECIFIC)
        if says_nothing_new(newer, older):
            return self._merge(pair, NOTHING_NEW)
        if pair.similarity >= self._redundant_min and self._is_same(newer, older):
            return self._merge(pair, SAME)
        return None

    def by_verdict(self, pair: NearPair, verdict: Verdict) -> Ruling:
        """What a model says, as far as it may."""
        reason = verdict.reason
        if verdict.kind is Relationship.SAME and _may_be_same(pair):
            return self._merge(pair, reason or SAME)
        if verdict.kind is Relationship.REFINEMENT:
            return self._supersede(pair, reason or MORE_SPECIFIC)
        if verdict.kind is Relationship.CONTRADICTION:
            return self._supersede(pair, reason or CONTRADICTION)
        return self.beside_each_other(pair)

    def beside_each_other(self, pair: NearPair, reason: str | None = None) -> Ruling:
        """Both stay, linked where they are near enough."""
        near = pair.similarity >= self._link_min
        action = PairAction.LINK if near else PairAction.KEEP
        return Ruling(pair, action, reason or (ALIKE if near else APART), pair.newer, pair.older)

    def _is_same(self, newer: str, older: str) -> bool:
        who = [{one.subject for one in statements_of(text)} for text in (newer, older)]
        return who[0] == who[1] and share_words(self._analyser, newer, older)

    def _supersede(self, pair: NearPair, reason: str) -> Ruling:
        older, newer = pair.older, pair.newer
        if older.key not in (None, newer.key) or not _may_go(pair, older, newer):
            return self.beside_each_other(pair, MAY_NOT_GO)
        return Ruling(pair, PairAction.SUPERSEDE, reason, pair.newer, pair.older)

    def _merge(self, pair: NearPair, reason: str) -> Ruling:
        best, rest = sorted((pair.older, pair.newer), key=_worth, reverse=True)
        if _says_more(rest, best):
            best, rest = rest, best
        orders = [(best, rest)] if _says_more(best, rest) else [(best, rest), (rest, best)]
        for kept, other in orders:
            # A key's answer is overwritten some day, with all that was merged into it.
            if other.key == kept.key and _may_go(pair, other, kept):
                return Ruling(pair, PairAction.MERGE, reason, kept, other)
        return self.beside_each_other(pair, MAY_NOT_GO)


def as_question(pair: NearPair) -> Pair:
    """A pair as a model is asked about it."""
    return Pair(
        pair.newer.content,
        pair.newer.valid_from,
        pair.older.content,
        pair.older.valid_from,
        pair.similarity,
    )


def _may_go(pair: NearPair, going: Item, staying: Item) -> bool:
    """Whether nobody loses anything but a text when one memory gives way to another."""
    if going.pinned or going.id in pair.shared or not _stand_together(going, staying):
        return False
    if going.source in ON_PURPOSE and staying.source not in ON_PURPOSE:
        return False
    ends, lasts = staying.expires_at, going.expires_at
    return ends is None or (lasts is not None and lasts <= ends)


def _stand_together(one: Item, other: Item) -> bool:
    """True of memories that whoever reads the one would read the other, too: filed under one theme,
    written for the same agent, of one kind; and of episodes, those of one day."""
    if (one.theme, one.agent_id) != (other.theme, other.agent_id):
        return False
    if (one.type is MemoryType.INSTRUCTION) != (other.type is MemoryType.INSTRUCTION):
        return False
    if MemoryType.EPISODE in (one.type, other.type):
        return _day_of(one) == _day_of(other)
    return True


def _day_of(item: Item) -> date:
    return item.valid_from.astimezone(UTC).date()


def _may_be_same(pair: NearPair) -> bool:
    one, other = pair.newer.content, pair.older.content
    return figures_and_denials(one) == figures_and_denials(other) and opposed(one, other) is None


def _says_more(one: Item, other: Item) -> bool:
    """True where one says all that the other says, and not the other way round."""
    return says_nothing_new(other.content, one.content) and not says_nothing_new(
        one.content, other.content
    )


def _worth(item: Item) -> tuple[bool, bool, int, int, float, int]:
    """Which of two that say the same stays: pinned, put there on purpose, important, often
    recalled, then the older."""
    return (
        item.pinned,
        item.source in ON_PURPOSE,
        item.importance,
        item.access_count,
        -item.valid_from.timestamp(),
        -item.id,
    )
