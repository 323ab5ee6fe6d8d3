"""Which observations of a model may be stored: well written, grounded, harmless and new."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.conflicts import KnownMemories
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import supports
from ricordo.formation.opposition import opposed, says_nothing_new
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.statements import share_of_words
from ricordo.formation.writing_rules import hangs_in_time, validated
from ricordo.model.filters import ItemFilter
from ricordo.model.vocabulary import MemoryType, Status
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.storage.tables import items
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash
from ricordo.upkeep.insight_material import Material

SENSITIVE: Final = "sensitive"
KNOWN: Final = "known_already"
NOT_ABOUT_THE_USER: Final = "not_about_the_user"

_SUBJECT: Final = re.compile(
    r"(?:the |der |die |el |la |o |a |le )?(?:user|pengguna|(?:be)?nutzer(?:in)?|usuari[oa]"
    r"|usuári[oa]|gebruiker)\b|l['’](?:utente|utilisateur|utilisatrice)\b|ユーザー",
    re.IGNORECASE,
)
_NEAR: Final = 8


@dataclass(frozen=True, slots=True)
class Sifted:
    """Observations that may be stored, and why each of the others was turned away."""

    kept: Sequence[str]
    dropped: Sequence[str]


class InsightSieve:
    """Holds what a model has noticed against what it was shown and what is known."""

    def __init__(self, database: Database, recall: Recall, policy: FormationPolicy) -> None:
        self._database = database
        self._recall = recall
        self._policy = policy
        self._known = KnownMemories(database, recall)

    def sift(self, user_id: str, observed: Iterable[str], material: Material) -> Sifted:
        """Take the good ones, in their order. No transaction may be open."""
        kept: list[str] = []
        dropped: list[str] = []
        for place, one in enumerate(observed):
            if place >= limits.MAX_INSIGHTS:
                dropped.append(RejectionCode.TOO_MANY.value)
                continue
            content, problem = self._checked(one, material)
            if problem is None and self._is_known(user_id, content, kept):
                problem = KNOWN
            if problem is None:
                kept.append(content)
            else:
                dropped.append(problem)
        return Sifted(kept, dropped)

    def _checked(self, observed: str, material: Material) -> tuple[str, str | None]:
        """An observation put right, and what is wrong with it by itself."""
        shown = material.statements
        checked = validated(_as_candidate(_printable(observed), shown, material))
        if isinstance(checked, Rejection):
            return observed, checked.code.value
        content = checked.content
        if not _SUBJECT.match(content):
            return content, NOT_ABOUT_THE_USER
        if hangs_in_time(content):
            return content, RejectionCode.DANGLING_TIME.value
        if not supports(content, "\n".join(shown)):
            return content, RejectionCode.UNSUPPORTED.value
        if sensitive_fields_of(content, "", None) & self._policy.sensitive_fields:
            return content, SENSITIVE
        return content, None

    def _is_known(self, user_id: str, content: str, kept: Sequence[str]) -> bool:
        """Whether it is no news beside these, the stored facts, or what was noticed before."""
        near = self._known.near(user_id, content, MemoryType.FACT)
        compared = [(one.item.content, one.similarity) for one in near]
        compared += self._noticed(user_id, content)
        compared += [(one, share_of_words(self._analyser, content, one)) for one in kept]
        return self._was_noticed(user_id, content) or any(
            says_nothing_new(content, other)
            or (similarity >= self._policy.redundant_min and not opposed(content, other))
            for other, similarity in compared
        )

    def _noticed(self, user_id: str, content: str) -> list[tuple[str, float]]:
        """The active insights nearest to a text, with their similarity."""
        wanted = ItemFilter(statuses=(Status.ACTIVE,), types=(MemoryType.INSIGHT,))
        found = self._recall.memories.find(user_id, content, _NEAR, wanted)
        return [
            (
                item.content,
                share_of_words(self._analyser, content, item.content)
                if ranked.candidate.cosine is None
                else ranked.candidate.cosine,
            )
            for item, ranked in zip(found.items, found.ranked, strict=True)
        ]

    def _was_noticed(self, user_id: str, content: str) -> bool:
        """Whether an insight with this text is stored, also one that was put aside: whoever did
        that does not want it back every day."""
        same = sa.exists().where(
            items.c.user_id == user_id,
            items.c.type == MemoryType.INSIGHT.value,
            items.c.content_hash == content_hash(content),
        )
        with self._database.read(user_id) as view:
            return bool(view.connection.execute(sa.select(same)).scalar_one())

    @property
    def _analyser(self) -> Analyser:
        return self._database.analyser


def _as_candidate(observed: str, shown: Sequence[str], material: Material) -> Candidate:
    """For the validator, to which all that was shown is one passage that the user has said."""
    passage = Passage(
        turn_id=0,
        position=0,
        role=USER_ROLE,
        actor=None,
        message_id=None,
        at=material.looked_at,
        text="\n".join(shown),
    )
    return Candidate(content=observed, quote=shown[-1], passage=passage, type=MemoryType.INSIGHT)


def _printable(observed: str) -> str:
    """A model's words without signs that a database refuses."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in observed)
