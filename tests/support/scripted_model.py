"""What a model would read in a conversation, for tests of everything but the model."""

import re
from typing import Any

_NEW_TURN = re.compile(
    r"^=== turn \d+ \| user[^\n]*\| NEW[^\n]*===\n(.*?)(?=^===|\Z)", re.MULTILINE | re.DOTALL
)
_TASTE = re.compile(r"I love (\w+)")

PORTRAIT = "Somebody with tastes."


def read_tastes(body: dict[str, Any]) -> dict[str, Any] | str:
    """Answers each question of formation: every "I love X" of a new turn becomes a memory."""
    asked_for = body.get("response_format", {}).get("json_schema", {}).get("name")
    if asked_for is None:
        return PORTRAIT
    if asked_for == "Verdicts":
        return {"verdicts": []}  # nothing has to do with anything else
    prompt = body["messages"][-1]["content"]
    loved = [match for turn in _NEW_TURN.findall(prompt) for match in _TASTE.finditer(turn)]
    return {"memories": [_entry(match) for match in loved]}


def _entry(said: re.Match[str]) -> dict[str, Any]:
    return {
        "content": f"User loves {said[1]}.",
        "quote": said[0],
        "type": "preference",
        "theme": "preferences",
        "key": f"taste:{said[1]}",
        "importance": 2,
    }
