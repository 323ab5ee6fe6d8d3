import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo import limits
from ricordo.coding_agents.capture import MAX_MESSAGE_CHARS, clean, record, turn_of
from ricordo.coding_agents.entry import Entry, ToolCall
from ricordo.coding_agents.projects import Project
from ricordo.coding_agents.rules import AgentSettings, Rules, turn
from ricordo.text.secrets import MASK
from tests.coding_agents.generated_secrets import Told, generated

AT = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return Rules.of(tmp_path / "home", AgentSettings(), Project("shop", tmp_path))


def entry(content: str, id: str = "1", role: str = "user", **given: Any) -> Entry:
    return Entry(id=id, role=role, content=content, at=AT, session_id="s1", **given)  # type: ignore[arg-type]


def call(id: str = "1", **given: Any) -> Entry:
    return entry("", id, "tool", call=ToolCall(**{"name": "Bash", **given}))


def stored(rules: Rules, one: Entry) -> str:
    made = turn_of(one, rules)
    assert made is not None
    return made.content + json.dumps(made.tool_calls, ensure_ascii=False)


def test_a_session_becomes_a_conversation_and_again_changes_nothing(
    memory: Any, rules: Rules
) -> None:
    ana = memory.user("ana")
    said = [
        entry("Use pnpm here\nnot npm", "u1"),
        call("t1", command="pnpm test", exit_code=1, error="Cannot find module", files=("a.ts",)),
        entry("I use pnpm.", "a1", "assistant"),
    ]
    first = record(ana, "claude-code", said, rules)
    assert (first.recorded, first.known, first.left_out) == (3, 0, 0)
    again = record(ana, "claude-code", [*said, entry("And vitest", "u2")], rules)
    assert (again.recorded, again.known) == (1, 3)
    thread = next(iter(ana.threads().items))
    assert (thread.thread_id, thread.title) == ("claude-code:s1", "Use pnpm here")
    turns = ana.turns("claude-code:s1").items
    assert [one.role for one in turns] == ["user", "tool", "assistant", "user"]
    assert turns[1].content == "Bash: pnpm test\nexit code 1\nCannot find module"
    assert turns[1].tool_calls == [
        {
            "name": "Bash",
            "files": ["a.ts"],
            "command": "pnpm test",
            "exit_code": 1,
            "error": "Cannot find module",
        }
    ]
    assert turns[0].at == AT


def test_sessions_become_conversations_of_their_own(memory: Any, rules: Rules) -> None:
    ana = memory.user("ana")
    many = [
        Entry(id=f"{session}-{number}", role="user", content="Hi", at=AT, session_id=session)
        for session in ("one", "two")
        for number in range(limits.MAX_OBSERVED_TURNS + 1)
    ]
    done = record(ana, "codex", many, rules)
    assert done.recorded == len(many)
    found = {one.thread_id: one.turn_count for one in ana.threads().items}
    assert found == {"codex:one": 1001, "codex:two": 1001}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Do <private>my salary is 5</private>this", "Do this"),
        ("Do <PRIVATE>a\nb</Private> this", "Do  this"),
        ("Do this <private>and never closed", "Do this"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("no </private> opening", "no  opening"),
    ],
)
def test_what_is_private_is_not_kept(text: str, kept: str) -> None:
    assert clean(text, 1_000) == kept


def test_an_entry_that_is_all_private_is_left_out(memory: Any, rules: Rules) -> None:
    done = record(memory.user("ana"), "codex", [entry("<private>x</private>")], rules)
    assert (done.recorded, done.left_out) == (0, 1)


def test_nothing_of_a_project_that_is_off_is_stored(
    memory: Any, rules: Rules, tmp_path: Path
) -> None:
    turn(tmp_path / "home", "shop", off=True)
    off = Rules.of(tmp_path / "home", rules.settings, rules.project)
    done = record(memory.user("ana"), "codex", [entry("Hello"), call("2", command="ls")], off)
    assert (done.recorded, done.left_out) == (0, 2)
    assert memory.users() == [] or not memory.user("ana").threads().items


@pytest.mark.requirement("agents.secrets")
def test_no_generated_secret_is_left_wherever_it_stands(rules: Rules) -> None:
    left = [
        told
        for told in generated(300)
        for one in everywhere(told)
        if told.secret in stored(rules, one)
    ]
    assert left == []


