"""python -m bench [figures|peers|growth|quality]: print what this machine measures."""

import argparse

from bench import figures, growth, quality
from bench.peers import command as peers


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    kinds = parser.add_subparsers(dest="kind")
    figures.register(kinds)
    peers.register(kinds)
    growth.register(kinds)
    quality.register(kinds)
    parser.set_defaults(run=figures.run, as_json=False)
    given = parser.parse_args()
    given.run(given)


main()
