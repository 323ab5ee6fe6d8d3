"""Restoring a user exactly as exported: same ids, times, history and revision."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.errors import AccessDenied, Conflict, ImportFailed, InvalidValue
from ricordo.formation.proposals import PROPOSAL
from ricordo.formation.schedule import plan_what_ends
from ricordo.limits import MAX_BLOCKED_SENDERS, MAX_LINKS_PER_MEMORY, WRITE_BATCH_ITEMS
from ricordo.memories import sharing
from ricordo.memories.lifecycle import WENT_WITH
from ricordo.memories.replacement import MERGED_IDS
from ricordo.model.item import Change, Item
from ricordo.model.scope import Scope
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import Event, ProposalState, Status
from ricordo.storage.database import OWNER_ACTED, Database, WriteTransaction, retried
from ricordo.storage.history import take_received
from ricordo.storage.items import derived_columns, index_items, item_from_row
from ricordo.storage.links import add_link, drop_offer, find_block, find_offer
from ricordo.storage.tables import ITEM_IDS, TURN_IDS, items, proposals, turns, users
from ricordo.storage.threads import index_turns
from ricordo.storage.users import has_anything, note_upkeep
from ricordo.text.normalise import content_hash, slug
from ricordo.transfer.rows import TABLE_OF_KIND, Row, UserRows

_ID_FIELDS: Final = {
    "item": ("id",),
    "link": ("item_id",),
    "history": ("item_id", "old_ref", "new_ref"),
    "proposal": ("id", "item_id"),
    "store_entry": ("item_id",),
}
"""The fields with ids of memories and proposals, which share one sequence."""

_NAMED_BY: Final = {
    "thread_view": ("thread_id",),
    "checkpoint": ("thread_id",),
    "graph_checkpoint": ("thread_id", "namespace", "checkpoint_id"),
    "graph_channel": ("thread_id", "namespace", "channel", "version"),
    "graph_write": ("thread_id", "namespace", "checkpoint_id", "task_id", "place"),
    "store_entry": ("namespace", "key"),
}


class Restored(NamedTuple):
    """The number of restored rows, and of links left out because their viewer blocks them."""

    rows: int
    skipped_links: int


@retried
def restore_user(
    database: Database,
    given: UserRows,
    scope: Scope,
    restored_too: AbstractSet[str] = frozenset(),
    *,
    by_operator: bool,
) -> Restored | None:
    """Insert a user's rows unchanged, in one transaction.

    None when the user already has anything stored. Only the operator restores links; a user's own
    file can only offer them, because anybody could write links into it. Viewers learn of links
    through their change feed, except those restored from the same file: their history has it
    already. Open proposals expire as usual. Imported conversations are not queued for formation.
    """
    user_id = scope.user_id
    rows = {kind: list(found) for kind, found in given.rows.items()}
    links = [row for row in rows.pop("link") if row["user_id"] != user_id]
    rows["link"] = []
    with database.our_errors():
        mentioned = {
            row[name]
            for kind, names in _ID_FIELDS.items()
            for row in rows[kind]
            for name in names
            if row[name] is not None
        }
        database.backend.keep_ids(ITEM_IDS, mentioned)
        database.backend.keep_ids(TURN_IDS, [row["id"] for row in rows["turn"]])
    with database.write(user_id) as writing:
        if has_anything(writing.connection, user_id):
            return None
        writing.keeps_user = True
        database.backend.one_import_at_a_time(writing.connection)
        received = take_received(writing.connection, user_id)
        rows["link"] = links
        moved = _renumber(writing, rows)
        links, rows["link"] = rows["link"], []
        _drop_offers(writing, rows["refused_link"])
        for kind in TABLE_OF_KIND:
            _insert(writing, kind, [{**row, "user_id": user_id} for row in rows[kind]])
        writing.continue_from(given.revision)
        _record_received(writing, received)
        known = {name for name in restored_too if not moved}
        made = _link(writing, links, known) if by_operator else _offer(writing, scope, links)
        plan_what_ends(writing)  # jobs are not exported
        note_upkeep(writing, tended_since=writing.now)  # upkeep has not run here yet
    return Restored(sum(map(len, rows.values())) + made, len(links) - made)


def _drop_offers(writing: WriteTransaction, refused: list[Row]) -> None:
    """Withdraw offers that the user has rejected before."""
    for row in refused:
        drop_offer(writing.connection, writing.user_id, row["item_id"])


def _insert(writing: WriteTransaction, kind: str, rows: list[Row]) -> None:
    if kind == "user":
        values = {name: value for name, value in rows[0].items() if name != "user_id"}
        where = users.c.user_id == rows[0]["user_id"]
        writing.connection.execute(sa.update(users).where(where).values(**values))
        return
    if kind == "item":
        rows = [{**row, **derived_columns(row["content"])} for row in rows]
    if rows:
        writing.connection.execute(sa.insert(TABLE_OF_KIND[kind]), rows)
        _index(writing, kind, rows)


def _index(writing: WriteTransaction, kind: str, rows: list[Row]) -> None:
    """Index the restored rows. Vectors are not exported: a job makes them."""
    for start in range(0, len(rows), WRITE_BATCH_ITEMS):
        batch = rows[start : start + WRITE_BATCH_ITEMS]
        if kind == "item":
            index_items(
                writing,
                [
                    item_from_row({field.name: row[field.name] for field in fields(Item)})
                    for row in batch
                ],
            )
        elif kind == "turn":
            index_turns(writing, [Turn.from_row(row) for row in batch])


def _link(writing: WriteTransaction, links: list[Row], restored_too: AbstractSet[str]) -> int:
    """Restore links, except to users who block them, and notify their viewers; how many."""
    made = 0
    for link in links:
        viewer, item_id = link["user_id"], link["item_id"]
        writing.concern(viewer)
        refused = find_offer(writing.connection, viewer, item_id)
        is_refused = refused is not None and refused.state is ProposalState.REJECTED
        if is_refused or find_block(writing.connection, viewer, writing.user_id) is not None:
            continue
        add_link(writing.connection, viewer, writing.user_id, item_id, link["created_at"])
        made += 1
        if viewer not in restored_too:
            writing.record(
                Event.LINK, item_id, actor=OWNER_ACTED, other_user=writing.user_id, user_id=viewer
            )
    return made


def _offer(writing: WriteTransaction, scope: Scope, links: list[Row]) -> int:
    """Offer what was linked, where that is allowed; how many."""
    made = 0
    for link in links:
        with contextlib.suppress(Conflict, AccessDenied, InvalidValue):
            sharing.link(writing, scope, link["item_id"], link["user_id"])
            made += 1
    return made


def _record_received(writing: WriteTransaction, received: list[Change]) -> None:
    """Record what others shared with this user before after the user's own history."""
    for change in received:
        writing.record(
            change.event, change.item_id, actor=change.actor, other_user=change.other_user
        )


