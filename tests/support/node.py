"""The TypeScript client as npm packs it, and programs of Node that use it."""

import fcntl
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.building import ROOT

SOURCE = ROOT / "clients" / "typescript"
PACKAGES = SOURCE / "node_modules"
TESTS = SOURCE / "tests"
STRICT = {
    "target": "ES2022",
    "module": "NodeNext",
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "skipLibCheck": True,
    "types": ["node"],
}


def packed(factory: pytest.TempPathFactory) -> Path:
    """The client packed as for a release, once for all workers."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "client"
    with (shared / "client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            assert PACKAGES.exists(), "its packages are not installed: sh scripts/services.sh node"
            _pack(folder)
    (found,) = folder.glob("*.tgz")
    return found


def _pack(folder: Path) -> None:
    """Pack a copy, so that nothing is written into the checkout."""
    copy = folder / "clients" / "typescript"
    without = shutil.ignore_patterns("node_modules", "dist", "*.tgz")
    shutil.copytree(SOURCE, copy, ignore=without)
    shutil.copy(ROOT / "LICENSE", folder)
    (copy / "node_modules").symlink_to(PACKAGES)
    node("npm", "pack", "--silent", "--pack-destination", str(folder), cwd=copy)


def install(tarball: Path, folder: Path) -> Path:
    """A folder for programs that has the package, and those that it goes with."""
    modules = folder / "node_modules"
    modules.mkdir(parents=True)
    for one in PACKAGES.iterdir():
        if not one.name.startswith("."):
            (modules / one.name).symlink_to(one)
    with tarfile.open(tarball) as archive:
        archive.extractall(modules, filter="data")
    (modules / "package").rename(modules / "ricordo")
    return folder


def run_file(folder: Path, name: str, **environment: str) -> None:
    """Run a file of the client's tests, in a folder that has the package."""
    shutil.copy(TESTS / name, folder)
    node("node", "--test", name, cwd=folder, env=environment)


def node(*command: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must work; what it says."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def program_folder(installed: Path, folder: Path, **options: object) -> Path:
    """A folder for programs in TypeScript, strictly compiled."""
    (folder / "node_modules").symlink_to(installed / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": {**STRICT, **options}}), encoding="utf-8"
    )
    return folder
