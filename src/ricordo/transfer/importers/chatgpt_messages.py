"""One message of a ChatGPT export: who sent it, to whom, and what it says."""

from datetime import datetime
from typing import Any, Final

from ricordo.transfer.importers import cleaning, shapes
from ricordo.transfer.importers.shapes import JsonObject

THEME: Final = "chatgpt"
_TURN_ROLES: Final = ("user", "assistant")
_TURN_CONTENT: Final = ("text", "multimodal_text", "code")
_INSTRUCTIONS: Final = "user_editable_context"
_MEMORY_TOOL: Final = "bio"
_EVERYBODY: Final = "all"


class Message:
    """A message as exported, with the parts that every export has in its own place."""

    def __init__(self, node_id: str, raw: JsonObject) -> None:
        self.id: str | None = cleaning.reference(raw.get("id") or node_id)
        self.role: str = cleaning.text(shapes.object_or_empty(raw.get("author")).get("role"))
        self.created_at: datetime | None = cleaning.moment(raw.get("create_time"))
        self.content: JsonObject = shapes.object_or_empty(raw.get("content"))
        self.metadata: JsonObject = shapes.object_or_empty(raw.get("metadata"))
        self.text: str = cleaning.text("\n".join(_texts(self.content)))
        self._recipient: object = raw.get("recipient") or _EVERYBODY

    @property
    def holds_instructions(self) -> bool:
        """True for the hidden message that repeats the custom instructions."""
        return self.content.get("content_type") == _INSTRUCTIONS

    @property
    def is_saved_memory(self) -> bool:
        """True where the assistant saved something to its memory."""
        return self.role == "assistant" and self._recipient == _MEMORY_TOOL

    def reason_to_skip(self) -> str | None:
        """Why it is not a turn of the conversation; None for one that is."""
        if self.role not in _TURN_ROLES:
            return f"{self.role} messages" if self.role in ("system", "tool") else "other messages"
        if self.metadata.get("is_visually_hidden_from_conversation"):
            return "hidden messages"
        if self._recipient != _EVERYBODY:
            return "messages to tools"
        if self.content.get("content_type") not in _TURN_CONTENT:
            return "reasoning and other content"
        return None


def _texts(content: JsonObject) -> list[str]:
    """The texts among the parts; code stands beside them, and spoken words inside a part."""
    parts: list[Any] = [*shapes.list_or_empty(content.get("parts")), content.get("text")]
    found = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in found if isinstance(text, str)]
