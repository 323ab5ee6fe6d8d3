"""Restoring a user exactly as exported: same ids, times, history and revision."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.errors import AccessDenied, Conflict, ImportFailed, InvalidValue
from ricordo.formation.proposals import PROPOSAL
from ricordo.formation.schedule import plan_what_ends
from ricordo.limits import MAX_BLOCKED_SENDERS, MAX_LINKS_PER_MEMORY, MAX_MEMBERS_PER_GROUP
from ricordo.memories import sharing
from ricordo.memories.lifecycle import WENT_WITH
from ricordo.memories.replacement import MERGED_IDS
from ricordo.model.group import group_of
from ricordo.model.item import STORED_FIELDS
from ricordo.model.scope import Scope
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import Event, ProposalState, Status
from ricordo.storage.database import OWNER_ACTED, Database, WriteTransaction, is_rehearsing, retried
from ricordo.storage.history import drop_view, take_received
from ricordo.storage.items import derived_columns, index_items, item_from_row
from ricordo.storage.links import add_link, drop_offer, find_block, find_offer
from ricordo.storage.tables import (
    ITEM_IDS,
    TURN_IDS,
    group_members,
    groups,
    items,
    proposals,
    turn_pieces,
    turns,
    users,
)
from ricordo.storage.threads import index_turns
from ricordo.storage.users import has_anything, note_upkeep
from ricordo.text.normalise import content_hash, slug
from ricordo.transfer.drafts import UserDraft
from ricordo.transfer.rows import TABLE_OF_KIND, Row

_ID_FIELDS: Final = {
    "item": ("id",),
    "link": ("item_id",),
    "history": ("item_id", "old_ref", "new_ref"),
    "proposal": ("id", "item_id"),
    "store_entry": ("item_id",),
}
"""The fields with ids of memories and proposals, which share one sequence."""

_APART: Final = frozenset({"link", "group", "group_member"})
"""What is not inserted as the user's own."""

_MOST_PROBLEMS: Final = 20  # that one message names
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
    given: UserDraft,
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
    with database.our_errors():
        mentioned = {
            one
            for kind, names in _ID_FIELDS.items()
            for row in given.connection.execute(given.select(kind, *names))
            for one in row
            if one is not None
        }
        if not is_rehearsing():
            database.backend.keep_ids(ITEM_IDS, mentioned)
            database.backend.keep_ids(TURN_IDS, _ids(given, "turn"))
    with database.write(user_id) as writing:
        if has_anything(writing.connection, user_id):
            return None
        writing.keeps_user = True
        database.backend.one_import_at_a_time(writing.connection)
        received = take_received(writing.connection, user_id)
        in_items = _ids(given, "item")
        new_ids = _new_ids(
            writing, ITEM_IDS, (items, proposals), in_items | _ids(given, "proposal")
        )
        new_turn_ids = _new_ids(writing, TURN_IDS, (turns, turn_pieces), _ids(given, "turn"))
        for row in given.rows("refused_link"):  # the user has rejected them before
            drop_offer(writing.connection, user_id, row["item_id"])
        for row in given.rows("thread_view"):  # of a conversation that looked before
            drop_view(writing, row["thread_id"])
        count = 0
        if by_operator:
            count += _join(writing, given)
        for kind in (one for one in TABLE_OF_KIND if one not in _APART):
            for page in given.pages(kind):
                rows = [_renumbered(kind, row, new_ids, new_turn_ids) for row in page]
                _insert(writing, kind, [{**row, "user_id": user_id} for row in rows])
                count += len(rows)
        writing.continue_from(given.revision)
        for change in received:  # what others shared before, after the user's own history
            writing.record(
                change.event, change.item_id, actor=change.actor, other_user=change.other_user
            )
        links = [
            _renumbered("link", row, new_ids, new_turn_ids)
            for row in given.rows("link")
            if row["user_id"] != user_id
        ]
        known = frozenset() if in_items & new_ids.keys() else restored_too
        made = _link(writing, links, known) if by_operator else _offer(writing, scope, links)
        plan_what_ends(writing)  # jobs are not exported
        note_upkeep(writing, tended_since=writing.now)  # upkeep has not run here yet
    return Restored(count + made, len(links) - made)


