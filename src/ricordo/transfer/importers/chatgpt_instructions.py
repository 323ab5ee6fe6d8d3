"""ChatGPT's custom instructions, which its export repeats in every conversation."""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ricordo import limits
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer.importers import cleaning, shapes
from ricordo.transfer.importers.chatgpt_messages import THEME, Message
from ricordo.transfer.importers.skipping import is_kept
from ricordo.transfer.merging import Findings

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
# The exported text explains to the model what follows, and puts the user's own words in a fence.
_USERS_OWN_WORDS: Final = re.compile(r"```(.*)```", re.DOTALL)


class _Field(NamedTuple):
    """One of the two texts: where it stands in a message and what becomes of it."""

    in_content: str
    in_metadata: str
    key: str
    type: MemoryType


class _Version(NamedTuple):
    """One of the texts as it was at a time."""

    at: datetime | None
    text: str


_FIELDS: Final = (
    _Field("user_profile", "about_user_message", "chatgpt-profile", MemoryType.FACT),
    _Field(
        "user_instructions", "about_model_message", "chatgpt-instructions", MemoryType.INSTRUCTION
    ),
)


class CustomInstructions:
    """Collects both texts over all conversations and keeps the newest of each."""

    def __init__(self) -> None:
        self._newest: dict[_Field, _Version] = {}

    def note(self, message: Message, conversation_at: datetime | None) -> None:
        """Look at a message that holds instructions; few of them carry a time of their own."""
        at = message.created_at or conversation_at
        for field in _FIELDS:
            text = _text_of(field, message)
            if text and self._is_newer(field, at):
                self._newest[field] = _Version(at, text)

    def add_to(self, found: Findings) -> None:
        """Make a memory of the newest of each; an older one never stands in for it."""
        for field, version in self._newest.items():
            if is_kept(found, version.text, limits.MAX_CONTENT_CHARS):
                found.memories.append(
                    NewMemory(
                        content=version.text,
                        type=field.type,
                        key=field.key,
                        theme=THEME,
                        source=Source.IMPORT,
                        created_at=version.at,
                    )
                )

    def _is_newer(self, field: _Field, at: datetime | None) -> bool:
        present = self._newest.get(field)
        return present is None or (at or _LONG_AGO) > (present.at or _LONG_AGO)


def _text_of(field: _Field, message: Message) -> str:
    bare = shapes.object_or_empty(message.metadata.get("user_context_message_data"))
    text = cleaning.text(bare.get(field.in_metadata))
    if text:
        return text
    explained = cleaning.text(message.content.get(field.in_content))
    own_words = _USERS_OWN_WORDS.search(explained)
    return own_words[1].strip() if own_words else explained
