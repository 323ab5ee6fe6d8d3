"""Make the stores of release 0.1.0 that tests open: with everything in them that it kept.

Run by an interpreter that has 0.1.0, because only what it wrote itself proves anything:

    git worktree add .cache/old 94b8974
    python -m venv .cache/v010
    .cache/v010/bin/pip install '.cache/old[postgres,encrypted,langgraph]'
    .cache/v010/bin/python scripts/first_release.py tests/migration --postgres URL --pg-dump PROGRAM

``seen`` tells what a store shows, in words that both releases have; what 0.1.0 saw is kept beside
the stores, and has to be what is seen after an upgrade.
"""

import argparse
import gzip
import json
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

STATUSES: Final = ("active", "superseded", "archived", "deleted")
_OF_AN_ITEM: Final = (
    *("id", "content", "theme", "key", "tags", "type", "status", "source", "source_context"),
    *("confidence", "importance", "pinned", "thread_id", "message_id", "agent_id", "actor_id"),
    *("valid_from", "valid_to", "expires_at", "purge_at", "created_at", "updated_at"),
    *("last_accessed_at", "last_verified_at", "access_count"),
)
_OF_A_CHANGE: Final = ("revision", "event", "item_id", "at", "actor", "reason")
_OF_A_TURN: Final = ("id", "position", "role", "content", "actor", "message_id", "at")
_LONG: Final = " ".join(f"Shelf {one} holds the notes of one week." for one in range(40))


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("folder", type=Path)
    read.add_argument("--postgres", metavar="URL", help="an empty database of an owner")
    read.add_argument("--pg-dump", metavar="PROGRAM", default="pg_dump")
    given = read.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "ricordo.db"
        shown = make(str(file))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("VACUUM")
        _keep(given.folder / "ricordo-0.1.0.db.gz", file.read_bytes())
    _keep(given.folder / "ricordo-0.1.0.json.gz", json.dumps(shown, indent=1).encode())
    if given.postgres:
        if make(given.postgres) != shown:
            raise SystemExit("the two databases show different things")
        dump = [given.pg_dump, "--inserts", "--no-owner", "--no-privileges", given.postgres]
        text = subprocess.run(dump, check=True, capture_output=True).stdout.decode()
        kept = [line for line in text.splitlines() if not line.startswith(("--", "\\"))]
        _keep(given.folder / "ricordo-0.1.0.sql.gz", "\n".join(filter(None, kept)).encode())


