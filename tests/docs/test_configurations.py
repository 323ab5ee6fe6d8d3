"""Files of other programs that the documentation shows: read as those programs read them."""

import configparser
import json
import re
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossplane
import pytest
import yaml

from ricordo import Memory
from ricordo.settings import Settings
from ricordo.wiring import read_settings
from tests.docs.markdown import DOCS, blocks
from tests.observing.conftest import OpenLog, open_log
from tests.support.service import Service, running
from tests.support.waiting import wait_until

__all__ = ["open_log"]

pytestmark = pytest.mark.requirement("docs.blocks-run")

DEPLOY = DOCS / "howto" / "deploy.md"
OBSERVABILITY = DOCS / "howto" / "observability.md"
UNIT_SETTINGS = {  # by section, what systemd knows of what is used here
    "Unit": {"Description", "After", "Wants"},
    "Service": {
        *("User", "StateDirectory", "EnvironmentFile", "ExecStart", "Restart", "KillMode"),
        *("TimeoutStopSec", "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp"),
    },
    "Install": {"WantedBy"},
}
FUNCTIONS_OF_PROMQL = {"max", "sum", "by", "rate", "histogram_quantile"}
LABELS_OF_PROMQL = {"kind", "le", "state", "dead"}


def block_of(page: Path, begin: str) -> str:
    (found,) = [one.text for one in blocks(page) if one.text.startswith(begin)]
    return found


def test_settings() -> None:
    listed = block_of(DOCS / "howto" / "embeddings.md", "RICORDO_EMBEDDING_PROVIDER")
    given = dict(line.split("=", 1) for line in listed.splitlines())
    settings = read_settings(given, {})
    assert settings.embedding_provider == "ollama"
    assert settings.embedding_dimensions == 512


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] - names in their own case
    parser.read_string(block_of(DEPLOY, f"# /etc/systemd/system/{name}"))
    for section in parser.sections():
        assert set(parser[section]) <= UNIT_SETTINGS[section], section
    return parser


def test_systemd() -> None:
    server, worker = unit("ricordo@.service"), unit("ricordo-worker.service")
    named_file = block_of(DEPLOY, "# /etc/ricordo/ricordo.env").splitlines()[0].split()[1]
    for one in (server, worker):
        assert one["Service"]["EnvironmentFile"] == named_file
        assert one["Service"]["Restart"] == "always"
        assert one["Install"]["WantedBy"] == "multi-user.target"
        home = f"/var/lib/{one['Service']['StateDirectory']}"
        assert f"RICORDO_HOME={home}" in block_of(DEPLOY, "# /etc/ricordo/ricordo.env")
    started = {Path(shlex.split(one["Service"]["ExecStart"])[0]) for one in (server, worker)}
    assert started == {Path("/opt/ricordo/bin/ricordo")}
    assert server["Service"]["ExecStart"].endswith("ricordo serve --port %i")
    assert worker["Service"]["ExecStart"].endswith("ricordo celery worker --beat")
    settings = Settings()
    assert int(server["Service"]["TimeoutStopSec"]) > settings.shutdown_seconds
    assert int(worker["Service"]["TimeoutStopSec"]) > settings.job_run_seconds
    enabled = shlex.split(block_of(DEPLOY, "systemctl"))[3:]
    ports = [one.removeprefix("ricordo@") for one in enabled]
    assert [f"127.0.0.1:{port}" for port in ports] == servers_of_nginx()


def nginx() -> list[dict[str, Any]]:
    """The file as nginx's own parser for programs reads it, with all that nginx would refuse."""
    # It belongs into the http context, where conf.d is included.
    return parsed_nginx("http {\n" + block_of(DEPLOY, "# /etc/nginx") + "}\n")


