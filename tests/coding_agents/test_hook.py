"""Hooks of coding agents and the process behind them, driven as the agents do it."""

import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ricordo_hook
from ricordo.coding_agents.resident import Door, Resident, serve
from tests.coding_agents.generated_secrets import generated
from tests.coding_agents.hooked import PATIENCE_SECONDS, Home, Session, hooked, is_running
from tests.support.processes import killed_drain
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.requirement("agents.faults")]


@pytest.fixture
def home(own_home: Path) -> Iterator[Home]:
    own_home.mkdir()
    with hooked(own_home) as one:
        yield one


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return Session(tmp_path / "transcripts", "s1", tmp_path / "shop")


def stop(home: Home, session: Session) -> None:
    assert home.hook("claude-code", "Stop", {**session.payload, "stop_hook_active": False}) == ""


def contents(home: Home, thread: str) -> list[str]:
    return [turn.content for turn in home.turns(thread)]


def test_a_turn_is_stored_by_a_process_that_the_first_hook_starts(
    home: Home, session: Session
) -> None:
    session.say("user", "Use pnpm")
    session.say("assistant", "Yes.")
    stop(home, session)
    home.wait_until_stored()
    found = home.wait_until_present()
    assert contents(home, "claude-code:s1") == ["Use pnpm", "Yes."]
    session.say("user", "And vitest")
    stop(home, session)
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["Use pnpm", "Yes.", "And vitest"]
    assert home.present() == found
    assert home.log() == ""


