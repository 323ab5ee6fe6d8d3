"""Print how large the package is, and how many of its files one operation walks through.

python scripts/house.py            the figures
python scripts/house.py --files    and the files of each operation
"""

import argparse
import ast
import os
import statistics
import sys
import tempfile
import threading
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "ricordo"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="also name the files walked through")
    wanted = parser.parse_args()
    for name, figure in sizes().items():
        print(f"{name:34} {figure}")
    for name, files in walks().items():
        print(f"{'files of one ' + name:34} {len(files)}")
        if wanted.files:
            print("\n".join(f"    {file}" for file in sorted(files)))


def sizes() -> dict[str, object]:
    """Modules, lines, imports, rooms and floors."""
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    lines = {name: path.read_text().count("\n") for name, path in modules.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    import_lines = 0
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            import_lines += (node.end_lineno or node.lineno) - node.lineno + 1
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    importers[whole if whole in modules else node.module].add(name)
    rooms = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    total = sum(lines.values())
    content = [count for name, count in lines.items() if modules[name].name != "__init__.py"]
    return {
        "modules": len(modules),
        "lines": total,
        "median module": int(statistics.median(content)),
        "largest module": max(lines.values()),
        "import lines": f"{import_lines} ({import_lines / total:.1%})",
        "modules with one importer": sum(len(importers[name]) == 1 for name in modules),
        "rooms and sub-rooms": len(rooms),
        "floors": len(layers),
    }


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def walks() -> dict[str, set[str]]:
    """The files of which at least one function runs, for each operation, once all is warm."""
    from fastapi.testclient import TestClient

    from ricordo.http.app import create_app
    from ricordo.wiring import open_memory

    said = "I live in Bekasi and I work as a nurse. My sister Rina has two cats."
    with (
        tempfile.TemporaryDirectory() as folder,
        _watched() as files,
        open_memory(f"{folder}/house.db", run_jobs=False) as memory,
    ):
        ana = memory.user("ana")
        operations: dict[str, Callable[[int], object]] = {
            "add": lambda turn: ana.add(f"The user keeps {turn} bees"),
            "search": lambda turn: ana.search(f"Who keeps {turn} bees?"),
            "observe": lambda turn: ana.observe(
                [{"role": "user", "content": said}], thread=f"{turn}"
            ),
            "form": lambda turn: ana.form(f"{turn}"),
        }
        walked: dict[str, set[str]] = {}

        def walk(name: str, operation: Callable[[int], object]) -> None:
            for turn in range(2):  # the second time all is warm
                files.clear()
                operation(turn)
            walked[name] = set(files)

        for name, operation in operations.items():
            walk(name, operation)
        with TestClient(create_app(memory), base_url="http://127.0.0.1:8377") as client:
            walk(
                "HTTP search",
                lambda turn: client.get(
                    "/v1/memories/search",
                    params={"query": f"{turn} bees"},
                    headers={"X-Ricordo-User": "ana"},
                ).raise_for_status(),
            )
        return walked


@contextmanager
def _watched() -> Iterator[set[str]]:
    files: set[str] = set()
    prefix = f"{PACKAGE}{os.sep}"

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(prefix):
            files.add(frame.f_code.co_filename.removeprefix(prefix))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


if __name__ == "__main__":
    main()
