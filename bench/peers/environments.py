"""An environment for each group of peers whose requirements go together, made when it is missing.

``stores`` is that of ``requirements.txt``, any other that of ``requirements-NAME.txt``.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER_VARIABLE = "BENCH_PEERS"
ROOT = Path(__file__).parents[2]
_INSTALLING_SECONDS = 900
_LAST_WORDS = 300


def folder() -> Path:
    """Where the environments are: beside the repository's own, unless said otherwise."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".venv-peers")


def requirements(environment: str) -> Path:
    """What is installed in an environment."""
    name = "requirements.txt" if environment == "stores" else f"requirements-{environment}.txt"
    return Path(__file__).with_name(name)


def python_of(environment: str) -> str:
    """The Python to run a peer with: that of its environment, or else this one."""
    made = folder() / environment
    if _stamp(made).exists():
        return str(_python(made))
    return sys.executable


def install(environments: Iterable[str], say: Callable[[str], None]) -> None:
    """Make the environments that are missing or out of date. What fails is said and left out."""
    for environment in environments:
        try:
            _install(environment, say)
        except (OSError, subprocess.SubprocessError) as problem:
            words = getattr(problem, "stderr", None) or str(problem)
            say(f"{environment}: could not be installed: {str(words).strip()[-_LAST_WORDS:]}")


def _install(environment: str, say: Callable[[str], None]) -> None:
    made, wanted = folder() / environment, requirements(environment)
    content = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if _stamp(made).exists() and _stamp(made).read_text() == content:
        return
    say(f"{environment}: installing what {wanted.name} names")
    shutil.rmtree(made, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(made))
    _run(*_installer(_python(made)), "--quiet", "-r", str(wanted))
    _stamp(made).write_text(content)


def _installer(python: Path) -> list[str]:
    """uv where there is one, which takes seconds; otherwise pip, which takes minutes."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", str(python)]
    options = ("--disable-pip-version-check", "--no-input", "--only-binary", ":all:")
    return [str(python), "-m", "pip", "install", *options]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALLING_SECONDS)


def _python(made: Path) -> Path:
    return made / ("Scripts" if os.name == "nt" else "bin") / "python"


def _stamp(made: Path) -> Path:
    return made / "requirements.sha256"
