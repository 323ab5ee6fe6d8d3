"""Making the terms of search anew: ``reindex``."""

from typing import Annotated

import typer

from ricordo.cli.options import Store
from ricordo.cli.progress import progress_bar
from ricordo.cli.render import answer
from ricordo.cli.session import open_store
from ricordo.cli.shapes import Reindexed

Everything = Annotated[
    bool, typer.Option("--all", help="Also make the indexes themselves again, as after damage.")
]


def reindex(*, everything: Everything = False, store: Store) -> None:
    """Make the search terms anew that are missing, or of another language or version.

    A job does the same by itself after such a change. It can be stopped and goes on where it was.
    """
    with (
        open_store(store) as memory,
        progress_bar("Making search terms", wanted=not store.as_json) as progress,
    ):
        count = memory.reindex(everything=everything, progress=progress)
    done = Reindexed(reindexed=count)
    answer(store.as_json, done, lambda _: f"Search terms made anew: {count}.")
