"""MCP resources (themes, memories, MEMORY.md, the change feed) and the prompt.

Results are what the protocol says: the same in all versions of its library.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from ricordo.errors import NotFound
from ricordo.files.mirror_source import stored_memories
from ricordo.files.mirror_text import TITLE, ShownMemory, body
from ricordo.limits import MAX_MCP_TEXT_BYTES, MAX_MESSAGE_CHARS
from ricordo.mcp.session import Binding, cursor_of, only_page
from ricordo.model import checks
from ricordo.model.checks import format_moment
from ricordo.model.context import RecalledMemory
from ricordo.model.item import Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.record import plain
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.fence import DATA_NOTE, fenced, one_line, suggestion_to_ask
from ricordo.recall.search import question_in
from ricordo.text.secrets import without_secrets
from ricordo.tools import Tools
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import check_all_projects, check_whole

_LINE_BYTES: Final = 100  # of MEMORY.md beside a text: its number, and its heading
SCHEME: Final = "ricordo://"
_JSON: Final = "application/json"
_MARKDOWN: Final = "text/markdown"
_MAX_TITLE_CHARS: Final = 80
_MAX_SHOWN_URI_CHARS: Final = 200
GUIDE: Final = "memory_guide"
MESSAGE: Final = "message"
_MAX_SHOWN_NAME_CHARS: Final = 100


def themes(user: UserMemory) -> str:
    return _json({"themes": plain(user.themes())})


def memory(user: UserMemory, number: int) -> str:
    """A memory as JSON. Raises MemoryNotFound: there is none for this user; InvalidValue: no memory
    can have this number."""
    item = user.get(number)
    owner = other_owner(item.user_id, user.scope.user_id)
    return _json({**item.to_dict(), "content": attributed(item.content, owner, item.type)})


def changes(user: UserMemory, since: int = 0) -> str:
    """The changes after a revision as JSON; ``next`` is the URI to go on from. Raises
    PermissionMissing: the caller may see only some categories."""
    found = user.changes(since)
    listed: list[object] = []
    size = 0
    for change in found:
        one = plain(change)
        size += len(_json(one).encode())
        if listed and size > MAX_MCP_TEXT_BYTES:
            break
        listed.append(one)
    reached = found.changes[len(listed) - 1].revision if listed else since
    return _json(
        {
            "changes": listed,
            "revision": found.revision,
            "more": found.more or len(listed) < len(found),
            "next": f"ricordo://changes?since={reached}",
        }
    )


def memory_file(user: UserMemory) -> str:
    """MEMORY.md as the mirror writes it, without the marks for editing. Raises PermissionMissing:
    the caller may see only some categories, or one project."""
    check_whole(user.scope, "memory.md")
    check_all_projects(user.scope, "memory.md")
    stored = stored_memories(user.database, user.scope.user_id)
    shown: list[ShownMemory] = []
    size = 0
    for one in stored.shown.values():  # the newest first
        size += len(one.text.encode()) + _LINE_BYTES
        if size > MAX_MCP_TEXT_BYTES:
            break
        shown.append(one)
    hidden = stored.hidden + len(stored.shown) - len(shown)
    note = f"\nNot shown here: {hidden} more, the oldest.\n" if hidden else ""
    return f"{TITLE}\n{note}{without_secrets(body(shown, []))}"


def _json(value: Any) -> str:
    return json.dumps(_without_secrets(value), ensure_ascii=False, separators=(",", ":"))


def _without_secrets(value: Any) -> Any:
    """The value without secrets: resources are read by models."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {name: _without_secrets(one) for name, one in value.items()}
    return [_without_secrets(one) for one in value] if isinstance(value, list | tuple) else value


_THEMES: Final = {
    "uri": f"{SCHEME}themes",
    "name": "themes",
    "title": "Themes",
    "description": "The headings that memories are filed under, with how many there are.",
    "mimeType": _JSON,
}
_WHOLE: Final = (
    {
        "uri": f"{SCHEME}memory.md",
        "name": "memory.md",
        "title": "MEMORY.md",
        "description": "What is remembered, the newest memories as far as they fit, by theme.",
        "mimeType": _MARKDOWN,
    },
    {
        "uri": f"{SCHEME}changes",
        "name": "changes",
        "title": "Changes",
        "description": "What happened to memories, oldest first, and where to go on reading.",
        "mimeType": _JSON,
    },
)
"""About all of a user's memory, so not for agents restricted to categories; the first one is not
for a scope of one project either."""
_A_MEMORY: Final = {
    "uriTemplate": f"{SCHEME}memories/{{id}}",
    "name": "memory",
    "title": "A memory",
    "description": "One memory by its number, with everything that is known of it.",
    "mimeType": _JSON,
}
_CHANGES_SINCE: Final = {
    "uriTemplate": f"{SCHEME}changes{{?since}}",
    "name": "changes-since",
    "title": "Changes since",
    "description": "What happened to memories after a revision of the change feed.",
    "mimeType": _JSON,
}
_READERS: Final[tuple[tuple[re.Pattern[str], str, Callable[..., str]], ...]] = (
    (re.compile(r"themes"), _JSON, themes),
    (re.compile(r"memory\.md"), _MARKDOWN, memory_file),
    (re.compile(r"changes(?:\?since=([0-9]{1,19}))?"), _JSON, changes),
    (re.compile(r"memories/([0-9]{1,19})"), _JSON, memory),
)
"""By what follows the scheme; groups are passed to the reader as numbers."""


