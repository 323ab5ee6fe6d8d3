"""A disk that is full, as the command line and the service tell it."""

import json
from collections.abc import Callable

import pytest

from ricordo import Memory
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo
from tests.support.disks import Disk, SmallFileSystem
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.disk-full")
MANY = 3_000


def text(number: int) -> str:
    return f"Statement {number} " + "x" * 3_000


@pytest.fixture
def url(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store that was used before, with its log still there."""
    path = str(disk.folder / "ricordo.db")
    monkeypatch.setenv("RICORDO_URL", path)
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    with open_memory(path, run_jobs=False) as memory:
        memory.user("ana").add_many([f"Before {number} {'x' * 3_000}" for number in range(50)])
    return path


def test_the_command_line(disk: Disk, url: str) -> None:
    with open_memory(url, run_jobs=False) as holding:  # as while a service runs: the log stays
        disk.fill()
        acknowledged = 0
        while (ran := ricordo("add", text(acknowledged), "-u", "ana", "--json")).code == 0:
            acknowledged += 1
            assert acknowledged < MANY
        assert ran.code == 6
        assert ran.error["error"] == disk.error.__name__
        assert f"{url}: the disk" in ran.error["message"]
        assert ran.error["fix"]
        told = "\n".join(f"user: {text(number)}" for number in range(90))
        assert ricordo("observe", "-u", "ana", "--thread", "t", stdin=told).code == 6
        assert ricordo("list", "-u", "ana", "--json", "--limit", "1").code == 0
        disk.free()
        assert ricordo("add", "There is room again", "-u", "ana").code == 0
        contents = [one.content for one in holding.user("ana").list(limit=1_000)]
        assert len([one for one in contents if one.startswith("Statement")]) == acknowledged
        assert problems_of(holding) == []


def test_doctor_names_the_disk(file_system: SmallFileSystem) -> None:
    path = file_system.folder / "ricordo.db"
    with open_memory(path, run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("Has a cat")
        file_system.fill()
        ran = ricordo("doctor", "--db", str(path), "--json")
    assert ran.code == 6
    told = {one["check"]: one for one in json.loads(ran.out)}
    assert told["disk"]["state"] == "problem"
    assert "0 MB free" in told["disk"]["found"]
    assert "free some space" in told["disk"]["advice"]
    assert told["integrity"]["state"] == "ok"
    file_system.free()


def test_the_service(disk: Disk, url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(url, port=0)
    with running(memory) as service:
        client = service.client("ana")
        disk.fill()
        acknowledged = []
        while True:
            body = {"content": text(len(acknowledged))}
            answered = client.post("/v1/memories", json=body)
            if answered.status_code != 201:
                break
            acknowledged.append(answered.json()["id"])
            assert len(acknowledged) < MANY
        assert problem(answered) == (disk.status, disk.error.__name__)
        assert url not in answered.text  # where the operator keeps it is nobody's business
        said = [{"role": "user", "content": text(number)} for number in range(90)]
        drafts = [{"content": text(number)} for number in range(90)]
        refused = [
            client.post("/v1/threads/t/turns", json={"messages": said}),
            client.post("/v1/memories/batch", json={"memories": drafts}),
            client.put("/v1/checkpoints/t", json={"long": text(0) * 100}),
        ]
        assert {problem(one)[0] for one in refused} == {disk.status}
        # It lives, and what is there can be read.
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert client.get("/v1/memories/1").status_code == 200
        assert client.get("/v1/memories/search", params={"query": "before"}).status_code == 200
        disk.free()
        again = client.post("/v1/memories", json={"content": "There is room again"})
        assert again.status_code == 201
    kept = {item.id for item in memory.user("ana").list(limit=1_000)}
    assert kept.issuperset(acknowledged)
    assert len(kept) == 50 + len(acknowledged) + 1
    assert memory.user("ana").threads().items == ()
    assert problems_of(memory) == []
