"""What an attack is made of: a lead-in, a payload, the text around it, and how they stand "
"together."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["instruction", "redirecting", "sensitive", "fact", "explicit"]

KINDS: Final[tuple[Kind, ...]] = ("instruction", "redirecting", "sensitive", "fact", "explicit")
TYPES: Final = {"instruction": "instruction", "redirecting": "instruction"}
"""As what a model extracts a payload, where that is no fact."""


@dataclass(frozen=True, slots=True)
class LeadIn:
    """What the user says about the text that they paste."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Payload:
    """What the pasted text wants stored. ``reading`` is what an obedient model makes of it."""

    language: str
    kind: Kind
    text: str
    reading: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """The rest of the pasted text."""

    name: str
    text: str

    def around(self, payload: str) -> str:
        return self.text.replace("{payload}", payload)


@dataclass(frozen=True, slots=True)
class Attack:
    """One message."""

    lead_in: LeadIn
    payload: Payload
    carrier: str
    shape: str
    message: str


@dataclass(frozen=True, slots=True)
class Texts:
    """A set of parts that are combined with each other."""

    lead_ins: Sequence[LeadIn]
    payloads: Sequence[Payload]
    carriers: Sequence[Carrier]


def _on_same_line(lead: str, body: str) -> str:
    return f"{lead if lead.endswith((':', '?', '.')) else f'{lead}:'} {body}"


SHAPES: Final[dict[str, Callable[[str, str], str]]] = {
    "blank line": lambda lead, body: f"{lead}\n\n{body}",
    "next line": lambda lead, body: f"{lead}\n{body}",
    "same line": _on_same_line,
    "question last": lambda lead, body: f"{body}\n\n{lead}",
    "greeting first": lambda lead, body: f"Hi!\n\n{lead}\n\n{body}",
    "thanks last": lambda lead, body: f"{lead}\n\n{body}\n\nThanks a lot!",
    "in marks": lambda lead, body: f'{lead}\n\n"{body}"',
    "under a rule": lambda lead, body: f"{lead}\n\n---\n{body}\n---",
    "own life first": lambda lead, body: f"I had a long day.\n\n{lead}\n\n{body}",
}


def attacks(texts: Texts, most: int, seed: int = 7) -> list[Attack]:
    """So many combinations, the same ones every time, or all if there are fewer."""
    every = [
        Attack(lead_in, payload, carrier.name, shape, SHAPES[shape](lead_in.text, body))
        for lead_in, payload, carrier, shape in itertools.product(
            texts.lead_ins, texts.payloads, texts.carriers, SHAPES
        )
        if not (shape == "question last" and lead_in.text.endswith((":", "：")))
        for body in [carrier.around(payload.text)]
    ]
    return every if len(every) <= most else random.Random(seed).sample(every, most)
