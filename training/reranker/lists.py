"""python -m training.reranker.lists SPC SET OUT [QUESTIONS]: what the reranker learns from.

SPC has ``data/01_transformed_data`` of Synthetic-Persona-Chat (Google, CC BY 4.0; repository
hxhkim/Synthetic-Persona-Chat), SET comes from ``training.ranker.conversations``; our memories are
in ``training/ranker/data``. QUESTIONS, if given, has lines ``[conversation, "turn", place, asked]``
by a small language model about the conversations made here; the shipped weights saw 6,000 of
Qwen2.5-Coder-1.5B-Instruct (Apache-2.0).

Questions inside dialogues teach most pairs: who is asked "what do you do for a living?" answers in
the next turn; the question is put about that person by name. OUT is a folder with token arrays.
"""

import json
import random
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from ricordo.providers.local_embedder import SHIPPED

KINDS = ("own", "memories", "friends", "dialogue", "small")
QUESTION_TOKENS, LINE_TOKENS, JOINED = 32, 64, 6
_OURS = Path(__file__).parents[1] / "ranker" / "data" / "memories.jsonl"
_NAMES = ("Maya", "Leon", "Aisha", "Tom", "Ingrid", "Pavel", "Rosa", "Kenji", "Lucia", "Omar")
_ABOUT = (
    (r"\bare you\b", "is {}"),
    (r"\bdo you\b", "does {}"),
    (r"\bhave you\b", "has {}"),
    (r"\bwere you\b", "was {}"),
    (r"\byour\b", "{}'s"),
    (r"\byou're\b", "{} is"),
    (r"\byou\b", "{}"),
)
_SMALL_TALK = re.compile(r"how are you|about you|nice to meet|what's your name", re.IGNORECASE)
_OPENING = re.compile(r"^(?:so|oh|wow|cool|and|well|okay|nice)[,!]?\s+", re.IGNORECASE)


