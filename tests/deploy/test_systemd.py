"""deploy/systemd: its commands run with the settings of the page, and systemd's own check."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest

from ricordo.settings import Settings
from tests.deploy.statements import DEPLOY as PAGE
from tests.docs.markdown import blocks
from tests.support.brokers import redis_server
from tests.support.containers import DEPLOY, PROGRAMS, TESTED, Host, host
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.requirement("deploy.systemd")
UNITS = DEPLOY / "systemd"
INSTALLED = Path("etc/systemd/system")
EXPOSURE = "25"  # of 100, as `systemd-analyze security` adds it up


def service(name: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] - names in their own case
    parser.read(UNITS / name, encoding="utf-8")
    return parser["Service"]


SERVER, WORKER = service("ricordo@.service"), service("ricordo-worker.service")


def environment_file() -> tuple[str, dict[str, str]]:
    """Where the page puts the settings, and what they are."""
    (text,) = [one.text for one in blocks(PAGE) if one.text.startswith("# /etc/ricordo/")]
    head, *lines = text.splitlines()
    return head.split()[1], dict(line.split("=", 1) for line in lines)


def test_units_fit_the_page() -> None:
    path, said = environment_file()
    page = PAGE.read_text(encoding="utf-8")
    for unit in (SERVER, WORKER):
        assert unit["EnvironmentFile"] == path
        assert said["RICORDO_HOME"] == f"/var/lib/{unit['StateDirectory']}"
        assert unit["ExecStart"].startswith(f"{PROGRAMS}/ricordo ")
    settings = Settings()
    assert int(SERVER["TimeoutStopSec"]) > settings.shutdown_seconds
    assert int(WORKER["TimeoutStopSec"]) > settings.job_run_seconds
    for name in ("ricordo@.service", "ricordo-worker.service"):
        assert f"deploy/systemd/{name}" in page
    ports = re.findall(r"ricordo@(\d+)", page)
    assert [f"127.0.0.1:{port}" for port in ports] == re.findall(
        r"^    server (\S+);", page, re.MULTILINE
    )


@pytest.mark.slow
def test_what_they_start_serves_and_works(tmp_path: Path) -> None:
    with host(tmp_path) as on, redis_server() as broker:
        assert on.run(["sh", "-c", (DEPLOY / "database.sh").read_text()], {}) == 0, on.told
        url = on.inside("/run/secrets/owner_url").read_text().strip()
        migrate = ["sh", "-euc", "ricordo migrate; ricordo database grant ricordo_app"]
        assert on.run(migrate, {"PATH": PROGRAMS, "RICORDO_URL": url}) == 0, on.told
        _, said = environment_file()
        said["RICORDO_URL"] = on.inside("/run/secrets/app_url").read_text().strip()
        said["RICORDO_SECRET_KEY"] = on.inside("/run/secrets/secret_key").read_text().strip()
        said["RICORDO_BROKER_URL"] = broker.url
        said["RICORDO_POLICY_FILE"] = "/var/lib/ricordo/policy.yaml"
        policy = on.inside(said["RICORDO_POLICY_FILE"])
        policy.write_text("allowlists: {}\n", encoding="utf-8")
        server = on.start(started(SERVER, on), said)
        worker = on.start([*started(WORKER, on), "--pool", "solo"], said)
        key = on.output([f"{PROGRAMS}/ricordo", "keys", "create", "chat", "--json"], said)
        (secret,) = re.findall(r"rk_[\w.-]+", key)
        headers = {"Authorization": f"Bearer {secret}", "X-Ricordo-User": "ana"}
        on.until_healthy(server, ["true"], said)
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{on.port}", headers=headers, timeout=PATIENCE_SECONDS
        ) as client:
            turns = {"messages": [{"role": "user", "content": "I work as a nurse."}]}
            client.post("/v1/threads/monday/turns", json=turns).raise_for_status()
            wait_until(lambda: client.get("/v1/memories").json()["items"])
        assert on.stop(server) == 0, on.told
        on.stop(worker)


def started(unit: configparser.SectionProxy, on: Host) -> list[str]:
    return shlex.split(unit["ExecStart"].replace("%i", str(on.port)))


@pytest.mark.slow
def test_systemd_accepts_them_and_what_they_leave_open_is_little(tmp_path: Path) -> None:
    """In a folder that looks like a system on which they are installed."""
    checker = shutil.which("systemd-analyze")
    assert checker is not None, "systemd is not installed; run: sh scripts/services.sh"
    units = tmp_path / INSTALLED
    shutil.copytree(UNITS, units)
    for name in ("sysinit", "basic", "shutdown", "multi-user", "network-online"):
        (units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n", encoding="utf-8")
    program = tmp_path / PROGRAMS.lstrip("/") / "ricordo"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    names = ["ricordo@8377.service", "ricordo-worker.service"]
    checked = subprocess.run(
        [checker, f"--root={tmp_path}", "--man=no", "verify", *names],
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    for unit in UNITS.iterdir():
        rated = subprocess.run(
            [checker, "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit)],
            capture_output=True,
            text=True,
        )
        assert rated.returncode == 0, rated.stdout


def test_no_setting_of_the_tests_hides_one_of_the_page() -> None:
    assert not set(TESTED) & set(environment_file()[1])
