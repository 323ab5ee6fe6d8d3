"""python -m bench [--json]: print the figures of this machine."""

import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from tests.support import postgres

from bench import startup, writing


def main() -> None:
    figures: dict[str, float] = startup.measure()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR", ".")) as name:
        folder = Path(name).absolute()
        figures |= writing.bare_sqlite(folder)
        figures |= writing.store("SQLite", str(folder / "ricordo.db"))
    with postgres.server(), postgres.database("ricordo_bench") as url:
        figures |= writing.store("PostgreSQL", url)
    figures["SQLite: single add as a share of bare SQLite"] = (
        figures["SQLite: add, single/s"] / figures["bare SQLite, one-row transactions/s"]
    )
    if "--json" in sys.argv[1:]:
        print(json.dumps({"machine": machine(), "figures": figures}, indent=2))
        return
    print(machine())
    for what, figure in figures.items():
        print(f"{what:<58}{figure:>12,.3f}" if figure < 100 else f"{what:<58}{figure:>12,.0f}")


def machine() -> str:
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},"
        f" {platform.system()}"
    )


main()
