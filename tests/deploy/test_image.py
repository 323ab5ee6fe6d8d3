"""deploy/Dockerfile: what it says of the image, and its steps run in a folder."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from ricordo.settings import Settings
from tests.support.containers import DEPLOY, PROGRAMS, ROOT, Image, host, image, instructions
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.requirement("deploy.image")
STEPS = instructions((DEPLOY / "Dockerfile").read_text(encoding="utf-8"))


def sources(words: list[str]) -> list[str]:
    return words[:-1]


COPIED = [
    source
    for one in STEPS
    if one.name == "COPY" and not one.value.startswith("--from")
    for source in sources(one.words)
]


def test_the_image_runs_as_nobody_in_particular_and_knows_no_secret() -> None:
    made = image()
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", made.user)  # numbers, as Kubernetes checks
    assert made.environment["RICORDO_REQUIRE_KEYS"] == "true"
    secret = re.compile("password|secret|token|_key$", re.IGNORECASE)
    named = [*made.environment, *(one.value.split("=")[0] for one in STEPS if one.name == "ARG")]
    assert not [name for name in named if secret.search(name)]
    known = {f"RICORDO_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in made.environment if name.startswith("RICORDO_")} <= known
    assert [one.value for one in STEPS if one.name == "EXPOSE"] == [str(Settings().port)]
    assert [*made.entrypoint, *made.command] == ["ricordo", "serve"]
    stages = [one for one in STEPS if one.name == "FROM"]
    assert len(stages) == 2
    left_out = STEPS[STEPS.index(stages[1]) :]  # nothing of the source, nor what installs
    assert not [one for one in left_out if "pip" in one.value or "src" in one.value.split()]


def test_the_build_is_given_what_it_copies_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    let_in = {line[1:] for line in patterns if line.startswith("!")}
    assert let_in == set(COPIED)
    for source in COPIED:
        assert (ROOT / source).exists(), source
    kept_out = [line.removeprefix("**/") for line in patterns[1:] if not line.startswith("!")]
    assert any(fnmatch.fnmatch("wiring.cpython-311.pyc", one) for one in kept_out)


class Built:
    """The stages, run in one folder, which stands for the root of both."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self._place = folder
        self._ran = 0

    def path(self, named: str) -> Path:
        return self.root / named.lstrip("/") if named.startswith("/") else self._place / named

    def run_all(self) -> None:
        for one in STEPS:
            if one.name == "WORKDIR":
                self._place = self.path(one.value)
                self._place.mkdir(parents=True, exist_ok=True)
            elif one.name == "COPY":
                self._copy(one.words)
            elif one.name == "RUN":
                self._run(one.value)
                self._ran += 1

    def _copy(self, words: list[str]) -> None:
        if words[0].startswith("--from"):
            assert words[1] == words[2], "a stage's folder is the other's"
            return
        target = self.path(words[-1])
        for source in sources(words):
            if (ROOT / source).is_dir():
                unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
                shutil.copytree(ROOT / source, target, dirs_exist_ok=True, ignore=unwanted)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, target)

    def _run(self, script: str) -> None:
        places = r"(?<![\w./])/(?=opt/ricordo|var/lib/ricordo)"
        environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        environment |= {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
        ours = re.sub(places, f"{self.root}/", script)
        if os.geteuid() != 0:  # only root gives folders away
            ours = re.sub(r"-o \d+ -g \d+ ", "", ours)
        done = subprocess.run(
            ["sh", "-c", ours], cwd=self._place, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.timeout(1800)  # it fetches all that the image has, however fast that is
def test_its_steps_make_what_serves_and_is_healthy(tmp_path: Path) -> None:
    built = Built(tmp_path / "root")
    built.root.mkdir()
    built.run_all()
    made: Image = image()
    programs = built.path(PROGRAMS)
    assert not (programs / "pip").exists()
    with host(tmp_path / "run", programs) as on:
        said = {**made.environment, "PYTHONPATH": ""}
        assert on.output([*made.entrypoint, "--version"], said).startswith("ricordo ")
        assert on.run(made.health, said) != 0  # nobody serves yet
        serving = on.start([*made.entrypoint, *made.command], said)
        on.until_healthy(serving, made.health, said)
        (first,) = on.inside("/var/lib/ricordo").glob("first-key-*")
        headers = {
            "Authorization": f"Bearer {first.read_text(encoding='utf-8').strip()}",
            "X-Ricordo-User": "ana",
        }
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{on.port}", headers=headers, timeout=PATIENCE_SECONDS
        ) as client:
            client.post("/v1/memories", json={"content": "Prefers tea"}).raise_for_status()
        assert on.stop(serving) == 0, on.told
        found = on.output([*made.entrypoint, "list", "-u", "ana", "--json"], said)
        assert [one["content"] for one in json.loads(found)["items"]] == ["Prefers tea"]
        for extra in ("psycopg", "celery", "sqlcipher3", "opentelemetry.sdk", "mcp", "fastapi"):
            assert on.run(["python3", "-c", f"import {extra}"], said) == 0, extra
