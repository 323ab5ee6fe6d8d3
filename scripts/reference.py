"""Write the pages of docs/reference from the code; with --check, only say whether they are true.

What stands in these pages is taken from where it is defined: signatures, docstrings, settings,
limits and the command line. To change a page, change the code and run this again.
"""

import enum
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import typer
from reference_json import SCHEMA_FILE, cli_json_page, cli_schema, tools_page
from reference_parts import page, table, text_of

import ricordo
from ricordo import errors, limits
from ricordo.cli.app import assemble, topics
from ricordo.cli.commands import Group
from ricordo.cli.errors import EXIT_CODES, INTERRUPTED, OK, UNEXPECTED, exit_code_of
from ricordo.coding_agents import rules
from ricordo.model import filters
from ricordo.settings import SETTINGS_FROM_FILES

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference"
LINE_CHARS: Final = 88
FACES: Final = ("Memory", "UserMemory", "Tools")
ASYNC_FACES: Final = ("AsyncMemory", "AsyncUserMemory", "AsyncTools")
SHARED_OPTIONS: Final = ("db", "home", "as_json")
USER_OPTIONS: Final = ("user", "of_everyone", "of_group")


def main() -> int:
    """Write or check every page; the exit code."""
    stale = [name for name, make in PAGES.items() if _content(name) != make()]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/reference/{name} is out of date: python scripts/reference.py")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


def _content(name: str) -> str | None:
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.exists() else None


ABOUT_BACKUPS = ("check_backup", "restore_backup")


# -- Python --------------------------------------------------------------------------------


def python_page() -> str:
    """Every public name, except the errors, which have a page of their own."""
    public = {name: getattr(ricordo, name) for name in ricordo.__all__}
    classes = {name: found for name, found in public.items() if inspect.isclass(found)}
    values = {name: found for name, found in classes.items() if is_dataclass(found)}
    words = {name: found for name, found in classes.items() if issubclass(found, enum.Enum)}
    failures = [name for name, found in classes.items() if issubclass(found, Exception)]
    return page(
        "Python",
        "Everything below is imported from `ricordo`; nothing else is public."
        " Times may be given as an aware `datetime`, a `date`, or ISO 8601 text"
        " (without an offset: UTC).",
        "## Opening a store",
        *(part for name in ("open", "open_async") for part in _callable(name, public[name])),
        "### `__version__`",
        "The version of the package, as text.",
        *(part for name in FACES for part in _face(name, classes[name])),
        *(part for name in ASYNC_FACES for part in _async_face(name, classes[name])),
        "## `Settings`",
        text_of(classes["Settings"].__doc__),
        "The fields are on [their own page](settings.md).",
        "## Backups",
        "`Memory.backup` makes one; these need no open store.",
        *(part for name in ABOUT_BACKUPS for part in _callable(name, public[name])),
        "## Values",
        "What the methods take and return. They are frozen dataclasses.",
        *(part for name, found in values.items() for part in _value(name, found)),
        "## Vocabularies",
        "Enumerations of text: wherever one is taken, its text is taken too.",
        *(part for name, found in words.items() for part in _vocabulary(name, found)),
        "## Errors",
        f"[Explained here](errors.md): {', '.join(f'`{name}`' for name in sorted(failures))}.",
    )


def _face(name: str, found: type) -> Iterator[str]:
    yield f"## `{name}`"
    yield text_of(found.__doc__)
    for method, function in _members(found):
        yield from _callable(f"{name}.{method}", function)


def _async_face(name: str, found: type) -> Iterator[str]:
    yield f"## `{name}`"
    yield text_of(found.__doc__)
    methods = dict(_members(found))
    awaited = [method for method, call in methods.items() if inspect.iscoroutinefunction(call)]
    direct = [method for method in methods if method not in awaited]
    yield f"To be awaited: {', '.join(f'`{method}`' for method in sorted(awaited))}."
    yield f"Answering at once: {', '.join(f'`{method}`' for method in sorted(direct))}."