def _join(writing: WriteTransaction, given: UserDraft) -> int:
    """Restore a group and its members; how many rows. Who else has a file cannot make one."""
    rows = [{**row, "user_id": writing.user_id} for row in given.rows("group")]
    members = [{**row, "space_id": writing.user_id} for row in given.rows("group_member")]
    with writing.acting_for_all():
        for table, found in ((groups, rows), (group_members, members)):
            if found:
                writing.connection.execute(sa.insert(table), found)
    return len(rows) + len(members)


def _ids(given: UserDraft, kind: str) -> set[int]:
    return set(given.connection.execute(given.select(kind, "id")).scalars())


def _insert(writing: WriteTransaction, kind: str, rows: list[Row]) -> None:
    """Insert a page of rows and index them. Vectors are not exported: a job makes them."""
    if kind == "user":
        values = {name: value for name, value in rows[0].items() if name != "user_id"}
        where = users.c.user_id == rows[0]["user_id"]
        writing.connection.execute(sa.update(users).where(where).values(**values))
        return
    if kind == "item":
        rows = [{**row, **derived_columns(row["content"])} for row in rows]
    writing.connection.execute(sa.insert(TABLE_OF_KIND[kind]), rows)
    if kind == "item":
        stored = ({name: row[name] for name in STORED_FIELDS} for row in rows)
        index_items(writing, [item_from_row(row) for row in stored])
    elif kind == "turn":
        index_turns(writing, [Turn.from_row(row) for row in rows])


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


def _renumbered(kind: str, row: Row, new_ids: dict[int, int], new_turn_ids: dict[int, int]) -> Row:
    """A row with the new ids of what it mentions.

    History may mention memories of others or purged ones; those ids stay.
    """
    changed: Row = {name: new_ids.get(row[name], row[name]) for name in _ID_FIELDS.get(kind, ())}
    if kind == "turn":
        changed["id"] = new_turn_ids.get(row["id"], row["id"])
    elif kind == "proposal":
        changed["signals"] = [new_turn_ids.get(one, one) for one in row["signals"]]
    elif kind == "history":
        changed["meta"] = meta = dict(row["meta"])
        if MERGED_IDS in meta:
            meta[MERGED_IDS] = [new_ids.get(one, one) for one in meta[MERGED_IDS]]
        for name in {WENT_WITH, PROPOSAL} & meta.keys():
            meta[name] = new_ids.get(meta[name], meta[name])
    return {**row, **changed}


def _new_ids(
    writing: WriteTransaction, series: str, tables: Sequence[sa.Table], wanted: set[int]
) -> dict[int, int]:
    """New ids in place of those that are taken or far beyond all others."""
    if not wanted:
        return {}
    (reached,) = writing.take_ids(series, 1)
    unusable = {one for one in wanted if one > reached}
    within = wanted - unusable
    if within:
        with writing.acting_for_all():  # ids are unique across users
            for table in tables:
                between = table.c.id.between(min(within), max(within))
                present: Any = writing.connection.execute(sa.select(table.c.id).where(between))
                unusable |= within.intersection(present.scalars())
    fresh = writing.take_ids(series, len(unusable)) if unusable else []
    return dict(zip(sorted(unusable), fresh, strict=True))


# Each check is a query, so that a large file takes no memory, and says the first few problems.


def check_coherence(path: Path, user: UserDraft) -> None:
    """Refuse rows that the store could not work with. Raises ImportFailed."""
    found = chain.from_iterable(check(user) for check in _CHECKS)
    problems = list(islice(found, _MOST_PROBLEMS))
    if problems:
        raise ImportFailed(f"{path}, user {user.user_id!r}: {'; '.join(problems)}")


def _history(user: UserDraft) -> Iterator[str]:
    found = sa.select(*_series(user.table("history").c.revision)).where(user.owns("history"))
    if tuple(user.connection.execute(found).one()) != _series_up_to(user.revision):
        yield f"history is not the revisions 1 to {user.revision}"


def _themes(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "theme", "theme", "slug")
    for name in user.connection.execute(user.select("theme", "slug")).scalars():
        if slug(name) != name:
            yield f"theme {name!r} is not a slug"
    missing = _missing(user, ("item", "theme"), ("theme", "slug"))
    if missing:
        yield f"memories in themes that are not there: {missing}"


