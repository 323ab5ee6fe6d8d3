"""The agents' own session files, as they really wrote them, and damaged in every way."""

import json
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo.coding_agents.capture import turn_of
from ricordo.coding_agents.entry import MAX_OUTPUT_CHARS, Entry
from ricordo.coding_agents.projects import Project
from ricordo.coding_agents.rules import AgentSettings, Rules
from ricordo.coding_agents.transcripts import cursor
from ricordo.coding_agents.transcripts.readers import read, sessions
from ricordo.coding_agents.transcripts.session_files import Session, lines
from ricordo.errors import InvalidValue
from tests.coding_agents.recorded import PLACES, PROMPTS, TRANSCRIPTS, lay_out

pytestmark = pytest.mark.requirement("agents.transcripts")

OF_LINES = ("claude-code", "codex", "gemini-cli")


def session_of(agent: str, home: Path) -> Session:
    lay_out(agent, home)
    (found,) = sessions(agent, {}, home)
    return found


def entries_of(session: Session) -> list[Entry]:
    return list(read(session.agent, session.path, session.session_id))


def unique(entries: Iterable[Entry]) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((one.id, one.role, one.content) for one in entries))


def claude_file(home: Path, *records: dict[str, Any] | bytes) -> Session:
    path = home / ".claude" / "projects" / "-home-ana-shop" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, record in enumerate(records):
            if isinstance(record, bytes):
                file.write(record)
                continue
            given = {"uuid": f"u{number}", "sessionId": "s1", "cwd": "/home/ana/shop", **record}
            file.write(json.dumps(given).encode() + b"\n")
    return Session(
        agent="claude-code",
        session_id="s1",
        path=path,
        folder="/home/ana/shop",
        updated_at=sessions("claude-code", {}, home)[0].updated_at,
    )


def rules_of(folder: Path) -> Rules:
    return Rules.of(folder, AgentSettings(), Project("shop", folder))


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(content)}}


