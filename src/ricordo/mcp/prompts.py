"""The prompt: how to use the tools and, for a message, what is remembered that matters to it."""

from typing import Final

from mcp_types import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from ricordo.errors import NotFound
from ricordo.limits import MAX_MESSAGE_CHARS
from ricordo.mcp.binding import Binding
from ricordo.mcp.paging import only_page
from ricordo.model import checks
from ricordo.model.context import RecalledMemory
from ricordo.model.proposal import attributed
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.fence import DATA_NOTE, fenced, one_line
from ricordo.recall.words import question_in
from ricordo.tools import Tools
from ricordo.user_memory import UserMemory

GUIDE: Final = "memory_guide"
MESSAGE: Final = "message"
_MAX_SHOWN_NAME_CHARS: Final = 100
_PROMPT: Final = Prompt(
    name=GUIDE,
    title="Memory guide",
    description="How to use the memory tools, with the themes there are. With a message, also what"
    " is remembered that matters to it.",
    arguments=[
        PromptArgument(
            name=MESSAGE,
            title="Message",
            description="What the user says or wants; memories that matter to it are added.",
            required=False,
        )
    ],
)


def list_prompts(_bound: Binding, asked: PaginatedRequestParams | None) -> ListPromptsResult:
    """The one prompt.

    Raises:
        InvalidCursor: there is only one page.
    """
    only_page(asked)
    return ListPromptsResult(prompts=[_PROMPT])


def get_prompt(bound: Binding, asked: GetPromptRequestParams) -> GetPromptResult:
    """The guide, with what is recalled for a message where there is one.

    Raises:
        NotFound: there is no such prompt.
        UnknownField: an argument that it does not have.
        InvalidValue: a message that is too long.
    """
    if asked.name != GUIDE:
        shown = asked.name[:_MAX_SHOWN_NAME_CHARS]
        raise NotFound(f"no prompt {shown!r}; there is {GUIDE}")
    given = asked.arguments or {}
    checks.known_fields(f"argument of {GUIDE}", given, {MESSAGE})
    guide = Tools(bound.user, *bound.sets).guide()
    message = checks.optional_text(MESSAGE, given.get(MESSAGE), MAX_MESSAGE_CHARS)
    texts = [guide] if message is None else [_with_recalled(guide, bound.user, message), message]
    return GetPromptResult(
        description=_PROMPT.description,
        messages=[
            PromptMessage(role="user", content=TextContent(type="text", text=text))
            for text in texts
        ],
    )


def _with_recalled(guide: str, user: UserMemory, message: str) -> str:
    """The guide and, between markers that nothing inside can close, what matters to a message."""
    # No request is built here whose budget the message would have to fit into.
    asked = question_in(message)
    recalled = user.context(asked, modes=ContextMode.RECALL, history=False).memories
    if not recalled:
        return guide
    return "\n\n".join([guide, DATA_NOTE, fenced(map(_line, recalled))])


def _line(one: RecalledMemory) -> str:
    said = attributed(one.text, one.owner_id, one.type)
    return f"- [{one.id}] {one.since:%Y-%m-%d}, {one_line(one.theme)}: {one_line(said)}"
