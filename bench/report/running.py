"""Running the sections, each in a process of its own, one after the other.

A section that fails, says something that cannot be read or takes too long is part of the report as
what it is, and does not keep the others from being measured.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench.report.sections import FOLDER, LANGUAGES, PAIRS, SET, Section, Sizes
from ricordo_bench.figures import this_machine

ROOT: Final = Path(__file__).parents[2]
OK, FAILED = "ok", "failed"
_ENDING_SECONDS: Final = 30.0
_LAST_LINES: Final = 4
_MOST_CHARACTERS: Final = 500

Measured = dict[str, Any]
"""A section as it stands in figures.json."""


def run_section(
    section: Section,
    sizes: Sizes,
    questions: Path,
    folder: Path,
    budget: float | None = None,
    pairs: Path | None = None,
    encoders: Mapping[str, Path] = MappingProxyType({}),
) -> Measured:
    """Run one section to its end, or to the end of its time. Its files are in ``folder``; what
    needs ``pairs`` is left out without them."""
    load = this_machine().load
    shown = section.whole(sizes)
    if section.name == LANGUAGES:
        shown += "".join(f" --encoder {name}={FOLDER}" for name in encoders)
    if pairs is None:
        shown = shown.replace(f" --pairs {PAIRS}", "")
    paths = {SET: questions, PAIRS: pairs or questions}
    words = {name: str(path.absolute()) for name, path in paths.items()}
    words |= {f"{name}={FOLDER}": f"{name}={at.absolute()}" for name, at in encoders.items()}
    started = time.monotonic()
    code, said, complaint = _run(_command(shown, words), folder, budget or section.budget)
    seconds = time.monotonic() - started
    result, problem = _read(said), None
    if code is None:
        problem = f"not done within {budget or section.budget:.0f} s"
    elif code != 0:
        problem = _last_words(complaint) or f"exit code {code}"
    elif result is None:
        problem = "what it printed is not JSON"
    return {
        "name": section.name,
        "title": section.title,
        "command": shown,
        "status": OK if problem is None else FAILED,
        "problem": None
        if problem is None
        else _neutral(problem, folder, *paths.values(), *encoders.values()),
        "seconds": round(seconds, 1),
        "load": load,
        "result": result,
    }


def run_all(
    sections: Mapping[str, Section],
    measure: Callable[[Section], Measured],
    before: Mapping[str, Measured],
    keep: Callable[[list[Measured]], None],
    say: Callable[[str], None],
) -> list[Measured]:
    """All sections in turn; those that were measured before are taken as they are."""
    done: list[Measured] = []
    for number, (name, section) in enumerate(sections.items(), start=1):
        if name in before:
            say(f"{number}/{len(sections)} {name}: kept from before")
            done.append(before[name])
            continue
        say(f"{number}/{len(sections)} {name} …")
        done.append(measure(section))
        told = done[-1]["problem"] or "done"
        say(f"{number}/{len(sections)} {name}: {told}, {done[-1]['seconds']:.0f} s")
        keep(done)
    return done


def _command(shown: str, words: Mapping[str, str]) -> list[str]:
    """The programs of this environment, and the real paths of what is given."""
    programs = {
        "python": sys.executable,
        "ricordo": str(Path(sys.executable).with_name("ricordo")),
        **words,
    }
    return [programs.get(word, word) for word in shlex.split(shown)]


def _run(command: list[str], folder: Path, budget: float) -> tuple[int | None, str, str]:
    """The exit code (None: stopped, because the time was over), and what it said."""
    without = ("RICORDO_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: one for name, one in os.environ.items() if not name.startswith(without)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**kept, "TMPDIR": str(folder), "BENCH_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, complaint = process.communicate(timeout=budget)
        except subprocess.TimeoutExpired:
            said, complaint = _end(process)
            return None, said, complaint
        except BaseException:
            _end(process)
            raise
    return process.returncode, said, complaint


def _end(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Ask it and its children to stop, so that servers are stopped as well; then insist."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def _read(said: str) -> Any:
    try:
        return json.loads(said)
    except json.JSONDecodeError:
        return None


def _last_words(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    most = 1 if "Traceback (most recent call last):" in lines else _LAST_LINES
    return " ".join(lines[-most:])[-_MOST_CHARACTERS:]


def _neutral(text: str, *places: Path) -> str:
    """Without the paths of this machine."""
    for place in (*places, ROOT, Path(sys.prefix), Path(sys.base_prefix), Path.home()):
        text = text.replace(str(place.absolute()), "…")
    return text
