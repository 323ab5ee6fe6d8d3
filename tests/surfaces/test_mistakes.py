"""Every mistake, generated from the descriptions: the same sentence on every surface."""

import asyncio
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
import pytest

from ricordo import Memory, Tools, UserMemory
from ricordo.cli.app import COMMANDS
from ricordo.cli.commands import by_words
from ricordo.cli.derived import OptionsOf
from ricordo.errors import InvalidInput
from ricordo.model import fields
from ricordo.operations.operation import USER_OPERATIONS, Operation, Route
from ricordo.tools import TOOL_SETS, Tool
from tests.mcp.legs import in_process, value_of
from tests.support.commandline import ricordo
from tests.support.service import running

pytestmark = pytest.mark.requirement("surfaces.same-mistakes")

_PATH = re.compile(r"\{(\w+)(?::\w+)?\}")


class Mistake(NamedTuple):
    operation: str
    wrong: str
    given: dict[str, Any]


def wrong_values(kind: fields.Kind) -> Iterator[Any]:
    """Values of the wrong type, too small, too large or not in the list."""
    match kind:
        case fields.Integer(low=low, high=high) | fields.Number(low=low, high=high):
            yield from ("x", low - 1, high + 1)
        case fields.Flag():
            yield from ("maybe", 1)
        case fields.Choice() | fields.OneOf() | fields.Day() | fields.Moment():
            yield from ("nonsense", 7)
        case fields.Several(each=each):
            yield from ([], [one for one in wrong_values(each) if isinstance(one, str)][:1])
        case fields.Text(maximum=maximum):
            yield from (7, "x" * (maximum + 1))
        case fields.Reference():
            yield from (7, " x", "x" * 1_000)
        case fields.Theme():
            yield from (7, "x" * 1_000)
        case fields.Question() | fields.Folded():
            yield 7
        case fields.Tags():
            yield from ("x", [7])
        case fields.Listed():
            yield from ("x", 7)


def right_value(one: fields.Parameter) -> Any:
    """A value that is allowed, for what must be given."""
    kind = one.kind
    if isinstance(kind, fields.Listed):
        each = kind.each
        value = {"role": "user", "content": "x"} if one.name == "messages" else "x"
        return [1, 2] if isinstance(each, fields.Integer) else [value]
    if isinstance(kind, fields.Integer):
        return kind.low
    return {"city": "Bern"} if one.name == "fields" else "x"


def required(operation: Operation[..., Any]) -> dict[str, Any]:
    return {name: right_value(one) for name, one in operation.parameters.items() if one.is_required}


def mistakes() -> Iterator[Mistake]:
    for name, operation in USER_OPERATIONS.items():
        base = required(operation)
        yield Mistake(name, "unknown", {**base, "colour": "red"})
        for missing in base:
            yield Mistake(name, missing, {key: base[key] for key in base if key != missing})
        for wrong, one in operation.parameters.items():
            for value in wrong_values(one.kind):
                yield Mistake(name, wrong, {**base, wrong: value})


MISTAKES = [one for one in mistakes() if USER_OPERATIONS[one.operation].routes]


def sentence(user: UserMemory, mistake: Mistake) -> str:
    with pytest.raises(InvalidInput) as refused:
        getattr(user, mistake.operation)(**mistake.given)
    return str(refused.value)


def over_http(client: httpx2.Client, route: Route, given: dict[str, Any]) -> str | None:
    """What the service answers; None where a path or a query string cannot say it."""
    rest = dict(given)
    named = _PATH.findall(route.path)
    if any(name not in rest for name in named):
        return None
    path = _PATH.sub(lambda found: quote(str(rest.pop(found[1])), safe=""), route.path)
    if route.method in ("GET", "DELETE"):
        if any(value == [] or isinstance(value, bool) for value in rest.values()):
            return None
        answered = client.request(route.method, path, params=rest)
    else:
        answered = client.request(route.method, path, json=rest)
    return str(answered.json()["detail"])


def _says_the_same(route: Route, mistake: Mistake) -> bool:
    """A path and a query string have only text: 7 is a good text there."""
    in_text = route.method in ("GET", "DELETE") or mistake.wrong in _PATH.findall(route.path)
    value = mistake.given.get(mistake.wrong)
    return not in_text or (isinstance(value, str) and value == value.strip() and "/" not in value)


def test_python_and_http(store: Memory, ana: UserMemory) -> None:
    compared = 0
    with running(store) as service:
        client = service.client("ana")
        for mistake in MISTAKES:
            expected = sentence(ana, mistake)
            for route in USER_OPERATIONS[mistake.operation].routes:
                if mistake.wrong != "unknown" and not _says_the_same(route, mistake):
                    continue
                told = over_http(client, route, mistake.given)
                if told is not None:
                    assert told == expected, (route, mistake.wrong)
                    compared += 1
    assert compared > 300


