"""Finds memories, history, proposals and revisions that contradict each other."""

from itertools import chain

import sqlalchemy as sa

from ricordo.model.vocabulary import ProposalState
from ricordo.storage.search_rows import text_hash
from ricordo.storage.tables import (
    PIECES,
    SEARCHED,
    TURNS,
    Indexed,
    formation,
    history,
    items,
    link_offers,
    links,
    of_turn,
    proposals,
    store_entries,
    summaries,
    threads,
    turn_pieces,
    turns,
    users,
)
from ricordo.text.pieces import first_piece


def find_inconsistencies(connection: sa.Connection) -> list[str]:
    """One line per problem."""
    return [
        *_revisions_with_gaps(connection),
        *_items_without_history(connection),
        *_links_to_nothing(connection),
        *_ids_given_twice(connection),
        *_index_disagrees(connection),
        *_texts_that_changed(connection),
        *_formed_too_far(connection),
        *_proposals_with_content(connection),
        *_summaries_ahead(connection),
        *_entries_of_nothing(connection),
    ]


def _revisions_with_gaps(connection: sa.Connection) -> list[str]:
    counted = (
        sa.select(
            users.c.user_id,
            users.c.revision,
            sa.func.count(history.c.revision).label("rows"),
            sa.func.coalesce(sa.func.max(history.c.revision), 0).label("last"),
        )
        .select_from(users.outerjoin(history, history.c.user_id == users.c.user_id))
        .group_by(users.c.user_id, users.c.revision)
        .order_by(users.c.user_id)
    )
    return [
        f"user {row.user_id!r} is at revision {row.revision}, history has {row.rows} rows up to"
        f" {row.last}"
        for row in connection.execute(counted)
        if not row.revision == row.rows == row.last
    ]


def _items_without_history(connection: sa.Connection) -> list[str]:
    recorded = sa.exists().where(
        history.c.user_id == items.c.user_id, history.c.item_id == items.c.id
    )
    # The update that replaced a keyed memory's text refers to the old version.
    kept = sa.exists().where(history.c.user_id == items.c.user_id, history.c.old_ref == items.c.id)
    wanted = (
        sa.select(items.c.id)
        .where(~recorded)
        .where((items.c.status == "active") | ~kept)
        .order_by(items.c.id)
    )
    return [f"memory {item_id} has no history" for item_id in connection.execute(wanted).scalars()]


def _ids_given_twice(connection: sa.Connection) -> list[str]:
    found = []
    for what, table in (
        ("memory", items),
        ("proposal", proposals),
        ("turn", turns),
        (_name(PIECES), turn_pieces),
    ):
        twice = sa.select(table.c.id).group_by(table.c.id).having(sa.func.count() > 1)
        found += [f"{what} id {one} was given twice" for one in connection.execute(twice).scalars()]
    of_memory = sa.exists().where(items.c.id == proposals.c.id)  # they are of one series
    both = sa.select(proposals.c.id).where(of_memory).order_by(proposals.c.id)
    found += [f"{one} is a proposal and a memory" for one in connection.execute(both).scalars()]
    both = sa.select(turns.c.id).where(sa.exists().where(turns.c.id == turn_pieces.c.id))
    found += [
        f"{one} is a turn and a {_name(PIECES)}" for one in connection.execute(both).scalars()
    ]
    return found


def _formed_too_far(connection: sa.Connection) -> list[str]:
    same = (threads.c.user_id == formation.c.user_id) & (
        threads.c.thread_id == formation.c.thread_id
    )
    wanted = (
        sa.select(formation.c.user_id, formation.c.thread_id)
        .join(threads, same)
        .where(formation.c.formed_position > threads.c.turn_count)
    )
    return [
        f"thread {row.thread_id!r} of user {row.user_id!r} is formed beyond its last turn"
        for row in connection.execute(wanted)
    ]


