"""Memory tools: their schemas for a model, and calls of them."""

from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routing import QueryParameters, RequestBody, router_for, showing
from ricordo.model.vocabulary import SchemaForm
from ricordo.tools import TOOL_SETS, Tools
from ricordo.tools.answers import is_mistake
from ricordo.tools.sets import DEFAULT_SET, named_sets
from ricordo.tools.tool import FORMS

router = router_for("Tools", "/v1/tools")


class ToolsRequest(QueryParameters):
    """Which tools, in which form."""

    sets: str = Field(
        default=DEFAULT_SET,
        description=f"The sets of tools, with commas: {', '.join(TOOL_SETS)}.",
        examples=["standard,profile"],
    )
    form: SchemaForm = Field(default=SchemaForm.OPENAI, description="For whose interface.")


class CallRequest(RequestBody):
    """What a model wants to have done."""

    arguments: dict[str, Any] | str | None = Field(
        default=None,
        description="The arguments, as an object or as the JSON text that the model wrote.",
        examples=[{"query": "what does she drink"}],
    )
    sets: list[str] | None = Field(
        default=None,
        max_length=len(TOOL_SETS),
        description="The sets that the model was offered; a tool of another one does not exist for"
        " it. Default: all.",
        examples=[["standard"]],
    )


class OfferedTools(BaseModel):
    """The tools as a model is told of them, and how it should use them."""

    tools: list[dict[str, Any]]
    guide: str


class ToolAnswer(BaseModel):
    """What to tell the model; where ``is_error`` is true, that it has made a mistake."""

    result: dict[str, Any]
    is_error: bool


@router.get(
    "", response_model=OfferedTools, responses=showing({"tools": [], "guide": "## Memory …"})
)
def list_tools(query: Annotated[ToolsRequest, Query()], user: Acting) -> Response:
    """List the tools of some sets, as a model is told of them, with a guide for its prompt."""
    tools = Tools(user, *named_sets(query.sets))
    return answer({"tools": tuple(FORMS[query.form](tools.tools)), "guide": tools.guide()})


@router.post(
    "/{name}",
    response_model=ToolAnswer,
    responses=showing({"result": {"results": []}, "is_error": False}),
)
def call_tool(
    name: Annotated[
        str,
        Path(
            max_length=limits.MAX_REFERENCE_CHARS,
            description="The tool.",
            examples=["memory_search"],
        ),
    ],
    body: CallRequest,
    user: Acting,
) -> Response:
    """Call a tool with what a model wrote.

    A mistake of the model is an answer for it, with status 200 and `is_error`; a fault of the
    service is a problem, as everywhere.
    """
    tools = Tools(user, *(TOOL_SETS if body.sets is None else body.sets))
    result = tools.run(name, body.arguments)
    if result.error is not None and not is_mistake(result.error):
        raise result.error
    return answer({"result": result.value, "is_error": result.is_error})
