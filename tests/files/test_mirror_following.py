"""The mirror without anybody asking: in the background, at the end, and as a command."""

import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import FilesUnavailable, Memory, UserNotFound
from ricordo.testing import WordEmbedder
from ricordo.user_memory.maintenance import mirror_of
from ricordo.wiring import open_memory
from tests.files.mirrors import Mirrored
from tests.support.commandline import COMMAND, ricordo
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.requirement("files.mirror")

Open = Callable[..., Memory]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def me(backend_url: str, open_store: Open, folder: Path) -> Mirrored:
    found = Mirrored(open_store(backend_url, files=folder), "me")
    found.user.add("Likes tea")
    return found


def test_it_follows_only_what_moved(me: Mirrored) -> None:
    mirror = mirror_of(me.memory.parts, me.files)
    assert mirror.follow() is None
    assert not me.files.memory.exists()
    me.files.memory.mkdir(parents=True)
    first = mirror.follow()
    assert first is not None and first.written
    assert mirror.follow() is None
    me.user.add("Rows")
    second = mirror.follow()
    assert second is not None and second.written
    me.edit(("Rows", "Runs"))
    assert mirror.follow() is None  # it was saved just now
    third = mirror.follow(at_once=True)
    assert third is not None and len(third.changed) == 1
    assert mirror.follow() is None
    me.user.observe([{"role": "user", "content": "Hello"}] * 20, thread="t")
    me.user.compact("t")
    fourth = mirror.follow()
    assert fourth is not None and fourth.daily_entries == 1
    assert mirror.follow() is None
    os.utime(me.path)
    fifth = mirror.follow(at_once=True)
    assert fifth is not None and fifth.is_quiet


def test_an_open_store_follows_in_the_background(backend_url: str, folder: Path) -> None:
    with open_memory(
        backend_url, files=folder, job_poll_seconds=0.1, embedder=WordEmbedder(), upkeep=False
    ) as memory:
        me, ben, long = (Mirrored(memory, name) for name in ("me", "Ben", "x" * 199))
        me.user.add("Likes tea")
        for one in (me, ben, long):
            one.sync()
        ben.user.add("Rows")
        long.user.add("Sings")
        wait_until(lambda: ben.shown() and long.shown())
        me.edit(("Likes tea", "Likes mate"))
        wait_until(lambda: me.active() == {("general", "Likes mate")})
        wait_until(lambda: "[1] Likes tea" not in me.text)


def test_closing_brings_it_up_to_date(backend_url: str, folder: Path, open_store: Open) -> None:
    with open_memory(
        backend_url, files=folder, run_jobs=False, embedder=WordEmbedder(), upkeep=False
    ) as memory:
        me = Mirrored(memory, "me")
        me.user.add("Likes tea")
        assert not folder.exists()
        me.sync()
        me.user.add("Rows")
        me.edit(("tea", "mate"))
    assert len(me.shown()) == 2
    memory.close()  # a second time does nothing
    again = Mirrored(open_store(backend_url, files=folder), "me")
    assert again.active() == {("general", "Likes mate"), ("general", "Rows")}


def test_a_problem_is_logged_once_and_without_texts(
    me: Mirrored, caplog: pytest.LogCaptureFixture
) -> None:
    me.sync()
    follower = me.memory.parts.work.follower
    me.edit(("- [1] Likes tea", "- [1] Likes tea\n\nMy secret"))
    with caplog.at_level(logging.WARNING, "ricordo.files"):
        follower.follow_all(at_once=True)
        os.utime(me.path)
        follower.follow_all(at_once=True)
        os.utime(me.path)
        follower.follow_all(at_once=True)
    assert len(caplog.messages) == 2  # that it came, and that it waits
    assert "secret" not in caplog.text
    caplog.clear()
    me.path.unlink()
    me.path.mkdir()
    follower.follow_all(at_once=True)
    follower.follow_all(at_once=True)
    assert len(caplog.messages) == 1
    me.path.rmdir()


