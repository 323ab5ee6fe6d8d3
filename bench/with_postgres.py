"""python -m bench with-postgres COMMAND…: run a command beside a PostgreSQL of its own.

The word ``URL`` in the command becomes the address of an empty database, which is thrown away.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from bench.options import Commands


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "with-postgres", help="run a command in which URL is the address of a PostgreSQL"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="for one: ricordo bench speed …")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    from tests.support import postgres  # needs a driver that an environment of peers has not

    programs = {
        "python": sys.executable,
        "ricordo": str(Path(sys.executable).with_name("ricordo")),
    }
    with postgres.server(), postgres.database("ricordo_bench") as url:
        command = [programs.get(word, word) for word in given.command]
        done = subprocess.run([url if word == "URL" else word for word in command], check=False)
    sys.exit(done.returncode)
