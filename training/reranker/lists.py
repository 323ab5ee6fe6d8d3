"""python -m training.reranker.lists SPC SET OUT.json.gz: conversations, and questions about them.

SPC has ``data/01_transformed_data`` of Synthetic-Persona-Chat (Google, CC BY 4.0; repository
hxhkim/Synthetic-Persona-Chat), SET comes from ``training.ranker.conversations``; our memories are
in ``training/ranker/data``.

Questions inside dialogues teach as well: who is asked "what do you do for a living?" answers in
the next turn; the question is put about that person by name.
"""

import gzip
import json
import random
import re
import sys
from itertools import pairwise
from pathlib import Path

JOINED = 6
HELD = {
    "assistant": (1, 4, 8),
    "companion": (2, 5, 7, 8),
    "friends": (5, 8),
    "groups": (5, 8),
    "long": (2, 5, 8, 11),
    "messages": (8,),
    "work": (1,),
    "joined-0": (1, 11, 17, 25, 32, 33),
    "joined-1": (7, 15, 18, 25, 33),
    "joined-2": (2, 7, 26, 35),
    "joined-3": (28, 31, 34),
    "memories": (1, 13, 14, 17, 21, 28, 41),
}
HELD_SCENES = ("f1", "f3", "f15", "f17")
REQUESTS = Path(__file__).parent / "data" / "requests.jsonl"
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


def held() -> frozenset[str]:
    """Conversations that nothing is learned from: what joins both rankings is fitted to them."""
    ours = (f"{name}-{number}" for name, numbers in HELD.items() for number in numbers)
    return frozenset((*ours, *HELD_SCENES))


def stores() -> tuple[list[dict], list[dict]]:
    """What a user said or is known for, with requests and what they need; and those held back."""
    read = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    return [one for at, one in enumerate(read) if at % 7 != 3], read[3::7]


class Lists:
    """Conversations as pairs of a line and the one before it, and questions about them."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.conversations: dict[str, list[tuple[int, int]]] = {}
        self.asked: list[tuple[str, str, str, list[int]]] = []

    def add(self, name: str, lines: list[str], parts: list[object]) -> None:
        rows: list[tuple[int, int]] = []
        for place, line in enumerate(lines):
            follows = place > 0 and parts[place] == parts[place - 1]
            number = self.lines.setdefault(line, len(self.lines))
            rows.append((number, rows[-1][0] if follows else -1))
        self.conversations[name] = rows

    def ask(self, kind: str, name: str, question: str, evidence: list[int]) -> None:
        self.asked.append((kind, name, question, evidence))

    def save(self, out: Path) -> None:
        whole = {
            "lines": list(self.lines),
            "conversations": self.conversations,
            "asked": self.asked,
            "held": sorted(held()),
        }
        out.write_bytes(gzip.compress(json.dumps(whole).encode()))


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
    spc, source, out = map(Path, sys.argv[1:])
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
    lists.save(out)
    print(len(lists.asked), "questions", len(lists.lines), "lines")


if __name__ == "__main__":
    main()
