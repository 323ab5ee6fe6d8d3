"""``ricordo serve`` as a process of its own."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo
from tests.support.endpoints import FaultyModel
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.requirement("http.serve")

QUICKLY = {"RICORDO_EMBEDDING_PROVIDER": "none", "RICORDO_JOB_POLL_SECONDS": "0.05"}
ANA = {"X-Ricordo-User": "ana"}


@contextlib.contextmanager
def started(url: str, *options: str, **settings: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [COMMAND, "serve", "--db", url, "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **QUICKLY, **settings},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> Any:
    """The next thing that it says, as one line of JSON."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate(timeout=PATIENCE_SECONDS)[1]
    return json.loads(line)


def refused(url: str, *options: str) -> dict[str, str]:
    """How it ended that should not have begun."""
    ran = ricordo("serve", "--db", url, "--json", *options)
    assert (ran.code, ran.error["error"]) == (2, "InvalidValue")
    return ran.error


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(backend_url: str, number: signal.Signals) -> None:
    with started(backend_url, "--port", "0") as process:
        told = said(process)
        address = told["listening"]
        assert address.startswith("http://127.0.0.1:")
        assert httpx2.get(f"{address}/healthz").json()["status"] == "ok"
        assert httpx2.get(f"{address}/readyz").json()["status"] == "ready"
        path = f"{address}/v1/memories"
        assert httpx2.post(path, json={"content": "Tea"}, headers=ANA).status_code == 201
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, err
        assert json.loads(out) == {"stopped": True}
    with open_memory(backend_url, run_jobs=False) as memory:
        assert [item.content for item in memory.user("ana").list()] == ["Tea"]
        assert memory.jobs(state="running") == ()


def test_the_address_may_be_taken(sqlite_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        told = refused(sqlite_url, "--port", str(port))
    assert f"setting port: cannot listen on 127.0.0.1, port {port}: " in told["message"]
    assert "RICORDO_PORT" in told["fix"]  # and not the host, which has nothing to do with it


def test_others_cannot_come_in_without_keys(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("0.0.0.0", "::"):
        told = refused(sqlite_url, "--host", host, "--port", "0")
        assert "there is no key yet" in told["message"]
        assert "ricordo keys create" in told["message"]
    with open_memory(sqlite_url, run_jobs=False) as memory:
        memory.create_key("first")
    for host in ("192.0.2.1", "no.such.host.invalid", "a" * 80, "256.1.1.1"):
        told = refused(sqlite_url, "--host", host, "--port", "0")
        assert "cannot listen on" in told["message"]
    monkeypatch.setenv("RICORDO_REQUIRE_KEYS", "false")
    told = refused(sqlite_url, "--host", "0.0.0.0", "--port", "0")
    assert "require_keys" in told["message"]


@pytest.mark.slow
def test_the_first_key_is_in_a_private_file_and_opens_the_service(sqlite_url: str) -> None:
    with started(sqlite_url, "--port", "0", RICORDO_REQUIRE_KEYS="1") as process:
        made = said(process)
        path = f"{said(process)['listening']}/v1/revision"
        assert httpx2.get(path, headers=ANA).status_code == 401
        assert set(made) == {"key_id", "file"}  # what it prints goes to no terminal
        file = Path(made["file"])
        assert file.stat().st_mode & 0o777 == 0o600
        secret = file.read_text().strip()
        bearer = {"Authorization": f"Bearer {secret}"}
        assert httpx2.get(path, headers={**ANA, **bearer}).json() == {"revision": 0}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert secret not in out + err
    with open_memory(sqlite_url, run_jobs=False) as memory:
        assert set(memory.key(made["key_id"]).permissions) == {"read_all", "manage"}
    with started(sqlite_url, "--host", "0.0.0.0", "--port", "0") as process:
        told = said(process)
        assert set(told) == {"listening", "database"}
        path = f"http://127.0.0.1:{told['listening'].rpartition(':')[2]}/v1/revision"
        assert httpx2.get(path, headers=ANA).status_code == 401
        assert httpx2.get(path, headers={**ANA, **bearer}).status_code == 200


@pytest.mark.slow
def test_a_request_under_way_is_finished(sqlite_url: str) -> None:
    """The body comes in two pieces, and between them the service is told to stop."""
    body = json.dumps({"content": "Prefers tea"}).encode()
    with started(sqlite_url, "--port", "0") as process:
        port = int(said(process)["listening"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            head = (
                "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nX-Ricordo-User: ana\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body[:5])
            # Whoever is answered after that one was accepted after it, too.
            httpx2.get(f"http://127.0.0.1:{port}/healthz")
            process.send_signal(signal.SIGTERM)
            with pytest.raises(httpx2.TransportError):
                while True:  # until it takes no more
                    httpx2.get(f"http://127.0.0.1:{port}/healthz")
            connection.sendall(body[5:])
            answer = connection.recv(65536).decode()
        assert answer.startswith("HTTP/1.1 201 ")
        process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
    with open_memory(sqlite_url, run_jobs=False) as memory:
        assert [item.content for item in memory.user("ana").list()] == ["Prefers tea"]


@pytest.mark.slow
def test_a_stream_that_takes_too_long_is_remembered_as_far_as_it_came(sqlite_url: str) -> None:
    go_on = threading.Event()
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "tea"}}]}\n\n'
    body = {"messages": [{"role": "user", "content": "Tea?"}], "stream": True}
    with (
        FaultyModel() as model,
        started(
            sqlite_url,
            "--port",
            "0",
            RICORDO_UPSTREAM_URL=model.base_url,
            RICORDO_SHUTDOWN_SECONDS="0",
        ) as process,
    ):
        model.answer_bytes(
            [event, event],
            content_type="text/event-stream",
            before_part=lambda number: None if number == 0 else (go_on.wait(60), None)[1],
        )
        url = f"{said(process)['listening']}/v1/chat/completions"
        headers = {**ANA, "X-Ricordo-Thread": "t"}
        with httpx2.stream("POST", url, json=body, headers=headers) as stream:
            pieces = stream.iter_raw()  # which closes the connection when it is let go of
            next(pieces)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
        go_on.set()
    with open_memory(sqlite_url, run_jobs=False) as memory:
        assert [turn.content for turn in memory.user("ana").turns("t")] == ["Tea?", "tea"]