def everywhere(told: Told) -> list[Entry]:
    return [
        entry(f"Look at this:\n{told.text}\nand go on"),
        entry(told.text, role="assistant"),
        call(command=told.text),
        call(output="line\n" * 900 + told.text),
        call(error=told.text),
        call(name="Write", arguments={"path": "a.txt", "content": [{"text": told.text}]}),
    ]


@pytest.mark.parametrize("name", ["password", "api_key", "clientSecret", "DB_PASSWORD"])
def test_an_argument_whose_name_says_it_is_a_secret_is_masked(name: str, rules: Rules) -> None:
    made = turn_of(call(arguments={name: "sunflower42x", "path": "a.txt"}), rules)
    assert made is not None
    assert made.tool_calls is not None
    assert made.tool_calls[0]["arguments"] == {name: MASK, "path": "a.txt"}


@pytest.mark.parametrize(
    "text",
    [
        "token = tokens.pop()",
        'auth = request.headers["x"]',
        "def login(user, password=None):",
        'if password == "":',
        '"author": "Ana", "tokenizer": "bpe-large"',
        "max_tokens=4096",
        "mkdir -p src/components && ssh -p 22222 host",
        'git commit -m "Change token refresh: use a sliding window"',
        "password_hash = hash_password(password)",
        "We decided that passwords are hashed with argon2",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "curl -u ana https://example.org",
        "see https://github.com/acme/shop/pull/12",
    ],
)
def test_everyday_code_is_left_as_it_is(text: str) -> None:
    assert clean(text, 1_000) == text


def test_a_secret_that_the_cut_goes_through_is_not_kept_in_part(rules: Rules) -> None:
    secret = "ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j"
    for before in range(980, 1_020):
        made = stored(rules, call(output=f"{'x' * before} {secret} {'y' * 3_000}"))
        assert secret[:12] not in made
        assert secret[-12:] not in made


def test_outputs_of_megabytes_are_kept_by_their_two_ends(rules: Rules) -> None:
    made = turn_of(call(output="first line\n" + "noise\n" * 900_000 + "last line"), rules)
    assert made is not None
    assert made.content.startswith("Bash\nfirst line")
    assert made.content.endswith("last line")
    assert len(made.content) < 2_100
    long = turn_of(entry("word " * 1_000_000), rules)
    assert long is not None
    assert len(long.content) <= MAX_MESSAGE_CHARS


def test_binary_output_is_named_and_not_stored(rules: Rules) -> None:
    assert clean(bytes(range(256)).decode("latin-1") * 40, 2_000) == "(binary output)"
    assert clean(b"\xff\xfe\x00\x9a".decode("utf-8", "replace") * 99, 500) == "(binary output)"
    made = turn_of(call(output="ok\x00\ud800 \x1b[31mred\x1b[0m"), rules)
    assert made is not None
    assert made.content == "Bash\nok�? red"


def test_arguments_are_bounded(rules: Rules) -> None:
    deep: dict[str, Any] = {"text": "x" * 9_000_000}
    for _ in range(50):
        deep = {"in": deep, **{f"key {number}": 1 for number in range(200)}}
    edits = [{"old": "é" * 2_000, "new": "x" * 2_000} for _ in range(500)]
    for arguments in (deep | {"list": list(range(10_000))}, {"edits": [edits] * 9, "path": "a"}):
        made = turn_of(call(arguments=arguments), rules)
        assert made is not None
        assert len(json.dumps(made.tool_calls)) < limits.MAX_TOOL_CALLS_BYTES


def test_files_are_named_from_the_root_and_others_left_out(rules: Rules, tmp_path: Path) -> None:
    made = turn_of(call(files=(str(tmp_path / "src" / "a.py"), "/etc/hosts", "b.py")), rules)
    assert made is not None
    assert made.tool_calls is not None
    assert made.tool_calls[0]["files"] == ["src/a.py", "b.py"]


def test_ids_of_other_programs_become_ids_that_are_the_same_every_time(rules: Rules) -> None:
    for name in ("x" * 500, " odd ", "tab\there", ""):
        made = [turn_of(entry("Hello", id=name), rules) for _ in range(2)]
        assert made[0] is not None
        assert made[0] == made[1]
    one, two = (turn_of(entry("Hello", id="x" * 300 + end), rules) for end in "ab")
    assert one is not None
    assert two is not None
    assert one.message_id != two.message_id