def _items(user: UserDraft) -> Iterator[str]:
    item = user.table("item").c
    yield from _repeated(user, "memory", "item", "id")
    is_active = item.status == Status.ACTIVE.value
    keyed = sa.and_(is_active, item.key.is_not(None))
    yield from _repeated(user, "active key", "item", "theme", "key", "project_id", where=keyed)
    texts: set[tuple[str, str, str | None]] = set()
    unkeyed = user.select("item", "theme", "content", "project_id")
    unkeyed = unkeyed.where(is_active, item.key.is_(None)).execution_options(yield_per=1_000)
    for theme, content, project in user.connection.execute(unkeyed):
        text = (theme, content_hash(content), project)
        if text in texts:
            yield f"active text {text!r} appears twice"
            break
        texts.add(text)
    missing = _missing(user, ("item", "id"), ("history", "item_id"), ("history", "old_ref"))
    if missing:
        yield f"memories without history: {missing}"
    is_deleted = item.status == Status.DELETED.value
    unplanned = user.select("item", "id").where(is_deleted, item.purge_at.is_(None))
    for item_id in user.connection.execute(unplanned).scalars():
        yield f"memory {item_id} is deleted but has no purge_at"


def _links(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "link", "link", "user_id", "item_id")
    missing = _missing(user, ("link", "item_id"), ("item", "id"))
    if missing:
        yield f"links to memories that are not there: {missing}"
    item_id, count = user.table("link").c.item_id, sa.func.count()
    many = sa.select(item_id, count).where(user.owns("link")).group_by(item_id)
    for number, links in user.connection.execute(many.having(count > MAX_LINKS_PER_MEMORY)):
        yield f"memory {number} has {links} links; allowed: {MAX_LINKS_PER_MEMORY}"


def _groups(user: UserDraft) -> Iterator[str]:
    found, members = user.count("group"), user.count("group_member")
    if found != (group_of(user.user_id) is not None):
        yield f"{found} groups; a space has one, and nobody else"
    if members and not found:
        yield "members of no group"
    if members > MAX_MEMBERS_PER_GROUP:
        yield f"{members} members; allowed: {MAX_MEMBERS_PER_GROUP}"
    yield from _repeated(user, "member", "group_member", "user_id")


def _refusals(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "refused link", "refused_link", "item_id")
    yield from _repeated(user, "blocked sender", "blocked_sender", "sender_id")
    blocked = user.count("blocked_sender")
    if blocked > MAX_BLOCKED_SENDERS:
        yield f"{blocked} blocked senders; allowed: {MAX_BLOCKED_SENDERS}"


def _conversations(user: UserDraft) -> Iterator[str]:
    thread, turn = user.table("thread"), user.table("turn")
    yield from _repeated(user, "turn", "turn", "id")
    yield from _repeated(user, "thread", "thread", "thread_id")
    named = turn.c.message_id.is_not(None)
    yield from _repeated(user, "message", "turn", "thread_id", "message_id", where=named)
    found = (
        sa.select(thread.c.thread_id, thread.c.turn_count, *_series(turn.c.position))
        .select_from(
            thread.outerjoin(
                turn,
                sa.and_(turn.c.thread_id == thread.c.thread_id, user.owns("turn")),
            )
        )
        .where(user.owns("thread"))
        .group_by(thread.c.thread_id, thread.c.turn_count)
    )
    for thread_id, turn_count, *positions in user.connection.execute(found):
        if tuple(positions) != _series_up_to(turn_count):
            yield f"the turns of thread {thread_id!r} are not 1 to its turn_count"
    for thread_id in _first_missing(user, ("turn", "thread_id"), ("thread", "thread_id")):
        yield f"the turns of thread {thread_id!r} are not 1 to its turn_count"


def _formation(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "formation of", "formation", "thread_id")
    for thread_id, reached, turn_count in _with_turn_count(user, "formation", "formed_position"):
        if turn_count is None:
            yield f"formation of thread {thread_id!r}, which is not there"
        elif reached > turn_count:
            yield f"thread {thread_id!r} is formed up to {reached}, beyond its turn_count"


