"""How fast everything is, beside the floors that the project sets itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ricordo.bench.asking import query_figures, relation_figures
from ricordo.bench.checkpoints import checkpoint_figures
from ricordo.bench.figures import Figure
from ricordo.bench.ground import FULL_SIZE, Ground, ProgressOf, Sizes
from ricordo.bench.prompting import context_figures
from ricordo.bench.resident import resident_figures
from ricordo.bench.searching import crowd_figures, postgres_figures, size_figures
from ricordo.bench.starting import starting_figures
from ricordo.bench.writing import writing_figures
from ricordo.errors import InvalidValue
from ricordo.model import checks

DEFAULT_QUERIES: Final = 200
_SMALLEST: Final = 100
_LARGEST: Final = 10_000_000
_MOST_QUERIES: Final = 100_000
_MEMORIES_PER_SINGLE_WRITE: Final = 50


class Kind(StrEnum):
    """What can be measured, in the order in which it is."""

    START = "start"
    ADD = "add"
    SEARCH = "search"
    USERS = "users"
    QUERY = "query"
    CONTEXT = "context"
    RELATION = "relation"
    CHECKPOINT = "checkpoint"
    RESIDENT = "resident"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class SpeedPlan:
    """What to measure, how much, and on which PostgreSQL, if on any."""

    kinds: tuple[Kind, ...]
    sizes: Sizes
    postgres_url: str | None = None


def plan_speed(
    kinds: Sequence[str] = (),
    *,
    size: int = FULL_SIZE,
    queries: int = DEFAULT_QUERIES,
    postgres_url: str | None = None,
) -> SpeedPlan:
    """Check what is wanted; without kinds it is all that can be measured.

    Raises:
        InvalidValue: a kind that does not exist, or PostgreSQL without its address; a number that
            is too small or too large.
    """
    sizes = Sizes(
        checks.integer("size", size, _SMALLEST, _LARGEST),
        checks.integer("queries", queries, 1, _MOST_QUERIES),
    )
    wanted = {checks.choice("kind", kind, Kind) for kind in kinds} or set(Kind)
    if postgres_url is None:
        if kinds and Kind.POSTGRES in wanted:
            raise InvalidValue("kind", "postgres needs the address of a database to measure on")
        wanted.discard(Kind.POSTGRES)
    return SpeedPlan(tuple(kind for kind in Kind if kind in wanted), sizes, postgres_url)


def measure_speed(plan: SpeedPlan, folder: Path, progress_of: ProgressOf) -> Iterator[Figure]:
    """Measure everything in the plan, with files in this folder.

    Raises:
        StorageError: a database cannot be opened or written.
    """
    ground = Ground(folder, plan.sizes, progress_of)
    measurements = _measurements(plan, ground)
    for kind in plan.kinds:
        progress_of(f"measuring: {kind}")
        yield from measurements[kind]()


def _measurements(plan: SpeedPlan, ground: Ground) -> Mapping[Kind, Callable[[], list[Figure]]]:
    return {
        Kind.START: starting_figures,
        Kind.ADD: lambda: writing_figures(
            ground.folder,
            singles=plan.sizes.large // _MEMORIES_PER_SINGLE_WRITE,
            at_full_size=plan.sizes.are_full,
        ),
        Kind.SEARCH: lambda: size_figures(ground),
        Kind.USERS: lambda: crowd_figures(ground),
        Kind.QUERY: lambda: query_figures(ground),
        Kind.CONTEXT: lambda: context_figures(ground),
        Kind.RELATION: lambda: relation_figures(ground),
        Kind.CHECKPOINT: lambda: checkpoint_figures(ground, plan.postgres_url),
        Kind.RESIDENT: lambda: resident_figures(ground),
        Kind.POSTGRES: lambda: postgres_figures(ground, plan.postgres_url or ""),
    }
