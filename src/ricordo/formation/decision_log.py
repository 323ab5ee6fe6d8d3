"""One JSON line for every run of formation: what it decided, and nothing of what memories say."""

import json
import logging
from typing import Final

from ricordo.model.formation import Decision

LOGGER: Final = "ricordo.decisions"
FIELDS: Final = "fields"
"""The attribute of a log record under which its values are, for handlers that write them."""
_EVENT: Final = "memory_decision"
_log = logging.getLogger(LOGGER)


def log_decisions(
    user_id: str,
    thread_id: str,
    *,
    read_by: str,
    turns: int,
    input_chars: int,
    decisions: list[Decision],
) -> None:
    """Write the line; with a handler for ``ricordo.decisions`` it can go anywhere."""
    if not _log.isEnabledFor(logging.INFO):
        return
    line = {
        "event": _EVENT,
        "user_id": user_id,
        "thread_id": thread_id,
        "read_by": read_by,
        "turns": turns,
        "input_chars": input_chars,
        "extracted_count": len(decisions),
        "decisions": [_shown(decision) for decision in decisions],
    }
    _log.info(json.dumps(line, ensure_ascii=False), extra={FIELDS: line})


def _shown(decision: Decision) -> dict[str, object]:
    told = decision.to_dict()
    del told["content"]
    del told["key"]  # it may name what the memory is about
    return {name: value for name, value in told.items() if value is not None}