def _proposals(user: UserDraft) -> Iterator[str]:
    proposal, item = user.table("proposal"), user.table("item")
    yield from _repeated(user, "proposal", "proposal", "id")
    both = sa.select(sa.func.min(proposal.c.id)).where(
        user.owns("proposal"), user.owns("item"), proposal.c.id == item.c.id
    )
    number = user.connection.execute(both).scalar()
    if number is not None:
        yield f"{number} is the id of a proposal and of a memory"
    unrecorded = _missing(user, ("proposal", "id"), ("history", "item_id"))
    if unrecorded:
        yield f"proposals without history: {unrecorded}"
    signal = sa.func.json_each(proposal.c.signals).table_valued("value")
    said = sa.select(user.table("turn").c.id).where(user.owns("turn"))
    unsaid = (
        sa.select(proposal.c.id, signal.c.value)
        .select_from(proposal.join(signal, sa.true()))
        .where(user.owns("proposal"), signal.c.value.not_in(said))
    )
    for number, turn_id in user.connection.execute(unsaid):
        yield f"proposal {number} has signals that are not turns: {turn_id}"


def _summary(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "summary of", "summary", "user_id")
    for revision in _later(user, "summary", "revision"):
        yield f"the summary is of revision {revision}, after the user's own"


def _compactions(user: UserDraft) -> Iterator[str]:
    yield from _repeated(user, "compaction", "compaction", "thread_id", "last_position")
    for thread_id, reached, turn_count in _with_turn_count(user, "compaction", "last_position"):
        if reached > (turn_count or 0):
            yield f"thread {thread_id!r} is compacted beyond its turn_count"


def _states(user: UserDraft) -> Iterator[str]:
    """Each program state is unique, and an entry's memory exists."""
    for kind, names in _NAMED_BY.items():
        yield from _repeated(user, kind.replace("_", " "), kind, *names)
    for revision in _later(user, "thread_view", "revision"):
        yield f"a thread has seen revision {revision}, after the user's own"
    linked = user.table("store_entry").c.item_id.is_not(None)
    yield from _repeated(user, "memory of an entry", "store_entry", "item_id", where=linked)
    missing = _missing(user, ("store_entry", "item_id"), ("item", "id"))
    if missing:
        yield f"entries of memories that are not there: {missing}"


_CHECKS: Final = (
    *(_groups, _history, _themes, _items, _links, _refusals, _conversations, _formation),
    *(_proposals, _summary, _compactions, _states),
)


def _series(number: sa.Column[Any]) -> list[sa.ColumnElement[Any]]:
    """What tells whether numbers are a series without allocating anything of its size."""
    count = sa.func.count
    return [count(number), count(number.distinct()), sa.func.min(number), sa.func.max(number)]


def _series_up_to(last: int) -> tuple[Any, ...]:
    return (last, last, 1, last) if last else (0, 0, None, None)


def _repeated(
    user: UserDraft, what: str, kind: str, *names: str, where: Any = None
) -> Iterator[str]:
    table = user.table(kind)
    columns = [table.c[name] for name in names]
    twice = (
        sa.select(*columns)
        .where(user.owns(kind), sa.true() if where is None else where)
        .group_by(*columns)
        .having(sa.func.count() > 1)
        .order_by(sa.func.min(table.c.draft_line))
        .limit(1)
    )
    for row in user.connection.execute(twice):
        yield f"{what} {row[0] if len(row) == 1 else tuple(row)!r} appears twice"


def _missing(user: UserDraft, wanted: tuple[str, str], *present: tuple[str, str]) -> str:
    return ", ".join(map(str, _first_missing(user, wanted, *present)))


def _first_missing(
    user: UserDraft, wanted: tuple[str, str], *present: tuple[str, str]
) -> Sequence[Any]:
    """The first few values of a column that are in none of the others."""
    first, *others = (
        sa.select(user.table(kind).c[name].label("one")).where(user.owns(kind))
        for kind, name in (wanted, *present)
    )
    rest = sa.except_(first, *others).subquery()
    few = sa.select(rest.c.one).where(rest.c.one.is_not(None)).order_by(rest.c.one).limit(5)
    return user.connection.execute(few).scalars().all()


def _with_turn_count(user: UserDraft, kind: str, name: str) -> Iterable[Any]:
    """The threads of these rows, a column, and how many turns the thread has."""
    table, thread = user.table(kind), user.table("thread")
    same = sa.and_(thread.c.thread_id == table.c.thread_id, user.owns("thread"))
    wanted = sa.select(table.c.thread_id, table.c[name], thread.c.turn_count)
    found = wanted.select_from(table.outerjoin(thread, same)).where(user.owns(kind))
    return user.connection.execute(found)


def _later(user: UserDraft, kind: str, name: str) -> Iterator[int]:
    column = user.table(kind).c[name]
    yield from user.connection.execute(
        user.select(kind, name).where(column > user.revision)
    ).scalars()
