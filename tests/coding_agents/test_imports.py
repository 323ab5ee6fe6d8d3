"""Sessions from before, brought in: each message once, whatever was captured live."""

import contextlib
import copy
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo import open as open_store
from ricordo.cli.errors import INVALID_INPUT, OK
from ricordo.coding_agents import capture
from ricordo.coding_agents.entry import Entry
from ricordo.coding_agents.imports import SessionImport
from ricordo.coding_agents.projects import project_of
from ricordo.coding_agents.rules import AgentSettings, Rules, turn
from ricordo.coding_agents.transcripts.readers import read, sessions
from ricordo.model.reports import ImportReport
from tests.coding_agents.generated_secrets import generated
from tests.coding_agents.recorded import PROJECT, PROMPTS, TRANSCRIPTS, lay_out
from tests.support.commandline import COMMAND, Ran, ricordo
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("agents.import")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def bring_in(
    user: UserMemory, agent: str, home: Path, settings: AgentSettings | None = None, **given: Any
) -> ImportReport:
    importing = SessionImport(user, home / ".ricordo", settings or AgentSettings(), **given)
    importing.take(sessions(agent, {}, home), lambda _done, _all: None)
    importing.take_users_file(agent, home)
    return importing.report(agent)


def stored(user: UserMemory, project: str = PROJECT) -> list[tuple[str, str, str]]:
    scope = user.narrow(project=project)
    return [
        (thread.thread_id, turn.role, turn.content)
        for thread in scope.threads(limit=1_000)
        for turn in scope.turns(thread.thread_id, limit=1_000)
    ]


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_sessions_become_conversations_of_their_project_once(
    agent: str, ana: UserMemory, home: Path
) -> None:
    lay_out(agent, home)
    first = bring_in(ana, agent, home)
    assert (first.threads, first.turns, first.duplicates) == (1, len(stored(ana)), 0)
    (session,) = sessions(agent, {}, home)
    assert {thread for thread, _, _ in stored(ana)} == {f"{agent}:{session.session_id}"}
    said = [content for _, role, content in stored(ana) if role == "user"]
    assert tuple(said[:2]) == PROMPTS
    assert stored(ana, "another") == []
    before = stored(ana)
    again = bring_in(ana, agent, home)
    assert (again.threads, again.turns, again.duplicates) == (0, 0, first.turns)
    assert stored(ana) == before


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_what_was_captured_live_is_not_doubled(agent: str, ana: UserMemory, home: Path) -> None:
    lay_out(agent, home)
    (session,) = sessions(agent, {}, home)
    rules = Rules.of(home, AgentSettings(), project_of(home / "shop"))
    entries = list(read(agent, session.path, session.session_id))
    live = capture.record(ana.narrow(project=PROJECT), agent, entries[:4], rules)
    imported = bring_in(ana, agent, home)
    assert imported.duplicates == live.recorded
    contents = [content for _, _, content in stored(ana)]
    assert len(contents) == live.recorded + imported.turns
    rest = list(read(agent, session.path, session.session_id, entries[-1].after))
    assert capture.record(ana.narrow(project=PROJECT), agent, rest, rules).recorded == 0


