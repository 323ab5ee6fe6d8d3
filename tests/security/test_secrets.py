"""Every way in that takes a secret, used well and badly: none of them comes out anywhere."""

import asyncio
import contextlib
import io
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo.memory import Memory
from ricordo.observability.logs import LogFormat, configure_logging
from ricordo.wiring import open_memory, read_settings
from tests.mcp.legs import over_http, over_streams
from tests.observing.test_traces import Receiver
from tests.support.brokers import free_port
from tests.support.commandline import ricordo
from tests.support.endpoints import EmbeddingServer, FaultyModel
from tests.support.scripted_model import read_tastes
from tests.support.service import Service, running
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("security.secrets-in-logs")


class Planted:
    """Words that nothing else has: secrets, and what somebody said."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.content: dict[str, str] = {}

    def secret(self, name: str) -> str:
        return self.secrets.setdefault(name, f"zyx{secrets.token_hex(12)}")

    def word(self, name: str) -> str:
        letters = "".join(chr(ord("a") + int(digit, 16)) for digit in secrets.token_hex(8))
        return self.content.setdefault(name, f"wq{letters}")

    def note(self, name: str, secret: str) -> str:
        self.secrets[name] = secret
        return secret

    def secrets_in(self, text: str) -> list[str]:
        return [name for name, secret in self.secrets.items() if secret in text]

    def content_in(self, text: str) -> list[str]:
        return [name for name, word in self.content.items() if word in text.lower()]


class Told:
    """All that a service has answered, by what was asked of it."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def add(self, what: str, answer: Any) -> Any:
        headers = [f"{name}: {value}" for name, value in getattr(answer, "headers", {}).items()]
        kept = [line for line in headers if not line.lower().startswith("set-cookie")]
        self.texts.append((what, "\n".join([*kept, getattr(answer, "text", str(answer))])))
        return answer


@contextlib.contextmanager
def logged(log_format: LogFormat) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    undo = configure_logging(log_format, stream, logging.DEBUG)
    try:
        yield stream
    finally:
        undo()


def echo(status: int, *repeated: str) -> dict[str, Any]:
    """A failure of an endpoint that repeats what it was sent."""
    message = f"refused: {' '.join(repeated)}"
    return {"status": status, "body": json.dumps({"error": {"message": message}}).encode()}


