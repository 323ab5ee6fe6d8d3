"""One thing that was said in a chat, whatever wire format told of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"


@dataclass(frozen=True, slots=True)
class Said:
    """The text of a message, and the tools that it calls."""

    role: str
    text: str
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def says_anything(self) -> bool:
        """Whether there is anything to remember: not for pictures alone."""
        return bool(self.text.strip() or self.calls)


NOTHING_HEARD: Final = Said(ASSISTANT, "")
"""An answer that could not be read."""


def first_of_user(said: Sequence[Said]) -> str:
    """What the user said first; nothing where only others spoke."""
    return next((one.text for one in said if one.role == USER), "")


def last_of_user(said: Sequence[Said]) -> str:
    """What the user said last, also where tools have answered since."""
    return next((one.text for one in reversed(said) if one.role == USER), "")


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list from outside; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(content: object, *kinds: str) -> str:
    """The text of a message: all of it, or that of its parts of these kinds, a line each."""
    if isinstance(content, str):
        return content
    found = (part.get(kind) for part in objects(content) for kind in kinds if _is(part, kind))
    return joined([text for text in found if isinstance(text, str)])


def joined(texts: Sequence[str]) -> str:
    """Parts of a message as one text, like :func:`text_of` puts them together."""
    return "\n".join(texts)


def _is(part: Mapping[str, Any], kind: str) -> bool:
    return part.get("type") in (kind, f"input_{kind}", f"output_{kind}")
