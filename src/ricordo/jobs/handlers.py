"""What each kind of job does. Every handler may run twice for one job without harm."""

from collections.abc import Callable, Mapping

from ricordo.errors import EmbeddingError, InvalidInput, StorageBusy
from ricordo.indexing.reindexing import REINDEX_JOB, reindex_as_asked
from ricordo.memories.erasing import SCRUB_JOB
from ricordo.memories.expiring import LIFECYCLE_JOB, expire_due, next_end, plan_lifecycle, purge_due
from ricordo.model.job import Job
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, retried
from ricordo.storage.index_rows import EMBED_JOB

Handler = Callable[[Job], None]


def standard_handlers(database: Database, recall: Recall) -> Mapping[str, Handler]:
    """The handlers of the jobs that the store itself queues."""

    def lifecycle(job: Job) -> None:
        run_lifecycle(database, job.user_id)

    def scrub(_job: Job) -> None:
        with database.our_errors():
            finished = database.backend.scrub()
        if not finished:
            raise StorageBusy("another process is reading; the freed space is overwritten later")

    def embed(job: Job) -> None:
        try:
            recall.filling.fill(job.user_id)
        except (EmbeddingError, InvalidInput) as problem:
            if job.attempts >= job.max_attempts:
                recall.filling.give_up(job.user_id, problem)
            raise

    def renew_terms(job: Job) -> None:
        reindex_as_asked(database, job.payload)

    return {
        LIFECYCLE_JOB: lifecycle,
        SCRUB_JOB: scrub,
        EMBED_JOB: embed,
        REINDEX_JOB: renew_terms,
    }


def run_lifecycle(database: Database, user_id: str) -> None:
    """Expire and purge what is due for one user, in bounded steps, and plan the next time."""
    while _lifecycle_step(database, user_id):
        pass


@retried
def _lifecycle_step(database: Database, user_id: str) -> bool:
    with database.write(user_id) as writing:
        worked = expire_due(writing) + purge_due(writing)
        following = next_end(writing)
        if worked == 0 and following is not None:
            plan_lifecycle(writing, user_id, following)
    return worked > 0