def _keep(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


def make(url: str) -> dict[str, Any]:
    """Fill an empty store, and tell what it shows."""
    from ricordo.testing.clock import ManualClock

    from ricordo.wiring import open_memory

    clock = ManualClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    with open_memory(url, clock=clock, run_jobs=False) as memory:
        _fill(memory, clock)
    with open_memory(url, clock=clock, run_jobs=False) as memory:  # recalls are counted by now
        return seen(memory)


def _fill(memory: Any, clock: Any) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    tea = ana.add("The user drinks green tea", theme="drinks", tags=["morning"]).id
    ana.add("The user lives in Bandung", key="home", source_context="I live in Bandung")
    clock.advance(days=1)
    ana.add("The user lives in Jakarta", key="home", reason="moved")
    car = ana.add("The user drives a Volvo", theme="car").id
    ana.add("The user drives a Tesla", theme="car", supersedes=car)
    ana.add("The user is on a sabbatical", valid_from="2026-03-01", valid_to="2026-09-01")
    ana.add("The parcel comes on Friday", expires_at="2099-01-01", importance=3)
    ana.pin(ana.add("The user is allergic to nuts", theme="health", confidence=100).id)
    clock.advance(days=1)
    ana.archive(ana.add("The user had a red bicycle").id, reason="sold")
    ana.forget(ana.add("The user owes Ben ten euros").id, reason="paid")
    twins = [ana.add(f"The user plays chess {when}").id for when in ("on Fridays", "every Friday")]
    ana.merge(twins, "The user plays chess on Fridays, in the club", reason="the same")
    ana.add("The user is called Anna", key="name")
    ana.undo(ana.add("The user is called Anne", key="name").id, reason="a slip")
    ana.verify(tea)
    ana.describe_theme("drinks", display_name="Drinks", description="What ana drinks")
    ana.link(tea, "ben")
    ben.add("The user has a dog named Rex", theme="pets")
    memory.global_memories().add("The office closes at six")
    _talk(ana, clock)
    ana.update_user_profile({"occupation": "Nurse"}, explicit=True)
    ana.save_checkpoint("trip", {"step": 3, "open": ["tickets", "hotel"]})
    ben.set_embeddings("none", confirm=True)
    _graph(ana)
    memory.create_key("laptop", user="ana")
    ana.search("what does she drink?")


def _talk(ana: Any, clock: Any) -> None:
    """One conversation that was formed, one that waits for it, and one with a long turn."""
    ana.observe(
        [
            {"role": "user", "content": "My name is Ana. I love jazz music.", "id": "m1"},
            {"role": "assistant", "content": "Something by Monk?"},
            {"role": "user", "content": "I work as a nurse. I have asthma."},
        ],
        thread="music",
        title="Music for tonight",
    )
    ana.form("music")
    for proposal in ana.proposals().items[1:]:
        ana.reject(proposal.id)
    clock.advance(hours=2)
    notes = [{"role": "user", "content": f"Note {one % 3}: buy paper."} for one in range(24)]
    ana.observe(notes, thread="notes")
    ana.compact("notes")
    ana.observe([{"role": "user", "content": _LONG}], thread="archive")
    ana.observe([{"role": "user", "content": "Remember that my train leaves at 7"}], thread="trip")


def _graph(ana: Any) -> None:
    """What LangGraph keeps: a graph's checkpoint, and an entry of a store."""
    from langgraph.checkpoint.base import empty_checkpoint

    from ricordo.integrations.langgraph import RicordoSaver, RicordoStore

    saver = RicordoSaver(ana)
    state: Any = empty_checkpoint()
    state["channel_values"], state["channel_versions"] = {"answer": "tea"}, {"answer": "1"}
    at: Any = {"configurable": {"thread_id": "graph", "checkpoint_ns": ""}}
    about: Any = {"source": "input", "step": 0}
    saver.put(at, state, about, {"answer": "1"})
    RicordoStore(ana).put(("facts",), "city", {"text": "The fair is in Lisbon"})


def seen(memory: Any) -> dict[str, Any]:
    """What every user reads, without what counts and ranks."""
    return {
        **{name: _of_user(memory.user(name)) for name in ("ana", "ben")},
        "keys": [[str(key.kind), key.user_id, key.name] for key in memory.keys(limit=10)],
    }


def _of_user(user: Any) -> dict[str, Any]:
    items = user.list(status=list(STATUSES), limit=100, order="asc").items
    threads = user.threads(limit=100).items
    return {
        "items": [_fields(item, _OF_AN_ITEM) for item in items],
        "history": [
            _fields(change, _OF_A_CHANGE) for item in items for change in user.history(item.id)
        ],
        "threads": {
            thread.thread_id: [
                _fields(turn, _OF_A_TURN) for turn in user.turns(thread.thread_id, limit=100).items
            ]
            for thread in threads
        },
        "titles": sorted(thread.title for thread in threads if thread.title),
        "proposals": [
            [one.id, str(one.state), one.content] for one in user.proposals(state="any").items
        ],
        "themes": [[one.slug, one.display_name, one.description] for one in user.themes()],
        "profile": {name: str(value) for name, value in sorted(_profile(user).items())},
        "checkpoints": [
            [one.thread_id, one.version, user.load_checkpoint(one.thread_id).state]
            for one in user.checkpoints().items
        ],
        "revision": user.revision(),
    }


def _profile(user: Any) -> dict[str, Any]:
    return {field.key: field.value for field in user.user_profile().fields}


def _fields(record: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _plain(getattr(record, name)) for name in names if hasattr(record, name)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return list(value) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    main()