def _renumber(writing: WriteTransaction, rows: dict[str, list[Row]]) -> bool:
    """Assign new ids where they are taken or far beyond all others; whether any memory got one.

    History may mention memories of others or purged ones; those ids stay.
    """
    numbered = [*rows["item"], *rows["proposal"]]
    new_ids = _new_ids(writing, ITEM_IDS, (items, proposals), numbered)
    moved = any(row["id"] in new_ids for row in rows["item"])
    for kind, names in _ID_FIELDS.items():
        rows[kind] = [_mapped(row, names, new_ids) for row in rows[kind]]
    for row in rows["history"]:
        row["meta"] = _mapped_meta(row["meta"], new_ids)
    new_turn_ids = _new_ids(writing, TURN_IDS, (turns,), rows["turn"])
    rows["turn"] = [_mapped(row, ("id",), new_turn_ids) for row in rows["turn"]]
    for row in rows["proposal"]:
        row["signals"] = [new_turn_ids.get(one, one) for one in row["signals"]]
    return moved


def _mapped_meta(meta: dict[str, Any], new_ids: dict[int, int]) -> dict[str, Any]:
    mapped = dict(meta)
    if MERGED_IDS in meta:
        mapped[MERGED_IDS] = [new_ids.get(one, one) for one in meta[MERGED_IDS]]
    for name in (WENT_WITH, PROPOSAL):
        if name in meta:
            mapped[name] = new_ids.get(meta[name], meta[name])
    return mapped


