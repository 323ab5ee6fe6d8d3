"""Writing one memory as it was decided, with its relations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.formation.comparing.resolving import Resolution
from ricordo.index.relations import Neighbours
from ricordo.memories import additions, replacement, sharing
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.item import Added
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Action, Event
from ricordo.recall.service import Recall
from ricordo.storage.search_rows import text_hash
from ricordo.storage.transaction import Writing

WRITING_ACTIONS: Final = frozenset({Action.ADD, Action.UPDATE, Action.REPLACE, Action.UNLINK})


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a write needs to know of vectors, found out before its transaction."""

    known: KnownVectors
    near: Neighbours


def prepare(recall: Recall, user_id: str, resolutions: Sequence[Resolution]) -> Prepared:
    """Make the vectors of what may be written. No transaction may be open."""
    texts = [one.candidate.content for one in resolutions if one.action in WRITING_ACTIONS]
    known = recall.embedders.known_vectors(user_id, texts)
    return Prepared(known, recall.relating.neighbours(user_id, known))


def write(
    recall: Recall, writing: Writing, resolution: Resolution, draft: NewMemory, prepared: Prepared
) -> Added:
    """Write one memory as the resolution says, and note what it is about the same as."""
    added = _written(writing, resolution, draft)
    entry = [(added.id, text_hash(draft.content))]
    if added.updated:
        recall.relating.renew(writing, entry, prepared.known, prepared.near)
    elif added.is_new:
        recall.relating.note(writing, entry, prepared.known, prepared.near)
    return added


def _written(writing: Writing, resolution: Resolution, draft: NewMemory) -> Added:
    scope = Scope(writing.user_id, agent_id=draft.agent_id)
    targets = [item.id for item in resolution.targets]
    if resolution.action is Action.REPLACE:
        # What a model says of two memories stays with the one that was replaced.
        why = resolution.reason if resolution.why is None else resolution.why
        return replacement.replace_with(
            writing,
            scope,
            targets,
            draft,
            Event.SUPERSEDE,
            why,
            reason_to_add=resolution.reason,
        )
    if resolution.action is Action.UNLINK:
        for target in targets:
            sharing.unlink(writing, scope, target, None)
    return additions.add_all(writing, scope, [draft], resolution.reason)[0]
