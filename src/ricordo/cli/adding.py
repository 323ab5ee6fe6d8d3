"""Remembering: ``add`` and ``merge``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.drafting import Draft
from ricordo.cli.files import read_batch, read_text
from ricordo.cli.options import Acting, Owner, Reason
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import open_user
from ricordo.errors import InvalidValue

if TYPE_CHECKING:
    from ricordo.model.item import Added

Content = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")
]
Batch = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Add many: a JSON object or a text on each line; - reads standard input."
        " The other options hold for what a line leaves open.",
    ),
]
Supersedes = Annotated[
    int | None, typer.Option(metavar="ID", help="Memory that this takes the place of.")
]
Into = Annotated[
    str, typer.Option("--into", metavar="TEXT", help="What they become; - reads standard input.")
]
MergedIds = Annotated[
    list[int], typer.Argument(metavar="ID", help="Numbers of the memories to merge.")
]


def add(
    *,
    content: Content = None,
    batch: Batch = None,
    draft: Draft,
    supersedes: Supersedes = None,
    reason: Reason = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Remember something, or many things.

    The same text in the same theme is not stored twice. What has the same --key is updated.

    Example: ricordo add "Prefers tea to coffee" --theme drinks --type preference
    """
    if batch is not None:
        _add_batch(batch, draft, acting, owner, reason, (content, supersedes))
        return
    if content is None:
        raise InvalidValue("content", "is missing; say what to remember: ricordo add 'TEXT'")
    text = read_text(content)
    with open_user(owner, acting) as memory:
        added = memory.add(text, supersedes=supersedes, reason=reason, **draft.given())
    answer(owner.as_json, added, _sentence)


def merge(
    *,
    ids: MergedIds,
    into: Into,
    draft: Draft,
    reason: Reason = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Put one memory in the place of several; those are kept as history.

    Example: ricordo merge 3 5 --into "Prefers green tea, without sugar"
    """
    text = read_text(into)
    with open_user(owner, acting) as memory:
        added = memory.merge(ids, {"content": text, **draft.given()}, reason=reason)
    answer(owner.as_json, added, _sentence)


def _add_batch(
    path: Path,
    draft: Draft,
    acting: Acting,
    owner: Owner,
    reason: str | None,
    singular: tuple[str | None, int | None],
) -> None:
    if singular != (None, None):
        raise InvalidValue("batch", "takes its memories from the file: no TEXT, no --supersedes")
    drafts = read_batch(path, draft.given())
    with open_user(owner, acting) as memory, working("Adding", wanted=not owner.as_json):
        added = memory.add_many(drafts, reason=reason)
    answer(owner.as_json, added, _summary)


def _sentence(added: "Added") -> str:
    if added.duplicate:
        return f"Known already, as {added.id}."
    return f"Updated {added.id}." if added.updated else f"Remembered as {added.id}."


def _summary(added: "Sequence[Added]") -> str:
    outcomes = Counter(
        "known" if one.duplicate else "updated" if one.updated else "new" for one in added
    )
    return (
        f"Remembered {outcomes['new']}, updated {outcomes['updated']},"
        f" known already {outcomes['known']}."
    )