def _mapped(row: Row, names: Iterable[str], new_ids: dict[int, int]) -> Row:
    return {**row, **{name: new_ids.get(row[name], row[name]) for name in names}}


def _new_ids(
    writing: WriteTransaction, series: str, tables: Sequence[sa.Table], rows: list[Row]
) -> dict[int, int]:
    wanted = {row["id"] for row in rows}
    if not wanted:
        return {}
    (reached,) = writing.take_ids(series, 1)
    beyond = {one for one in wanted if one > reached}
    within = wanted - beyond
    with writing.acting_for_all():  # ids are unique across users
        taken = {one for table in tables for one in _taken(writing.connection, table, within)}
    unusable = sorted(beyond | taken)
    fresh = writing.take_ids(series, len(unusable)) if unusable else []
    return dict(zip(unusable, fresh, strict=True))


def _taken(connection: sa.Connection, table: sa.Table, wanted: set[int]) -> set[int]:
    if not wanted:
        return set()
    between = table.c.id.between(min(wanted), max(wanted))
    present: Any = connection.execute(sa.select(table.c.id).where(between)).scalars()
    return wanted.intersection(present)


def check_coherence(path: Path, user: UserRows) -> None:
    """Refuse rows that the store could not work with. Raises ImportFailed."""
    problems = [
        *_history(user),
        *_themes(user),
        *_items(user),
        *_links(user),
        *_refusals(user),
        *_conversations(user),
        *_formation(user),
        *_proposals(user),
        *_summary(user),
        *_compactions(user),
        *_states(user),
    ]
    if problems:
        raise ImportFailed(f"{path}, user {user.user_id!r}: {'; '.join(problems)}")


def _history(user: UserRows) -> Iterable[str]:
    if not _is_series((row["revision"] for row in user.rows["history"]), user.revision):
        yield f"history is not the revisions 1 to {user.revision}"


def _themes(user: UserRows) -> Iterable[str]:
    slugs = [row["slug"] for row in user.rows["theme"]]
    yield from _repeated("theme", slugs)
    for name in slugs:
        if slug(name) != name:
            yield f"theme {name!r} is not a slug"
    missing = {row["theme"] for row in user.rows["item"]} - set(slugs)
    if missing:
        yield f"memories in themes that are not there: {', '.join(sorted(missing))}"


def _items(user: UserRows) -> Iterable[str]:
    items = user.rows["item"]
    yield from _repeated("memory", [row["id"] for row in items])
    active = [row for row in items if row["status"] == Status.ACTIVE.value]
    keys = [(row["theme"], row["key"]) for row in active if row["key"] is not None]
    yield from _repeated("active key", keys)
    texts = [(row["theme"], content_hash(row["content"])) for row in active if row["key"] is None]
    yield from _repeated("active text", texts)
    in_history = {row[name] for row in user.rows["history"] for name in ("item_id", "old_ref")}
    missing = {row["id"] for row in items} - in_history
    if missing:
        yield f"memories without history: {_some(missing)}"
    for row in items:
        if row["status"] == Status.DELETED.value and row["purge_at"] is None:
            yield f"memory {row['id']} is deleted but has no purge_at"


def _links(user: UserRows) -> Iterable[str]:
    links = [(row["user_id"], row["item_id"]) for row in user.rows["link"]]
    yield from _repeated("link", links)
    missing = {item_id for _, item_id in links} - {row["id"] for row in user.rows["item"]}
    if missing:
        yield f"links to memories that are not there: {', '.join(map(str, sorted(missing)))}"
    for item_id, count in Counter(item_id for _, item_id in links).items():
        if count > MAX_LINKS_PER_MEMORY:
            yield f"memory {item_id} has {count} links; allowed: {MAX_LINKS_PER_MEMORY}"


def _refusals(user: UserRows) -> Iterable[str]:
    yield from _repeated("refused link", [row["item_id"] for row in user.rows["refused_link"]])
    blocked = [row["sender_id"] for row in user.rows["blocked_sender"]]
    yield from _repeated("blocked sender", blocked)
    if len(blocked) > MAX_BLOCKED_SENDERS:
        yield f"{len(blocked)} blocked senders; allowed: {MAX_BLOCKED_SENDERS}"