TOOL_OF = {
    "memory_search": "search",
    "memory_add": "add",
    "memory_get": "get",
    "memory_archive": "archive",
    "memory_query": "query",
}


def tool_mistakes() -> Iterator[tuple[Tool, Mistake]]:
    tools = {tool.name: tool for tools in TOOL_SETS.values() for tool in tools}
    for name, operation in TOOL_OF.items():
        taken = {one.name: one for one in tools[name].parameters}
        described = USER_OPERATIONS[operation]
        base = {name: value for name, value in required(described).items() if name in taken}
        for wrong, one in taken.items():
            called = described.parameter(wrong)
            if called is None or isinstance(one.kind, fields.OneOf):
                continue
            for value in wrong_values(one.kind):
                if value != []:  # models fill in every argument that there is
                    yield tools[name], Mistake(operation, wrong, {**base, wrong: value})


def test_python_tools_and_mcp(ana: UserMemory) -> None:
    found = list(tool_mistakes())
    tools = Tools(ana, *TOOL_SETS)

    async def over_mcp() -> list[str]:
        async with in_process(ana, *TOOL_SETS) as client:
            calls = [await client.call_tool(tool.name, one.given) for tool, one in found]
        return [value_of(call)["error"]["message"] for call in calls]

    for (tool, mistake), told in zip(found, asyncio.run(over_mcp()), strict=True):
        expected = sentence(ana, mistake)
        assert tools.run(tool.name, mistake.given).value["error"]["message"] == expected
        assert told == expected
    assert len(found) > 30


def test_every_operation_is_a_method() -> None:
    for name, operation in USER_OPERATIONS.items():
        method = getattr(UserMemory, name)
        assert method.operation is operation
        assert list(inspect.signature(method).parameters)[1:] == list(
            operation.signature.parameters
        )


_ALSO: dict[str, list[str]] = {
    "add": ["x"],
    "embeddings set": ["--provider", "local"],
    "merge": ["--into", "x"],
    "profile set": ["city=Bern"],
    "profile unset": ["city"],
}
"""What a command needs beside the options of its operation."""
_OWN_SENTENCE = {"chat", "checkpoint save", "context", "observe"}
"""They read files or standard input first."""


def command_mistakes() -> Iterator[tuple[str, list[str], Mistake]]:
    """Mistakes that can be typed, for every command with the options of a user's operation."""
    for words, command in by_words(COMMANDS).items():
        options = next(
            (one for one in (command.__kwdefaults__ or {}).values() if isinstance(one, OptionsOf)),
            None,
        )
        if words in _OWN_SENTENCE or options is None:
            continue
        operation = options.operation
        if USER_OPERATIONS.get(operation.name) is not operation:
            continue
        offered = {one.name: declared_option(one) for one in options.parameters()}
        base = {name: value for name, value in required(operation).items() if name in offered}
        for wrong, option in offered.items():
            kind = operation.parameters[wrong].kind
            is_number = isinstance(kind, fields.Integer | fields.Number)
            for value in wrong_values(kind):
                if option is None or kind.takes_several:
                    continue
                if not (isinstance(value, str) or is_number):
                    continue
                placed = [
                    str(one)
                    for name in base
                    if name != wrong and offered[name] is None
                    for one in listed(base[name])
                ]
                typed = [*placed, *_ALSO.get(words, []), f"{option}={value}"]
                yield words, typed, Mistake(operation.name, wrong, {**base, wrong: value})


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def declared_option(parameter: inspect.Parameter) -> str | None:
    """The first spelling of an option that takes a value."""
    declared = parameter.annotation.__metadata__[0]
    spellings = [declared.default, *(declared.param_decls or ())]  # typer takes the first apart
    takes_value = parameter.annotation.__origin__ not in (bool, bool | None)
    named = (one for one in spellings if isinstance(one, str) and one.startswith("--"))
    return next(named, None) if takes_value else None


def test_python_and_commands(store: Memory, ana: UserMemory, backend_url: str) -> None:
    compared = 0
    for words, typed, mistake in command_mistakes():
        complete = {**required(USER_OPERATIONS[mistake.operation]), **mistake.given}
        expected = sentence(ana, mistake._replace(given=complete))
        ran = ricordo(*words.split(), *typed, "--db", backend_url, "-u", "ana", "--json")
        assert ran.code == 2, (words, typed)
        assert ran.error["message"] == expected, (words, typed)
        compared += 1
    assert compared > 80
