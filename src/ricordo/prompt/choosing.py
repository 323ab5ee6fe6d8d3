"""Which memories and earlier words a prompt shows for a message."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from ricordo.access.policy import AccessPolicy
from ricordo.formation.opposition import opposed
from ricordo.limits import MAX_RECALLED_MEMORIES, MAX_RESULTS
from ricordo.model.filters import ItemFilter, Sort, TurnFilter
from ricordo.model.item import Item, Theme
from ricordo.model.proposal import other_owner
from ricordo.model.search import TurnHit
from ricordo.model.vocabulary import ContextPolicy, MemoryType
from ricordo.recall.service import Recall
from ricordo.recall.words import question_in
from ricordo.storage.database import Database
from ricordo.storage.items import page_of_items
from ricordo.storage.where import audience_of, matching
from ricordo.text.normalise import content_hash

_SEARCHED: Final = 30
"""How many memories are looked at for one message, before those that are not sure are left out."""

_WITHOUT_PROCEDURES: Final = tuple(kind for kind in MemoryType if kind is not MemoryType.PROCEDURE)
_SPOKEN_ROLES: Final = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A memory to show, and how sure it is to matter; None where its theme is always shown.
    ``owner_id`` is whose it is, None for the user's own."""

    item: Item
    confidence: float | None
    owner_id: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What to show, the most wanted first, and how likely it answers the message."""

    memories: tuple[Chosen, ...] = ()
    turns: tuple[TurnHit, ...] = ()
    confidence: float | None = None
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class ThemeRules:
    """What a prompt shows of each theme. What the policy file says of one goes before what the
    user's own theme says of itself."""

    always: frozenset[str]
    most: Mapping[str, int]

    @classmethod
    def of(cls, policy: AccessPolicy, themes: Iterable[Theme]) -> "ThemeRules":
        """The rules for a user with these themes."""
        said: dict[str, tuple[ContextPolicy, int | None]] = {
            theme.slug: (theme.context, theme.rag_length) for theme in themes
        }
        for slug, rule in policy.categories.items():
            said[slug] = (rule.context, rule.rag_length)
        return cls(
            frozenset(slug for slug, (how, _) in said.items() if how is ContextPolicy.ALL),
            {slug: most for slug, (_, most) in said.items() if most is not None},
        )


class Choosing:
    """Chooses for any user. Nothing here counts as recalled; what is shown in the end does."""

    def __init__(self, database: Database, recall: Recall, quotes: int) -> None:
        self._database = database
        self._recall = recall
        self._quotes = quotes

    def choose(
        self,
        user_id: str,
        message: str,
        threshold: float,
        rules: ThemeRules,
        allowed: frozenset[str] | None,
        in_window: AbstractSet[int],
    ) -> Choice:
        """What to show for a message.

        ``allowed`` are the themes that may be read, None for all. The turns ``in_window`` are not
        quoted: the prompt has them anyway.

        Raises:
            StorageError: the database could not answer. An embedder that fails is no error.
        """
        always = self._always_shown(user_id, rules, allowed)
        question = question_in(message)
        if not question:
            return Choice(tuple(_settled(always)))
        wanted = ItemFilter(theme=_themes(allowed), types=_WITHOUT_PROCEDURES)
        found = self._recall.memories.find(user_id, question, _SEARCHED, wanted)
        asked = found.question
        sure = [
            Chosen(item.without_secrets(), one.sure(asked), other_owner(item.user_id, user_id))
            for item, one in zip(found.items, found.ranked, strict=True)
            if asked is not None and one.sure(asked) >= threshold
        ]
        turns, heard = self._quoted(user_id, question, threshold, allowed, in_window)
        known = (found.sure, heard)
        return Choice(
            tuple(_settled([*always, *_capped(sure, rules.most)])),
            turns,
            max((one for one in known if one is not None), default=0.0),
            found.degraded,
        )

    def _always_shown(
        self, user_id: str, rules: ThemeRules, allowed: frozenset[str] | None
    ) -> list[Chosen]:
        themes = rules.always if allowed is None else rules.always & allowed
        if not themes:
            return []
        wanted = ItemFilter(theme=tuple(sorted(themes)))
        with self._database.read(user_id) as view:
            until = self._database.policy.global_until
            audience = audience_of(view.connection, user_id, until, view.now)
            where = matching(audience, wanted, view.now)
            page = page_of_items(view.connection, where, Sort(), MAX_RECALLED_MEMORIES, None)
        return [
            Chosen(
                item.as_seen_by(user_id).without_secrets(), None, other_owner(item.user_id, user_id)
            )
            for item in page.items
        ]

    def _quoted(
        self,
        user_id: str,
        question: str,
        threshold: float,
        allowed: frozenset[str] | None,
        in_window: AbstractSet[int],
    ) -> tuple[tuple[TurnHit, ...], float | None]:
        """What was said before, where the best of it is sure enough: then what comes next often
        holds the rest of the answer, in words that share less with the question. An agent that may
        not read everything gets none, because what was said is filed under no theme."""
        if not self._quotes or allowed is not None:
            return (), None
        limit = min(MAX_RESULTS, self._quotes + len(in_window))
        found = self._recall.turns.search(
            user_id, question, limit, TurnFilter(), threshold=None, explain=False
        )
        heard = [hit for hit in found if hit.id not in in_window and hit.role in _SPOKEN_ROLES]
        best = max((hit.confidence for hit in heard), default=None)
        is_sure = best is not None and best >= threshold
        return tuple(heard[: self._quotes]) if is_sure else (), best


def _themes(allowed: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if allowed is None else tuple(sorted(allowed))


def _capped(found: Iterable[Chosen], most: Mapping[str, int]) -> list[Chosen]:
    """No more of a theme than it says."""
    shown: Counter[str] = Counter()
    kept = []
    for one in found:
        shown[one.item.theme] += 1
        if shown[one.item.theme] <= most.get(one.item.theme, MAX_RECALLED_MEMORIES):
            kept.append(one)
    return kept


def _settled(chosen: Sequence[Chosen]) -> list[Chosen]:
    """The memories without what another of them says as well, or contradicts from a later time.

    Formation and upkeep settle most of this when they store. What they could not settle must not
    reach a model as two truths. What another user says outdates nothing that the user has said, and
    does not stand for it.
    """
    kept: list[Chosen] = []
    own = {content_hash(one.item.content) for one in chosen if one.owner_id is None}
    said: set[str] = set()
    for one in chosen:
        digest = content_hash(one.item.content)
        if digest not in said and (one.owner_id is None or digest not in own):
            said.add(digest)
            kept.append(one)
    outdated = {
        older.item.id
        for place, one in enumerate(kept)
        for other in kept[place + 1 :]
        if (older := _outdated(one, other)) is not None
    }
    return [one for one in kept if one.item.id not in outdated][:MAX_RECALLED_MEMORIES]


def _outdated(one: Chosen, other: Chosen) -> Chosen | None:
    """Which of two memories the other one contradicts from a later time, if they do."""
    if one.item.valid_from == other.item.valid_from or one.owner_id != other.owner_id:
        return None
    if opposed(one.item.content, other.item.content) is None:
        return None
    return min(one, other, key=lambda chosen: chosen.item.valid_from)