def _conversations(user: UserRows) -> Iterable[str]:
    yield from _repeated("turn", [row["id"] for row in user.rows["turn"]])
    yield from _repeated("thread", [row["thread_id"] for row in user.rows["thread"]])
    messages = [
        (row["thread_id"], row["message_id"])
        for row in user.rows["turn"]
        if row["message_id"] is not None
    ]
    yield from _repeated("message", messages)
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for row in user.rows["turn"]:
        positions[row["thread_id"]].append(row["position"])
    counts = {row["thread_id"]: row["turn_count"] for row in user.rows["thread"]}
    for thread_id in sorted(counts.keys() | positions.keys()):
        if not _is_series(positions[thread_id], counts.get(thread_id, -1)):
            yield f"the turns of thread {thread_id!r} are not 1 to its turn_count"


def _formation(user: UserRows) -> Iterable[str]:
    yield from _repeated("formation of", [row["thread_id"] for row in user.rows["formation"]])
    counts = {row["thread_id"]: row["turn_count"] for row in user.rows["thread"]}
    for row in user.rows["formation"]:
        thread_id, reached = row["thread_id"], row["formed_position"]
        if thread_id not in counts:
            yield f"formation of thread {thread_id!r}, which is not there"
        elif reached > counts[thread_id]:
            yield f"thread {thread_id!r} is formed up to {reached}, beyond its turn_count"


def _proposals(user: UserRows) -> Iterable[str]:
    ids = [row["id"] for row in user.rows["proposal"]]
    yield from _repeated("proposal", ids)
    both = set(ids).intersection(row["id"] for row in user.rows["item"])
    if both:
        yield f"{min(both)} is the id of a proposal and of a memory"
    unrecorded = set(ids) - {row["item_id"] for row in user.rows["history"]}
    if unrecorded:
        yield f"proposals without history: {_some(unrecorded)}"
    said = {row["id"] for row in user.rows["turn"]}
    for row in user.rows["proposal"]:
        missing = set(row["signals"]) - said
        if missing:
            yield f"proposal {row['id']} has signals that are not turns: {_some(missing)}"


def _summary(user: UserRows) -> Iterable[str]:
    yield from _repeated("summary of", [row["user_id"] for row in user.rows["summary"]])
    for row in user.rows["summary"]:
        if row["revision"] > user.revision:
            yield f"the summary is of revision {row['revision']}, after the user's own"


def _compactions(user: UserRows) -> Iterable[str]:
    rows = user.rows["compaction"]
    yield from _repeated("compaction", [(row["thread_id"], row["last_position"]) for row in rows])
    counts = {row["thread_id"]: row["turn_count"] for row in user.rows["thread"]}
    for row in rows:
        if row["last_position"] > counts.get(row["thread_id"], 0):
            yield f"thread {row['thread_id']!r} is compacted beyond its turn_count"


def _states(user: UserRows) -> Iterable[str]:
    """Each program state is unique, and an entry's memory exists."""
    for kind, names in _NAMED_BY.items():
        what = kind.replace("_", " ")
        rows = user.rows[kind]
        yield from _repeated(what, [tuple(row[name] for name in names) for row in rows])
    for row in user.rows["thread_view"]:
        if row["revision"] > user.revision:
            yield f"thread {row['thread_id']!r} was told of revision {row['revision']}, to come"
    memories = {row["id"] for row in user.rows["item"]}
    linked = [row["item_id"] for row in user.rows["store_entry"] if row["item_id"] is not None]
    yield from _repeated("memory of an entry", linked)
    missing = set(linked) - memories
    if missing:
        yield f"entries of memories that are not there: {_some(missing)}"


def _is_series(numbers: Iterable[int], last: int) -> bool:
    """Whether these are the numbers 1 to ``last``. Allocates nothing of that size, because ``last``
    comes from a file."""
    found = sorted(numbers)
    return len(found) == last and all(one == at for at, one in enumerate(found, start=1))


def _some(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)[:5]))


def _repeated(what: str, values: Iterable[Hashable]) -> Iterable[str]:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        yield f"{what} {twice[0]!r} appears twice"
