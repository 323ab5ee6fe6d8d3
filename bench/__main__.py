"""python -m bench [figures|peers|growth]: print what this machine measures. See README.md here."""

import argparse

from bench import figures, growth
from bench.peers import command as peers


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    kinds = parser.add_subparsers(dest="kind")
    figures.register(kinds)
    peers.register(kinds)
    growth.register(kinds)
    parser.set_defaults(run=figures.run, as_json=False)
    given = parser.parse_args()
    given.run(given)


main()
