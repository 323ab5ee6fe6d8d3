"""The settings that the rules of a memory's life depend on."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Policy:
    """``purge_after``: from soft delete to removal for good. ``global_until``: users with fewer
    active memories than this also see the global ones. ``offer_life``: how long a memory that is
    offered to another user waits for them."""

    purge_after: timedelta
    global_until: int
    offer_life: timedelta
