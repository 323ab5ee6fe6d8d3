"""The reference is what the code says; nothing that can be set, called or asked for is missing."""

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import ricordo
from ricordo.cli.app import COMMANDS, assemble
from ricordo.settings import Settings
from ricordo.tools import TOOL_SETS
from tests.docs.markdown import DOCS, ROOT
from tests.support.answers import commands

pytestmark = pytest.mark.requirement("docs.complete")

HOW_TO = DOCS / "howto"
METHODS = ("get", "put", "post", "patch", "delete")


@functools.cache
def reference(page: str) -> str:
    return (DOCS / "reference" / page).read_text(encoding="utf-8")


@functools.cache
def how_tos() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(HOW_TO.glob("*.md")))


def rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables of a text, by what stands in their first cell."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found[cells[0]] = cells[1:]
    return found


def section(text: str, heading: str) -> str:
    """What stands below a heading, down to the next one of any kind."""
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, heading
    return re.split(r"\n#+ ", rest)[0]


def test_every_setting_is_described() -> None:
    described = rows(reference("settings.md"))
    assert len(Settings.model_fields) > 50
    for name in Settings.model_fields:
        variable, takes, _, meaning = described[f"`{name}`"]
        assert variable == f"`RICORDO_{name.upper()}`"
        assert takes, name
        assert len(meaning) > 10, name


def _leaves(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(f"{path} {name}", command)
        else:
            yield f"{path} {name}", command


def test_every_command_and_option_is_described() -> None:
    text = reference("cli.md")
    shared = rows(text.partition("\n### ")[0])
    found = dict(_leaves("ricordo", typer.main.get_command(assemble())))
    assert sorted(found) == sorted(f"ricordo {path}" for path in commands())
    for path, command in found.items():
        own = section(text, f"### `{path}`")
        assert re.search(r"^[A-Z].{10,}$", own, re.MULTILINE), path
        for one in command.params:
            if one.param_type_name == "argument":
                said = rf"^- `{re.escape(one.metavar or one.name)}`: \S.{{3,}}$"
                assert re.search(said, own, re.MULTILINE), (path, one.metavar)
            elif not one.hidden and one.name != "help":
                flag = one.opts[0]
                meaning = _meaning(flag, rows(own)) or _meaning(flag, shared)
                assert len(meaning) > 3, (path, flag)


def _meaning(flag: str, table: dict[str, list[str]]) -> str:
    found = [cells[0] for names, cells in table.items() if re.search(rf"`{flag}[ `]", names)]
    return found[0] if found else ""


@functools.cache
def _document() -> dict[str, Any]:
    from ricordo.http.app import create_app

    with ricordo.open(":memory:", run_jobs=False) as memory:
        found: dict[str, Any] = create_app(memory).openapi()
    return found


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in _document()["paths"].items():
        for method, operation in operations.items():
            if method in METHODS:
                yield method.upper(), path, operation


@pytest.mark.slow
def test_every_route_and_parameter_is_described() -> None:
    listed = {
        (cells[0].strip("` "), cells[1].strip("` ")): cells[2:]
        for line in reference("http.md").splitlines()
        if line.startswith("| `")
        for cells in [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]]
    }
    assert len(listed) > 50
    for method, path, operation in _operations():
        what, takes, answers = listed[method, path]
        assert len(what) > 3, path
        assert answers, path
        for one in operation.get("parameters", ()):
            if one["in"] == "query":
                assert f"`{one['name']}`" in takes, (path, one["name"])


def test_every_tool_and_parameter_is_described() -> None:
    text = reference("tools.md")
    for name, tools in TOOL_SETS.items():
        assert f"- `{name}`: " in text
        for tool in tools:
            own = section(text, f"## `{tool.name}`")
            assert " ".join(tool.description.split()) in own
            described = {
                first.split("`")[1]: cells for first, cells in rows(own).items() if "`" in first
            }
            assert sorted(described) == sorted(one.name for one in tool.parameters)
            for parameter, (takes, meaning) in described.items():
                assert takes, (tool.name, parameter)
                assert len(meaning) > 3, (tool.name, parameter)


@pytest.mark.slow
def test_every_surface_is_reached_from_a_how_to() -> None:
    text = how_tos()
    names = [name for listed in COMMANDS.values() for name in listed]
    assert [name for name in names if not re.search(rf"\bricordo {name}\b", text)] == []
    groups: dict[str, list[str]] = {}
    for _, path, operation in _operations():
        groups.setdefault(operation["tags"][0], []).append(re.sub(r"/?\{.*", "", path))
    missing = [tag for tag, paths in groups.items() if not any(path in text for path in paths)]
    assert missing == []
    for name, tools in TOOL_SETS.items():
        assert f"`{name}`" in text, name
        assert any(tool.name in text for tool in tools), name


@pytest.mark.slow
@pytest.mark.requirement("docs.true")
def test_the_pages_of_the_reference_are_what_the_code_says() -> None:
    script = [sys.executable, ROOT / "scripts" / "reference.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
