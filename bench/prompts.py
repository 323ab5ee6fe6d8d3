"""python -m bench prompts: how much of the evidence reaches a prompt, and what that costs."""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.options import Commands, add_json
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.recall import Conversation, QuestionSet, observe_all, read_questions, user_of

QUOTES = (0, 5, 10, 20)


@dataclass(frozen=True)
class Shown:
    """With so many quotes: the share of the evidence in the prompt, its tokens, and how often
    the prompt said that nothing is sure."""

    quotes: int
    questions: int
    evidence: float
    tokens: float
    unsure: float


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("prompts", help="how much of the evidence reaches a prompt")
    add_json(parser)
    parser.add_argument("--path", type=Path, required=True, help="set of conversations")
    parser.add_argument("--every", type=int, default=1, help="ask only every so-many-th question")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    found = list(measure(read_questions(given.path), given.every))
    if given.as_json:
        print(json.dumps([asdict(one) for one in found]))
        return
    print(f"{'Quotes':>6} {'Questions':>9} {'Evidence':>8} {'Tokens':>7} {'Unsure':>7}")
    for one in found:
        print(
            f"{one.quotes:6} {one.questions:9} {one.evidence:8.3f} {one.tokens:7.0f}"
            f" {one.unsure:7.3f}"
        )


def measure(questions: QuestionSet, every: int) -> Iterator[Shown]:
    """Ask for a prompt for every question, without any language model, default settings."""
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        url = str(Path(folder) / "ricordo.db")
        observe_all(url, questions)
        for quotes in QUOTES:
            yield _measured(url, questions, every, quotes)


def _measured(url: str, questions: QuestionSet, every: int, quotes: int) -> Shown:
    shares: list[float] = []
    tokens: list[int] = []
    unsure = 0
    with open_memory(url, run_jobs=False, context_quotes=quotes) as memory:
        for conversation in questions.conversations:
            user = memory.user(user_of(conversation))
            said = _message_of_turn(user, conversation)
            asked = [one for one in conversation.questions if one.evidence]
            for question in asked[::every]:
                context = user.context(question.text, modes="recall")
                evidence = set(question.evidence)
                quoted = {said.get(one.turn_id) for one in context.quotes}
                shares.append(len(evidence & quoted) / len(evidence))
                tokens.append(context.tokens.memories)
                unsure += context.suggests_query
    count = len(shares) or 1
    return Shown(quotes, len(shares), sum(shares) / count, sum(tokens) / count, unsure / count)


def _message_of_turn(user: UserMemory, conversation: Conversation) -> dict[int, str | None]:
    """The message ids of a user's turns, by which a set names its evidence."""
    found: dict[int, str | None] = {}
    for thread in dict.fromkeys(turn.thread for turn in conversation.turns if turn.text):
        cursor = None
        while True:
            page = user.turns(thread, limit=1_000, cursor=cursor)
            found.update({turn.id: turn.message_id for turn in page})
            cursor = page.next_cursor
            if cursor is None:
                break
    return found
