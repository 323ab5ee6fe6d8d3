"""The tools of the sets that are offered, and calls of them."""

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from ricordo import tools
from ricordo.mcp.binding import Binding
from ricordo.mcp.paging import only_page
from ricordo.observing.current import note_error


def list_tools(bound: Binding, asked: PaginatedRequestParams | None) -> ListToolsResult:
    """Every tool of the sets.

    Raises:
        InvalidCursor: there is only one page.
    """
    only_page(asked)
    return ListToolsResult(tools=[as_mcp(tool) for tool in tools.chosen(*bound.sets)])


def as_mcp(tool: tools.Tool) -> Tool:
    """A tool as the protocol tells it."""
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,  # a memory is a world of its own
        ),
    )


def call_tool(bound: Binding, asked: CallToolRequestParams) -> CallToolResult:
    """What a call comes to. One that fails is a result, too: the model is told what to do."""
    result = tools.Tools(bound.user, *bound.sets).run(asked.name, asked.arguments)
    if result.error is not None:
        note_error(result.error)
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=result.value,
        is_error=result.is_error,
    )
