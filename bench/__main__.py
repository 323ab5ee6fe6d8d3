"""python -m bench [KIND]: print what this machine measures. --help lists the kinds."""

import argparse
import sys

from bench import (
    aliases,
    backup,
    cold,
    conversation,
    encryption,
    ends,
    feedback,
    figures,
    growth,
    hooks,
    imports,
    languages,
    load,
    pages,
    plain,
    prompts,
    proxy,
    quality,
    rebuild,
    soak,
    tokens,
    upkeep_load,
    with_postgres,
    writes,
    year,
)
from bench.attack import command as attack
from bench.corrections import command as corrections
from bench.peers import command as peers
from bench.peers import formation as peers_formation
from bench.report import command as report
from bench.work import command as work
from ricordo.errors import RicordoError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    kinds = parser.add_subparsers(dest="kind")
    figures.register(kinds)
    peers.register(kinds)
    peers_formation.register(kinds)
    report.register(kinds)
    aliases.register(kinds)
    attack.register(kinds)
    backup.register(kinds)
    cold.register(kinds)
    growth.register(kinds)
    hooks.register(kinds)
    imports.register(kinds)
    languages.register(kinds)
    conversation.register(kinds)
    corrections.register(kinds)
    encryption.register(kinds)
    ends.register(kinds)
    feedback.register(kinds)
    load.register(kinds)
    pages.register(kinds)
    plain.register(kinds)
    prompts.register(kinds)
    proxy.register(kinds)
    quality.register(kinds)
    rebuild.register(kinds)
    soak.register(kinds)
    tokens.register(kinds)
    upkeep_load.register(kinds)
    with_postgres.register(kinds)
    work.register(kinds)
    writes.register(kinds)
    year.register(kinds)
    parser.set_defaults(run=figures.run, as_json=False)
    given = parser.parse_args()
    try:
        given.run(given)
    except RicordoError as problem:
        sys.exit(f"error: {problem}")


main()
