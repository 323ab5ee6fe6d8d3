"""The life of a memory: the one table of legal status changes.

         ┌────────── undo ─────────┐
         ▼                         │
 add ─▶ active ─── supersede ─▶ superseded
         │ ▲ ▲                     │
archive  │ │ └──── restore ──┐     │ forget
         ▼ │ restore         │     ▼
       archived ── forget ─▶ deleted ── purge ─▶ (gone)
"""

from typing import Final

from ricordo.errors import IllegalTransition
from ricordo.model.vocabulary import Status

LEGAL_STEPS: Final[dict[Status, frozenset[Status]]] = {
    Status.ACTIVE: frozenset({Status.ARCHIVED, Status.SUPERSEDED, Status.DELETED}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.DELETED}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.DELETED}),
    Status.DELETED: frozenset({Status.ACTIVE}),
}
"""A deleted memory can also be purged, which removes its row instead of giving it a status."""


def check_step(memory_id: int, present: Status, wanted: Status) -> None:
    """Refuse a step that the table does not have.

    Raises:
        IllegalTransition: says where the memory stands and where it may go.
    """
    if wanted not in LEGAL_STEPS[present]:
        allowed = ", ".join(sorted(LEGAL_STEPS[present]))
        raise IllegalTransition(
            f"memory {memory_id} is {present} and cannot become {wanted}; allowed: {allowed}"
        )
