"""python -m bench attack: what of pasted texts becomes memory, and what is lost of one's own "
"words."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from bench.attack import held_out, known
from bench.attack.measure import Outcome, own_words_kept, read_by_model, read_by_rules
from bench.attack.own_words import own_messages
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
        "--combinations",
        type=int,
        default=_COMBINATIONS,
        help=f"messages of each set for each reader (default {_COMBINATIONS:,})",
    )
    parser.add_argument("--show", type=int, default=0, help="also show so many that got through")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
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