def called(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return assistant({"type": "tool_use", "id": call_id, "name": name, "input": arguments})


def result(content: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": call_id, "content": content, **more}])


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_recorded_sessions_are_read_as_they_went(agent: str, tmp_path: Path) -> None:
    session = session_of(agent, tmp_path)
    entries = entries_of(session)
    said = dict.fromkeys(one.content for one in entries if one.role == "user")
    assert list(said)[:2] == list(PROMPTS)
    answers = list(dict.fromkeys(one.content for one in entries if one.role == "assistant"))
    assert answers[0] == "I run the check first."
    assert "We also decided: totals are shown without cents." in answers
    assert {one.session_id for one in entries} == {session.session_id}
    assert {one.cwd for one in entries} == {str(tmp_path / "shop")} == {session.folder}
    assert all(one.at is not None for one in entries)
    whole = json.dumps([one.content for one in entries])
    for injected in ("BRIEF-ONE", "PROMPT-ONE", "system-reminder", "Left out.", "AGENTS.md"):
        assert injected not in whole


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_a_recorded_failure_and_its_repair_are_told_by_the_calls(
    agent: str, tmp_path: Path
) -> None:
    calls = [one.call for one in entries_of(session_of(agent, tmp_path)) if one.call]
    failed = next(call for call in calls if call.error)
    assert (failed.command, failed.exit_code) == ("sh check.sh", 1)
    assert failed.output.startswith("Traceback (most recent call last):")
    assert (failed.error or "").endswith("total(999, 50) is 500, not 499")
    assert (str(tmp_path / "shop" / "price.py"),) in [call.files for call in calls]
    passed = [call for call in calls if call.command == "sh check.sh" and not call.error]
    assert [(call.exit_code, call.output) for call in passed] == [(0, "1 passed")]


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_reading_on_from_any_entry_gives_the_rest_with_the_same_ids(
    agent: str, tmp_path: Path
) -> None:
    session = session_of(agent, tmp_path)
    whole = entries_of(session)
    for number, entry in enumerate(whole):
        rest = list(read(agent, session.path, session.session_id, entry.after))
        assert set(unique(whole[number + 1 :])) <= set(unique(rest)) <= set(unique(whole))
    last = whole[-1].after
    assert last is not None
    assert len(list(read(agent, session.path, session.session_id, last))) <= 1


@pytest.mark.parametrize("agent", OF_LINES)
def test_a_file_that_grows_is_read_to_the_same_end_wherever_it_was_cut(
    agent: str, tmp_path: Path
) -> None:
    session = session_of(agent, tmp_path)
    content, whole = session.path.read_bytes(), unique(entries_of(session))
    for cut in range(0, len(content), max(1, len(content) // 60)):
        session.path.write_bytes(content[:cut])
        before = entries_of(session)
        after = before[-1].after if before else None
        session.path.write_bytes(content)
        rest = list(read(agent, session.path, session.session_id, after))
        assert sorted(unique([*before, *rest])) == sorted(whole)


@pytest.mark.parametrize("agent", OF_LINES)
def test_a_file_that_was_written_anew_is_read_from_its_start(agent: str, tmp_path: Path) -> None:
    session = session_of(agent, tmp_path)
    whole = entries_of(session)
    content = session.path.read_bytes()
    session.path.write_bytes(content[: content.index(b"\n", len(content) // 2) - 7])
    again = list(read(agent, session.path, session.session_id, whole[-1].after))
    assert [one.id for one in again[:1]] == [whole[0].id]


def test_subagents_are_no_sessions(tmp_path: Path) -> None:
    for agent in ("claude-code", "opencode"):
        lay_out(agent, tmp_path)
        assert len(sessions(agent, {}, tmp_path)) == 1


def test_an_environment_says_where_else_the_sessions_are(tmp_path: Path) -> None:
    named = {
        "claude-code": {"CLAUDE_CONFIG_DIR": ".claude"},
        "codex": {"CODEX_HOME": ".codex"},
        "gemini-cli": {"GEMINI_CLI_HOME": "."},
        "opencode": {"XDG_DATA_HOME": ".local/share"},
    }
    for agent, variables in named.items():
        lay_out(agent, tmp_path / agent)
        environ = {name: str(tmp_path / agent / place) for name, place in variables.items()}
        assert sessions(agent, environ, tmp_path / "nobody")
        assert not sessions(agent, {}, tmp_path / "nobody")


def test_the_newest_session_comes_first(tmp_path: Path) -> None:
    path = claude_file(tmp_path, user("Hello.")).path
    other = path.with_name("s2.jsonl")
    other.write_bytes(path.read_bytes())
    for newer, older in ((path, other), (other, path)):
        os.utime(newer, (2_000_000_000, 2_000_000_000))
        os.utime(older, (1_900_000_000, 1_900_000_000))
        assert [one.path for one in sessions("claude-code", {}, tmp_path)] == [newer, older]


def test_an_agent_without_session_files_is_named_with_those_that_have_some(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="claude-code, codex, cursor, gemini-cli, opencode"):
        sessions("aider", {}, tmp_path)
    with pytest.raises(InvalidValue, match="'aider' is not one of"):
        read("aider", tmp_path, "s1")


@pytest.mark.parametrize("agent", TRANSCRIPTS)
def test_what_is_gone_or_no_session_file_is_an_error_or_nothing(agent: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="."):
        list(read(agent, tmp_path / "gone.jsonl", "s1"))
    place = tmp_path / PLACES[agent]
    for folder in ("projects/x", "sessions/2026/01/01", "tmp/x/chats", "."):
        (place / folder).mkdir(parents=True, exist_ok=True)
    for name in (
        "projects/x/a.jsonl",
        "sessions/2026/01/01/rollout-a.jsonl",
        "tmp/x/chats/session-a.jsonl",
        "tmp/x/chats/session-a.json",
        "opencode.db",
    ):
        (place / name).write_bytes(b"\xff\xfe no session\n{}\n[1]\n")
    assert sessions(agent, {}, tmp_path) == []


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("<system-reminder>Be brief.</system-reminder>Fix it.", "Fix it."),
        ("Fix it.\n<ricordo-memory>\nPrices are cents.\n</ricordo-memory>", "Fix it."),
        ("<ide_opened_file>The user opened a.py</ide_opened_file>\nFix it.", "Fix it."),
        ("<command-name>/fix</command-name><command-args>the sum</command-args>", "/fix the sum"),
        ([{"type": "text", "text": "Look:"}, {"type": "image", "source": {}}], "Look:"),
        ("Use <b>bold</b> here.", "Use <b>bold</b> here."),
    ],
)
def test_of_a_message_only_the_users_words_are_kept(
    content: Any, kept: str, tmp_path: Path
) -> None:
    assert [one.content for one in entries_of(claude_file(tmp_path, user(content)))] == [kept]


@pytest.mark.parametrize(
    "record",
    [
        user("Look into the tests.", isSidechain=True),
        user("Expanded by a command.", isMeta=True),
        user("This session is being continued.", isCompactSummary=True),
        user("<task-notification>done</task-notification>", promptSource="system"),
        user("<command-name>/clear</command-name><command-args></command-args>"),
        user("<local-command-stdout>Cleared</local-command-stdout>"),
        user("[Request interrupted by user for tool use]"),
        user("<system-reminder>never closed"),
        user(""),
        {
            "type": "assistant",
            "message": {
                "model": "<synthetic>",
                "content": [{"type": "text", "text": "No response requested."}],
            },
        },
        {**assistant({"type": "text", "text": "API Error"}), "isApiErrorMessage": True},
        {"type": "summary", "summary": "Rounding"},
        {"type": "something-new", "message": {"content": "?"}},
        {"type": "user", "message": "no object"},
        {"type": ["user"], "message": {"content": "?"}},
    ],
)
def test_what_the_program_wrote_itself_is_no_message(
    record: dict[str, Any], tmp_path: Path
) -> None:
    session = claude_file(tmp_path, user("Hello."), record)
    assert [one.content for one in entries_of(session)] == ["Hello."]


def test_words_said_while_the_agent_worked_are_a_message(tmp_path: Path) -> None:
    waiting = {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "And b."}}
    session = claude_file(tmp_path, user("Do a."), waiting)
    assert [one.content for one in entries_of(session)] == ["Do a.", "And b."]


def test_of_a_long_output_both_ends_are_captured(tmp_path: Path) -> None:
    output = "first line\n" + "x" * 5_000_000 + "\nlast line"
    session = claude_file(tmp_path, called("Bash", command="make"), result(output, is_error=True))
    (entry,) = entries_of(session)
    turn = turn_of(entry, rules_of(tmp_path))
    assert turn is not None
    assert len(turn.content) < 2 * MAX_OUTPUT_CHARS
    (call,) = turn.tool_calls or ()
    assert call["error"] == "last line"
    assert call["output"].startswith("first line")
    assert call["output"].endswith("last line")


def test_a_secret_below_its_name_is_kept_neither_as_output_nor_as_error(tmp_path: Path) -> None:
    output = "Login failed\npassword:\nqT7w9xLm2p4z"
    session = claude_file(tmp_path, called("Bash", command="make"), result(output, is_error=True))
    (entry,) = entries_of(session)
    turn = turn_of(entry, rules_of(tmp_path))
    assert turn is not None
    assert "qT7w9xLm2p4z" not in f"{turn.content}{turn.tool_calls}"


def test_a_binary_output_is_not_captured(tmp_path: Path) -> None:
    output = bytes(range(256)).decode("latin-1") * 10 + "\ufffd" * 1000
    session = claude_file(tmp_path, called("Bash", command="cat a.png"), result(output))
    (entry,) = entries_of(session)
    turn = turn_of(entry, rules_of(tmp_path))
    assert turn is not None
    assert turn.content == "Bash: cat a.png\n(binary output)"


def test_a_call_waits_for_its_result_and_is_given_up_at_the_next_prompt(tmp_path: Path) -> None:
    begun = [user("Do a."), called("Bash", command="make")]
    session = claude_file(tmp_path, *begun)
    (first,) = entries_of(session)
    assert first.content == "Do a."
    session = claude_file(tmp_path, *begun, user("Stop. Do b."), result("late"))
    assert [one.content for one in entries_of(session)] == ["Do a.", "Stop. Do b."]


def test_lines_that_are_no_utf_8_no_json_or_too_deep_are_left_out(tmp_path: Path) -> None:
    session = claude_file(
        tmp_path,
        user("One."),
        b"\xff\xfe\x00\n",
        b"[" * 100_000 + b"\n",
        b'{"type": "user", \n',
        b"\n",
        user("T\udcffwo.\x00"),
    )
    assert [one.content for one in entries_of(session)] == ["One.", "T\ufffdwo."]


def test_a_line_beyond_all_bounds_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.coding_agents.transcripts.session_files.MAX_LINE_BYTES", 1_000)
    session = claude_file(tmp_path, user("One."), user("x" * 5_000), user("Two."))
    assert [one.content for one in entries_of(session)] == ["One.", "Two."]
    assert list(lines(session.path))[-1].end == session.path.stat().st_size


def test_what_a_patch_touches_are_the_files_of_the_call(tmp_path: Path) -> None:
    path = tmp_path / "rollout-a.jsonl"
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b/c.py\n*** End Patch"
    items: list[dict[str, Any]] = [
        {"type": "custom_tool_call", "call_id": "1", "name": "apply_patch", "input": patch},
        {"type": "custom_tool_call_output", "call_id": "1", "output": '{"output": "ok"}'},
        {"type": "local_shell_call", "call_id": "2", "action": {"command": ["bash", "-lc", "ls"]}},
        {
            "type": "local_shell_call_output",
            "call_id": "2",
            "output": '{"output": "no", "metadata": {"exit_code": 2}}',
        },
    ]
    records = [{"type": "response_item", "payload": item} for item in items]
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    patched, listed = (one.call for one in read("codex", path, "s1"))
    assert patched is not None
    assert patched.files == ("a.py", "b/c.py")
    assert listed is not None
    assert (listed.command, listed.exit_code, listed.output) == ("ls", 2, "no")


def test_an_older_document_of_gemini_is_read_on_by_its_messages(tmp_path: Path) -> None:
    path = tmp_path / "session-a.json"
    messages = [
        {"id": "m1", "type": "user", "content": "Fix it."},
        {"id": "m2", "type": "gemini", "content": "Done."},
        {"id": "m3", "type": "info", "content": "Update available"},
        {
            "id": "m4",
            "type": "user",
            "content": [{"text": "Thanks.\n--- Content from referenced files ---\nx"}],
        },
    ]
    path.write_text(json.dumps({"sessionId": "s1", "messages": messages}), encoding="utf-8")
    entries = list(read("gemini-cli", path, "s1"))
    assert [one.content for one in entries] == ["Fix it.", "Done.", "Thanks."]
    rest = list(read("gemini-cli", path, "s1", entries[1].after))
    assert [one.id for one in rest] == ["m4"]


CURSOR: list[dict[str, Any]] = [
    {
        "role": "user",
        "message": {
            "content": [
                {
                    "type": "text",
                    "text": "<manually_attached_skills>\nx\n</manually_attached_skills>\n"
                    "<timestamp>Monday, Aug 31, 2026, 5:52 PM (UTC-4)</timestamp>\n"
                    "<user_query>\nFix the sum.\n</user_query>",
                }
            ]
        },
    },
    {
        "role": "assistant",
        "message": {
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "Shell", "input": {"command": "make"}},
                {"type": "tool_use", "name": "Write", "input": {"path": "/home/ana/shop/a.py"}},
            ]
        },
    },
    {"type": "turn_ended", "status": "success"},
]
"""A session in the shape that others have recorded: the program cannot be run here."""


def cursor_file(home: Path, folder: str, *records: Any) -> Path:
    path = home / ".cursor" / "projects" / folder / "agent-transcripts" / "s1" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_session_of_cursor_is_read_with_its_calls_and_times(tmp_path: Path) -> None:
    shop = tmp_path / "my.shop-2"
    shop.mkdir()
    name = re.sub(r"[^A-Za-z0-9]", "-", str(shop)).strip("-")
    path = cursor_file(tmp_path, name, *CURSOR)
    (path.parent / "subagents").mkdir()
    (path.parent / "subagents" / "s2.jsonl").write_bytes(path.read_bytes())
    (session,) = sessions("cursor", {}, tmp_path)
    assert (session.session_id, session.folder) == ("s1", str(shop))
    entries = list(read("cursor", path, "s1"))
    assert [(one.role, one.content) for one in entries] == [
        ("user", "Fix the sum."),
        ("assistant", "I look."),
        ("tool", ""),
        ("tool", ""),
    ]
    assert {one.at for one in entries} == {datetime(2026, 8, 31, 21, 52, tzinfo=UTC)}
    commands = [(one.call.command, one.call.files) for one in entries if one.call]
    assert commands == [("make", ()), (None, ("/home/ana/shop/a.py",))]
    for number, entry in enumerate(entries):
        rest = list(read("cursor", path, "s1", entry.after))
        assert set(unique(entries[number + 1 :])) <= set(unique(rest)) <= set(unique(entries))


def test_a_folder_of_cursor_that_is_gone_is_not_guessed(tmp_path: Path) -> None:
    cursor_file(tmp_path, "nobody-has-this-folder-here", *CURSOR)
    (session,) = sessions("cursor", {}, tmp_path)
    assert session.folder is None


def test_the_command_line_of_cursor_does_not_name_the_file(tmp_path: Path) -> None:
    path = cursor_file(tmp_path, "x", *CURSOR)
    assert cursor.transcript_of("s1", {}, tmp_path) == path
    assert cursor.transcript_of("s2", {}, tmp_path) is None