def test_a_look_takes_only_so_many_and_the_others_come_next(
    me: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_MIRRORS_PER_LOOK", 2)
    monkeypatch.setattr("ricordo.limits.MIRROR_SECONDS", 0)
    monkeypatch.setattr("ricordo.files.mirror._REST", 0)
    users = [Mirrored(me.memory, f"user-{number}") for number in range(5)]
    for one in users:
        one.sync()
        one.user.add("New")
    seen = []
    for _ in range(3):
        me.memory.parts.work.follower.follow_all()
        seen.append(sum(len(one.shown()) for one in users))
    assert seen == [2, 4, 5]


def files_with(folder: Path, words: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words in path.read_bytes()]


@pytest.mark.requirement("files.erasure")
def test_erasing_a_user_removes_their_files(me: Mirrored, folder: Path) -> None:
    ben = Mirrored(me.memory, "Ben")
    for one in (me, ben):
        one.user.add("Zanzibar nights")
        one.user.observe([{"role": "user", "content": "Zanzibar again"}] * 20, thread="t")
        one.user.compact("t")
        one.sync()
        one.files.profile.parent.mkdir(exist_ok=True)
        one.files.profile.write_text("Zanzibar fan\n")
        (one.files.memory / ".MEMORY.md.0a.ricordo-draft").write_text("Zanzibar")
        (one.files.profile.parent / ".USER.md.0a.ricordo-draft").write_text("Zanzibar")
    (folder / "prompts" / "SOUL.md").write_text("Shared\n")
    assert len(files_with(folder, b"Zanzibar")) == 10
    receipt = me.memory.erase_user("me")
    assert receipt.removed["files"] >= 5
    assert len(files_with(folder, b"Zanzibar")) == 5
    assert not me.files.memory.exists()
    assert (folder / "prompts" / "SOUL.md").read_text() == "Shared\n"
    assert me.memory.erase_user("Ben").removed["files"] >= 5
    assert files_with(folder, b"Zanzibar") == []
    assert list((folder / "people").iterdir()) == []
    me.memory.parts.work.follower.follow_all(at_once=True)
    assert not me.files.memory.exists()
    with pytest.raises(UserNotFound):
        me.memory.erase_user("me")


@pytest.mark.requirement("files.erasure")
def test_files_of_somebody_without_memories_are_removed_too(me: Mirrored) -> None:
    ben = Mirrored(me.memory, "ben")
    ben.files.profile.parent.mkdir(parents=True)
    ben.files.profile.write_text("Is a friend\n")
    assert me.memory.erase_user("ben").removed == {"files": 1}
    with pytest.raises(UserNotFound):
        me.memory.erase_user("ben")
    me.memory.global_memories().add("For all")
    assert me.memory.erase_user("*").removed["files"] == 0


@pytest.mark.requirement("files.erasure")
def test_a_file_that_cannot_be_removed_is_named(
    me: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    me.sync()
    stuck = me.files.memory / "stuck"
    stuck.write_text("x")
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == stuck:
            raise PermissionError(13, "Permission denied")
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(FilesUnavailable, match="stuck: Permission denied"):
        me.memory.erase_user("me")
    assert not me.path.exists()
    assert "me" not in me.memory.users()


@pytest.mark.requirement("files.erasure")
def test_of_what_links_lead_to_only_the_mirror_is_erased(me: Mirrored, tmp_path: Path) -> None:
    for user_id, linked in (("me", "inside"), ("me", "daily"), ("ben", "memory"), ("ana", "daily")):
        one = Mirrored(me.memory, user_id)
        elsewhere = tmp_path / f"elsewhere of {user_id} {linked}"
        elsewhere.mkdir()
        (elsewhere / "thesis.md").write_text("mine")
        places = {
            "inside": one.files.memory / "link",
            "memory": one.files.memory,
            "daily": one.files.daily,
        }
        link = places[linked]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(elsewhere)
        one.user.add("Zanzibar nights")
        one.user.observe([{"role": "user", "content": "Zanzibar again"}] * 20, thread="t")
        one.user.compact("t")
        one.sync()
        assert linked == "inside" or files_with(elsewhere, b"Zanzibar")
        me.memory.erase_user(user_id)
        assert files_with(tmp_path, b"Zanzibar") == []
        assert (elsewhere / "thesis.md").read_text() == "mine"
        assert not link.is_symlink()


@pytest.mark.requirement("files.erasure")
@pytest.mark.requirement("prompt.files-isolation")
def test_files_that_were_kept_for_another_user_stay_theirs(
    backend_url: str, open_store: Open, folder: Path
) -> None:
    before = Mirrored(open_store(backend_url, files=folder), "me")
    before.user.add("Zanzibar nights")
    before.sync()
    before.user.update_user_profile({"city": "Zanzibar"}, explicit=True)
    ana = Mirrored(open_store(backend_url, files=folder, files_user="ana"), "ana")
    ana.user.add("Likes tea")
    profile, mirrored = ana.files.profile.read_bytes(), ana.path.read_bytes()

    with pytest.raises(FilesUnavailable, match="is another user.s; move it away"):
        ana.sync()
    context = ana.user.context("hi", modes="tools,recall,summary", threshold=0.0)
    assert "Zanzibar" not in str(context.messages)
    assert "another user's" in context.problems[0]
    assert "another user's" in ana.user.user_profile().problems[0]
    ana.memory.parts.work.follower.follow_all(at_once=True)
    assert [item.content for item in ana.own()] == ["Likes tea"]
    assert ana.memory.erase_user("ana").removed["files"] == 0
    assert (ana.files.profile.read_bytes(), ana.path.read_bytes()) == (profile, mirrored)
    assert before.sync().applied


@pytest.fixture
def run(backend_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("RICORDO_FILES", str(folder))
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")

    def run_command(*arguments: object) -> Any:
        return ricordo(*arguments, "--db", backend_url)

    return run_command


def test_the_commands_say_what_they_do(run: Callable[..., Any], folder: Path) -> None:
    path = folder / "memory" / "MEMORY.md"
    assert run("mirror").out == f"Off. This would begin {path}: ricordo mirror sync\n"
    run("add", "Likes tea")
    assert run("mirror", "sync").out.startswith(f"{path}: written anew.\nAdded: 0.")
    path.write_text(path.read_text().replace("tea", "mate\n\nprose"))
    report = run("mirror", "sync", "--json").json
    assert [entry["id"] for entry in report["changed"]] == [1]
    assert "- Line " in run("mirror").out
    path.write_text(path.read_text().replace("mate", "rum"))
    status = run("mirror", "status", "--json").json  # and then takes it over, like every command
    assert (status["on"], status["edited"], status["mirrored_revision"]) == (True, True, 3)
    assert run("mirror", "status", "--json").json["edited"] is False
    for _ in range(8):
        run("add", f"Fact {_}")
    assert path.read_text().count("Fact") == 8  # every command leaves it up to date
    path.write_text(path.read_text().split("- [3]")[0])
    assert "lacks" in run("mirror", "sync").out
    assert len(run("mirror", "sync", "--allow-deletes", "--json").json["forgotten"]) > 5


def test_without_a_folder_the_command_says_so(backend_url: str) -> None:
    assert "RICORDO_FILES" in ricordo("mirror", "--db", backend_url).out
    ran = ricordo("mirror", "sync", "--db", backend_url, "--json")
    assert (ran.code, ran.error["error"]) == (9, "FilesUnavailable")


@pytest.mark.chaos
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watching_goes_on_until_it_is_told_to_end(
    backend_url: str, folder: Path, open_store: Open, number: signal.Signals
) -> None:
    memory = open_store(backend_url, embedding_provider="none")
    environment = {
        **os.environ,
        "RICORDO_FILES": str(folder),
        "RICORDO_EMBEDDING_PROVIDER": "none",
    }
    with subprocess.Popen(
        [COMMAND, "mirror", "watch", "--db", backend_url, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as watching:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["written"] is True
        memory.user("me").add("Likes tea")
        assert json.loads(watching.stdout.readline())["revision"] == 1
        path = folder / "memory" / "MEMORY.md"
        path.write_text(path.read_text().replace("tea", "mate"))
        assert json.loads(watching.stdout.readline())["changed"][0]["id"] == 1
        watching.send_signal(number)
        out, err = watching.communicate(timeout=PATIENCE_SECONDS)
    assert (watching.returncode, out, err) == (0, "", "")