@pytest.mark.slow
@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_service_keeps_every_secret(
    log_format: LogFormat,
    tmp_path: Path,
    open_store: Callable[..., Memory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted, told = Planted(), Told()
    traces = Receiver()
    with (
        FaultyModel(required_key=planted.secret("upstream key")) as upstream,
        FaultyModel(required_key=planted.secret("anthropic key")) as claude,
        FaultyModel(required_key=planted.secret("model key")) as models,
        EmbeddingServer(required_key=planted.secret("embedding key of a user")) as vectors,
        contextlib.closing(traces),
        logged(log_format) as log,
    ):
        monkeypatch.setenv("RICORDO_DATABASE_KEY", planted.secret("database key"))
        sealing = planted.note("secret key", f"{secrets.token_urlsafe(31)}A=")
        memory = open_store(
            str(tmp_path / "encrypted.db"),
            port=0,
            require_keys=True,
            secret_key=sealing,
            embedder=None,
            allow_private_embedding_targets=True,
            upstream_url=upstream.base_url,
            upstream_api_key=upstream.required_key,
            anthropic_url=claude.root,
            anthropic_api_key=claude.required_key,
            model_provider="custom_http",
            model_name="scripted",
            model_base_url=models.base_url,
            model_api_key=models.required_key,
            traces_url=traces.url,
        )
        anas = planted.note("key of a user", memory.create_key("ana", user="ana").secret)
        manager = memory.create_key("all", permissions=["read_all", "manage"])
        planted.note("key of a service", manager.secret)
        models.answer_with(read_tastes)
        with running(memory) as service:
            _use(service, anas, manager.secret, planted, told)
            _set_embeddings(service, anas, vectors, planted, told)
            _chat(service, anas, upstream, claude, planted, told)
            _fail(service, anas, models, planted, told)
            _look_at_pages(service, anas, planted, told)
            asyncio.run(_speak_mcp(service, anas, planted, told))
            _read_everything(service, anas, manager.secret, told)
        told.add("settings", repr(memory.settings))
        told.add("settings as JSON", memory.settings.model_dump_json())
        told.add("parts", repr((memory, vars(memory), memory.recall.embedders, memory.database)))
        memory.close()
        spans = "".join(str(request) for request in traces.requests)
        text = log.getvalue()
    assert "request" in text
    assert "500" in text
    assert spans
    for where, said in (("the log", text), ("the spans", spans)):
        assert (where, planted.secrets_in(said)) == (where, [])
        assert (where, planted.content_in(said)) == (where, [])
    leaks = [(what, planted.secrets_in(said)) for what, said in told.texts]
    assert [leak for leak in leaks if leak[1]] == []
    written = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    kept = planted.secrets_in(written.decode("latin-1"))
    assert kept == []


def _use(service: Service, key: str, manager: str, planted: Planted, told: Told) -> None:
    ana = service.client(key=key)
    added = told.add("add", ana.post("/v1/memories", json={"content": planted.word("memory")}))
    assert added.status_code == 201
    told.add("search", ana.post("/v1/memories/search", json={"query": planted.word("question")}))
    stranger = planted.note("key that is not good", f"rk_{secrets.token_hex(16)}")
    for wrong in (stranger, f"{key}x", "x" * 5_000):
        answer = told.add("401", service.client(key=wrong).get("/v1/memories"))
        assert answer.status_code == 401
    told.add("403", ana.get("/v1/admin/users"))
    told.add("other user", service.client("ben", key=key).get("/v1/memories"))
    # In a place where none belongs: an address is the first thing that ends up in a log.
    told.add("query", service.client().get(f"/v1/memories?api_key={stranger}"))
    told.add("path", service.client(key=key).get(f"/v1/{planted.word('path')}"))
    told.add("bad JSON", ana.post("/v1/memories", content=f'{{"content": "{planted.word("bad")}'))
    keys = service.client("ana", key=manager)
    made = keys.post(
        "/v1/admin/keys", json={"name": "new", "user": "ana"}
    )  # it is shown here alone
    assert made.status_code == 201
    planted.note("key made over HTTP", made.json()["secret"])
    told.add("keys", keys.get("/v1/admin/keys"))


def _set_embeddings(
    service: Service, key: str, vectors: EmbeddingServer, planted: Planted, told: Told
) -> None:
    ana = service.client(key=key)
    secret = planted.secrets["embedding key of a user"]
    chosen = {
        "provider": "custom_http",
        "model": vectors.model,
        "base_url": vectors.base_url,
        "api_key": secret,
        "confirm": True,
    }
    vectors.fail_next(1, **echo(500, secret))
    told.add("try", ana.post("/v1/settings/embeddings/test", json={**chosen, "confirm": None}))
    vectors.forget_faults()
    told.add("set", ana.put("/v1/settings/embeddings", json=chosen))
    vectors.fail_next(20, **echo(401, secret, planted.word("echoed by the embedder")))
    told.add("degraded", ana.post("/v1/memories/search", json={"query": "anything"}))
    told.add("fill", ana.post("/v1/settings/embeddings/fill", json={}))
    told.add("test", ana.post("/v1/settings/embeddings/test", json={}))
    service.memory.run_jobs()
    vectors.forget_faults()
    told.add("status", ana.get("/v1/settings/embeddings"))


def _chat(
    service: Service,
    key: str,
    upstream: FaultyModel,
    claude: FaultyModel,
    planted: Planted,
    told: Told,
) -> None:
    ana = service.client(key=key)
    said = [{"role": "user", "content": f"I love {planted.word('said to the proxy')}"}]
    asked: dict[str, Any] = {"model": upstream.model, "messages": said}
    for streamed in (False, True):
        told.add("chat", ana.post("/v1/chat/completions", json={**asked, "stream": streamed}))
        for status in (401, 500):
            upstream.fail_next(1, **echo(status, planted.secrets["upstream key"]))
            answer = told.add(
                f"chat, {status}",
                ana.post("/v1/chat/completions", json={**asked, "stream": streamed}),
            )
            assert answer.status_code == status
    upstream.forget_faults()
    claude_asked = {**asked, "model": claude.model, "max_tokens": 10}
    told.add("messages", ana.post("/v1/messages", json=claude_asked))
    for status in (401, 500):
        claude.fail_next(1, **echo(status, planted.secrets["anthropic key"]))
        told.add(f"messages, {status}", ana.post("/v1/messages", json=claude_asked))
    told.add("models", ana.get("/v1/models"))


def _fail(service: Service, key: str, models: FaultyModel, planted: Planted, told: Told) -> None:
    ana = service.client(key=key)
    turn = {"role": "user", "content": f"I love {planted.word('observed')}"}
    told.add("observe", ana.post("/v1/threads/t/turns", json={"messages": [turn]}))
    models.fail_next(
        9, **echo(401, planted.secrets["model key"], planted.word("echoed by a model"))
    )
    told.add("form", ana.post("/v1/form", json={}))
    models.forget_faults()
    told.add("form", ana.post("/v1/form", json={}))
    # What nobody foresaw: an error with secrets and words in its message and its frames.
    inner = service.memory.database.backend

    def broken(*_: object, **__: object) -> Any:
        words = [*planted.secrets.values(), planted.word("in a traceback")]
        raise RuntimeError(" ".join(words))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inner, "reading", broken)
        assert told.add("500", ana.get("/v1/memories")).status_code == 500
        told.add("500, a page", ana.get("/ui/memories"))


def _look_at_pages(service: Service, key: str, planted: Planted, told: Told) -> None:
    visit = Visit(service)
    told.add("wrong key", visit.post("/ui/sign-in", on="/ui/sign-in", key=f"{key}x"))
    visit.sign_in(key)
    for cookie in visit.client.cookies.jar:
        planted.note("cookie", str(cookie.value))
    for page in ("memories", "settings", "keys", "activity", "changes", "nothing"):
        told.add(f"page {page}", visit.get(f"/ui/{page}"))
    told.add("sign out", visit.post("/ui/sign-out", on="/ui/memories"))


async def _speak_mcp(service: Service, key: str, planted: Planted, told: Told) -> None:
    async with over_http(service.url, key=key) as client:
        word = planted.word("said to MCP")
        told.add("tools", await client.list_tools())
        for arguments in ({"content": word}, {"contents": word}):
            told.add("call", await client.call_tool("remember", arguments))


def _read_everything(service: Service, key: str, manager: str, told: Told) -> None:
    ana, all_seeing = service.client(key=key), service.client("ana", key=manager)
    for path in ("memories", "changes", "events", "counters", "audit", "export", "proposals"):
        told.add(path, ana.get(f"/v1/{path}"))
    for path in ("users", "jobs", "jobs/stats", "model/test", "export", "keys", "counters"):
        told.add(f"admin {path}", all_seeing.get(f"/v1/admin/{path}"))
    for path in ("/metrics", "/healthz", "/readyz", "/openapi.json"):
        told.add(path, all_seeing.get(path))


def endpoints(planted: Planted, port: int) -> dict[str, str]:
    """Settings of a model and an embedder with keys, and nobody at their address."""
    return {
        f"{which}_{name}": value
        for which in ("MODEL", "EMBEDDING")
        for name, value in {
            "PROVIDER": "custom_http",
            "NAME" if which == "MODEL" else "MODEL": "m",
            "BASE_URL": f"http://127.0.0.1:{port}/v1",
            "API_KEY": planted.secret(f"{which.lower()} key"),
        }.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("debug", ["0", "1"])
def test_commands_keep_every_secret(
    debug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    planted = Planted()
    nowhere = free_port()
    monkeypatch.setenv("RICORDO_DEBUG", debug)
    variables = {
        **endpoints(planted, nowhere),
        "DATABASE_KEY": planted.secret("database key"),
        "NEW_DATABASE_KEY": planted.secret("new database key"),
        "UPSTREAM_API_KEY": planted.secret("upstream key"),
        "BROKER_URL": f"redis://:{planted.secret('broker password')}@127.0.0.1:{nowhere}/0",
        "ROLE_PASSWORD": planted.secret("password of a role"),
        "API_KEY": planted.secret("key to check"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"RICORDO_{name}", value)
    file = str(tmp_path / "store.db")
    server = f"postgresql://app:{planted.secret('database password')}@127.0.0.1:{nowhere}/nothing"
    said: list[str] = []
    for line in (
        ["add", "-u", "ana", "Prefers tea", "--db", file],
        ["list", "-u", "ana", "--db", file],
        ["embeddings", "test", "-u", "ana", "--db", file],
        ["model", "test", "--db", file],
        ["doctor", "--db", file],
        ["celery", "status", "--db", file],
        ["jobs", "run", "--db", file],
        ["keys", "check", "--db", file],
        ["database", "rekey", "--db", file],
        ["list", "--db", file],  # with a key that is no longer good
        ["database", "decrypt", "--db", file],
        ["version", "--db", server],
        ["list", "--db", server],
        ["doctor", "--db", server],
        ["database", "grant", "--db", server],
        ["serve", "--db", server],
        ["list", "--db", server.replace("postgresql", "mysql")],
    ):
        for form in ([], ["--json"]):
            ran = ricordo(*line, *form)
            said.append(f"{line} {ran.out} {ran.err}")
        if line[0] == "list" and line[-1] == server:
            monkeypatch.delenv("RICORDO_DATABASE_KEY", raising=False)
    monkeypatch.setenv("RICORDO_DATABASE_KEY", planted.secrets["database key"])
    said.append(repr(read_settings(os.environ, {})))
    said.append("".join(capfd.readouterr()))
    # The command line itself is the caller's own: only what came back counts.
    said = [
        one.replace(server, "").replace(server.replace("postgresql", "mysql"), "") for one in said
    ]
    assert [planted.secrets_in(one) for one in said if planted.secrets_in(one)] == []
    assert any("DatabaseKeyMismatch" in one for one in said)


@pytest.mark.slow
def test_mcp_over_streams_keeps_every_secret(tmp_path: Path) -> None:
    planted = Planted()
    log = tmp_path / "stderr.log"
    variables = {"DATABASE_KEY": planted.secret("database key"), **endpoints(planted, 9)}
    environment = {f"RICORDO_{name}": value for name, value in variables.items()}
    environment |= {"RICORDO_DEBUG": "1", "PATH": os.environ["PATH"]}
    answers: list[str] = []

    async def speak() -> None:
        arguments = ("-u", "ana", "--db", str(tmp_path / "store.db"))
        async with over_streams(*arguments, log=log, **environment) as client:
            answers.append(str(await client.list_tools()))
            for given in ({"content": planted.word("said")}, {"wrong": planted.word("wrong")}):
                answers.append(str(await client.call_tool("remember", given)))

    asyncio.run(speak())
    written = log.read_text()
    assert planted.secrets_in(written) == []
    assert planted.content_in(written) == []
    assert planted.secrets_in("".join(answers)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("pool_size", "zyx"), ("url", "mysql://u:zyxpassword@host/db"), ("secret_key", "zyxshort")],
)
def test_a_wrong_setting_is_told_without_secrets(name: str, value: str) -> None:
    with pytest.raises(Exception, match=name.partition("_")[0]) as caught:
        open_memory(**{name: value})  # type: ignore[arg-type]
    assert "zyxpassword" not in str(caught.value)
    assert "zyxshort" not in str(caught.value)
    assert sys.exc_info() == (None, None, None)
