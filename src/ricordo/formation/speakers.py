"""Who a statement is about, where several people speak to the assistant in one conversation."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import Candidate
from ricordo.text.normalise import folded, slug

_SUBJECT: Final = re.compile(r"\b(?:The user|User|Pengguna|Nutzer|Der Nutzer)\b|ユーザー")


def named_speakers(
    candidates: Sequence[Candidate], speakers: AbstractSet[str], user_id: str
) -> list[Candidate]:
    """The candidates with a name in place of "User" for those whom somebody else has said.

    With one speaker it is the user, whatever they are called. With several it is the one who has
    the user's own name.
    """
    if len({folded(name) for name in speakers}) < 2:
        return list(candidates)
    return [_named(candidate, user_id) for candidate in candidates]


def _named(candidate: Candidate, user_id: str) -> Candidate:
    actor = candidate.passage.actor
    if actor is None or folded(actor) == folded(user_id):
        return candidate
    content = _SUBJECT.sub(lambda _: actor, candidate.content)
    key = None if candidate.key is None else f"{slug(actor)}:{candidate.key}"
    if key is not None and len(key) > limits.MAX_KEY_CHARS:
        key = None  # cut off it could be the key of something else
    return replace(candidate, content=content, key=key)
