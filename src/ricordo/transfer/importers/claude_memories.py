"""What Claude remembers, as its data export has it: a few Markdown texts in JSON.

``conversations_memory`` is about the user, ``project_memories`` has a text for each project, and
``memory_files`` has those that Claude keeps by topic. Every bullet and paragraph is a memory.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from ricordo import limits
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer.importers import cleaning, shapes
from ricordo.transfer.importers.blocks import Kind, blocks
from ricordo.transfer.importers.shapes import JsonObject
from ricordo.transfer.importers.skipping import in_batches, is_kept
from ricordo.transfer.merging import Findings

_THEME: Final = "claude"
_FIELDS: Final = ("conversations_memory", "project_memories", "memory_files", "account_uuid")


class _Text(NamedTuple):
    """One Markdown text, where it was found and how old it is."""

    markdown: str
    origin: str | None
    at: datetime | None


def holds_memories(data: object) -> bool:
    """True for JSON with what Claude remembers: one account, or a list of them."""
    account = data if isinstance(data, dict) else shapes.first_object(data)
    return any(name in account for name in _FIELDS)


def read_memories(place: str, data: object) -> Iterator[Findings]:
    """What Claude remembers, text by text.

    Raises:
        ImportFailed: an account, or one of its parts, is not what it should be.
    """
    accounts = [data] if isinstance(data, dict) else shapes.listed(place, data)
    for number, account in enumerate(accounts, start=1):
        where = f"{place}, account {number}"
        for text in _texts(where, shapes.an_object(where, account)):
            yield from in_batches(_kept(text))


def _texts(place: str, account: JsonObject) -> Iterator[_Text]:
    where = f"{place}, 'conversations_memory'"
    yield _Text(shapes.a_text(where, account.get("conversations_memory") or ""), None, None)
    where = f"{place}, 'project_memories'"
    for project, text in shapes.an_object(where, account.get("project_memories") or {}).items():
        yield _Text(shapes.a_text(where, text), f"project {project}", None)
    where = f"{place}, 'memory_files'"
    for entry in shapes.a_list(where, account.get("memory_files") or []):
        file = shapes.an_object(where, entry)
        at = cleaning.moment(file.get("updated_at"))
        text = shapes.a_text(where, file.get("content"))
        yield _Text(text, cleaning.title(file.get("path")), at)


def _kept(text: _Text) -> Iterator[Findings]:
    for block in blocks(cleaning.text(text.markdown)):
        found = Findings()
        if block.kind not in (Kind.BULLET, Kind.PARAGRAPH):
            found.skipped[block.kind.value] += 1
        elif is_kept(found, block.text, limits.MAX_CONTENT_CHARS):
            context = cleaning.title(": ".join(filter(None, (text.origin, block.heading))))
            found.memories.append(
                NewMemory(
                    content=block.text,
                    type=MemoryType.FACT,
                    theme=_THEME,
                    source=Source.IMPORT,
                    source_context=context,
                    created_at=text.at,
                )
            )
        yield found
