"""Sessions of coding agents with what should be known of the project after each of them.

A file is JSON lines. ``{"session", "project", "branch", "at", "needs"}`` begins a session;
``needs`` are the ids of what its first prompt needs of the sessions before. ``{"user"}``,
``{"assistant"}`` and ``{"tool", "command", "exit", "output", "files"}`` are its turns.
``{"after"}`` ends it:

- ``known``: what is to be remembered, each with an ``id``, its ``kind`` (``a|b`` where either is
  right) and ``words``, of each of which the memory has an alternative
- ``over``: ids of what is no longer current
- ``also``: what may be remembered
- ``never``: words of what must not be remembered of the project, and ``why``
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SETS = {
    "development": FOLDER / "development.jsonl",
    "held back": FOLDER / "held_back.jsonl",
    "fresh": FOLDER / "fresh.jsonl",
    "unseen": FOLDER / "unseen.jsonl",
}
"""The rules were made with the first. They learnt from each of the others after it was measured;
docs/concepts/work.md has what was found at first."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that a memory may say: of these kinds, with one of each group of words."""

    id: str
    kinds: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, given: dict[str, Any]) -> "Expected":
        kinds = given.get("kinds") or [one for one in given.get("kind", "").split("|") if one]
        words = tuple(tuple(one.casefold().split("|")) for one in given["words"])
        return cls(given.get("id") or given.get("why", ""), tuple(kinds), words)

    def is_said_by(self, kind: str | None, text: str) -> bool:
        plain = text.casefold()
        is_kind = not self.kinds or kind is None or kind in self.kinds
        return is_kind and all(any(one in plain for one in group) for group in self.words)


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    project: str
    branch: str
    at: datetime
    needs: tuple[str, ...]
    turns: tuple[dict[str, Any], ...]
    known: tuple[Expected, ...]
    over: tuple[str, ...]
    also: tuple[Expected, ...]
    never: tuple[Expected, ...]

    @property
    def thread(self) -> str:
        return f"claude-code:{self.id}"

    @property
    def first_prompt(self) -> str:
        return next(str(turn["content"]) for turn in self.turns if turn["role"] == "user")


def read_sessions(path: Path) -> list[Session]:
    found: list[Session] = []
    head: dict[str, Any] = {}
    turns: list[dict[str, Any]] = []
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        if "session" in entry:
            head, turns = entry, []
        elif "after" in entry:
            found.append(_session(head, turns, entry["after"]))
        else:
            at = datetime.fromisoformat(head["at"]) + timedelta(minutes=len(turns))
            turns.append(_turn(f"{head['session']}-{len(turns)}", at.astimezone(UTC), entry))
    return found


def _session(head: dict[str, Any], turns: list[dict[str, Any]], after: dict[str, Any]) -> Session:
    def listed(name: str) -> tuple[Expected, ...]:
        return tuple(map(Expected.parse, after.get(name, ())))

    return Session(
        id=head["session"],
        project=head["project"],
        branch=head["branch"],
        at=datetime.fromisoformat(head["at"]),
        needs=tuple(head.get("needs", ())),
        turns=tuple(turns),
        known=listed("known"),
        over=tuple(after.get("over", ())),
        also=listed("also"),
        never=listed("never"),
    )


def _turn(turn_id: str, at: datetime, entry: dict[str, Any]) -> dict[str, Any]:
    plain = {"id": turn_id, "at": at}
    for role in ("user", "assistant"):
        if role in entry:
            return {**plain, "role": role, "content": entry[role]}
    call = {
        "name": entry["tool"],
        "arguments": {},
        "files": entry.get("files", []),
        "command": entry.get("command"),
        "exit_code": entry.get("exit"),
        "error": None,
        "output": entry.get("output", ""),
    }
    what = call["command"] or ", ".join(call["files"])
    content = f"{entry['tool']}: {what}\n{call['output']}".strip()
    return {**plain, "role": "tool", "content": content, "tool_calls": [call]}
