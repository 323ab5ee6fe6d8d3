"""What a tool is: a name, a description for models, parameters, and a function."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ricordo.errors import InvalidValue, RicordoError
from ricordo.frozen import dataclass, replace
from ricordo.model import checks
from ricordo.model.fields import Parameter, by_alias
from ricordo.model.item import Theme
from ricordo.operations.operation import Operation
from ricordo.prompt.fence import STANDARD_GUIDE, guide
from ricordo.user_memory import UserMemory

Arguments = dict[str, Any]
Answer = dict[str, Any]
Run = Callable[[UserMemory, Arguments], Answer]

_EMPTY: Final[tuple[object, ...]] = ("", [])
_HEADING: Final = "## Memory\nYou have a long-term memory of this user, kept by tools.\n"
_QUERY: Final = """\
- memory_query asks one question and gets a few bullets. Ask once, when the task depends on what \
is known of the user; not at every turn."""
_HONEST: Final = "- Say when you are not sure. Do not invent memories."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model can call.

    ``reads_only``: it changes nothing. ``destructive``: it takes something away from what is
    recalled. ``idempotent``: calling it twice with the same arguments is as good as once.
    """

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    run: Run

    def input_schema(self) -> dict[str, Any]:
        """What the arguments look like, as JSON schema."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.name: one.kind.for_models() for one in self.parameters},
            "additionalProperties": False,
        }
        required = [one.name for one in self.parameters if one.is_required]
        return {**schema, "required": required} if required else schema

    def accepted(self, given: Mapping[str, Any]) -> Arguments:
        """The arguments that were given. The library checks their values.

        Null is as good as nothing and, where nothing need be given, so are an empty text and an
        empty list: many models fill in every argument that there is.

        Raises:
            UnknownField: there is no such argument; it is never ignored.
            InvalidValue: one is missing that must be there.
        """
        spelt = by_alias(self.parameters)
        named = {spelt.get(name, name): value for name, value in given.items()}
        if len(named) < len(given):
            twice = next(name for name in given if name in spelt)
            raise InvalidValue(twice, f"is given twice (also as {spelt[twice]!r})")
        checks.known_fields("argument", named, [one.name for one in self.parameters])
        arguments: Arguments = {}
        for one in self.parameters:
            value = named.get(one.name)
            if value is not None and (one.is_required or value not in _EMPTY):
                arguments[one.name] = value
            elif one.is_required:
                raise InvalidValue(one.name, "is missing")
        return arguments


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to. ``error`` is why it failed; then ``value`` tells a model so."""

    value: Answer
    error: RicordoError | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return self.error is not None

    @property
    def text(self) -> str:
        """The answer as compact JSON, which is what a model is given."""
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"))


def takes(operation: Operation[..., Any], *names: str, **about: str) -> tuple[Parameter, ...]:
    """Parameters of an operation, under these names; ``about`` says to models what help for people
    does not."""
    found = []
    for name in names:
        one = operation.parameter(name)
        assert one is not None, name
        kind = replace(one.kind, about=about[name]) if name in about else one.kind
        found.append(replace(one, name=name, kind=kind))
    return tuple(found)


def openai_chat(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The ``tools`` of OpenAI's chat completions, and of compatible APIs."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema(),
            },
        }
        for tool in tools
    ]


def openai_responses(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The ``tools`` of OpenAI's Responses."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema(),
            "strict": False,  # strict mode has no optional arguments
        }
        for tool in tools
    ]


def anthropic(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The ``tools`` of Anthropic's messages."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema()}
        for tool in tools
    ]


FORMS: Final[Mapping[str, Callable[[Iterable[Tool]], list[dict[str, Any]]]]] = {
    "openai": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
}
"""By their names on the command line and over HTTP."""


_SINGLE: Final = """\
- memory with action "search" before answering anything that earlier conversations may settle; \
"*" gives the newest.
- action "save" keeps what will matter later: one fact, wish or instruction at a time; with a key \
it replaces what had that key; expires_days for what holds only for a while.
- action "forget" only when the user asks or something is clearly wrong."""
_PROFILE: Final = """\
- memory_search before answering anything that earlier conversations may settle.
- memory_store keeps one thing under a short name, and replaces what had that name.
- update_user_profile for what every conversation should begin with: name, city, language, tone. \
What is sensitive waits for consent; do not treat it as known before.
- memory_forget only when the user asks or something is clearly wrong."""
_GUIDE_OF: Final = {"single": _SINGLE, "query": _QUERY, "profile": _PROFILE}


def guide_for(sets: Sequence[str], themes: Iterable[Theme]) -> str:
    """The guide to the tools of some sets, with the user's themes; never content of memories."""
    known = tuple(themes)
    if tuple(sets) == ("standard",):
        return guide(known)
    parts = [_GUIDE_OF[name] for name in sets if name in _GUIDE_OF]
    head = STANDARD_GUIDE if "standard" in sets else f"{_HEADING}{parts.pop(0)}\n{_HONEST}"
    more = "memory_list_themes" if "standard" in sets else None
    return guide(known, "\n".join([head, *parts]), more)