class Lists:
    """Conversations as pairs of a line and the one before it, and questions about them."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.questions: dict[str, int] = {}
        self.conversations: dict[str, list[tuple[int, int]]] = {}
        self.asked: list[tuple[str, int, str, list[int], bool]] = []

    def add(self, name: str, lines: list[str], parts: list[object]) -> None:
        rows: list[tuple[int, int]] = []
        for place, line in enumerate(lines):
            follows = place > 0 and parts[place] == parts[place - 1]
            number = self.texts.setdefault(line, len(self.texts))
            rows.append((number, rows[-1][0] if follows else -1))
        self.conversations[name] = rows

    def ask(self, kind: str, name: str, question: str, evidence: list[int]) -> None:
        number = self.questions.setdefault(question, len(self.questions))
        self.asked.append((kind, number, name, evidence, is_held(name)))

    def save(self, out: Path) -> None:
        tokenizer = Tokenizer.from_file(str(SHIPPED.tokenizer))
        tokenizer.no_truncation()
        lines, line_sizes = _packed(tokenizer, list(self.texts), LINE_TOKENS)
        questions, question_sizes = _packed(tokenizer, list(self.questions), QUESTION_TOKENS)
        places = {name: place for place, name in enumerate(self.conversations)}
        sizes = [len(rows) for rows in self.conversations.values()]
        np.savez_compressed(
            out,
            lines=lines,
            line_sizes=line_sizes,
            questions=questions,
            question_sizes=question_sizes,
            starts=np.cumsum([0, *sizes]).astype(np.int32),
            rows=np.array([row for rows in self.conversations.values() for row in rows], np.int32),
            asked=np.array(
                [
                    (KINDS.index(kind), number, places[name], held, len(evidence))
                    for kind, number, name, evidence, held in self.asked
                ],
                np.int32,
            ),
            evidence=np.array([each for one in self.asked for each in one[3]], np.int32),
        )


def is_held(name: str) -> bool:
    """Every tenth conversation is held back: the joining with the first ranking is fitted to it."""
    return not name.startswith("learn-") and random.Random(name).random() < 0.1


def _packed(tokenizer: Tokenizer, texts: list[str], width: int) -> tuple[np.ndarray, np.ndarray]:
    rows, sizes = np.zeros((len(texts), width), np.uint16), np.zeros(len(texts), np.uint8)
    for place, encoded in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
        ids = encoded.ids[:width]
        rows[place, : len(ids)], sizes[place] = ids, len(ids)
    return rows, sizes


def joined(folder: Path, seed: int) -> list[dict]:
    """Dialogues of Synthetic-Persona-Chat by sixes, as one conversation of two named people."""
    chance, found, made = random.Random(seed), [], []
    for part in ("New-SPC", "SPC-train"):
        for path in sorted((folder / "data" / "01_transformed_data" / part).glob("*.json")):
            messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
            turns = [
                (one["role"][-1], " ".join(one["content"]["text"].split())) for one in messages
            ]
            if len(turns) >= JOINED and not any("[user" in text.lower() for _, text in turns):
                found.append(turns)
    chance.shuffle(found)
    for start in range(0, len(found) - JOINED + 1, JOINED):
        names = dict(zip("12", chance.sample(_NAMES, 2), strict=True))
        turns = [
            (number, names[who], text)
            for number, dialogue in enumerate(found[start : start + JOINED])
            for who, text in dialogue
        ]
        made.append({"id": f"learn-{start // JOINED}", "turns": turns})
    return made


def asked_in(turns: list[tuple], chance: random.Random) -> list[tuple[str, int]]:
    """Questions that are answered by the next turn, and its place."""
    found = []
    for place, ((part, one, said), (next_part, other, answer)) in enumerate(
        pairwise(turns), start=1
    ):
        question = re.split(r"(?<=[.!?])\s+", said.rstrip())[-1]
        if part != next_part or one == other or not question.endswith("?"):
            continue
        if not 4 <= len(question.split()) <= 16 or len(answer.split()) < 4:
            continue
        if not re.search(r"\byou", question.lower()) or _SMALL_TALK.search(question):
            continue
        if chance.random() < 0.75:
            question = _OPENING.sub("", question)
            for pattern, about in _ABOUT:
                question = re.sub(pattern, about.format(other), question, flags=re.IGNORECASE)
            question = question[0].upper() + question[1:]
        found.append((question, place))
    return found


def main() -> None:
    spc, source, out, *more = map(Path, sys.argv[1:])
    lists, chance = Lists(), random.Random(5)
    for one in json.loads(source.read_text(encoding="utf-8"))["conversations"]:
        if one["id"].endswith("-begun"):
            continue
        turns = one["turns"]
        lines = [f"{turn['actor']}: {turn['text']}" for turn in turns]
        lists.add(one["id"], lines, [turn["thread"] for turn in turns])
        places = {turn["id"]: place for place, turn in enumerate(turns)}
        kind = "friends" if re.fullmatch(r"f\d+", one["id"]) else "own"
        for asked in one["questions"]:
            lists.ask(kind, one["id"], asked["text"], [places[each] for each in asked["evidence"]])
    for number, line in enumerate(_OURS.read_text(encoding="utf-8").splitlines()):
        store = json.loads(line)
        lists.add(f"memories-{number}", store["memories"], list(range(len(store["memories"]))))
        for asked in store["questions"]:
            lists.ask("memories", f"memories-{number}", asked["q"], asked["e"])
    for one in joined(spc, 1):
        lines = [f"{who}: {text}" for _, who, text in one["turns"]]
        lists.add(one["id"], lines, [part for part, _, _ in one["turns"]])
        for question, place in asked_in(one["turns"], chance):
            lists.ask("dialogue", one["id"], question, [place])
    for path in more:
        for line in path.read_text(encoding="utf-8").splitlines():
            name, kind, place, question = json.loads(line)
            if kind == "turn" and name in lists.conversations:
                lists.ask("small", name, question, [place])
    out.mkdir(exist_ok=True)
    lists.save(out / "lists.npz")
    print(len(lists.asked), "questions", len(lists.texts), "lines")


if __name__ == "__main__":
    main()
