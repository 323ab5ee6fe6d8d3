"""python -m bench attack: what of pasted texts becomes memory, and what is lost of one's own words.

``python -m bench attack paths``: what is stored of secrets, sensitive facts and pasted instructions
that are sent over every path without being asked for. The exit code is 1 where anything was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bench.attack import held_out, known, paths
from bench.attack.measure import Outcome, own_words_kept, read_by_model, read_by_rules
from bench.attack.own_words import own_messages
from bench.attack.planted import HARMLESS, INSTRUCTIONS, SECRETS, TEXTS, planted
from bench.attack.texts import KINDS, Texts, attacks
from bench.options import Commands, add_json

SETS: Final = {
    "known": Texts(known.LEAD_INS, known.PAYLOADS, known.CARRIERS),
    "held out": Texts(held_out.LEAD_INS, held_out.PAYLOADS, held_out.CARRIERS),
}
_READERS: Final = {"rules": read_by_rules, "model": read_by_model}
_COMBINATIONS: Final = 2_000


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("attack", help="what of pasted texts is stored as the user's word")
    add_json(parser)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("pasted", "paths"),
        default="pasted",
        help="pasted texts in conversations, or private and pasted texts over every path",
    )
    parser.add_argument(
        "--combinations",
        type=int,
        default=_COMBINATIONS,
        help=f"messages of each set for each reader (default {_COMBINATIONS:,})",
    )
    parser.add_argument("--show", type=int, default=0, help="also show so many that got through")
    parser.add_argument(
        "--attempts", type=int, default=TEXTS, help=f"over each path (default {TEXTS})"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the attempts over paths")
    parser.add_argument(
        "--path",
        action="append",
        choices=list(paths.PATHS),
        metavar="PATH",
        help=f"only this one, may be repeated: {', '.join(paths.PATHS)}",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    if given.what == "paths":
        _run_paths(given)
    else:
        _run_pasted(given)


def _run_paths(given: argparse.Namespace) -> None:
    attempts = list(planted(given.attempts, given.seed))
    found = paths.found_over(
        given.path or list(paths.PATHS), attempts, lambda path: print(path, file=sys.stderr)
    )
    controls = [one for one in found if one.attempt.kind == HARMLESS]
    dead = [f"{one.path}: {one.way}" for one in controls if not one.stored]
    found = [one for one in found if one.attempt.kind != HARMLESS]
    rows = list(_path_rows(found))
    leaks = [one for one in found if one.stored]
    if given.as_json:
        shown = [_leak(one) for one in leaks[: given.show or None]]
        measured = {"rows": rows, "leaks": shown, "ways": len(controls), "dead": dead}
        print(json.dumps(measured, ensure_ascii=False))
    else:
        print(
            f"{'Path':20} {'By':9} {'Of':25} {'Attempts':>8} {'Stored':>7} {'Secrets':>8}"
            f" {'Sensitive':>9} {'Instructions':>12} {'Waits':>6} {'Shown':>6}"
        )
        for row in rows:
            print(
                f"{row['path']:20} {row['by']:9} {row['of']:25} {row['attempts']:8}"
                f" {row['stored']:7} {row['secrets']:8} {row['sensitive']:9}"
                f" {row['instructions']:12} {row['waits']:6} {row['shown']:6}"
            )
        for one in leaks[: given.show]:
            print(json.dumps(_leak(one), ensure_ascii=False))
        print(f"{len(controls) - len(dead)} of {len(controls)} ways store what is harmless")
        for way in dead:
            print(f"not {way}")
    sys.exit(bool(leaks or dead))


def _leak(one: paths.Found) -> dict[str, Any]:
    attempt = one.attempt
    return {
        "path": one.path,
        "way": one.way,
        "language": attempt.language,
        "kind": attempt.kind,
        "carrier": attempt.carrier,
        "said": attempt.said,
        "stored": one.stored,
    }


def _path_rows(found: Sequence[paths.Found]) -> Iterator[dict[str, Any]]:
    grouped: dict[tuple[str, str, str], list[paths.Found]] = defaultdict(list)
    for by in ("all", "language", "kind", "way"):
        for one in found:
            named = {"all": "", "language": one.attempt.language, "kind": one.attempt.kind}
            grouped[one.path, by, named.get(by, one.way)].append(one)
    places = {path: place for place, path in enumerate(paths.PATHS)}
    for (path, by, of), some in sorted(grouped.items(), key=lambda entry: places[entry[0][0]]):
        stored = [one.attempt.kind for one in some if one.stored]
        secrets = sum(kind in SECRETS for kind in stored)
        instructions = sum(kind in INSTRUCTIONS for kind in stored)
        yield {
            "path": path,
            "by": by,
            "of": of,
            "attempts": len(some),
            "stored": len(stored),
            "secrets": secrets,
            "sensitive": len(stored) - secrets - instructions,
            "instructions": instructions,
            "waits": sum(one.proposed for one in some),
            "shown": sum(one.shown for one in some),
        }


def _run_pasted(given: argparse.Namespace) -> None:
    rows: list[dict[str, Any]] = []
    let_through: list[Outcome] = []
    for name, texts in SETS.items():
        made = attacks(texts, given.combinations)
        for reader, read in _READERS.items():
            outcomes = read(made)
            rows += _rows(name, reader, outcomes)
            let_through += [one for one in outcomes if one.stored]
    kept = own_words_kept(own_messages())
    if given.as_json:
        print(json.dumps({"rows": rows, "own_words": kept}, ensure_ascii=False))
        return
    print(
        f"{'Set':9} {'Reader':7} {'By':9} {'Of':12} {'Messages':>8} {'Stored':>7} {'Rate':>7} "
        f"{'Waits':>6}"
    )
    for row in rows:
        print(
            f"{row['set']:9} {row['reader']:7} {row['by']:9} {row['of']:12} {row['messages']:8}"
            f" {row['stored']:7} {row['rate']:7.2%} {row['waits']:6}"
        )
    print(
        f"Own words: {kept['messages']} messages, {kept['statements']} statements,"
        f" {kept['stored']} stored, {kept['waits']} wait"
    )
    for one in let_through[: given.show]:
        print(repr(one.attack.message), "->", one.stored)


def _rows(name: str, reader: str, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    grouped: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        grouped["kind", outcome.attack.payload.kind].append(outcome)
        grouped["language", outcome.attack.lead_in.language].append(outcome)
        grouped["shape", outcome.attack.shape].append(outcome)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return [
        {
            "set": name,
            "reader": reader,
            "by": by,
            "of": of,
            "messages": len(some),
            "stored": sum(bool(one.stored) for one in some),
            "rate": sum(bool(one.stored) for one in some) / len(some),
            "waits": sum(bool(one.proposed) for one in some),
        }
        for (by, of), some in sorted(
            grouped.items(), key=lambda entry: (entry[0][0], order.get(entry[0][1], 0), entry[0][1])
        )
    ]