def test_the_process_has_nothing_of_the_agent_open_and_is_its_owners_alone(
    home: Home, session: Session
) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    home.hook("claude-code", "Stop", session.payload, close_fds=False)
    os.close(writer)
    home.wait_until_present()
    assert os.read(reader, 1) == b""  # everybody has closed the other end
    os.close(reader)
    found = home.present()
    assert found is not None
    assert os.getsid(found["pid"]) == found["pid"]
    assert stat.S_IMODE((home.folder / "resident.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    if sys.platform == "linux":
        handles = Path(f"/proc/{found['pid']}/fd")
        assert {str((handles / str(number)).readlink()) for number in range(3)} == {os.devnull}


def test_a_session_goes_on_where_it_began_when_its_project_gets_another_name(
    home: Home, session: Session
) -> None:
    session.say("user", "One")
    stop(home, session)
    home.wait_until_stored()
    git = session.cwd / ".git"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    session.say("user", "Two")
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One", "Two"]
    assert home.log() == ""


def test_hooks_of_claude_code_that_cursor_runs_are_not_taken_for_its_own(
    home: Home, session: Session
) -> None:
    session.say("user", "One")
    environment = {**home.environment, "CURSOR_VERSION": "3.20"}
    assert home.hook("claude-code", "Stop", session.payload, env=environment) == ""
    assert not (home.folder / "spool").exists()


def test_only_one_process_runs_however_many_are_started(home: Home, session: Session) -> None:
    sessions = [Session(session.path.parent, f"s{number}", session.cwd) for number in range(1, 7)]
    for one in sessions:
        one.say("user", f"Hello from {one.name}")
    with ThreadPoolExecutor(len(sessions)) as several:
        list(several.map(lambda one: stop(home, one), sessions))
    home.wait_until_stored()
    extra = [home.start_resident() for _ in range(3)]
    for process in extra:
        assert process.wait(PATIENCE_SECONDS) == 0
        process.communicate()
    assert home.threads() == [f"claude-code:{one.name}" for one in sessions]
    for one in sessions:
        assert contents(home, f"claude-code:{one.name}") == [f"Hello from {one.name}"]


def test_one_that_was_killed_is_followed_by_another(home: Home, session: Session) -> None:
    session.say("user", "One")
    stop(home, session)
    home.wait_until_stored()
    found = home.wait_until_present()
    os.kill(found["pid"], signal.SIGKILL)
    wait_until(lambda: not is_running(found["pid"]), PATIENCE_SECONDS)
    assert (home.folder / "resident.sock").exists()
    session.say("user", "Two")
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One", "Two"]


def test_it_ends_when_nobody_has_asked_for_a_while(home: Home) -> None:
    process = home.start_resident("--idle", "0.01")
    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.communicate()[1] == b""
    assert not (home.folder / "resident.sock").exists()
    assert home.present() is None


def test_it_ends_when_its_folder_is_gone(home: Home) -> None:
    process = home.start_resident()
    home.wait_until_present()
    home.folder.rename(home.path / "elsewhere")
    assert process.wait(PATIENCE_SECONDS) == 0
    process.communicate()
    assert not home.folder.exists()
    (home.path / "elsewhere").rename(home.folder)


def test_it_ends_when_another_version_is_installed(home: Home) -> None:
    one = Resident(home.path)
    assert not one.is_outdated
    one._code = home.path / "version.py"
    assert one.is_outdated
    home.folder.mkdir()
    with contextlib.closing(Door(home.folder)) as door:
        serve(one, door)
    one.close()


def test_it_ends_in_order_when_it_is_told_to(home: Home, session: Session) -> None:
    process = home.start_resident()
    home.wait_until_present()
    home.ask("ping")
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.communicate()[1] == b""
    assert not (home.folder / "resident.sock").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"hello\n", "JSON object"),
        (b"[]\n", "JSON object"),
        (b"\xff\x00\n", "JSON object"),
        (b"[" * 100_000 + b"\n", "JSON object"),
        (b'{"do": "ping"}\n', "version 1"),
        (b'{"v": 2, "do": "ping"}\n', "version 1"),
        (b'{"v": 1, "do": "erase"}\n', "expected one of: drain, ingest, ping, show, stop"),
        (b'{"v": 1, "do": "show"}\n', "no event of an agent"),
        (
            b'{"v": 1, "do": "show", "agent": "codex", "event": "Stop", "env": {}}\n',
            "payload must be a text",
        ),
        (b'{"v": 1, "do": "drain", "seconds": "x"}\n', "a number from 0"),
        (
            b'{"v": 1, "do": "ingest", "agent": "codex", "event": "Stop", "env": {},'
            b' "payload": "[]"}\n',
            "not an object",
        ),
    ],
)
def test_requests_that_are_none_are_refused(shared_home: Home, line: bytes, says: str) -> None:
    with ricordo_hook.connect(str(shared_home.folder), PATIENCE_SECONDS) as channel:
        channel.sendall(line)
        answer = json.loads(channel.makefile("rb").readline())
    assert answer["ok"] is False
    assert says in answer["error"]
    assert shared_home.present() is not None


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with hooked(tmp_path_factory.mktemp("home")) as one:
        process = one.start_resident()
        wait_until(one.present, PATIENCE_SECONDS)
        yield one
        one.ask("stop")
        process.communicate(timeout=PATIENCE_SECONDS)


# -- faults


