"""python -m bench.peers.forming FOLDER: let one peer form conversations, as the task there says.

It runs in the environment of the peer, which need not have ricordo. Its exit code is that of
``bench.peers.worker`` where the peer is not installed.
"""

import importlib.metadata
import json
import sys
import time
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.peers.contract import Endpoint, Entry, Former
from bench.peers.registry import PEERS
from bench.peers.worker import FOUND, NOT_INSTALLED, TASK

USAGE = "/usage"
_USAGE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class FormedConversation:
    """What a peer stored of a conversation, and what that took."""

    stored: list[str]
    ms: float
    calls: int
    prompt_tokens: int
    completion_tokens: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Formed:
    version: str
    conversations: list[dict[str, Any]]


def work(entry: Entry, folder: Path) -> Formed:
    """Form every conversation, each of a user of its own.

    Raises:
        ModuleNotFoundError: the peer is not installed.
    """
    task = json.loads((folder / TASK).read_text(encoding="utf-8"))
    place = folder / "store"
    place.mkdir()
    assert entry.former is not None
    endpoint = Endpoint(**task["endpoint"])
    former = entry.former(place, endpoint)
    try:
        formed = [_formed(former, endpoint, one) for one in task["conversations"]]
    finally:
        former.close()
    return Formed(importlib.metadata.version(entry.package), [asdict(one) for one in formed])


def _formed(former: Former, endpoint: Endpoint, conversation: dict[str, Any]) -> FormedConversation:
    """What the peer raises is a result: others store the same conversation."""
    before = _usage(endpoint)
    problem = None
    started = time.perf_counter()
    try:
        former.form(conversation["id"], conversation["messages"])
    except Exception as error:  # noqa: BLE001 - whatever it raises
        problem = f"{type(error).__name__}: {error}"
    took_ms = (time.perf_counter() - started) * 1_000
    spent = {name: count - before[name] for name, count in _usage(endpoint).items()}
    return FormedConversation(former.stored(conversation["id"]), took_ms, problem=problem, **spent)


def _usage(endpoint: Endpoint) -> dict[str, int]:
    """What was asked of the model until now."""
    with urllib.request.urlopen(endpoint.base_url + USAGE, timeout=_USAGE_SECONDS) as answered:
        counts: dict[str, int] = json.load(answered)
    return counts


def main() -> None:
    folder = Path(sys.argv[1])
    name = json.loads((folder / TASK).read_text(encoding="utf-8"))["package"]
    (entry,) = (one for one in PEERS if one.package == name)
    try:
        formed = work(entry, folder)
    except ModuleNotFoundError as missing:
        print(missing, file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    (folder / FOUND).write_text(json.dumps(asdict(formed)), encoding="utf-8")


if __name__ == "__main__":
    main()
