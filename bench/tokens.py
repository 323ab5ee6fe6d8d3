"""python -m bench tokens: the estimate of tokens beside the tokenizers of real models."""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tests.unit.text.real_tokenizers import counters
from tests.unit.text.token_texts import MADE_UP, NATURAL, WRITTEN

from bench.options import Commands, add_json
from ricordo.text.tokens import estimate_tokens

_TEXTS_OF_A_KIND: Final = 300


class Kind(NamedTuple):
    """Texts of one kind: what they cost in all, and how many cost more than estimated."""

    name: str
    texts: int
    estimated: int
    counted: dict[str, int]
    short: int

    @property
    def ratio(self) -> float:
        """How far the estimate is above the dearest tokenizer."""
        return self.estimated / max(self.counted.values())


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("tokens", help="the estimate of tokens beside real tokenizers")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = measure(_TEXTS_OF_A_KIND)
    if given.as_json:
        print(json.dumps([{**kind._asdict(), "ratio": round(kind.ratio, 3)} for kind in measured]))
        return
    print(
        f"{'text':20} {'texts':>5} {'estimate':>9}", *(f"{name:>19}" for name in counters()), end=""
    )
    print(f" {'ratio':>6} {'short':>6}")
    for kind in measured:
        print(f"{kind.name:20} {kind.texts:5} {kind.estimated:9}", end="")
        print("".join(f" {count:19}" for count in kind.counted.values()), end="")
        print(f" {kind.ratio:6.2f} {kind.short:6}")


def measure(texts_of_a_kind: int) -> list[Kind]:
    natural = [_kind(name, [text]) for name, text in (NATURAL | WRITTEN).items()]
    made_up = [_kind(name, _made(make, name, texts_of_a_kind)) for name, make in MADE_UP.items()]
    return natural + made_up


def _made(make: Callable[[random.Random], str], name: str, texts: int) -> list[str]:
    dice = random.Random(f"bench {name}")
    return [make(dice) for _ in range(texts)]


def _kind(name: str, texts: Sequence[str]) -> Kind:
    counted = {used: [count(text) for text in texts] for used, count in counters().items()}
    estimated = [estimate_tokens(text) for text in texts]
    dearest = [max(counts) for counts in zip(*counted.values(), strict=True)]
    short = sum(guess < true for guess, true in zip(estimated, dearest, strict=True))
    totals = {used: sum(counts) for used, counts in counted.items()}
    return Kind(name, len(texts), sum(estimated), totals, short)