def test_a_database_that_is_locked_keeps_nobody_waiting_and_loses_nothing(
    home: Home, session: Session
) -> None:
    session.say("user", "One")
    stop(home, session)
    home.wait_until_stored()
    locking = sqlite3.connect(home.path / "ricordo.db", isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    session.say("user", "Two")
    stop(home, session)
    assert home.shown("claude-code", "UserPromptSubmit", session.payload | {"prompt": "Hi"}) == ""
    assert len(home.waiting()) == 1
    locking.execute("ROLLBACK")
    locking.close()
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One", "Two"]


def test_a_store_that_cannot_be_reached_is_tried_again_until_it_can(
    home: Home, session: Session
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = home.path / "agents.toml"
    settings.write_text(f'url = "postgresql://nobody:sunflower42@127.0.0.1:{port}/none"\n')
    session.say("user", "One")
    stop(home, session)
    wait_until(lambda: "StorageUnavailable" in home.log(), PATIENCE_SECONDS)
    assert home.shown("claude-code", "SessionStart", session.payload) == ""
    assert len(home.waiting()) == 1
    settings.write_text("")
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One"]
    assert "sunflower42" not in home.log()


def test_a_full_disk_is_survived_while_the_process_runs(home: Home, session: Session) -> None:
    stop(home, session)
    home.wait_until_present()
    home.wait_until_stored()
    session.say("user", "One")

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    home.hook("claude-code", "Stop", session.payload, preexec_fn=full)
    home.ask("drain")
    assert contents(home, "claude-code:s1") == ["One"]
    assert home.waiting() == []
    assert not list((home.folder / "spool").glob(".*"))


@pytest.mark.parametrize("size", [5_000_000, ricordo_hook.MAX_PAYLOAD_BYTES + 1])
def test_an_event_of_megabytes_is_taken(home: Home, session: Session, size: int) -> None:
    session.say("user", "One")
    home.hook("claude-code", "Stop", {**session.payload, "last_assistant_message": "x" * size})
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One"]
    assert not (home.folder / "spool" / "failed").exists()


def test_binary_input_is_dropped_and_nothing_of_it_is_kept(home: Home, session: Session) -> None:
    home.hook("claude-code", "Stop", bytes(range(256)) * 50 + b"sunflower42")
    home.hook("claude-code", "Stop", b"[1]")
    session.say("user", "One")
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One"]
    assert home.log().count("ValueError") == 2
    assert [one for one in every_byte(home) if b"sunflower42" in one] == []


def test_what_is_no_event_is_put_aside_and_keeps_nothing_back(home: Home, session: Session) -> None:
    spool = home.folder / "spool"
    spool.mkdir(parents=True)
    for number, content in enumerate((b"", b"\x00\xff", b"[]", b'{"v": 9}', b"[" * 100_000)):
        (spool / f"{number}.event").write_bytes(content)
    session.say("user", "One")
    stop(home, session)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One"]
    assert len(list((spool / "failed").iterdir())) == 5


def test_nothing_that_was_said_lies_in_the_spool(home: Home, session: Session) -> None:
    (home.path / "agents.toml").write_text("nonsense")  # it stays there
    said = {**session.payload, "last_assistant_message": "sunflower42", "prompt": "sunflower42"}
    home.hook("claude-code", "Stop", said)
    home.hook("claude-code", "UserPromptSubmit", said)
    assert len(home.waiting()) == 1
    assert [one for one in every_byte(home) if b"sunflower42" in one] == []


def every_byte(home: Home) -> list[bytes]:
    return [path.read_bytes() for path in home.path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("payload", [b"", b"{}", b"null", b"{", b'{"session_id": 7}'])
@pytest.mark.parametrize("agent", ["claude-code", "opencode", "nobody"])
def test_any_input_ends_well(shared_home: Home, agent: str, payload: bytes) -> None:
    events = {**ricordo_hook.EVENTS.get(agent, {}), "Nothing": ""}
    for event in events:
        assert shared_home.hook(agent, event, payload) == ""


def test_an_input_that_never_ends_is_not_waited_for(home: Home) -> None:
    with home.start_hook("claude-code", "Stop") as process:
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stdin is not None
        process.stdin.close()
    assert "TimeoutError" in home.log()


def test_a_process_that_hangs_is_not_waited_for(home: Home, session: Session) -> None:
    stop(home, session)
    found = home.wait_until_present()
    root = ricordo_hook.root_of(str(session.cwd))
    noted = Path(ricordo_hook.brief_file(str(home.folder), root))
    noted.parent.mkdir(exist_ok=True)
    noted.write_text(f"{ricordo_hook.brief_title(root, '')}\nUses pnpm.")
    os.kill(found["pid"], signal.SIGSTOP)
    try:
        assert home.shown("claude-code", "SessionStart", session.payload) == "Uses pnpm."
        prompt = {**session.payload, "prompt": "Hi"}
        assert home.shown("claude-code", "UserPromptSubmit", prompt) == ""
        session.say("user", "One")
        stop(home, session)
    finally:
        os.kill(found["pid"], signal.SIGCONT)
    home.wait_until_stored()
    assert contents(home, "claude-code:s1") == ["One"]


def test_the_noted_brief_is_shown_while_nothing_runs_but_to_nobody_else(
    home: Home, session: Session, tmp_path: Path
) -> None:
    root = ricordo_hook.root_of(str(session.cwd))
    noted = Path(ricordo_hook.brief_file(str(home.folder), root))
    noted.parent.mkdir(parents=True)
    noted.write_text(f"{ricordo_hook.brief_title(root, '')}\nUses pnpm.")
    (home.folder / "resident.lock").write_text("")
    given: dict[str, Any] = {**session.payload, "source": "startup"}

    def cold(payload: dict[str, Any], **environment: str) -> str:
        env = {**home.environment, "PATH": "", **environment}
        return home.shown("claude-code", "SessionStart", payload, env=env)

    home.environment["RICORDO_DATABASE_KEY_FILE"] = str(tmp_path / "none")  # it cannot be opened
    assert cold(given) == "Uses pnpm."
    assert cold({**given, "cwd": str(session.cwd / "src" / "deep")}) == "Uses pnpm."
    assert cold({**given, "source": "resume"}) == ""
    assert cold({**given, "cwd": str(tmp_path)}) == ""
    assert cold(given, RICORDO_USER="ana") == ""


def test_the_log_stays_small_and_says_nothing_of_what_was_said(home: Home) -> None:
    (home.path / "logs").mkdir()
    log = home.path / "logs" / "agents.log"
    log.write_bytes(b"x" * (ricordo_hook.MAX_LOG_BYTES + 1))
    for told in generated(3):
        home.hook(told.text, told.text, told.text.encode())
    assert log.stat().st_size < 1_000
    assert set(home.log().splitlines()[0].split()[1:]) >= {"hook", "(unknown"}
    for told in generated(3):
        assert told.secret not in home.log()


@pytest.mark.requirement("agents.secrets")
def test_secrets_of_a_session_are_neither_stored_nor_logged_nor_shown(
    home: Home, session: Session
) -> None:
    told = generated(300)
    for number, one in enumerate(told):
        session.say("user" if number % 2 else "assistant", f"Number {number}: {one.text}")
    stop(home, session)
    home.wait_until_stored()
    home.ask("drain")
    other = {**session.payload, "session_id": "s2"}
    shown = home.shown("claude-code", "SessionStart", other)
    for one in told[:3]:
        shown += home.shown("claude-code", "UserPromptSubmit", {**other, "prompt": one.text})
    assert [one for one in told if one.secret in shown] == []
    home.ask("stop")
    wait_until(lambda: home.present() is None, PATIENCE_SECONDS)
    wait_until(lambda: not (home.path / "ricordo.db-wal").exists(), PATIENCE_SECONDS)
    kept = b"".join(every_byte(home))
    assert b"Number 299" in kept
    assert [one for one in told if one.secret.encode() in kept] == []


def test_one_that_dies_anywhere_while_it_stores_leaves_nothing_half_done_or_doubled(
    home: Home, session: Session
) -> None:
    """It is killed as it gives the database its first, its third, … command, until one lives."""
    for number in range(3):
        session.say("user", f"Number {number}")
        event = home.folder / "spool" / f"{number}.event"
        event.parent.mkdir(parents=True, exist_ok=True)
        header = {"v": 1, "agent": "claude-code", "event": "Stop", "cwd": "/", "env": {}}
        event.write_text(json.dumps({**header, "payload": json.dumps(session.payload)}))
    assert home.threads() == []  # the store is made
    died = 0
    for at_command in range(1, 1_000, 3):
        if not killed_drain(home.path, at_command):
            break
        died += 1
        found = contents(home, "claude-code:s1") if home.threads() else []
        assert found in ([], [f"Number {number}" for number in range(3)])
    assert died > 1
    assert home.waiting() == []
    assert contents(home, "claude-code:s1") == [f"Number {number}" for number in range(3)]


def test_what_runs_at_an_event_loads_little() -> None:
    loaded = subprocess.run(
        [
            *(sys.executable, "-I", "-S", "-c"),
            f"import sys;sys.path.append({str(Path(ricordo_hook.__file__).parents[1])!r});"
            "import ricordo_hook;print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "ricordo_hook" in loaded
    assert {"ricordo", "pathlib", "typing", "subprocess", "logging", "asyncio"}.isdisjoint(loaded)
