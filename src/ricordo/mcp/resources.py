"""What can be read without a tool: themes, memories, MEMORY.md and the change feed."""

import re
from collections.abc import Callable
from typing import Final

from mcp_types import (
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from ricordo.errors import NotFound
from ricordo.mcp import resource_texts
from ricordo.mcp.binding import Binding
from ricordo.mcp.paging import cursor_of, only_page
from ricordo.model.checks import format_moment
from ricordo.model.item import Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.prompt.fence import one_line
from ricordo.user_memory import UserMemory

SCHEME: Final = "ricordo://"
_JSON: Final = "application/json"
_MARKDOWN: Final = "text/markdown"
_MAX_TITLE_CHARS: Final = 80
_MAX_SHOWN_URI_CHARS: Final = 200

_THEMES: Final = Resource(
    uri=f"{SCHEME}themes",
    name="themes",
    title="Themes",
    description="The headings that memories are filed under, with how many there are.",
    mime_type=_JSON,
)
_WHOLE: Final = (
    Resource(
        uri=f"{SCHEME}memory.md",
        name="memory.md",
        title="MEMORY.md",
        description="What is remembered, the newest memories as far as they fit, by theme.",
        mime_type=_MARKDOWN,
    ),
    Resource(
        uri=f"{SCHEME}changes",
        name="changes",
        title="Changes",
        description="What happened to memories, oldest first, and where to go on reading.",
        mime_type=_JSON,
    ),
)
"""About all of a user's memory, so that agents who are kept to categories have none of it."""
_A_MEMORY: Final = ResourceTemplate(
    uri_template=f"{SCHEME}memories/{{id}}",
    name="memory",
    title="A memory",
    description="One memory by its number, with everything that is known of it.",
    mime_type=_JSON,
)
_CHANGES_SINCE: Final = ResourceTemplate(
    uri_template=f"{SCHEME}changes{{?since}}",
    name="changes-since",
    title="Changes since",
    description="What happened to memories after a revision of the change feed.",
    mime_type=_JSON,
)
_READERS: Final[tuple[tuple[re.Pattern[str], str, Callable[..., str]], ...]] = (
    (re.compile(r"themes"), _JSON, resource_texts.themes),
    (re.compile(r"memory\.md"), _MARKDOWN, resource_texts.memory_file),
    (re.compile(r"changes(?:\?since=([0-9]{1,19}))?"), _JSON, resource_texts.changes),
    (re.compile(r"memories/([0-9]{1,19})"), _JSON, resource_texts.memory),
)
"""By what follows the scheme; what is in brackets is given to the reader as a number."""


def list_resources(bound: Binding, asked: PaginatedRequestParams | None) -> ListResourcesResult:
    """What there is: the views on all of it, then memories, the newest first, page by page.

    Raises:
        InvalidCursor: not a cursor of this list.
    """
    cursor = cursor_of(asked)
    page = bound.user.list(cursor=cursor)
    fixed = _fixed(bound.user) if cursor is None else ()
    return ListResourcesResult(
        resources=[*fixed, *(_listed(item, bound.user.scope.user_id) for item in page.items)],
        next_cursor=page.next_cursor,
    )


def list_templates(
    bound: Binding, asked: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    """The resources that are found by a number.

    Raises:
        InvalidCursor: there is only one page.
    """
    only_page(asked)
    is_whole = bound.user.scope.categories is None
    return ListResourceTemplatesResult(
        resource_templates=[_A_MEMORY, *([_CHANGES_SINCE] if is_whole else [])]
    )


def read_resource(bound: Binding, asked: ReadResourceRequestParams) -> ReadResourceResult:
    """The text of a resource.

    Raises:
        NotFound: there is no such resource; another user's memory answers the same.
        PermissionMissing: it is about all of a memory of which the caller may see some.
        InvalidValue: a number that is none of a memory or a revision.
    """
    address = asked.uri.removeprefix(SCHEME)
    for pattern, kind, reader in _READERS:
        found = pattern.fullmatch(address)
        if found is not None and asked.uri.startswith(SCHEME):
            numbers = [int(number) for number in found.groups() if number is not None]
            text = reader(bound.user, *numbers)
            contents = TextResourceContents(uri=asked.uri, mime_type=kind, text=text)
            return ReadResourceResult(contents=[contents])
    raise NotFound(
        f"no resource {asked.uri[:_MAX_SHOWN_URI_CHARS]!r}; there are {SCHEME}themes,"
        f" {SCHEME}memory.md, {SCHEME}changes?since=N and {SCHEME}memories/N"
    )


def _fixed(user: UserMemory) -> tuple[Resource, ...]:
    return (_THEMES,) if user.scope.categories is not None else (_THEMES, *_WHOLE)


def _listed(item: Item, viewer: str) -> Resource:
    owner = other_owner(item.user_id, viewer)
    said = one_line(attributed(item.content, owner, item.type))
    title = said if len(said) <= _MAX_TITLE_CHARS else f"{said[: _MAX_TITLE_CHARS - 1]}…"
    return Resource(
        uri=f"{SCHEME}memories/{item.id}",
        name=f"memory {item.id}",
        title=title,
        description=f"{item.type.value} of theme {item.theme}",
        mime_type=_JSON,
        annotations=Annotations(last_modified=format_moment(item.updated_at)),
    )
