"""Putting doubtful pairs of statements before the model, all in one question."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import prompt_files
from ricordo.formation.comparing.verdict import Pair, Relationship, Verdict
from ricordo.metering import MeteredModel
from ricordo.providers.chat_model import Message

_TOKENS_PER_PAIR: Final = 60
_UNASKED: Final = Verdict(Relationship.DIFFERENT)


class PairVerdict(BaseModel, defer_build=True):
    """What the model says of one pair."""

    pair: int
    verdict: Relationship
    reason: str


class Verdicts(BaseModel, defer_build=True):
    """What the model says of all pairs."""

    # Told to the model, not checked: what it says of pairs that there are not is left out.
    verdicts: Annotated[
        list[PairVerdict], Field(json_schema_extra={"maxItems": limits.MAX_JUDGED_PAIRS})
    ]


class ModelJudge:
    """Asks the model how new statements stand to stored ones."""

    def __init__(self, model: MeteredModel) -> None:
        self._model = model

    def __call__(self, user_id: str, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict for each pair; the nearest are asked about, the others count as different.

        Raises:
            LanguageModelError: the model could not answer.
        """
        order = sorted(range(len(pairs)), key=lambda place: -pairs[place].similarity)
        asked = sorted(order[: limits.MAX_JUDGED_PAIRS])
        shown = [_shown(number, pairs[place]) for number, place in enumerate(asked, start=1)]
        prompt = prompt_files.render(prompt_files.JUDGE, pairs="\n\n".join(shown))
        found = self._model.ask(
            user_id,
            [Message("user", prompt)],
            Verdicts,
            max_tokens=_TOKENS_PER_PAIR * (len(asked) + 1),
        )
        answered = {entry.pair: entry for entry in found.verdicts}
        verdicts = [_UNASKED] * len(pairs)
        for number, place in enumerate(asked, start=1):
            entry = answered.get(number)
            if entry is not None:
                verdicts[place] = Verdict(entry.verdict, _storable(entry.reason) or None)
        return verdicts


def _storable(words: str) -> str:
    """A model's reason, of bounded length and without signs that a database refuses."""
    printable = "".join(sign if sign.isprintable() else " " for sign in words)
    return printable.strip()[: limits.MAX_REASON_CHARS]


def _shown(number: int, pair: Pair) -> str:
    return "\n".join(
        [
            f"Pair {number}",
            f"OLD ({pair.old_at.date().isoformat()}): {_one_line(pair.old)}",
            f"NEW ({pair.new_at.date().isoformat()}): {_one_line(pair.new)}",
        ]
    )


def _one_line(text: str) -> str:
    """A statement cannot begin a line of its own, so it cannot pass for a pair."""
    return " ".join(text.split())[: limits.MAX_JUDGED_CHARS]
