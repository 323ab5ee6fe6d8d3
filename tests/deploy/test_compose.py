"""deploy/compose.yaml: its commands with its environment and secrets, in the order it asks for."""

import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from ricordo.settings import Settings
from tests.support.containers import DEPLOY, Host, host, image
from tests.support.waiting import PATIENCE_SECONDS, wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"].startswith("${RICORDO_IMAGE")}


def command_of(service: dict[str, Any]) -> list[str]:
    """As Compose has it: an entrypoint of the file's own drops the image's command as well."""
    entrypoint = service.get("entrypoint")
    if entrypoint is not None:
        return [*entrypoint, *service.get("command", [])]
    return [*image().entrypoint, *service.get("command", image().command)]


def environment_of(service: dict[str, Any]) -> dict[str, str]:
    return {**image().environment, **service["environment"]}


class Started:
    """Services that are started after what they depend on."""

    def __init__(self, on: Host) -> None:
        self.on = on
        self.order: list[str] = []
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def up(self, name: str) -> None:
        if name in self.order:
            return
        service = SERVICES[name]
        for needed, wanted in service.get("depends_on", {}).items():
            self.up(needed)
            self._await(needed, wanted["condition"])
        self.order.append(name)
        if name == "database":  # it runs; its image would run the script that is mounted
            script, place = service["volumes"][1].split(":")[:2]
            assert place.startswith("/docker-entrypoint-initdb.d/")
            text = (DEPLOY / script).read_text(encoding="utf-8")
            assert self.on.run(["sh", "-c", text], service["environment"]) == 0, self.on.told
        else:
            self.processes[name] = self.on.start(command_of(service), environment_of(service))

    def _await(self, name: str, condition: str) -> None:
        service = SERVICES[name]
        if condition == "service_completed_successfully":
            assert self.processes[name].wait(PATIENCE_SECONDS) == 0, self.on.told
        elif name == "database":
            (kind, *test) = service["healthcheck"]["test"]
            assert kind == "CMD"
            wait_until(lambda: self.on.run(test, {}) == 0)
        else:
            assert condition == "service_healthy"
            self.on.until_healthy(self.processes[name], image().health, environment_of(service))


@pytest.mark.smoke
@pytest.mark.requirement("deploy.compose")
def test_it_comes_up_serves_works_and_ends(tmp_path: Path) -> None:
    with host(tmp_path) as on:
        started = Started(on)
        for name in SERVICES:
            started.up(name)
        started._await("service", "service_healthy")
        assert started.order[:2] == ["database", "migrate"]
        secret = key_of(on)
        headers = {"Authorization": f"Bearer {secret}", "X-Ricordo-User": "ana"}
        address = f"http://127.0.0.1:{on.port}"
        with httpx2.Client(base_url=address, timeout=PATIENCE_SECONDS) as client:
            assert client.get("/v1/memories").status_code == 401
            client.headers.update(headers)
            said = {"messages": [{"role": "user", "content": "I work as a nurse."}]}
            client.post("/v1/threads/monday/turns", json=said).raise_for_status()
            # The service runs no jobs: it is the worker that forms.
            wait_until(lambda: client.get("/v1/memories").json()["items"])
        for name in ("service", "worker"):
            assert on.stop(started.processes[name]) == 0, on.told
        kept = on.inside("/run/secrets/owner_password").read_text(encoding="utf-8").strip()
        assert kept not in on.log.read_text(encoding="utf-8")


def key_of(on: Host) -> str:
    """The key that the head of the file says how to make."""
    head = (DEPLOY / "compose.yaml").read_text(encoding="utf-8").split("name: ricordo")[0]
    (words,) = re.findall(r"exec service (ricordo .+)", head)
    made = on.output([*words.split(), "--json"], environment_of(SERVICES["service"]))
    return str(json.loads(made)["secret"])


@pytest.mark.requirement("deploy.compose")
def test_no_more_is_allowed_than_is_needed() -> None:
    for name, service in OURS.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["tmpfs"] == ["/tmp"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        has_owner = "owner_url" in service["secrets"]
        assert has_owner == (name == "migrate"), "the owner's password is for migrations alone"
    for service in OURS.values():
        published = [one for one in service.get("ports", []) if not one.startswith("127.0.0.1:")]
        assert published == []
    settings = Settings()
    stops = {name: int(one.get("stop_grace_period", "0s")[:-1]) for name, one in OURS.items()}
    assert stops["service"] > settings.shutdown_seconds
    assert stops["worker"] > settings.job_run_seconds


@pytest.mark.requirement("deploy.compose")
def test_every_secret_is_in_a_file_that_the_script_makes_once(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"

    def make() -> dict[str, str]:
        subprocess.run(["sh", str(DEPLOY / "secrets.sh"), str(folder)], check=True)
        return {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}

    made = make()
    assert make() == made
    assert len(set(made.values())) == len(made)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    named = {Path(one["file"]).name for one in COMPOSE["secrets"].values()}
    assert named == set(made) == set(COMPOSE["secrets"])
    for service in SERVICES.values():
        given = service["environment"].items()
        files = {Path(value).name for name, value in given if name.endswith("_FILE")}
        assert files <= set(service["secrets"])
        secret = re.compile("password|secret|key", re.IGNORECASE)
        assert not [name for name, _ in given if secret.search(name) and not name.endswith("_FILE")]
