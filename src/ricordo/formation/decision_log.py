"""One JSON line for every run of formation: what it decided, nothing of what memories say, and
nobody's name. Logs outlive the users who are erased, so these stand in them by a pseudonym."""

import functools
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Mapping
from typing import Final

from ricordo.errors import EmbedderRefused
from ricordo.model.reports import Decision
from ricordo.providers.encryption import SecretBox

LOGGER: Final = "ricordo.decisions"
FIELDS: Final = "fields"
"""The attribute of a log record under which its values are, for handlers that write them."""
_EVENT: Final = "memory_decision"
_PURPOSE: Final = "ricordo log pseudonyms"
_log = logging.getLogger(LOGGER)


class DecisionLog:
    """Writes the lines; with a handler for ``ricordo.decisions`` they can go anywhere."""

    def __init__(self, secret: SecretBox) -> None:
        self._secret = secret

    def write(
        self,
        user_id: str,
        thread_id: str,
        *,
        read_by: str,
        turns: int,
        input_chars: int,
        material: Mapping[str, int],
        decisions: list[Decision],
    ) -> None:
        """One line, where anybody wants it."""
        if not _log.isEnabledFor(logging.INFO):
            return
        line = {
            "event": _EVENT,
            "user": self._pseudonym(user_id),
            "thread": self._pseudonym(user_id, thread_id),
            "read_by": read_by,
            "turns": turns,
            "input_chars": input_chars,
            "material": dict(sorted(material.items())),
            "extracted_count": len(decisions),
            "decisions": [_shown(decision) for decision in decisions],
        }
        _log.info(json.dumps(line, ensure_ascii=False), extra={FIELDS: line})

    def _pseudonym(self, *names: str) -> str:
        """The same for the same names, and nothing that leads back to them without the key."""
        said = json.dumps(names).encode("utf-8")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()[:16]

    @functools.cached_property
    def _key(self) -> bytes:
        """The key of all processes of this store; where it cannot be kept, one of this process."""
        try:
            return self._secret.key_for(_PURPOSE)
        except EmbedderRefused:
            return secrets.token_bytes(32)


def _shown(decision: Decision) -> dict[str, object]:
    told = decision.to_dict()
    del told["content"]
    del told["key"]  # it may name what the memory is about
    return {name: value for name, value in told.items() if value is not None}
