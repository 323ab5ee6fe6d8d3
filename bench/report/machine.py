"""The machine that a report was made on, in words that name neither it nor its folders."""

import importlib.metadata
import os
import platform
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any, Final

from ricordo.version import __version__

_PACKAGES: Final = (
    "alembic",
    "fastapi",
    "numpy",
    "onnxruntime",
    "psycopg",
    "sqlalchemy",
    "tokenizers",
    "uvicorn",
)


def described(folder: Path) -> dict[str, Any]:
    """Everything that a figure may depend on; ``folder`` is where the files are put."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
        "disk": _disk(folder),
        "system": f"{_distribution()}, {platform.system()} {_release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": _postgresql(),
        "ricordo": __version__,
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def commit() -> str:
    """What is checked out, and whether something was changed since."""
    root = Path(__file__).parents[2]
    found = _said("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
    if not found:
        return "unknown"
    changed = _said("git", "-C", str(root), "status", "--porcelain", "--", "src", "bench")
    return f"{found}, with changes" if changed else found


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", info.read_text()) if info.exists() else []
    if not names:
        names = re.findall(r"Model name:\s*(\S.*)", _said("lscpu"))
    name = names[0].strip() if names and names[0].strip() not in ("", "-") else ""
    return f"{name}, {platform.machine()}" if name else platform.machine()


def _memory_gb() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def _disk(folder: Path) -> str:
    """The kind of file system, and whether the disk turns, where the system tells."""
    kind = (_said("df", "--output=fstype", str(folder)).split() or ["unknown file system"])[-1]
    device = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    for rotational in (place / "queue/rotational", place / "../queue/rotational"):
        if rotational.exists():
            turns = rotational.read_text().strip() == "1"
            return f"{kind} on a {'block' if turns else 'solid-state or virtual'} device"
    return kind


def _release() -> str:
    """The first two numbers of the kernel: what follows is somebody's own name for it."""
    return ".".join(platform.release().split("-")[0].split(".")[:2])


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform(terse=True)


def _postgresql() -> str:
    from tests.support import postgres

    version = _said(str(postgres.tools() / "postgres"), "--version").split(" ")[-1]
    control = postgres.tools().parent / "share/postgresql/extension/vector.control"
    vector = re.findall(r"default_version = '([^']+)'", control.read_text())
    return f"{version}, pgvector {vector[0]}" if vector else version


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return ""
    return done.stdout.strip()