def list_resources(bound: Binding, params: Any) -> dict[str, Any]:
    """The fixed resources, then memories, newest first, page by page. Raises InvalidCursor: not a
    cursor of this list."""
    cursor = cursor_of(params)
    page = bound.user.list(cursor=cursor)
    scope = bound.user.scope
    whole = () if scope.is_confined else _WHOLE if scope.project_id is None else _WHOLE[1:]
    fixed = (_THEMES, *whole) if cursor is None else ()
    return {
        "resources": [*fixed, *(_listed(item, bound.user.scope.user_id) for item in page.items)],
        "nextCursor": page.next_cursor,
    }


def list_templates(bound: Binding, params: Any) -> dict[str, Any]:
    """The resources addressed by a number. Raises InvalidCursor: there is only one page."""
    only_page(params)
    is_whole = bound.user.scope.categories is None
    return {"resourceTemplates": [_A_MEMORY, *([_CHANGES_SINCE] if is_whole else [])]}


def read_resource(bound: Binding, params: Any) -> dict[str, Any]:
    """The text of a resource.

    Raises:
        NotFound: there is no such resource; another user's memory answers the same.
        PermissionMissing: the caller may see only some categories.
        InvalidValue: the number is out of range.
    """
    uri = str(params.uri)
    address = uri.removeprefix(SCHEME)
    for pattern, kind, reader in _READERS:
        found = pattern.fullmatch(address)
        if found is not None and uri.startswith(SCHEME):
            numbers = [int(number) for number in found.groups() if number is not None]
            text = reader(bound.user, *numbers)
            return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}
    raise NotFound(
        f"no resource {uri[:_MAX_SHOWN_URI_CHARS]!r}; there are {SCHEME}themes,"
        f" {SCHEME}memory.md, {SCHEME}changes?since=N and {SCHEME}memories/N"
    )


def _listed(item: Item, viewer: str) -> dict[str, Any]:
    owner = other_owner(item.user_id, viewer)
    said = one_line(attributed(item.content, owner, item.type))
    title = said if len(said) <= _MAX_TITLE_CHARS else f"{said[: _MAX_TITLE_CHARS - 1]}…"
    return {
        "uri": f"{SCHEME}memories/{item.id}",
        "name": f"memory {item.id}",
        "title": title,
        "description": f"{item.type.value} of theme {item.theme}",
        "mimeType": _JSON,
        "annotations": {"lastModified": format_moment(item.updated_at)},
    }


_PROMPT: Final = {
    "name": GUIDE,
    "title": "Memory guide",
    "description": "How to use the memory tools, with the themes there are. With a message, also"
    " what is remembered that matters to it.",
    "arguments": [
        {
            "name": MESSAGE,
            "title": "Message",
            "description": "What the user says or wants; memories that matter to it are added.",
            "required": False,
        }
    ],
}


def list_prompts(_bound: Binding, params: Any) -> dict[str, Any]:
    """The one prompt. Raises InvalidCursor: there is only one page."""
    only_page(params)
    return {"prompts": [_PROMPT]}


def get_prompt(bound: Binding, params: Any) -> dict[str, Any]:
    """The guide, with recalled memories where there is a message.

    Raises:
        NotFound: there is no such prompt.
        UnknownField: there is no such argument.
        InvalidValue: the message is too long.
    """
    if params.name != GUIDE:
        shown = params.name[:_MAX_SHOWN_NAME_CHARS]
        raise NotFound(f"no prompt {shown!r}; there is {GUIDE}")
    given = params.arguments or {}
    checks.known_fields(f"argument of {GUIDE}", given, {MESSAGE})
    tools = Tools(bound.user, *bound.sets)
    message = checks.optional_text(MESSAGE, given.get(MESSAGE), MAX_MESSAGE_CHARS)
    texts = [tools.guide()]
    if message is not None:
        texts = [_with_recalled(tools, bound.user, message), message]
    return {
        "description": _PROMPT["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}} for text in texts],
    }


def _with_recalled(tools: Tools, user: UserMemory, message: str) -> str:
    """The guide and the recalled memories, between markers that nothing inside can close."""
    # The message has no budget to fit into here.
    question = question_in(message)
    built = user.context(
        question, modes=ContextMode.RECALL, history=False, persona=False, user_file=False
    )
    can_ask = built.suggests_query and any(theme.active_count for theme in user.themes())
    suggestion = suggestion_to_ask(tools.names) if can_ask else ""
    recalled = [DATA_NOTE, fenced(map(_line, built.memories))] if built.memories else []
    return "\n\n".join(part for part in (tools.guide(), suggestion, *recalled) if part)


def _line(one: RecalledMemory) -> str:
    said = attributed(one.text, one.owner_id, one.type)
    return f"- [{one.id}] {one.since:%Y-%m-%d}, {one_line(one.theme)}: {one_line(said)}"