def parsed_nginx(text: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nginx.conf"
        path.write_text("events {}\n" + text, encoding="utf-8")
        read = crossplane.parse(str(path), strict=True, single=True)
    assert read["errors"] == [], read["errors"]
    (http,) = [one for one in read["config"][0]["parsed"] if one["directive"] == "http"]
    found: list[dict[str, Any]] = http["block"]
    return found


def below(block: list[dict[str, Any]], name: str, *arguments: str) -> list[dict[str, Any]]:
    (found,) = [
        one
        for one in block
        if one["directive"] == name and one["args"][: len(arguments)] == list(arguments)
    ]
    inside: list[dict[str, Any]] = found["block"]
    return inside


def values(block: list[dict[str, Any]], name: str) -> list[list[str]]:
    return [one["args"] for one in block if one["directive"] == name]


def servers_of_nginx() -> list[str]:
    return [first for first, *_ in values(below(nginx(), "upstream", "ricordo"), "server")]


def test_nginx() -> None:
    server = below(nginx(), "server")
    assert below(server, "location", "/")[0]["args"] == ["http://ricordo"]
    assert values(below(server, "location", "=", "/metrics"), "deny") == [["all"]]
    assert values(server, "proxy_buffering") == [["off"]]  # a stream passes piece by piece
    (size,) = values(server, "client_max_body_size")
    assert size == ["64m"]
    (hashed,) = values(below(nginx(), "upstream", "ricordo"), "hash")
    sent = re.findall(r"\$http_(\w+?)(?=\$|$)", hashed[0])
    assert sent == ["authorization", "x_ricordo_user", "x_openwebui_user_id"]


def test_the_parser_refuses_what_nginx_would() -> None:
    with pytest.raises(AssertionError, match="unknown directive"):
        parsed_nginx("http { server { listenn 443; } }\n")
    with pytest.raises(AssertionError, match="invalid number of arguments"):
        parsed_nginx("http { server { proxy_buffering; } }\n")


def test_caddy() -> None:
    """Blocks that close, directives that Caddy has, and the same rules as nginx has."""
    text = block_of(DEPLOY, "# /etc/caddy")
    known = {
        *("respond", "request_body", "max_size", "reverse_proxy", "lb_policy"),
        *("health_uri", "health_interval", "flush_interval"),
    }
    depth, used = 0, set()
    for line in text.splitlines()[1:]:
        words = line.split()
        if words == ["}"]:
            depth -= 1
            assert line == "    " * depth + "}"
            continue
        assert line.startswith("    " * depth)
        assert not line.startswith("    " * (depth + 1))
        if depth and not words[0].startswith("@"):
            assert words[0] in known, line
            used.add(words[0])
        depth += words[-1] == "{"
        assert "{" not in words[:-1]
    assert depth == 0
    assert used == known
    matchers = set(re.findall(r"^ +(@\w+) ", text, re.MULTILINE))
    assert set(re.findall(r"request_body (@\w+)", text)) == matchers
    behind = re.findall(r"reverse_proxy (.+) \{", text)[0].split()
    assert behind == servers_of_nginx()


@pytest.fixture
def metrics(sqlite_url: str, open_store: Callable[..., Memory]) -> str:
    """What the service answers where Prometheus asks."""
    with running(open_store(sqlite_url, port=0)) as service:
        service.client("ana").post("/v1/memories", json={"content": "Drinks green tea."})
        service.client("ana").post("/v1/memories/search", json={"query": "tea"})
        return service.client().get("/metrics").text


def test_prometheus(metrics: str) -> None:
    (scraping,) = yaml.safe_load(block_of(OBSERVABILITY, "scrape_configs"))["scrape_configs"]
    assert set(scraping) <= {"job_name", "scrape_interval", "static_configs"}
    assert scraping["static_configs"] == [{"targets": [f"127.0.0.1:{Settings().port}"]}]
    (group,) = yaml.safe_load(block_of(OBSERVABILITY, "groups:"))["groups"]
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
        names = set(re.findall(r"[a-z_]{2,}", re.sub(r"\[\w+\]", "", rule["expr"])))
        for name in names - FUNCTIONS_OF_PROMQL - LABELS_OF_PROMQL:
            assert re.search(rf"^# TYPE {name.removesuffix('_bucket')} ", metrics, re.MULTILINE), (
                name
            )


def test_a_line_of_the_log(
    sqlite_url: str, open_store: Callable[..., Memory], open_log: OpenLog
) -> None:
    said = json.loads(block_of(OBSERVABILITY, '{"time"'))
    memory = open_store(sqlite_url, port=0, require_keys=True)
    key = memory.create_key("laptop", user="ana").secret
    log = open_log("json", level=20)
    with running(memory) as service:
        answer = post_a_memory(service, key)
        wait_until(lambda: '"route"' in log.text)
    (line,) = [one for one in log.lines if "route" in one]
    assert answer == said["status"] == line["status"]
    assert list(line) == list(said)
    assert {name: type(value) for name, value in line.items()} == {
        name: type(value) for name, value in said.items()
    }
    fixed = ("level", "logger", "message", "method", "route")
    assert {name: line[name] for name in fixed} == {name: said[name] for name in fixed}


def post_a_memory(service: Service, key: str) -> int:
    sent = service.client(key=key).post("/v1/memories", json={"content": "Drinks green tea."})
    status: int = sent.status_code
    return status
