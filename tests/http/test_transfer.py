"""Export and import over HTTP."""

import asyncio
import contextlib
import io
import itertools
import json
import socket
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect

from ricordo.http import middleware
from ricordo.http.files import LinesResponse, TransferSlots
from ricordo.http.problems import TooManyTransfers
from ricordo.limits import MAX_IMPORT_FILE_BYTES, MAX_IMPORTS_AT_ONCE
from ricordo.memory import Memory
from tests.support.service import Service, running
from tests.support.waiting import wait_until
from tests.transfer import test_exhaustion as exhaustion

pytestmark = pytest.mark.requirement("http.transfer")

JSON_LINES = "application/x-ndjson"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the service puts what it receives."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def other_service(tmp_path: Path, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """Another service with a store of its own."""
    with running(open_store(str(tmp_path / "other.db"), port=0)) as started:
        yield started


def fill(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("Prefers tea — naïve 🐈", theme="drinks", tags=["a"])
    ana.forget(ana.add("Never mind").id)
    ana.observe([{"role": "user", "content": "I am allergic to peanuts"}], thread="t")
    ana.form()
    ana.save_checkpoint("t", {"step": 1})
    memory.user("ben").add("Plays the flute")


def test_a_user_moves_to_another_service(
    service: Service, other_service: Service, scratch: Path
) -> None:
    fill(service.memory)
    exported = service.client("ana").get("/v1/export")
    assert exported.status_code == 200
    assert exported.headers["content-type"].startswith(JSON_LINES)
    assert "flute" not in exported.text
    assert exported.text.splitlines() == list(service.memory.user("ana").export_lines())
    ana = other_service.client("ana")
    report = ana.post("/v1/import", content=exported.content)
    assert (report.status_code, report.json()["format"]) == (200, "ricordo")
    assert ana.get("/v1/export").text == exported.text
    again = ana.post("/v1/import", content=exported.content).json()
    assert (again["added"], again["restored_rows"]) == (0, 0)
    assert list(scratch.iterdir()) == []


def test_nobody_else_can_read_what_is_received(service: Service, scratch: Path) -> None:
    fill(service.memory)
    exported = service.client("ana").get("/v1/export").content
    parts = exported.splitlines(keepends=True)
    modes: list[int] = []

    def slowly() -> Iterator[bytes]:
        for part in parts:
            yield part
            modes.extend(path.stat().st_mode & 0o777 for path in scratch.iterdir())

    sent = service.client("carla").post("/v1/import", content=slowly())
    assert sent.status_code == 200
    assert set(modes) <= {0o600}
    assert list(scratch.iterdir()) == []


def test_who_breaks_off_a_body_leaves_nothing(service: Service, scratch: Path) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(
            b"POST /v1/import HTTP/1.1\r\nHost: localhost\r\nX-Ricordo-User: ana\r\n"
            b"Content-Length: 1000\r\n\r\n- Likes tea\n"
        )
        wait_until(lambda: bool(list(scratch.iterdir())))
    wait_until(lambda: not list(scratch.iterdir()))
    assert service.memory.users() == ()


@contextlib.contextmanager
def half_sent(service: Service, scratch: Path, user_id: str) -> Iterator[None]:
    """An import whose body does not end, for as long as the block runs."""
    host, port = service.url.removeprefix("http://").split(":")
    before = len(list(scratch.iterdir()))
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /v1/import HTTP/1.1\r\nHost: localhost\r\nX-Ricordo-User: {user_id}\r\n"
        client.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n- Likes tea\n")
        wait_until(lambda: len(list(scratch.iterdir())) > before)
        yield
    wait_until(lambda: len(list(scratch.iterdir())) == before)


@pytest.mark.requirement("transfer.bounded")
def test_a_user_imports_one_file_at_a_time_and_a_service_a_few(
    service: Service, scratch: Path
) -> None:
    def imported(user_id: str) -> tuple[int, str]:
        sent = service.client(user_id).post("/v1/import", content=b"- Likes tea\n")
        return sent.status_code, sent.json().get("detail", "")

    with contextlib.ExitStack() as under_way:
        under_way.enter_context(half_sent(service, scratch, "ana"))
        told = "an import for this user is under way; allowed: 1 at a time"
        assert imported("ana") == (429, told)
        assert imported("ben") == (200, "")
        for number in range(MAX_IMPORTS_AT_ONCE - 1):
            under_way.enter_context(half_sent(service, scratch, f"u{number}"))
        told = "too many imports are under way; allowed: 4 at a time, try again"
        assert imported("ben") == (429, told)
        refused = service.client().post("/v1/admin/import", content=b"")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert service.client().get("/healthz").status_code == 200
    assert imported("ana") == (200, "")


@pytest.mark.requirement("transfer.bounded")
@pytest.mark.parametrize("number", [30_000_000, 10**12])
def test_a_number_in_a_body_makes_nothing_of_its_size(service: Service, number: int) -> None:
    body = exhaustion.lines(exhaustion.user_row(number))
    for route in ("/v1/import", "/v1/admin/import"):
        refused = service.client("ana").post(route, content=body.encode())
        assert (refused.status_code, refused.json()["type"]) == (422, "ImportFailed")
        assert f"history is not the revisions 1 to {number}" in refused.json()["detail"]


def test_a_body_that_is_too_large_leaves_nothing(
    service: Service, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for route in ("/v1/import", "/v1/admin/import"):
        assert middleware._MAXIMUM_OF[route] == MAX_IMPORT_FILE_BYTES
        monkeypatch.setitem(middleware._MAXIMUM_OF, route, 1_000)
        refused = service.client("ana").post(route, content=iter([b"- Likes tea\n"] * 1_000))
        assert (refused.status_code, refused.json()["type"]) == (413, "RequestTooLarge")
    assert service.memory.users() == ()
    assert list(scratch.iterdir()) == []


def test_the_whole_store_moves(service: Service, other_service: Service, scratch: Path) -> None:
    fill(service.memory)
    exported = service.client().get("/v1/admin/export")
    assert exported.text.splitlines() == list(service.memory.export_lines())
    report = other_service.client().post("/v1/admin/import", content=exported.content)
    assert report.status_code == 200
    assert other_service.memory.users() == ("ana", "ben")
    assert other_service.client().get("/v1/admin/export").text == exported.text
    broken = other_service.client().post("/v1/admin/import", content=b"{}")
    assert (broken.status_code, broken.json()["type"]) == (422, "ImportFailed")
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_clients_that_take_nothing_leave_room_for_others(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, port=0, pool_size=4)
    memory.user("cleo").add("Likes tea")
    for name, number in itertools.product(("ana", "ben"), range(5)):
        # more than fits into what a connection holds back
        memory.user(name).save_checkpoint(f"t{number}", "x" * 7_000_000)
    backend = memory.database.backend
    with running(memory) as service, contextlib.ExitStack() as idle:
        for name in ("ana", "ben"):
            idle.enter_context(service.client(name).stream("GET", "/v1/export"))
        for name in ("ana", "cleo"):  # the second of a user, and one too many of all
            refused = service.client(name).get("/v1/export")
            assert (refused.status_code, refused.json()["type"]) == (429, "TooManyTransfers")
            assert refused.headers["Retry-After"]
        assert service.client("ana").get("/v1/revision").status_code == 200
        idle.close()
        wait_until(lambda: backend.connections_in_use() == 0)
        assert service.client("ana").get("/v1/export").status_code == 200


def test_a_client_that_takes_nothing_is_cut_off() -> None:
    slots, closed = TransferSlots("export", 1), list[bool]()

    def lines() -> Iterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    async def never(_message: object) -> None:
        await asyncio.Event().wait()

    async def nothing() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async def export() -> None:
        response = LinesResponse(lines(), "x.jsonl", "ana", slots, stall_seconds=0.01)
        with pytest.raises(TooManyTransfers, match="too many exports"):
            LinesResponse(lines(), "x.jsonl", "ben", slots)
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
        with pytest.raises(ClientDisconnect):
            await response(scope, nothing, never)

    asyncio.run(export())
    assert closed == [True]
    slots.take("ben")


def test_a_broken_file_changes_nothing(service: Service, scratch: Path) -> None:
    carla = service.client("carla")
    nothing = carla.get("/v1/export")
    assert (nothing.status_code, nothing.json()["type"]) == (404, "UserNotFound")
    for content, kind in (
        (b"", "auto"),
        (b"\xff\xfe\x00", "auto"),
        (b'{"kind": "ricordo"}', "ricordo"),
        (b"- Likes tea", "unheard-of"),
        (b"- Likes tea", "mem0"),
    ):
        refused = carla.post("/v1/import", content=content, params={"format": kind})
        assert refused.status_code == 422, refused.text
        assert str(scratch) not in refused.text
    fill(service.memory)
    exported = service.client("ana").get("/v1/export").content
    cut = b"".join(exported.splitlines(keepends=True)[:-1])
    refused = carla.post("/v1/import", content=cut)
    assert (refused.status_code, refused.json()["type"]) == (422, "ImportFailed")
    assert refused.json()["detail"].startswith("the body")
    assert service.memory.users() == ("ana", "ben")
    assert list(scratch.iterdir()) == []


@pytest.mark.requirement("transfer.source-user")
@pytest.mark.requirement("transfer.dry-run")
def test_users_of_another_system_move(service: Service, scratch: Path) -> None:
    entries = [{"memory": "Has a cat", "user_id": "ana"}, {"memory": "Plays chess", "user_id": "b"}]
    file = json.dumps(entries).encode()
    client, cleo = service.client(), service.client("cleo")
    counted = client.post("/v1/admin/import?dry_run=true", content=file).json()
    assert (counted["format"], counted["added"]) == ("mem0", 2)
    assert service.memory.users() == ()
    refused = cleo.post("/v1/import", content=file)
    assert "the body: memories of 2 users (ana, b); choose one" in refused.json()["detail"]
    own = cleo.post("/v1/import?source_user=b", content=file).json()
    assert (own["added"], own["skipped"]) == (1, {"of other users": 1})
    everybody = client.post("/v1/admin/import?format=mem0&consented=true", content=file)
    assert everybody.json()["added"] == 2
    assert service.memory.users() == ("ana", "b", "cleo")
    assert list(scratch.iterdir()) == []


@pytest.mark.requirement("transfer.folders")
def test_a_folder_comes_as_an_archive(service: Service, scratch: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes/a.txt", "Has a cat\nPlays chess\n")
        archive.writestr("notes/b.json", '{"drink": "tea"}')
    client = service.client("ana")
    done = client.post("/v1/import", content=packed.getvalue()).json()
    assert (done["format"], done["added"]) == ("folder", 3)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("notes/c.json", "{broken")
    refused = client.post("/v1/import", content=packed.getvalue()).json()["detail"]
    assert refused.startswith("the body, notes/c.json: not valid JSON")
    assert list(scratch.iterdir()) == []
