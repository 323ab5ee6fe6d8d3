"""Memories: ``add``, ``merge``, ``get``, ``list``, ``history``, and ``archive`` to ``purge``."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.input import read_batch, read_text
from ricordo.cli.json_answers import Purged
from ricordo.cli.recall import FILTER_SPELLINGS
from ricordo.cli.render import Shown, TableListing, answer, confirm, working
from ricordo.cli.store import Acting, AllUsers, Owner, Yes, open_store, open_user
from ricordo.clock import system_clock
from ricordo.errors import InvalidValue
from ricordo.model.filters import FILTERS
from ricordo.operations import memories as describe

if TYPE_CHECKING:
    from ricordo.model.item import Added, Item, Lineage
    from ricordo.model.proposal import Proposed

_MAX_EXPIRES_DAYS: Final = 36_500
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
ExpiresDays = Annotated[
    int | None,
    typer.Option(
        metavar="DAYS",
        min=1,
        max=_MAX_EXPIRES_DAYS,
        help="In how many days it shall be forgotten.",
    ),
]
Into = Annotated[
    str, typer.Option("--into", metavar="TEXT", help="What they become; - reads standard input.")
]
_STAMPED: Final = ("thread_id", "agent_id", "run_id", "actor_id", "role", "project_id")
"""Said by the options of who acts."""
_SPELT: Final = {"tags": "--tag", "pinned": "--pin/--no-pin"}


def add(
    *,
    content: Content = None,
    batch: Batch = None,
    given: Given = options_of(describe.add, "content", *_STAMPED, **_SPELT),
    expires_days: ExpiresDays = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Remember something, or many things.

    The same text in the same theme is not stored twice. What has the same --key is updated.

    Example: ricordo add "Prefers tea to coffee" --theme drinks --type preference
    """
    draft = _with_end(given, expires_days)
    if batch is not None:
        _add_batch(batch, draft, acting, owner, content)
        return
    if content is None:
        raise InvalidValue("content", "is missing")
    text = read_text(content)
    with open_user(owner, acting) as memory:
        added = memory.add(text, **draft)
    answer(owner.as_json, added, _sentence)


def merge(
    *,
    given: Given = options_of(describe.merge, "content", *_STAMPED, ids="ID", **_SPELT),
    into: Into,
    expires_days: ExpiresDays = None,
    acting: Acting,
    owner: Owner,
) -> None:
    """Replace several memories by one; they are kept as history.

    Example: ricordo merge 3 5 --into "Prefers green tea, without sugar"
    """
    text = read_text(into)
    with open_user(owner, acting) as memory:
        added = memory.merge(content=text, **_with_end(given, expires_days))
    answer(owner.as_json, added, _sentence)


def _with_end(given: Given, expires_days: int | None) -> Given:
    """The options of a new memory, with its end. Raises InvalidValue."""
    if expires_days is None:
        return given
    if "expires_at" in given:
        raise InvalidValue("expires_at", "give either --expires-at or --expires-days")
    return {**given, "expires_at": system_clock() + timedelta(days=expires_days)}


def _add_batch(path: Path, draft: Given, acting: Acting, owner: Owner, content: str | None) -> None:
    if content is not None or "supersedes" in draft:
        raise InvalidValue("batch", "takes its memories from the file: no TEXT, no --supersedes")
    reason = draft.pop("reason", None)
    drafts = read_batch(path, draft)
    with open_user(owner, acting) as memory, working("Adding", wanted=not owner.as_json):
        added = memory.add_many(drafts, reason=reason)
    answer(owner.as_json, added, _summary)


def _sentence(added: "Added | Proposed") -> str:
    from ricordo.model.proposal import Proposed

    if isinstance(added, Proposed):
        return f"Not stored: {added.note} ({', '.join(added.fields)})"
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


def get(*, given: Given = options_of(describe.get_many, ids="ID"), owner: Owner) -> None:
    """Show one memory with everything that is known of it, or several in a list.

    Of several, those that do not exist are left out.
    """
    ids = given.pop("ids")
    with open_user(owner) as memory:
        if len(ids) == 1:
            item = memory.get(ids[0], **given)
            answer(owner.as_json, item, tables.memory_card)
            return
        found = memory.get_many(ids, **given)
    answer(owner.as_json, found, _several)


