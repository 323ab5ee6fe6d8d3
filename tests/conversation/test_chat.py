"""``ricordo chat``: a real process, a real HTTP endpoint, lines in and lines out."""

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.limits import MAX_TURN_CHARS
from tests.support.commandline import COMMAND, Ran, ricordo
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("conversations.chat")

THREAD = "garden"
Chat = Callable[..., Ran]


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vectors: what is found is found by words, and no process waits for a model."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyModel]:
    """A model for the chat alone: memories are formed by rules elsewhere, or not at all."""
    with FaultyModel() as running:
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", "scripted")
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", running.base_url)
        monkeypatch.setenv("RICORDO_FORMATION", "0")
        yield running


@pytest.fixture
def store(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    return open_store(sqlite_url)


@pytest.fixture
def chat(sqlite_url: str) -> Chat:
    """A chat of user ana in this process: what is typed, and what comes back."""

    def talk(*lines: str, options: tuple[str, ...] = ()) -> Ran:
        typed = "".join(f"{line}\n" for line in lines)
        arguments = ("chat", "--thread", THREAD, "--db", sqlite_url, "-u", "ana", *options)
        return ricordo(*arguments, stdin=typed)

    return talk


def started(url: str, *options: str) -> "subprocess.Popen[str]":
    """A chat of user ana as a process of its own."""
    return subprocess.Popen(
        [COMMAND, "chat", "--thread", THREAD, "--db", url, "-u", "ana", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(store: Memory) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in store.user("ana").turns(THREAD, limit=100)]


def test_without_a_model_it_shows_what_would_be_sent_and_remembers(
    chat: Chat, store: Memory
) -> None:
    ran = chat("I love jazz music.", "What else is there?")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("[system]") == 2
    assert "[user]\nI love jazz music.\n" in ran.out
    assert "(tokens: budget 8000, system " in ran.out
    assert said(store) == [("user", "I love jazz music."), ("user", "What else is there?")]
    assert any("jazz" in item.content for item in store.user("ana").list())
    asked = ("--mode", "recall", "--thread", "another day")
    again = chat("Do I love jazz music?", "/memories", options=asked)
    assert "<ricordo-memory>\n- " in again.out
    assert again.out.endswith(f"said in {THREAD}, user: I love jazz music.\n")


def test_it_talks_line_by_line_with_what_it_remembers(
    chat: Chat, server: FaultyModel, store: Memory
) -> None:
    store.user("ana").add("User grows blue tulips by the western wall.", theme="garden")
    before: list[list[tuple[str, str]]] = []
    server.before_answer = lambda: before.append(said(store))
    server.answer("Blue ones.")
    server.answer("You are welcome.")
    ran = chat("Which tulips do I grow?", "", "Thanks.")
    assert (ran.code, ran.err, ran.out) == (0, "", "Blue ones.\nYou are welcome.\n")
    turns = [
        ("user", "Which tulips do I grow?"),
        ("assistant", "Blue ones."),
        ("user", "Thanks."),
        ("assistant", "You are welcome."),
    ]
    assert said(store) == turns
    assert before == [turns[:1], turns[:3]]  # recorded before the model is asked
    first, second = server.prompts
    assert "blue tulips by the western wall" in first[0]["content"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert all(request.body["stream"] for request in server.requests)


def test_one_json_object_for_each_exchange(chat: Chat, server: FaultyModel, store: Memory) -> None:
    store.user("ana").add("User grows blue tulips.")
    server.answer("Blue tulips.")
    ran = chat("Which tulips?", "/memories", "/nothing", options=("--json",))
    exchange, memories, refused = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.err == ""
    assert (exchange["message"], exchange["answer"]) == ("Which tulips?", "Blue tulips.")
    assert (exchange["error"], exchange["stopped"]) == (None, False)
    assert exchange["messages"][-1] == {"role": "user", "content": "Which tulips?"}
    assert exchange["tokens"]["total"] <= exchange["tokens"]["budget"]
    assert [one["id"] for one in exchange["memories"]] == [one["id"] for one in memories] == [1]
    assert "/nothing" in refused["error"]
    assert store.user("ana").counters().to_dict()["retrieval_hit_rate"] == 1.0


def test_what_goes_wrong_upstream_is_one_line_and_the_chat_goes_on(
    chat: Chat, server: FaultyModel, store: Memory
) -> None:
    server.fail_next(status=503, body=b'{"error": {"message": "over\\nloaded \\u001b[2J"}}')
    server.answer_broken(times=1)
    server.answer("At last.")
    ran = chat("One.", "Two.", "Three.")
    assert ran.code == 0
    first, second = ran.err.splitlines()
    assert first.startswith("error: custom_http")
    assert "over loaded" in first
    assert "\x1b" not in ran.err
    assert "broke off" in second
    assert ran.out.endswith("At last.\n")
    assert said(store)[0] == ("user", "One.")
    assert said(store)[1] == ("user", "Two.")
    assert said(store)[2][0] == "assistant"  # what came of it
    assert said(store)[2][1].startswith("This is")
    assert said(store)[3:] == [("user", "Three."), ("assistant", "At last.")]


def test_a_model_cannot_command_the_terminal(
    chat: Chat, server: FaultyModel, store: Memory
) -> None:
    server.answer("Red \x1b[31malert\x07 \x9b2J \u202eabc\x00 done.\nNext line.")
    ran = chat("Well?")
    assert not set(ran.out) & set("\x1b\x07\x9b\u202e\x00")
    assert "done.\nNext line.\n" in ran.out
    assert "\x00" not in said(store)[1][1]


def test_commands(chat: Chat, server: FaultyModel, store: Memory) -> None:
    me = store.user("ana")
    me.add("User grows blue tulips.")
    server.answer("Blue ones.")
    server.answer("A path.")
    before = ("/prompt", "/memories", "/help", "Which tulips?", "/prompt", "/window")
    refused = ("/forget one", "/forget 99", "/bogus")
    ran = chat(*before, "/forget 1", *refused, "//etc/hosts is what?", "/quit", "Never sent.")
    assert ran.code == 0
    for shown in ("/forget ID", "[system]\n", "1. user (", "Forgotten: 1."):
        assert shown in ran.out
    assert list(me.list()) == []
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error"] * 4
    assert said(store)[2:] == [("user", "/etc/hosts is what?"), ("assistant", "A path.")]


def test_what_cannot_be_sent_is_said_and_the_chat_goes_on(chat: Chat, store: Memory) -> None:
    ran = chat("x" * (MAX_TURN_CHARS + 1), "Fine.", options=("--budget", "2000000"))
    assert ran.code == 0
    assert ran.err.startswith("error: message: ")
    assert said(store) == [("user", "Fine.")]
    small = chat("word " * 500, "Short.", options=("--budget", "300"))
    assert small.err.startswith("error: ")
    assert said(store)[1:] == [("user", "Short.")]
    # What every message would be refused for is refused at once.
    for options in (("--mode", "no"), ("--seconds", "0")):
        refused = chat("Hello.", options=options)
        assert (refused.code, refused.out) == (2, "")


def test_the_conversation_of_the_day_is_the_default(sqlite_url: str, store: Memory) -> None:
    ran = ricordo("chat", "--db", sqlite_url, "-u", "ana", stdin="Hello.\n")
    assert ran.code == 0
    (thread,) = store.user("ana").threads()
    assert thread.thread_id == f"chat-{thread.updated_at.date().isoformat()}"


@pytest.fixture
def held(server: FaultyModel) -> Iterator[tuple[threading.Event, threading.Event]]:
    """The first answer waits before its third piece: set when it does, and to be set to go on."""
    began, may_go_on = threading.Event(), threading.Event()

    def hold(number: int) -> None:
        if number == 3 and not may_go_on.is_set():
            began.set()
            may_go_on.wait(60)

    server.before_piece = hold
    yield began, may_go_on
    may_go_on.set()


def say(running: "subprocess.Popen[str]", text: str) -> None:
    assert running.stdin is not None
    running.stdin.write(f"{text}\n")
    running.stdin.flush()


@pytest.mark.chaos
@pytest.mark.requirement("conversations.resume")
def test_a_kill_in_the_middle_of_an_answer_loses_nothing_that_was_said(
    server: FaultyModel,
    held: tuple[threading.Event, threading.Event],
    store: Memory,
    sqlite_url: str,
) -> None:
    began, may_go_on = held
    server.answer("The quince tree has fruit in October.")
    server.answer("By the wall.")
    with started(sqlite_url) as running:
        say(running, "The quince stands by the wall.")
        assert began.wait(60)
        running.kill()
    may_go_on.set()
    with started(sqlite_url) as again:
        out, _ = again.communicate("Where is it?\n", timeout=60)
    assert out == "By the wall.\n"
    spoken = ["The quince stands by the wall.", "Where is it?"]
    assert [text for _, text in said(store)] == [*spoken, "By the wall."]
    assert [message["content"] for message in server.prompts[-1][1:]] == spoken


@pytest.mark.chaos
def test_an_interrupt_stops_the_answer_and_keeps_what_came(
    server: FaultyModel,
    held: tuple[threading.Event, threading.Event],
    store: Memory,
    sqlite_url: str,
) -> None:
    began, may_go_on = held
    server.answer("The tulips come up in April, the roses in June.")
    server.answer("Yes.")
    with started(sqlite_url) as running:
        assert running.stdout is not None
        say(running, "When?")
        assert began.wait(60)
        shown = running.stdout.read(14)  # two pieces
        running.send_signal(signal.SIGINT)
        say(running, "Really?")
        assert server.wait_for_requests(2)
        may_go_on.set()
        out, err = running.communicate(timeout=60)
    assert (running.returncode, shown) == (0, "The tulips com")
    assert "stopped" in err
    assert out.endswith("Yes.\n")
    assert [text for _, text in said(store)] == ["When?", shown, "Really?", "Yes."]


@pytest.mark.slow
def test_at_a_terminal_there_is_a_prompt_and_pieces_are_shown_at_once(
    server: FaultyModel, store: Memory, sqlite_url: str, tmp_path: Path
) -> None:
    server.answer("The tulips come up in April.")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "chat", "--thread", THREAD, "--db", sqlite_url, "-u", "ana"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "TERM": "dumb"},
    ) as running:
        os.close(theirs)
        shown = read_until(ours, b"> ")
        assert b"Conversation garden, with custom_http:scripted." in shown
        os.write(ours, b"When?\n")
        assert b"The tulips come up in April." in read_until(ours, b"April.\r\n> ")
        os.write(ours, b"\x04")
        running.wait(timeout=60)
    os.close(ours)
    assert running.returncode == 0
    assert len(said(store)) == 2


def read_until(terminal: int, end: bytes) -> bytes:
    seen = b""
    while end not in seen:
        seen += os.read(terminal, 1024)
    return seen
