"""The distribution built as for a release, once for all workers, and clean places to install it."""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Distribution:
    """A source archive, and the wheel that was built from it."""

    sdist: Path
    wheel: Path

    def unpack(self, folder: Path) -> Path:
        """The source as somebody gets it who has no clone; its folder."""
        with tarfile.open(self.sdist) as archive:
            archive.extractall(folder, filter="data")
        return folder / self.sdist.name.removesuffix(".tar.gz")


def built(factory: pytest.TempPathFactory) -> Distribution:
    """Build both, unless another worker of the same run has done it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "distribution"
    with (shared / "distribution.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            # Without isolation: hatchling is one of our own pinned requirements.
            run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Distribution(sdist, wheel)


def run(*command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must work; what it says on standard output."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def found_uv() -> str:
    """The program uv, which the tests' environment has."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert uv is not None
    return uv


def new_venv(folder: Path) -> Path:
    """A virtual environment that finds the dependencies where the tests have them; its programs.

    Only what is fetched from a registry is spared: a folder on the path of Python is no site of
    its own, so that nothing of how the tests find ricordo comes along.
    """
    run(sys.executable, "-m", "venv", str(folder))
    bin_folder = folder / "bin"
    where = run(
        str(bin_folder / "python"), "-c", "import sysconfig as s; print(s.get_path('purelib'))"
    )
    own = Path(where.strip())
    (own / "already-there.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return bin_folder


def plain_environment(**more: str) -> dict[str, str]:
    """This environment without what the tests or their venv have put into it.

    Only a search may take its time: on a busy machine it would else go by words alone.
    """
    taken = ("RICORDO_", "PYTHON", "VIRTUAL_ENV", "COV_", "COVERAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(taken)}
    return {**kept, "RICORDO_EMBEDDING_DEADLINE_SECONDS": "60", **more}