def list_memories(
    *,
    given: Given = options_of(describe.list_memories, **FILTER_SPELLINGS),
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """List memories, the newest first.

    Example: ricordo list --theme drinks --contains tea --sort importance
    """
    if all_users:
        with open_store(owner) as store:
            page = store.list(**given)
    else:
        with open_user(owner) as memory:
            page = memory.list(**given)
    is_filtered = not given.keys().isdisjoint(FILTERS)
    answer(
        owner.as_json,
        page,
        lambda found: tables.memory_table(found, with_owner=all_users, filtered=is_filtered),
    )


def _several(found: "tuple[Item, ...]") -> Shown:
    from ricordo.model.record import Page

    return tables.memory_table(Page(found), with_owner=False, filtered=True)


def _lineage_table(found: "Lineage") -> Shown:
    rows = [] if found.successor is None else [_lineage_row("Replaced by", found.successor)]
    rows += [_lineage_row("Took the place of", former) for former in found.predecessors]
    undo = (
        "Nothing to undo."
        if found.undoable is None
        else f"ricordo undo takes back the last {found.undoable}."
    )
    if not rows:
        return f"It took no other memory's place, and none took its. {undo}"
    return TableListing(["", "ID", "Memory"], rows, undo)


def _lineage_row(how: str, item: "Item") -> list[str]:
    return [how, str(item.id), tables.memory_text(item)]


_EXPECT: Final = "--expect"


def _rated(item: "Item") -> str:
    said = ", ".join(f"{one.verdict} ({one.by})" for one in item.ratings) or "no rating"
    return f"{tables.done('Rated')(item)}\n{said}"


def _pinned(item: "Item") -> str:
    return tables.done("Pinned" if item.pinned else "No longer pinned:")(item)


def purge(
    *,
    given: Given = options_of(describe.purge, before_time="--now"),
    all_users: AllUsers = False,
    yes: Yes = False,
    owner: Owner,
) -> None:
    """Remove forgotten memories for good once their time has come."""
    if given and not yes:
        whose = "all users" if all_users else owner.name
        confirm(f"removes every forgotten memory of {whose} for good", "purge")
    with (
        working("Removing for good", wanted=not owner.as_json),
        open_store(owner) if all_users else open_user(owner) as memory,
    ):
        count = memory.purge(**given)
    answer(owner.as_json, Purged(purged=count), lambda _: f"Removed for good: {count}.")


def _forgotten(items: "Sequence[Item]") -> str:
    return "\n".join(tables.done("Forgotten")(item) for item in items)


forget = command_of(
    describe.forget,
    _forgotten,
    about="Forget a memory, by its number or by its key.\n\n"
    "It can be restored for a while, and is then removed for good.",
    example="ricordo forget --key home --theme places",
    names_actor=True,
    id="ID",
    expected_updated_at=_EXPECT,
)
pin = command_of(
    describe.pin, _pinned, names_actor=True, pinned="/--off", expected_updated_at=_EXPECT
)
themes = command_of(describe.themes, tables.theme_table)
projects = command_of(describe.projects, tables.project_table, example="ricordo projects -u ana")
history = command_of(describe.history, tables.history_table)
lineage = command_of(describe.lineage, _lineage_table)
changes = command_of(describe.changes, tables.changes_table)
archive = command_of(
    describe.archive, tables.done("Archived"), names_actor=True, expected_updated_at=_EXPECT
)
restore = command_of(
    describe.restore, tables.done("Restored"), names_actor=True, expected_updated_at=_EXPECT
)
verify = command_of(
    describe.verify, tables.done("Verified"), names_actor=True, expected_updated_at=_EXPECT
)
rate = command_of(
    describe.rate,
    _rated,
    example='ricordo rate 12 wrong --reason "never lived there"',
    names_actor=True,
    id="ID",
    verdict="VERDICT",
    expected_updated_at=_EXPECT,
)
undo = command_of(
    describe.undo, tables.done("Back again:"), names_actor=True, expected_updated_at=_EXPECT
)
theme = command_of(
    describe.describe_theme,
    lambda found: tables.theme_table([found]),
    example='ricordo theme drinks --name "Food and drink" --context all',
    theme="THEME",
    display_name="--name",
)
