"""Commands about memories and conversations do what the library does, and say so in JSON."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.model.record import plain
from ricordo.wiring import open_memory
from tests.support.commandline import Ran, ricordo
from tests.support.sharing import share
from tests.support.unasked import stored

pytestmark = [
    pytest.mark.requirement("cli.commands"),
    pytest.mark.requirement("cli.json"),
    pytest.mark.requirement("cli.errors"),
]
Cli = Callable[..., Ran]


def _item(user: UserMemory) -> dict[str, object]:
    """The first memory as changes answer it: without how far its vector is."""
    found = user.get(1, include_deleted=True).to_dict()
    return {name: value for name, value in found.items() if name != "embedding"}


# -- adding --------------------------------------------------------------------------------


def test_add_takes_every_field(cli: Cli, ana: UserMemory, store: Memory) -> None:
    who: dict[str, Any] = {"thread": "t1", "agent": "helper", "run": "r1", "actor": "laptop"}
    text: dict[str, Any] = {
        "theme": "work",
        "type": "preference",
        "key": "editor",
        "source": "tool_call",
    }
    text |= {"source_context": "said so", "message_id": "m1", "role": "user", "reason": "asked"}
    times: dict[str, Any] = {"valid_from": "2025-06-01T00:00:00+02:00", "valid_to": "2037-01-01"}
    times |= {"expires_at": "2038-01-01", "created_at": "2025-06-02"}
    numbers: dict[str, Any] = {"confidence": 55, "importance": 4}
    options: list[object] = ["--tag", "a", "--tag", "b", "--pin", "--json"]
    for name, value in {**who, **text, **times, **numbers}.items():
        options += [f"--{name.replace('_', '-')}", value]
    added = cli("add", "Uses vi", *options).json
    expected = {"id": 1, "status": "active", "duplicate": False, "updated": False}
    assert added == {**expected, "embedding": None}
    scope = {f"{name}_id": value for name, value in who.items()}
    ben = store.user("ben")
    same = ben.add("Uses vi", tags=["a", "b"], pinned=True, **scope, **text, **times, **numbers)
    differs = ("id", "user_id", "updated_at", "last_verified_at")
    mine, theirs = ana.get(1).to_dict(), ben.get(same.id).to_dict()
    assert [name for name in mine if mine[name] != theirs[name] and name not in differs] == []
    (change,) = ana.history(1)
    assert (change.actor, change.reason) == ("laptop", "asked")


def test_add_says_what_became_of_it(cli: Cli, ana: UserMemory) -> None:
    assert cli("add", "Prefers tea", "--category", "drinks").out == "Remembered as 1.\n"
    assert cli("add", "prefers TEA", "--theme", "drinks").out == "Known already, as 1.\n"
    assert cli("add", "Bekasi", "--key", "home").out == "Remembered as 2.\n"
    assert cli("add", "Jakarta", "--key", "home").out == "Updated 2.\n"
    added = cli("add", "Prefers mate", "--supersedes", "1", "--json").json
    assert ana.get(1).status == "superseded"
    assert ana.get(added["id"]).content == "Prefers mate"
    assert cli("add", "-", "--expires-days", "7", stdin="\ufeffTwo lines,\nGrüße\n").code == 0
    item = ana.get(added["id"] + 1)
    assert item.content == "Two lines,\nGrüße"
    assert item.expires_at is not None
    assert timedelta(days=6, hours=23) < item.expires_at - item.created_at <= timedelta(days=7)


def test_a_batch_of_lines(cli: Cli, ana: UserMemory, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Prefers tea\n\n  Has a cat \nprefers tea\n", encoding="utf-8")
    ran = cli("add", "--batch", notes, "--theme", "notes", "--tag", "x", "--agent", "helper")
    assert ran.out == "Remembered 2, updated 0, known already 1.\n"
    found = {(item.content, item.theme, item.tags, item.agent_id) for item in ana.list()}
    assert found == {(text, "notes", ("x",), "helper") for text in ("Prefers tea", "Has a cat")}
    lines = [
        {"content": "Bekasi", "key": "home", "theme": "places"},
        {"content": "Jakarta", "key": "home", "category": "places"},
        {"content": "Prefers tea", "importance": 5},
    ]
    options = ("--batch", "-", "--theme", "other", "--importance", "3", "--json")
    added = cli("add", *options, stdin="\n".join(map(json.dumps, lines))).json
    assert added[0]["id"] == added[1]["id"]
    assert added[1]["updated"]
    assert [(ana.get(one["id"]).theme, ana.get(one["id"]).importance) for one in added[1:]] == [
        ("places", 3),
        ("other", 5),
    ]


def test_a_bad_line_stops_the_whole_batch(cli: Cli, store: Memory) -> None:
    for text, complaint in (
        (b"Good\n" + b"x" * 8_001, "line 2: content: 8001 characters"),
        (b'{"content": "a"}\n\n{"content": 5}', "line 3: content: expected text"),
        (b'{"content": "a"}\nnot json', "line 2: not JSON"),
        (b'{"content": "a"}\n[1]', "line 2: not a JSON object"),
        (b'{"content": "a", "colour": "red"}', "line 1: unknown memory field 'colour'"),
        (b'{"content": "a", "expires_at": "soon"}', "line 1: expires_at: expected"),
        (b"Good\n\xff\xfe", "line 2: not text in UTF-8"),
        (b"x" * (4 * 1024 * 1024 + 1), "line 1: longer than"),
        (b'{"content": ' + b"[" * 100_000, "line 1: not JSON"),
    ):
        ran = cli("add", "--batch", "-", stdin=text)
        assert (ran.code, ran.out) == (2, "")
        assert complaint in ran.err
    scoped = '{"content": "x", "agent_id": "other"}'
    ran = cli("add", "--batch", "-", "--agent", "helper", "--json", stdin=scoped)
    assert (ran.code, ran.error["error"]) == (5, "ScopeWidened")
    assert store.users() == ()


def test_merge_and_undo(cli: Cli, ana: UserMemory) -> None:
    ana.add_many(["Likes tea", "Likes green tea"])
    options = ("--into", "-", "--theme", "t", "--reason", "same", "--json")
    ran = cli("merge", "1", "2", *options, stdin="Likes green tea most")
    merged = {"id": 3, "status": "active", "duplicate": False, "updated": False}
    assert ran.json == {**merged, "embedding": None}
    assert (ana.get(3).theme, ana.get(3).content) == ("t", "Likes green tea most")
    assert ana.history(1)[-1].reason == "same"
    assert cli("undo", "1", "--reason", "wrong", "--json").json == _item(ana)
    assert [item.id for item in ana.list()] == [2, 1]


# -- reading -------------------------------------------------------------------------------


def test_reads_answer_what_the_library_answers(cli: Cli, store: Memory, ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks", tags=["a", "b"], importance=5)
    ana.add("Bekasi", key="home", theme="places")
    ana.add("Jakarta", key="home", theme="places")
    share(ana, 1, "ben")
    ana.archive(ana.add("Old").id)
    store.user("ben").add("Has a cat")
    compared: dict[tuple[str, ...], object] = {
        ("get", "1"): ana.get(1),
        ("list", "--limit", "1"): ana.list(limit=1),
        ("list", "--status", "any", "--sort", "id", "--order", "asc"): ana.list(
            status="any", sort="id", order="asc"
        ),
        ("list", "--all-users", "--contains", "CAT"): store.list(contains="CAT"),
        ("themes",): ana.themes(),
        ("history", "2"): ana.history(2),
        ("history", "2", "--limit", "1"): ana.history(2, limit=1),
        ("changes",): ana.changes(),
        ("changes", "--since", "2", "--limit", "1"): ana.changes(2, limit=1),
        ("links", "1"): ana.links(1),
        ("links-of", "1", "2"): ana.links_of([1, 2]),
        ("list", "--ownership", "shared", "--ownership", "global"): ana.list(
            ownership=["shared", "global"]
        ),
        ("users", "--limit", "1", "--after", "ana"): store.users(limit=1, after="ana"),
        ("jobs", "list", "--state", "dead", "--limit", "5"): store.jobs(state="dead", limit=5),
    }
    for arguments, expected in compared.items():
        assert cli(*arguments, "--json").json == plain(expected), arguments
        assert cli(*arguments).code == 0


def test_every_filter_filters(sqlite_url: str) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        me = memory.user("me")
        drink: dict[str, Any] = {"theme": "drinks", "type": "preference", "tags": ["hot", "daily"]}
        me.add("Prefers tea", **drink, importance=5, pinned=True)
        said: dict[str, Any] = {
            "thread_id": "t1",
            "message_id": "m1",
            "agent_id": "helper",
            "run_id": "r1",
        }
        by: dict[str, Any] = {"source": "tool_call", "actor_id": "laptop", "role": "user"}
        stored(me, "Bekasi", theme="places", type="episode", key="home", **said, **by)
        me.archive(me.add("Old", theme="old").id)
    for options, found in (
        ("--theme drinks", [1]),
        ("--category drinks --theme places", [2, 1]),
        ("--status archived --status active", [3, 2, 1]),
        ("--type preference --type episode", [2, 1]),
        ("--source tool_call", [2]),
        ("--tag hot --tag daily", [1]),
        ("--key home", [2]),
        ("--contains TEA", [1]),
        ("--thread t1", [2]),
        ("--message-id m1", [2]),
        ("--agent helper", [2]),
        ("--run r1", [2]),
        ("--actor laptop", [2]),
        ("--role user", [2]),
        ("--pinned", [1]),
        ("--not-pinned", [2]),
        ("--importance-min 4", [1]),
        ("--importance-max 3", [2]),
        ("--confidence-min 92", [2]),
        ("--created-after 2099-01-01", []),
        ("--updated-after 2099-01-01", []),
        ("--as-of 2001-01-01", []),
        ("--sort importance --order asc", [2, 1]),
    ):
        page = ricordo("list", *options.split(), "--json", "--db", sqlite_url).json
        assert [item["id"] for item in page["items"]] == found, options


def test_pages_lead_to_each_other(cli: Cli, ana: UserMemory) -> None:
    ana.add_many([f"Fact {number}" for number in range(5)])
    first = cli("list", "--limit", "3")
    assert len(first.out.splitlines()) == 4
    assert first.err.startswith("More: add --cursor ")
    rest = cli("list", "--limit", "3", "--cursor", first.err.split()[-1])
    assert [line.split()[0] for line in rest.out.splitlines()] == ["ID", "2", "1"]
    assert rest.err == ""
    assert cli("changes", "--limit", "1").err == "At revision 5. More: add --since 1\n"
    assert cli("changes", "--since", "4").err == "At revision 5.\n"
    assert cli("changes", "--since", "5").out == "Nothing changed. At revision 5.\n"


def test_who_finds_nothing_is_told_what_to_do(cli: Cli, ana: UserMemory) -> None:
    for command, advice in (
        ("list", "Add one: ricordo add"),
        ("themes", "ricordo add --theme"),
        ("threads", "ricordo import"),
        ("users", "ricordo add -u"),
        ("jobs", "No jobs."),
    ):
        ran = cli(command)
        assert (ran.code, ran.err, advice in ran.out) == (0, "", True)
    ana.add("Prefers tea")
    assert cli("list", "--theme", "other").out.startswith("No memories match.")
    assert cli("links", "1").out == "Shared with nobody. Offer it: ricordo link 1 USER\n"


@pytest.mark.requirement("memories.get_many")
def test_several_memories(cli: Cli, ana: UserMemory) -> None:
    first, second, gone = (one.id for one in ana.add_many(["Has a cat", "Has a dog", "Has fish"]))
    ana.forget(gone)
    asked = [second, 99, gone, first]
    assert cli("get", *asked, "--json").json == plain(ana.get_many(asked))
    rows = cli("get", *asked).out.splitlines()
    assert [row.split()[0] for row in rows[1:]] == [str(second), str(first)]
    assert cli("get", "98", "99", "--json").json == []
    assert cli("get", "98", "99").out.startswith("No memories match.")


@pytest.mark.requirement("memories.lineage")
def test_which_memory_took_the_place_of_which(cli: Cli, ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    plain_one = "It took no other memory's place, and none took its. Nothing to undo.\n"
    assert cli("lineage", old).out == plain_one
    new = ana.add("Plays the cello", supersedes=old).id
    assert cli("lineage", new, "--json").json == plain(ana.lineage(new))
    row = cli("lineage", old).out.splitlines()[1]
    assert row.split(maxsplit=3) == ["Replaced", "by", str(new), "Plays the cello"]
    shown = cli("lineage", new)
    assert "Took the place of" in shown.out
    assert "Plays the viola [superseded]" in shown.out
    assert shown.err == "ricordo undo takes back the last replacement.\n"


# -- changing and sharing ------------------------------------------------------------------


def test_changes_answer_with_the_changed_memory(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea", key="drink")
    for command, said in {
        "pin 1": "Pinned 1: Prefers tea",
        "pin 1 --off": "No longer pinned: 1: Prefers tea",
        "verify 1": "Verified 1: Prefers tea",
        "rate 1 used --query drinks?": "Rated 1: Prefers tea\nused (ana)",
        "rate 1 withdrawn": "Rated 1: Prefers tea\nno rating",
        "link 1 ben": "Memory 1 is offered to ben, who sees it once they accept it.",
        "unlink 1 ben": "ben no longer sees 1.",
        "archive 1 --reason old": "Archived 1: Prefers tea",
        "restore 1 --reason new": "Restored 1: Prefers tea",
        "forget --key drink --theme general --reason private": "Forgotten 1: Prefers tea",
    }.items():
        assert cli(*command.split(), "--actor", "laptop").out == f"{said}\n"
    history = ana.history(1)[1:]
    told = [
        "PIN",
        "PIN",
        "VERIFY",
        "RATE",
        "RATE",
        "CONSENT",
        "CONSENT",
        "ARCHIVE",
        "RESTORE",
        "DELETE",
    ]
    assert [change.event for change in history] == told
    assert {change.actor for change in history} == {"laptop"}
    assert [change.reason for change in history if change.reason] == ["old", "new", "private"]
    for command in ("restore 1", "pin 1", "verify 1"):
        assert cli(*command.split(), "--json").json == _item(ana), command
    assert cli("link", "1", "ben", "--json").json == plain(ana.links(1)[0])
    assert cli("archive", "1", "--json").json == _item(ana)
    assert cli("unlink", "1", "ben", "--json").json == {"id": 1, "unlinked": "ben"}
    forgotten = cli("forget", "1", "--json").json
    assert forgotten == [_item(ana)]
    assert cli("get", "1", "--include-deleted", "--json").json["status"] == "deleted"


def test_a_change_can_expect_the_state_that_was_seen(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea")
    seen = cli("get", "1", "--json").json["updated_at"]
    ana.pin(1)
    for command in ("archive", "forget", "pin", "verify", "undo", "restore"):
        ran = cli(command, "1", "--expect", seen)
        assert (ran.code, ran.out) == (4, ""), command
        assert "was changed since" in ran.err
    now = cli("get", "1", "--json").json["updated_at"]
    assert cli("archive", "1", "--expect", now).code == 0


def test_what_others_have_shared(cli: Cli, store: Memory, ana: UserMemory) -> None:
    store.user("ben").add("Has a cat")
    share(store.user("ben"), 1, "ana")
    assert cli("get", "1").code == 0
    assert cli("unlink", "1").out == "ana no longer sees 1.\n"
    assert cli("get", "1").code == 3
    cli("add", "The office closes at six", "--global", "--actor", "admin", "--agent", "helper")
    shared = store.global_memories().get(2)
    assert (shared.actor_id, shared.agent_id) == ("admin", "helper")
    assert cli("list", "--json").json["items"][0]["user_id"] == "*"
    assert cli("archive", "2").code == 5
    assert cli("archive", "2", "--global").code == 0


@pytest.mark.requirement("sharing.consent")
def test_offers_and_senders(cli: Cli, store: Memory, ana: UserMemory) -> None:
    ben = store.user("ben")
    for content in ("Has a cat", "Has a dog"):
        ben.add(content)
    ben.link(1, "ana")
    assert "shared by ben" in cli("proposals").out
    assert cli("proposals", "approve", "1").out == "Approved; stored as memory 1.\n"
    assert ana.get(1).content == "Has a cat"
    ben.link(2, "ana")
    assert cli("senders", "block", "ben", "--json").json == plain(ana.blocked_senders()[0])
    assert cli("senders", "--json").json == plain(ana.blocked_senders())
    assert cli("senders").out.splitlines()[1].startswith("ben")
    assert (ana.list().items, ana.proposals().items) == ((), ())
    ben.block_sender("ana")
    ana.add("Has a boat")
    refused = cli("link", "3", "ben")
    assert (refused.code, refused.out) == (4, "")
    assert "has blocked you" in refused.err
    assert cli("senders", "unblock", "ben", "--json").json == {"unblocked": "ben"}
    assert cli("senders").out.startswith("Nobody is blocked.")


def test_a_theme_is_described(cli: Cli, ana: UserMemory) -> None:
    ana.add("Prefers tea", theme="drinks")
    options = ["--name", "Food", "--description", "Meals", "--context", "all", "--rag-length", "7"]
    assert cli("theme", "Drinks", *options, "--json").json == ana.themes()[0].to_dict()
    (theme,) = ana.themes()
    assert (theme.display_name, theme.description) == ("Food", "Meals")
    assert (theme.context, theme.rag_length) == ("all", 7)
    assert "Meals" in cli("theme", "drinks", "--name", "Drinks").out


# -- conversations -------------------------------------------------------------------------


@pytest.mark.requirement("conversations.thread")
def test_conversations(cli: Cli, ana: UserMemory) -> None:
    said = [
        {"role": "user", "content": "I love jazz music."},
        {"role": "assistant", "content": "Nice!"},
    ]
    ana.observe(said, thread="t1", title="Music")
    ana.observe(said, thread="t2")
    ana.form("t1")
    assert cli("threads", "--json").json == ana.threads().to_dict()
    assert cli("turns", "t1", "--json").json == ana.turns("t1").to_dict()
    page = cli("turns", "t1", "--limit", "1", "--json").json
    following = cli("turns", "t1", "--limit", "1", "--cursor", page["next_cursor"]).out
    assert "Nice!" in following
    assert "jazz" not in following
    assert "Music" in cli("threads").out
    assert cli("thread", "t1", "--json").json == plain(ana.thread("t1"))
    rows = [line.split() for line in cli("thread", "t1").out.splitlines()]
    assert ["title", "Music"] in rows
    assert ["formed_position", "2"] in rows
    assert cli("thread", "t9").code == 3


@pytest.mark.requirement("turns.formed")
@pytest.mark.requirement("memories.source_turn")
def test_what_memories_come_from(cli: Cli, ana: UserMemory) -> None:
    ana.observe([{"role": "user", "content": "I love jazz music."}], thread="t1")
    ana.observe([{"role": "assistant", "content": "Nice!"}], thread="t1")
    ana.form("t1")
    (jazz,) = ana.list()
    by_hand = ana.add("Has a cat").id
    assert cli("source", jazz.id, "--json").json == plain(ana.source_turn(jazz.id))
    assert cli("source", jazz.id).out.splitlines()[1].endswith("user  I love jazz music.")
    assert cli("source", by_hand, "--json").json is None
    assert cli("source", by_hand).out == "No recorded turn can be told to be its source.\n"
    assert cli("formed", "t1", "--json").json == plain(ana.formed_turns("t1"))
    rows = cli("formed", "t1").out.splitlines()
    assert rows[2].strip() == f"→ {jazz.id} {jazz.content}"
    assert rows[3].endswith("assistant  Nice!")
    assert cli("formed", "t1", "--from-position", "2").out.splitlines()[1:] == rows[3:]
    assert cli("formed", "t1", "--from-position", "9").out.startswith("Nothing was said")