def _value(name: str, found: type) -> Iterator[str]:
    yield f"### `{name}`"
    yield text_of(found.__doc__)
    rows = [[f"`{one.name}`", f"`{_type(one.type)}`", _default(one)] for one in fields(found)]
    yield table(["Field", "Type", "Default"], rows)
    methods = [
        f"- `{method}{_signature(function)}`: {text_of(function.__doc__).splitlines()[0]}"
        for method, function in _members(found)
    ]
    if methods:
        yield "\n".join(methods)


def _vocabulary(name: str, found: type[enum.Enum]) -> Iterator[str]:
    yield f"### `{name}`"
    yield text_of(found.__doc__)
    yield ", ".join(f"`{member.value}`" for member in found)


def _members(found: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    ours = [base for base in found.__mro__ if base.__module__.startswith("ricordo")]
    for base in ours:
        for name, member in vars(base).items():
            function = getattr(member, "__func__", member)
            is_its_own = inspect.getattr_static(found, name) is member
            if not name.startswith("_") and inspect.isfunction(function) and is_its_own:
                yield name, function


def _callable(name: str, function: Callable[..., Any]) -> Iterator[str]:
    shown = name if "." in name else f"ricordo.{name}"
    yield f"### `{shown}`"
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    yield f"```text\n{prefix}{name.rsplit('.', maxsplit=1)[-1]}{_signature(function)}\n```"
    yield text_of(function.__doc__)


def _signature(function: Callable[..., Any]) -> str:
    """The parameters in one line or, where that is too long, one on each."""
    signature = inspect.signature(function)
    given = list(signature.parameters.values())
    parts: list[str] = []
    for before, one in zip([None, *given], given, strict=False):
        keyword_only = one.kind is inspect.Parameter.KEYWORD_ONLY
        if keyword_only and (before is None or before.kind is not one.kind):
            parts.append("*")
        if one.name not in ("self", "cls"):
            parts.append(_parameter(one))
    returned = signature.return_annotation
    answer = "" if returned is inspect.Signature.empty else f" -> {_type(returned)}"
    line = f"({', '.join(parts)}){answer}"
    if len(line) <= LINE_CHARS:
        return line
    return "".join(["(\n", *(f"    {part},\n" for part in parts), f"){answer}"])


def _parameter(one: inspect.Parameter) -> str:
    stars = "**" if one.kind is inspect.Parameter.VAR_KEYWORD else ""
    text = f"{stars}{one.name}"
    if one.annotation is not inspect.Parameter.empty:
        text += f": {_type(one.annotation)}"
    if one.default is inspect.Parameter.empty:
        return text
    default = getattr(one.default, "__name__", None) or repr(one.default)
    return f"{text} = {default}"


def _type(annotation: Any) -> str:
    """A type as people write it: without the modules that its parts live in."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"~|(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def _default(one: Field[Any]) -> str:
    if one.default is not MISSING:
        return f"`{one.default!r}`"
    return "" if one.default_factory is MISSING else f"`{one.default_factory()!r}`"


# -- Command line --------------------------------------------------------------------------


def cli_page() -> str:
    """Every command with its arguments and options."""
    app: Any = typer.main.get_command(assemble())
    listed = app.commands["list"].params
    parts = [
        "Every command answers `-h` and `--help`. Errors go to standard error; the exit codes are"
        " [listed here](errors.md#exit-codes).",
        "## Options of `ricordo` itself",
        _option_table(app.params),
        "## Options of every command",
        _option_table(one for one in listed if one.name in SHARED_OPTIONS),
        "## Options of commands about one user",
        _option_table(one for one in listed if one.name in USER_OPTIONS),
    ]
    for topic, commands in topics().items():
        parts.append(f"## {topic}")
        for name, declared in commands.items():
            default = declared.default if isinstance(declared, Group) else None
            parts += _command(f"ricordo {name}", app.commands[name], default)
    return page("Command line", *parts)


def _command(path: str, command: Any, default: str | None = None) -> Iterator[str]:
    yield f"### `{path}`"
    yield text_of(command.help)
    if hasattr(command, "commands"):
        if default is not None:
            yield f"`{path}` by itself is `{path} {default}`."
        for name, inner in command.commands.items():
            yield from _command(f"{path} {name}", inner)
        return
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([path, *map(_argument, arguments), "[OPTIONS]"])
    yield f"```text\n{usage}\n```"
    if arguments:
        yield "\n".join(f"- `{one.metavar}`: {one.help}" for one in arguments)
    options = [one for one in command.params if one not in arguments]
    shared = (*SHARED_OPTIONS, *USER_OPTIONS)
    takes_store = any(one.name == "db" for one in options)
    left_out = shared if takes_store else ()
    own = [one for one in options if one.name not in left_out and not one.hidden]
    if own:
        yield _option_table(own)
    if not takes_store:
        return
    one_user = any(one.name == "of_everyone" for one in options)
    whose = " and [those about one user](#options-of-commands-about-one-user)" if one_user else ""
    yield f"And the options [of every command](#options-of-every-command){whose}."


def _argument(one: Any) -> str:
    several = "..." if one.nargs == -1 else ""
    return f"{one.metavar}{several}" if one.required else f"[{one.metavar}{several}]"


def _option_table(options: Iterable[Any]) -> str:
    rows = []
    for one in options:
        value = f" {one.metavar}" if one.metavar else ""
        names = [f"`{name}{value}`" for name in (*one.opts, *one.secondary_opts)]
        is_plain = one.default is None or one.default is False or one.default == ""
        default = "" if is_plain else f"`{one.default}`"
        notes = f" (environment: `{one.envvar}`)" if one.envvar else ""
        notes += " Required." if one.required else ""
        rows.append([", ".join(names), f"{one.help}{notes}", default])
    return table(["Option", "Meaning", "Default"], rows)


# -- Tables --------------------------------------------------------------------------------


def settings_page() -> str:
    """Every setting with its environment variable, default and range."""
    rows = [
        [
            f"`{name}`",
            f"`RICORDO_{name.upper()}`",
            _plain_type(schema),
            "" if schema["default"] is None else f"`{_as_typed(schema['default'])}`",
            schema["description"],
        ]
        for name, schema in ricordo.Settings.model_json_schema()["properties"].items()
    ]
    return page(
        "Settings",
        "Given to `ricordo.open` or `ricordo.open_async` by name, or as an environment variable."
        " What is given in the call wins over the environment, which wins over the default."
        " An unknown name in a call is refused; an empty environment variable counts as not set.",
        table(["Setting", "Environment", "Takes", "Default", "Meaning"], rows),
        "What may hold a secret ("
        + ", ".join(f"`{name}`" for name in sorted(SETTINGS_FROM_FILES))
        + ") may also be in a file, which the variable with `_FILE` at its end names, such as"
        " `RICORDO_URL_FILE=/run/secrets/url`.",
        "More variables are for the command line only: `RICORDO_USER` is the user where"
        " `--user` is not given, `RICORDO_GROUP` the group where `--group` is not, and"
        " `RICORDO_DEBUG=1` shows tracebacks and log messages.",
        "## Coding agents",
        "What hooks of [coding agents](../howto/coding-agents.md) capture and show says the file"
        " `agents.toml` in the home folder. `ricordo agents install` writes it where there is"
        " none, naming them all. A file that names anything else is refused: nothing is captured"
        " until it is put right.",
        table(["Name", "Default", "Meaning"], _agent_settings()),
    )


def _agent_settings() -> list[list[str]]:
    defaults = rules.AgentSettings()
    return [
        [f"`{name} =`", _of_agents(getattr(defaults, name)), about]
        for name, about in rules.SETTINGS.items()
    ]


def _of_agents(default: object) -> str:
    if default is None:
        return ""
    return f"`{json.dumps(list(default) if isinstance(default, tuple) else default)}`"


def _as_typed(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def _plain_type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    kinds = {
        "string": "text",
        "number": "number",
        "integer": "whole number",
        "boolean": "`true` or `false`",
    }
    kind = kinds[schema.get("type", "string")]
    if "maximum" not in schema:
        return kind
    least = schema.get("minimum")
    start = f"{least} to" if least is not None else f"above {schema['exclusiveMinimum']}, up to"
    return f"{kind}, {start} {schema['maximum']}"


def filters_page() -> str:
    """Every filter and every column that a list can be sorted by."""
    app: Any = typer.main.get_command(assemble())
    options = {one.name: one for one in app.commands["list"].params}
    types = {one.name: _type(one.type) for one in fields(filters.ItemFilter)}
    rows = []
    for name, one in filters.FILTERS.items():
        field = next(known for known in (name, *one.kind.aliases) if known in types)
        option = options[name]
        rows.append(
            [
                ", ".join(f"`{spelling}`" for spelling in (name, *one.kind.aliases)),
                ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts)),
                _one_or_several(types[field].removesuffix(" | None")),
                option.help,
            ]
        )
    columns = ", ".join(f"`{column}`" for column in filters.SortColumn)
    return page(
        "Filters and sorting",
        "What `UserMemory.list`, `Memory.list` and `ricordo list` take. An unknown filter or a"
        " value that is not allowed is an error, never ignored.",
        "## Filters",
        text_of(filters.ItemFilter.__doc__),
        text_of(filters.ItemFilter.parse.__doc__).split("\n\n")[1],
        "Without `status`, active memories are listed; with `as_of`, active and superseded ones."
        " The filters on where a memory came from (`thread_id`, `message_id`, `agent_id`, `run_id`,"
        " `actor_id`, `role`) and `project_id` find a user's own memories only, never shared or"
        " global ones.",
        table(["Filter", "On the command line", "Type", "Meaning"], rows),
        "Where a name has several spellings, each means the same; only one of them may be given.",
        "## Sorting",
        text_of(filters.Sort.__doc__),
        f"`sort` is one of {columns}; `order` is `asc` or `desc`.",
        "## Paging",
        "`limit` is the size of a page. `next_cursor` of a page is the `cursor` of the next one and"
        " `None` on the last. A cursor belongs to one `sort` and `order`; the filters may change"
        " between pages, but then the pages do not make up one list.",
    )


def _one_or_several(shown: str) -> str:
    several = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", shown)
    return f"one or several `{several[1]}`" if several else f"`{shown}`"


def limits_page() -> str:
    """Every maximum, under the headings of ``limits.py``."""
    sections: dict[str, list[list[str]]] = {}
    for line in inspect.getsource(limits).splitlines():
        if heading := re.match(r"# -- (.+?) -+$", line):
            rows = sections[heading[1].capitalize()] = []
        elif found := re.match(r"([A-Z_]+): Final = .+?(?:  # (.+))?$", line):
            rows.append([f"`{found[1]}`", f"{getattr(limits, found[1]):,}", found[2] or ""])
    parts: list[str] = []
    for name, rows in sections.items():
        parts += [f"## {name}", table(["Name", "Value", "Note"], rows)]
    return page(
        "Limits",
        f"{text_of(limits.__doc__)} They are constants of `ricordo.limits`, not settings. What goes"
        " beyond one is refused with `InvalidValue` or `ImportFailed`, which name it.",
        *parts,
    )


def errors_page() -> str:
    """The tree of errors, what each means, and the exit codes."""
    tree = (errors.__doc__ or "").split("\n\n")[1]
    classes = [
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, errors.RicordoError)
    ]
    rows = [
        [f"`{one.__name__}`", f"`{one.__bases__[0].__name__}`", text_of(one.__doc__), _code(one)]
        for one in sorted(classes, key=lambda one: inspect.getsourcelines(one)[1])
    ]
    codes = [
        [str(OK), "It worked"],
        [str(UNEXPECTED), "Something that is not foreseen, or a closed pipe"],
        *([str(code), f"`{kind.__name__}` and below"] for kind, code in EXIT_CODES.items()),
        [str(INTERRUPTED), "Interrupted (Ctrl-C)"],
    ]
    return page(
        "Errors",
        "What ricordo raises on purpose. [What to do about each](../howto/errors.md).",
        f"```text\n{tree}\n```",
        "## Every error",
        table(["Error", "Is a", "Meaning", "Exit code"], rows),
        "## Exit codes",
        table(["Code", "When"], codes),
        "A mistake in the command line itself, such as an unknown option, is code 2 as well."
        " With `--json` an error is one JSON object on standard error, with `error`, `message` and,"
        " where there is something to do about it, `fix`.",
    )


def _code(error: type[Exception]) -> str:
    return str(exit_code_of(error.__new__(error)))


# -- HTTP ----------------------------------------------------------------------------------


def http_page() -> str:
    """Every route, under what it is for, from the OpenAPI document of the service."""
    by_tag: dict[str, list[list[str]]] = {}
    for path, operations in _document()["paths"].items():
        for method, operation in operations.items():
            row = [
                f"`{method.upper()}`",
                f"`{path}`",
                operation["summary"],
                _parameter_names(operation),
                ", ".join(sorted(code for code in operation["responses"] if code < "400")),
            ]
            by_tag.setdefault(operation["tags"][0], []).append(row)
    headings = ["Method", "Path", "What it does", "Takes", "Answers"]
    tables = (part for tag, rows in by_tag.items() for part in (f"## {tag}", table(headings, rows)))
    return page(
        "HTTP",
        "What `ricordo serve` answers. [How to use it](../howto/http.md); the service has the same"
        " with every field, example and answer at `/docs` and in `/openapi.json`.",
        "*Query* parameters stand after `?`; *body* is a JSON object with these fields; in **bold**"
        " what must be given. Routes about one user also take the headers `X-Ricordo-User`,"
        " `X-Ricordo-Agent` and `X-Ricordo-Group`, and those that write an `Idempotency-Key`."
        " Refusals and failures are problem details with"
        " [a status of 400 or more](../howto/errors.md#what-to-do).",
        *tables,
    )


@functools.cache
def _document() -> dict[str, Any]:
    from ricordo.http.app import create_app

    with ricordo.open(":memory:", run_jobs=False) as memory:
        found: dict[str, Any] = create_app(memory).openapi()
    return found


def _parameter_names(operation: dict[str, Any]) -> str:
    """What a route takes beside its path and the headers that all have."""
    parts = []
    given = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    if given:
        parts.append(f"query: {_names({one['name']: one.get('required', False) for one in given})}")
    special = [
        one["name"].title()
        for one in operation.get("parameters", ())
        if one["in"] == "header" and one["name"].lower() in ("if-match", "if-none-match")
    ]
    if special:
        parts.append(f"header: {_names(dict.fromkeys(special, False))}")
    contents = operation.get("requestBody", {}).get("content", {})
    for kind, content in contents.items():
        fields = _body_fields(content.get("schema", {}))
        what = "body" if kind == "application/json" else f"body ({kind})"
        parts.append(f"{what}: {_names(fields)}" if fields else what)
    return "; ".join(parts)


def _body_fields(schema: dict[str, Any]) -> dict[str, bool]:
    """The fields of a body, and whether each must be given."""
    for part in (schema, *schema.get("anyOf", ())):
        name = part.get("$ref", "").rpartition("/")[2]
        found = _document()["components"]["schemas"][name] if name else part
        if "properties" in found:
            return {name: name in found.get("required", ()) for name in found["properties"]}
    return {}


def _names(fields: dict[str, bool]) -> str:
    return ", ".join(f"**`{name}`**" if needed else f"`{name}`" for name, needed in fields.items())


PAGES: Final[dict[str, Callable[[], str]]] = {
    "python.md": python_page,
    "cli.md": cli_page,
    "cli-json.md": cli_json_page,
    SCHEMA_FILE: cli_schema,
    "tools.md": tools_page,
    "settings.md": settings_page,
    "filters.md": filters_page,
    "limits.md": limits_page,
    "errors.md": errors_page,
    "http.md": http_page,
}

if __name__ == "__main__":
    sys.exit(main())
