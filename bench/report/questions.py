"""A set of questions with invented words, for a report without a real one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ricordo_bench.stores import InventedTexts

_CONVERSATIONS: Final = 2
_WORDS: Final = 5
_BEGINNING: Final = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def write_invented(path: Path, turns: int) -> None:
    """Conversations of so many turns; every fifth is asked for by some of its own words."""
    conversations = [_conversation(number, turns) for number in range(_CONVERSATIONS)]
    content = {"name": "invented", "conversations": conversations}
    path.write_text(json.dumps(content), encoding="utf-8")


def _conversation(number: int, turns: int) -> dict[str, Any]:
    texts = InventedTexts(seed=number).texts(turns)
    return {
        "id": f"c{number}",
        "turns": [
            {
                "id": f"t{place}",
                "thread": f"s{place // 20}",
                "actor": ("ana", "ben")[place % 2],
                "role": None,
                "at": (_BEGINNING + timedelta(minutes=7 * place)).isoformat(),
                "text": text,
            }
            for place, text in enumerate(texts)
        ],
        "questions": [
            {
                "id": f"q{place}",
                "text": _question(texts[place]),
                "evidence": [f"t{place}"],
                "category": "invented",
            }
            for place in range(0, turns, 5)
        ],
    }


def _question(text: str) -> str:
    """The longest words of a text, which are its rarest."""
    words = text.strip(".").lower().split()
    chosen = sorted(sorted(words, key=len, reverse=True)[:_WORDS], key=words.index)
    return " ".join(chosen)