def _proposals_with_content(connection: sa.Connection) -> list[str]:
    """A proposal has content exactly while it is open."""
    is_open = proposals.c.state == ProposalState.OPEN.value
    says_nothing = proposals.c.draft.is_(sa.null())
    says_something = sa.or_(~says_nothing, proposals.c.quote.is_not(None))
    mute = sa.select(proposals.c.id).where(is_open, says_nothing).order_by(proposals.c.id)
    kept = sa.select(proposals.c.id).where(~is_open, says_something).order_by(proposals.c.id)
    return [
        *(f"proposal {one} is open and empty" for one in connection.execute(mute).scalars()),
        *(f"proposal {one} is decided and kept" for one in connection.execute(kept).scalars()),
    ]


def _summaries_ahead(connection: sa.Connection) -> list[str]:
    wanted = (
        sa.select(summaries.c.user_id)
        .join(users, users.c.user_id == summaries.c.user_id)
        .where(summaries.c.revision > users.c.revision)
    )
    return [
        f"the summary of user {user_id!r} is of a revision to come"
        for user_id in connection.execute(wanted).scalars()
    ]


def _entries_of_nothing(connection: sa.Connection) -> list[str]:
    present = sa.exists().where(
        items.c.user_id == store_entries.c.user_id, items.c.id == store_entries.c.item_id
    )
    wanted = sa.select(store_entries.c.user_id, store_entries.c.item_id).where(
        store_entries.c.item_id.is_not(None), ~present
    )
    return [
        f"an entry of user {row.user_id!r} has memory {row.item_id}, which does not exist"
        for row in connection.execute(wanted)
    ]


def _index_disagrees(connection: sa.Connection) -> list[str]:
    found = []
    for kind, searched in SEARCHED.items():
        for one in searched:
            rows = one.source.outerjoin(one.index, one.same_row())
            missing = sa.select(one.source.c.id).select_from(rows).where(one.index.c.id.is_(None))
            found += [
                f"{_name(one)} {number} is not indexed"
                for number in connection.execute(missing).scalars()
            ]
        present = sa.or_(*(sa.exists().where(one.same_row()) for one in searched))
        beyond = sa.select(kind.index.c.id).where(~present)
        found += [
            f"the index has {kind.name} {one}, which does not exist"
            for one in connection.execute(beyond).scalars()
        ]
    of_nothing = sa.select(turn_pieces.c.id).where(~sa.exists().where(of_turn()))
    return found + [
        f"{_name(PIECES)} {one} is of a turn that does not exist"
        for one in connection.execute(of_nothing).scalars()
    ]


def _name(kind: Indexed) -> str:
    return "piece of a turn" if kind is PIECES else kind.name


def _texts_that_changed(connection: sa.Connection) -> list[str]:
    """Texts whose stored hash does not match: only damage changes them alone."""
    found = []
    for kind in chain.from_iterable(SEARCHED.values()):
        text = kind.text() if kind is PIECES else kind.source.c.content
        wanted = sa.select(kind.source.c.id, text, kind.index.c.text_hash)
        rows = connection.execute(wanted.select_from(kind.joined()).order_by(kind.source.c.id))
        found += [
            f"the text of {_name(kind)} {number} is not the one that was written"
            for number, written, digest in rows
            # Long turns from before they had pieces are indexed whole, until they are cut.
            if digest not in (text_hash(written), kind is TURNS and text_hash(first_piece(written)))
        ]
    return found


def _links_to_nothing(connection: sa.Connection) -> list[str]:
    # Rejected offers stay, even where an import has given the memory another number.
    not_rejected = link_offers.c.state != ProposalState.REJECTED.value
    found = []
    for table, how, which in (
        (links, "linked to", sa.true()),
        (link_offers, "offered", not_rejected),
    ):
        of_owner = items.c.user_id == table.c.owner_id
        present = sa.exists().where(of_owner, items.c.id == table.c.item_id)
        wanted = sa.select(table.c.user_id, table.c.item_id).where(~present, which)
        found += [
            f"user {row.user_id!r} is {how} memory {row.item_id}, which does not exist"
            for row in connection.execute(wanted)
        ]
    return found
