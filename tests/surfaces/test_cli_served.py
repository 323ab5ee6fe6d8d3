"""Commands that a running service answers, and when they open the store themselves."""

import inspect
import io
import os
import pickle
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory, errors
from ricordo.errors import RicordoError
from ricordo.http.local_calls import _Values, answering_commands, socket_path
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("cli.service")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was opened by commands."""
    found: list[dict[str, Any]] = []

    def opening(**settings: Any) -> Memory:
        found.append(settings)
        return open_memory(**settings)

    monkeypatch.setattr("ricordo.wiring.open_memory", opening)
    return found


@pytest.fixture
def path(socket_of_a_service: Path) -> Path:
    return socket_of_a_service


def added(text: str, url: str) -> str:
    ran = ricordo("add", text, "-u", "ana", "--db", url)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_the_running_service_answers(
    backend_url: str, store: Memory, path: Path, opened: list[Any]
) -> None:
    with answering_commands(store, path):
        assert added("Prefers tea", backend_url) == "Remembered as 1.\n"
        asked = ("-u", "ana", "--db", backend_url)
        found = ricordo("list", "--json", *asked).json
        assert [one["content"] for one in found["items"]] == ["Prefers tea"]
        assert ricordo("users", "--db", backend_url).out.split() == ["User", "ana"]
        assert ricordo("list", "--global", "--json", "--db", backend_url).json["items"] == []
        missing = ricordo("get", 2, *asked)
        assert opened == []
    assert not path.exists()
    assert ricordo("get", 2, *asked) == missing
    assert len(opened) == 1


def test_what_the_service_does_not_do_for_others_is_done_here(
    backend_url: str, store: Memory, path: Path, opened: list[Any], tmp_path: Path
) -> None:
    store.user("ana").add("Prefers tea")
    with answering_commands(store, path):
        ran = ricordo("export", tmp_path / "all.jsonl", "-u", "ana", "--db", backend_url)
    assert ran.code == 0
    assert "Prefers tea" in (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    assert len(opened) == 1


@pytest.mark.parametrize("what", ["settings", "store", "home"])
def test_with_other_settings_the_service_is_not_asked(
    what: str,
    store: Memory,
    path: Path,
    opened: list[Any],
    sqlite_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = {"settings": ("LANGUAGE", "german"), "store": ("URL", f"{sqlite_url}2")}
    name, value = others.get(what, ("HOME", str(tmp_path / "elsewhere")))
    with answering_commands(store, path):
        monkeypatch.setenv(f"RICORDO_{name}", value)
        assert ricordo("list", "-u", "ana").code == 0
    assert len(opened) == 1


def test_a_socket_that_a_killed_service_left_is_in_nobodys_way(
    backend_url: str, store: Memory, path: Path, opened: list[Any]
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    added("Prefers tea", backend_url)
    assert len(opened) == 1
    with answering_commands(store, path):
        assert path.stat().st_mode & 0o777 == 0o600
        with answering_commands(store, path):  # a second process leaves it to the first
            pass
        added("Likes rye bread", backend_url)
    assert len(opened) == 1


def test_anothers_socket_is_not_asked(
    backend_url: str, store: Memory, path: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering_commands(store, path):
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        added("Prefers tea", backend_url)
        assert len(opened) == 1


@contextmanager
def hanging_up(path: Path) -> Iterator[None]:
    """A service that ends while it works."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def hang_up() -> None:
            channel, _ = listener.accept()
            channel.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield
        thread.join()


def test_a_service_that_ends_meanwhile_is_an_error_and_nothing_is_done_twice(
    backend_url: str, path: Path, opened: list[Any]
) -> None:
    with hanging_up(path):
        ran = ricordo("add", "Prefers tea", "-u", "ana", "--db", backend_url)
    assert ran.code == 6
    assert ran.err.startswith("error: the service ended before it answered;")
    assert opened == []


def test_an_answer_is_read_as_values_alone() -> None:
    for harmful in (os.system, print, pickle.loads, socket_path):
        with pytest.raises(pickle.UnpicklingError, match="is no value of ours"):
            _Values(io.BytesIO(pickle.dumps(harmful))).load()
    dotted = b"\x80\x04\x8c\x14ricordo.model.record\x8c\x0ajson.loads\x93."
    with pytest.raises(pickle.UnpicklingError, match="is no value of ours"):
        _Values(io.BytesIO(dotted)).load()


SAMPLES: dict[str, Any] = {
    "line": 3,
    "column": 4,
    "item_id": 7,
    "spent": 1,
    "wanted": 2,
    "until": datetime(2026, 1, 1, tzinfo=UTC),
}


def every_error() -> Iterator[RicordoError]:
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, RicordoError):
            wanted = list(inspect.signature(kind.__init__).parameters)[1:]
            named = {name: SAMPLES.get(name, "tea") for name in wanted}
            yield kind("there is no tea") if "args" in named else kind(**named)


def test_every_error_is_the_same_in_another_process() -> None:
    for error in every_error():
        found = _Values(io.BytesIO(pickle.dumps(error))).load()
        assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))
