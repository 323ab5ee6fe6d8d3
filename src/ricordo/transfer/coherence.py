"""Whether the rows of one exported user fit together, before anything of them is written."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Final

from ricordo.errors import ImportFailed
from ricordo.limits import MAX_BLOCKED_SENDERS, MAX_LINKS_PER_MEMORY
from ricordo.model.vocabulary import Status
from ricordo.text.normalise import content_hash, slug
from ricordo.transfer.rows import UserRows


def check_coherence(path: Path, user: UserRows) -> None:
    """Refuse rows that the store could not work with.

    Raises:
        ImportFailed: says which rules are broken, and for whom.
    """
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
    told = {row[name] for row in user.rows["history"] for name in ("item_id", "old_ref")}
    untold = {row["id"] for row in items} - told
    if untold:
        yield f"memories without history: {_some(untold)}"
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
    untold = set(ids) - {row["item_id"] for row in user.rows["history"]}
    if untold:
        yield f"proposals without history: {_some(untold)}"
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
    """Each state of a program stands there once, and an entry's memory is there."""
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


_NAMED_BY: Final = {
    "thread_view": ("thread_id",),
    "checkpoint": ("thread_id",),
    "graph_checkpoint": ("thread_id", "namespace", "checkpoint_id"),
    "graph_channel": ("thread_id", "namespace", "channel", "version"),
    "graph_write": ("thread_id", "namespace", "checkpoint_id", "task_id", "place"),
    "store_entry": ("namespace", "key"),
}


def _is_series(numbers: Iterable[int], last: int) -> bool:
    """Whether these are the numbers from 1 to the last. Nothing is made of the size of the last,
    which is whatever a file says."""
    found = sorted(numbers)
    return len(found) == last and all(one == at for at, one in enumerate(found, start=1))


def _some(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)[:5]))


def _repeated(what: str, values: Iterable[Hashable]) -> Iterable[str]:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        yield f"{what} {twice[0]!r} appears twice"
