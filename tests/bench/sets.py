"""A small set of conversations in the neutral format, made up for these tests."""

import json
from pathlib import Path
from typing import Any


def turn(number: int, text: str, **other: Any) -> dict[str, Any]:
    return {
        "id": f"t{number}",
        "thread": "s1",
        "actor": "ana" if number % 2 else "ben",
        "role": None,
        "at": f"2025-03-01T10:00:{number:02}+00:00",
        "text": text,
    } | other


def question(number: int, text: str, evidence: list[str], **other: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "text": text,
        "answer": None,
        "evidence": evidence,
        "category": "single-hop",
        "at": None,
        "stale": None,
        "fresh": None,
    } | other


def small_set() -> dict[str, Any]:
    """Two conversations, of which the second is between a user and an assistant."""
    people = {
        "id": "people",
        "turns": [
            turn(1, "My sister keeps bees behind the old mill."),
            turn(2, "How lovely! I only grow tomatoes on the balcony."),
            turn(3, "I broke my left wrist while skating.", thread="s2"),
            turn(4, "Ouch. My piano lessons start again in May.", thread="s2"),
            turn(5, "   ", thread="s2"),
        ],
        "questions": [
            question(1, "Where are the bees kept?", ["t1"]),
            question(2, "Who plays the piano and who grows tomatoes?", ["t2", "t4"]),
            question(3, "Did ben break a wrist?", ["t3"], category="adversarial"),
            question(4, "Which submarine was bought?", []),
        ],
    }
    chat = {
        "id": "chat",
        "turns": [
            turn(1, "I live in a flat in Lisbon.", actor="user", role="user"),
            turn(2, "Noted, you live in Lisbon.", actor="assistant", role="assistant"),
            turn(3, "I moved, now I live in a house in Oslo.", actor="user", role="user"),
        ],
        "questions": [
            question(1, "Where do I live now?", ["t3"], stale=["t1"], fresh=["t3"]),
            question(2, "What is my cat called?", [], category="abstention"),
        ],
    }
    return {
        "name": "small",
        "source": "made up",
        "licence": "none",
        "conversations": [people, chat],
    }


def written(folder: Path, content: object) -> Path:
    path = folder / "set.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