def test_an_import_that_was_killed_ends_the_same_when_it_is_run_again(
    memory: Memory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent in TRANSCRIPTS:
        lay_out(agent, home)
        whole = memory.user(f"{agent}-whole")
        bring_in(whole, agent, home)
        cut = memory.user(f"{agent}-cut")
        for place in range(0, 14, 5):

            def killed(
                *given: Any, place: int = place, read: Callable[..., Iterator[Entry]] = read
            ) -> Iterator[Entry]:
                yield from islice(read(*given), place)
                raise KeyboardInterrupt

            with monkeypatch.context() as patch:
                patch.setattr("ricordo.coding_agents.imports.read", killed)
                patch.setattr("ricordo.limits.MAX_OBSERVED_TURNS", 2)
                with contextlib.suppress(KeyboardInterrupt):
                    bring_in(cut, agent, home)
        bring_in(cut, agent, home)
        assert stored(cut) == stored(whole)


def test_a_dry_run_counts_what_an_import_then_writes(ana: UserMemory, home: Path) -> None:
    lay_out("codex", home)
    counted = bring_in(ana, "codex", home, dry_run=True)
    assert stored(ana) == []
    assert counted == bring_in(ana, "codex", home)


def test_what_the_settings_do_not_name_is_left_out_and_counted(ana: UserMemory, home: Path) -> None:
    lay_out("claude-code", home)
    told = bring_in(ana, "claude-code", home, AgentSettings(tools=False))
    assert told.skipped == {"messages that the settings leave out": 5}
    assert {role for _, role, _ in stored(ana)} == {"user", "assistant"}


def test_of_a_project_that_is_off_nothing_is_taken(ana: UserMemory, home: Path) -> None:
    lay_out("claude-code", home)
    turn(home / ".ricordo", PROJECT, off=True)
    told = bring_in(ana, "claude-code", home)
    assert (told.turns, told.skipped) == (0, {"sessions of projects that are off": 1})


def test_one_project_can_be_chosen(ana: UserMemory, home: Path) -> None:
    lay_out("claude-code", home)
    assert bring_in(ana, "claude-code", home, only="github.com/acme/other").turns == 0
    assert bring_in(ana, "claude-code", home, only=PROJECT).turns > 0


def test_sessions_that_cannot_be_taken_are_counted(ana: UserMemory, home: Path) -> None:
    place = lay_out("gemini-cli", home)
    (place / "tmp" / "shop" / ".project_root").unlink()
    assert bring_in(ana, "gemini-cli", home).skipped == {
        "sessions of a folder that nothing names": 1
    }
    lay_out("codex", home)
    (session,) = sessions("codex", {}, home)
    thread = f"codex:{session.session_id}"
    ana.narrow(project="another").observe([{"role": "user", "content": "Hi"}], thread=thread)
    assert bring_in(ana, "codex", home).skipped == {
        "sessions that are stored in another project": 1
    }
    found = sessions("codex", {}, home)
    session.path.unlink()
    importing = SessionImport(ana, home, AgentSettings())
    importing.take(found, lambda _done, _all: None)
    assert importing.report("codex").skipped == {"sessions that cannot be read": 1}


def test_no_secret_of_a_session_or_of_a_file_is_stored(ana: UserMemory, home: Path) -> None:
    lay_out("claude-code", home)
    (session,) = sessions("claude-code", {}, home)
    template = [json.loads(line) for line in session.path.read_text("utf-8").splitlines()]
    (called, ended) = (
        next(one for one in template if kind in json.dumps(one.get("message", {})))
        for kind in ("tool_use", "tool_result")
    )
    secrets = list(generated(200))
    records: list[Any] = []
    for number, told in enumerate(secrets):
        user = {"type": "user", "uuid": f"u{number}", "message": {"content": told.text}}
        records += [{**user, "cwd": str(home / "shop"), "sessionId": "s1"}]
        for failed in (True, False):
            call, result = copy.deepcopy(called), copy.deepcopy(ended)
            call["uuid"] = f"c{number}{failed}"
            call["message"]["content"][0]["input"] = {"command": told.text, "note": told.text}
            call["message"]["content"][0]["id"] = result["message"]["content"][0]["tool_use_id"]
            result["message"]["content"][0] |= {"content": told.text, "is_error": failed}
            records += [call, result]
    lines = [json.dumps(record) + "\n" for record in records]
    session.path.write_text("".join(lines), encoding="utf-8")
    (home / "shop" / "CLAUDE.md").write_text(
        "\n\n".join(f"- {told.text}" for told in secrets), encoding="utf-8"
    )
    assert bring_in(ana, "claude-code", home).turns > len(secrets)
    scope = ana.narrow(project=PROJECT)
    kept = [str(one.to_dict()) for one in ana.list(limit=1_000)]
    for thread in scope.threads():
        after = None
        while (page := scope.turns(thread.thread_id, limit=1_000, cursor=after)).items:
            kept += [str(turn.to_dict()) for turn in page]
            after = page.next_cursor
            if after is None:
                break
    whole = "\n".join(kept)
    assert [told for told in secrets if told.secret in whole] == []


# -- from the command line -----------------------------------------------------------------


@pytest.fixture
def cli(
    memory: Memory, backend_url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RICORDO_HOME", str(home / ".ricordo"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "RICORDO_USER", "RICORDO_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments: ricordo(*arguments, "--db", backend_url)


def test_the_name_of_an_agent_finds_its_sessions(
    cli: Callable[..., Ran], memory: Memory, home: Path
) -> None:
    lay_out("claude-code", home)
    told = cli("import", "claude-code", "-u", "ana", "--json").json
    assert (told["format"], told["threads"]) == ("claude-code", 1)
    assert len(stored(memory.user("ana"))) == told["turns"]
    again = cli("import", "claude-code", "-u", "ana")
    assert (again.code, again.out) == (OK, f"From claude-code: known already {told['turns']}.\n")
    shown = cli("import", "claude-code", "-u", "ben", "--dry-run")
    assert shown.out.endswith("Nothing was written.\n")
    assert stored(memory.user("ben")) == []


def test_a_folder_or_a_file_of_an_agent_can_be_named(
    cli: Callable[..., Ran], home: Path, tmp_path: Path
) -> None:
    place = lay_out("codex", tmp_path / "copied")
    (file,) = place.rglob("rollout-*.jsonl")
    turns = cli("import", place, "--format", "codex", "-u", "ana", "--json").json["turns"]
    assert turns > 0
    assert cli("import", file, "--format", "codex", "-u", "ben", "--json").json["turns"] == turns


def test_sessions_that_ended_before_a_time_are_left_out(
    cli: Callable[..., Ran], home: Path
) -> None:
    lay_out("codex", home)
    assert cli("import", "codex", "--since", "9000-01-01", "--json").json["turns"] == 0
    assert cli("import", "codex", "--since", "2000-01-01", "--json").json["turns"] > 0


def test_the_settings_of_live_capture_say_whose_sessions_they_are(
    cli: Callable[..., Ran], memory: Memory, home: Path
) -> None:
    lay_out("codex", home)
    (home / ".ricordo").mkdir()
    (home / ".ricordo" / "agents.toml").write_text('user = "ana"\n', encoding="utf-8")
    cli("import", "codex")
    assert stored(memory.user("ana"))
    cli("import", "codex", "-u", "ben")
    assert stored(memory.user("ben"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("codex",), "no session of codex is there"),
        (("nowhere", "--format", "codex"), "nowhere: no session of codex is there"),
        (("codex", "--all-users"), "takes neither --all-users nor --consented"),
        (("codex", "--global"), "--global takes none"),
        (("codex", "--since", "soon"), "since: expected"),
        (("notes.md", "--since", "2026-01-01"), "for coding agents only"),
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: tuple[str, ...], said: str, cli: Callable[..., Ran]
) -> None:
    ran = cli("import", *arguments)
    assert ran.code == INVALID_INPUT
    assert said in ran.err


def test_an_import_into_a_project_ends_with_its_vectors(
    cli: Callable[..., Ran], home: Path
) -> None:
    (home / "notes.md").write_text("- Prices are cents.\n", encoding="utf-8")
    ran = cli("import", "notes.md", "--project", PROJECT)
    assert (ran.code, ran.out) == (OK, "From markdown: added 1.\n")


@pytest.mark.chaos
def test_a_killed_command_leaves_what_it_stored_and_goes_on(home: Path, tmp_path: Path) -> None:
    place = lay_out("codex", home)
    (file,) = place.rglob("rollout-*.jsonl")
    content = file.read_text(encoding="utf-8")
    (session,) = sessions("codex", {}, home)
    for number in range(60):
        own = content.replace(session.session_id, f"{session.session_id[:-4]}{number:04}")
        file.with_stem(f"{file.stem}{number}").write_text(own, encoding="utf-8")
    file.unlink()
    command = [COMMAND, "import", "codex", "--db", str(tmp_path / "cut.db")]
    environment = {**os.environ, "HOME": str(home), "RICORDO_HOME": str(home / ".ricordo")}
    with (
        ricordo_store(tmp_path / "cut.db") as cut,
        subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running,
    ):
        wait_until(lambda: len(stored(cut)) > 0)
        running.kill()
        running.wait()
        begun = len(stored(cut))
        subprocess.run(command, env=environment, check=True)
        command[-1] = str(tmp_path / "whole.db")
        subprocess.run(command, env=environment, check=True)
        with ricordo_store(tmp_path / "whole.db") as whole:
            assert 0 < begun < len(stored(whole))
            assert sorted(stored(cut)) == sorted(stored(whole))


@contextlib.contextmanager
def ricordo_store(path: Path) -> Iterator[UserMemory]:
    with open_store(path, run_jobs=False) as memory:
        yield memory.user("me")


# -- what files of projects say ------------------------------------------------------------


SAYS = "# Shop\n\n- Prices are whole cents.\n\n## Testing\n\nRun make test before a commit.\n"


@pytest.fixture
def shop(home: Path) -> Path:
    """The repository that a recorded session was held in."""
    lay_out("codex", home)
    return home / "shop"


def says(user: UserMemory) -> set[str]:
    return {item.content for item in user.list(limit=1_000) if item.project_id == PROJECT}


def test_what_a_project_tells_agents_becomes_its_memories(
    ana: UserMemory, home: Path, shop: Path
) -> None:
    (shop / "AGENTS.md").write_text(SAYS, encoding="utf-8")
    told = bring_in(ana, "codex", home)
    assert told.added == 2
    assert says(ana) == {"Prices are whole cents.", "Run make test before a commit."}
    (tested,) = ana.narrow(project=PROJECT).list(contains="make test")
    assert set(tested.tags) == {"convention", "file:AGENTS.md"}
    assert tested.source_context == "AGENTS.md, Testing"
    assert (shop / "AGENTS.md").read_text(encoding="utf-8") == SAYS
    again = bring_in(ana, "codex", home)
    assert (again.added, again.updated) == (0, 0)


def test_what_a_file_no_longer_says_is_archived_until_it_says_so_again(
    ana: UserMemory, home: Path, shop: Path
) -> None:
    file = shop / "CLAUDE.md"
    file.write_text(SAYS, encoding="utf-8")
    bring_in(ana, "codex", home)
    file.write_text(SAYS.replace("whole", "integer"), encoding="utf-8")
    told = bring_in(ana, "codex", home)
    assert (told.added, told.updated) == (1, 1)
    assert says(ana) == {"Prices are integer cents.", "Run make test before a commit."}
    file.write_text(SAYS, encoding="utf-8")
    assert bring_in(ana, "codex", home, dry_run=True).updated == 2
    told = bring_in(ana, "codex", home)
    assert (told.added, told.updated) == (0, 2)
    assert says(ana) == {"Prices are whole cents.", "Run make test before a commit."}
    file.unlink()
    assert bring_in(ana, "codex", home).updated == 2
    assert says(ana) == set()


def test_what_the_user_changed_archived_or_forgot_stays_so(
    ana: UserMemory, home: Path, shop: Path
) -> None:
    said = "- One.\n- Two.\n- Three.\n"
    (shop / "CLAUDE.md").write_text(said, encoding="utf-8")
    bring_in(ana, "codex", home)
    scope = ana.narrow(project=PROJECT)
    ids = {item.content: item.id for item in scope.list(limit=1_000)}
    scope.archive(ids["One."])
    scope.forget(ids["Two."])
    told = bring_in(ana, "codex", home)
    assert (told.added, told.updated) == (0, 0)
    assert says(ana) == {"Three."}


def test_secrets_links_and_what_is_no_statement_are_not_taken_over(
    ana: UserMemory, home: Path, shop: Path
) -> None:
    outside = home / "private.md"
    outside.write_text("- The door is green.\n", encoding="utf-8")
    (shop / "GEMINI.md").symlink_to(outside)
    (shop / "CLAUDE.md").write_text(
        "---\nname: shop\n---\n- One.\n- password: hunter2hunter2\n```\nmake\n```\n@docs/more.md\n",
        encoding="utf-8",
    )
    (shop / "AGENTS.md").symlink_to(shop / "CLAUDE.md")
    told = bring_in(ana, "codex", home)
    assert says(ana) == {"One."}
    assert told.skipped == {"lines with secrets": 1}


def test_what_the_user_tells_an_agent_everywhere_is_of_no_project(
    ana: UserMemory, home: Path, shop: Path
) -> None:
    (home / ".codex" / "AGENTS.md").write_text("- Answer in Italian.\n", encoding="utf-8")
    bring_in(ana, "codex", home)
    assert "Answer in Italian." not in says(ana)
    (told,) = ana.list(contains="Italian")
    assert (told.project_id, told.tags) == (None, ("convention", "file:~/.codex/AGENTS.md"))
