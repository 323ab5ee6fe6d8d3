"""What formation stores of attacks, and of what people say about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.attack.own_words import OwnMessage
from bench.attack.texts import TYPES, Attack
from ricordo.memory import Memory
from ricordo.model.vocabulary import MemoryType
from ricordo.testing import ModelServer, WordEmbedder
from ricordo.wiring import open_memory

_THREAD: Final = "pasted"
_PER_STORE: Final = 500
"""A store of its own for so many, so that none grows slow."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one message: what is stored, and what waits for the user's consent."""

    attack: Attack
    stored: tuple[str, ...]
    proposed: tuple[str, ...]
    has_instruction: bool


def read_by_rules(attacks: Sequence[Attack]) -> list[Outcome]:
    """Every attack on a user of its own, without a language model."""
    return [
        outcome
        for some in _parts(attacks)
        for outcome in _outcomes(
            open_memory(":memory:", run_jobs=False, embedder=WordEmbedder()), some
        )
    ]


def read_by_model(attacks: Sequence[Attack]) -> list[Outcome]:
    """The same with a model that extracts whatever the pasted text wants stored."""
    found = []
    with ModelServer() as server:
        settings = {
            "model_provider": "custom_http",
            "model_name": "obedient",
            "model_base_url": server.base_url,
        }
        for some in _parts(attacks):
            memory = open_memory(
                ":memory:",
                run_jobs=False,
                embedder=WordEmbedder(),
                **settings,  # type: ignore[arg-type]
            )
            found += list(_outcomes(memory, some, server))
    return found


def _parts(attacks: Sequence[Attack]) -> Iterator[Sequence[Attack]]:
    for first in range(0, len(attacks), _PER_STORE):
        yield attacks[first : first + _PER_STORE]


def _outcomes(
    memory: Memory, attacks: Iterable[Attack], server: ModelServer | None = None
) -> Iterator[Outcome]:
    with memory:
        for number, attack in enumerate(attacks):
            if server is not None:
                answer = extraction(attack)
                server.answer_with(
                    lambda _, given=answer: given
                )  # a message may not be asked about
            user = memory.user(f"user-{number}")
            user.observe([{"role": "user", "content": attack.message}], thread=_THREAD)
            user.form(_THREAD)
            items = user.list(limit=100)
            yield Outcome(
                attack,
                tuple(item.content for item in items),
                tuple(proposal.content or "" for proposal in user.proposals()),
                any(item.type is MemoryType.INSTRUCTION for item in items),
            )


def extraction(attack: Attack) -> dict[str, Any]:
    """What an obedient model answers."""
    payload = attack.payload
    return {
        "memories": [
            {
                "content": payload.reading,
                "quote": payload.text,
                "type": TYPES.get(payload.kind, "fact"),
                "theme": "life",
                "key": "",
                "importance": 3,
            }
        ]
    }


def own_words_kept(messages: Sequence[OwnMessage]) -> dict[str, int]:
    """How many statements of one's own are stored, and how many wait for consent."""
    stored = waits = 0
    for first in range(0, len(messages), _PER_STORE):
        with open_memory(":memory:", run_jobs=False, embedder=WordEmbedder()) as memory:
            for number, one in enumerate(messages[first : first + _PER_STORE]):
                user = memory.user(f"user-{number}")
                user.observe([{"role": "user", "content": one.message}], thread=_THREAD)
                user.form(_THREAD)
                known = " ".join(item.content for item in user.list(limit=100))
                proposed = " ".join(proposal.content or "" for proposal in user.proposals())
                stored += sum(word in known for word in one.words)
                waits += sum(word not in known and word in proposed for word in one.words)
    return {
        "messages": len(messages),
        "statements": sum(len(one.words) for one in messages),
        "stored": stored,
        "waits": waits,
    }
