"""Patterns that are compiled when they are first used.

Long ones take milliseconds each, and there are dozens: a short command that never reads a
conversation should not wait for them.
"""

import re
from functools import cached_property
from typing import Any, cast


class _Later:
    """Becomes a pattern with its first use; has all that a pattern has."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # found at once from now on
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of a text, compiled when it is first used."""
    return cast("re.Pattern[str]", _Later(text, flags))
