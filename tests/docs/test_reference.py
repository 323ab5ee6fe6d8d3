"""The reference pages are what the code says, and nothing public is missing from them."""

import subprocess
import sys
from collections.abc import Iterator
from inspect import isfunction

import pytest
import typer

import ricordo
from ricordo import errors, limits
from ricordo.cli.app import assemble
from ricordo.model.filters import FILTER_NAMES, SortColumn
from ricordo.settings import Settings
from tests.docs.markdown import DOCS, ROOT


def named_in(page: str) -> str:
    return (DOCS / "reference" / page).read_text(encoding="utf-8")


@pytest.mark.requirement("docs.true")
def test_the_pages_are_up_to_date() -> None:
    script = [sys.executable, ROOT / "scripts" / "reference.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.requirement("docs.true")
def test_every_public_name_is_there() -> None:
    text = named_in("python.md")
    functions = [name for name in ricordo.__all__ if isfunction(getattr(ricordo, name))]
    headings = [f"`ricordo.{name}`" for name in functions]
    others = [f"`{name}`" for name in ricordo.__all__ if name not in functions]
    assert [name for name in (*headings, *others) if name not in text] == []
    for face in (ricordo.Memory, ricordo.UserMemory):
        methods = [name for name in dir(face) if not name.startswith("_")]
        missing = [name for name in methods if f"### `{face.__name__}.{name}`" not in text]
        assert missing == []


@pytest.mark.requirement("docs.true")
@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", sorted(Settings.model_fields)),
        ("settings.md", [f"RICORDO_{name.upper()}" for name in Settings.model_fields]),
        ("filters.md", sorted(FILTER_NAMES)),
        ("filters.md", list(SortColumn)),
        ("limits.md", [name for name in vars(limits) if name.isupper()]),
        ("errors.md", [name for name in ricordo.__all__ if hasattr(errors, name)]),
    ],
    ids=["settings", "variables", "filters", "columns", "limits", "errors"],
)
def test_every_name_is_there(page: str, names: list[str]) -> None:
    text = named_in(page)
    assert names
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.requirement("docs.true")
def test_every_command_and_option_is_there() -> None:
    text = named_in("cli.md")
    commands = dict(commands_of("ricordo", typer.main.get_command(assemble())))
    assert len(commands) > 25
    for path, options in commands.items():
        _, found, rest = text.partition(f"### `{path}`\n")
        assert found, path
        shared, _, _ = text.partition("### ")
        section, _, _ = rest.partition("\n### ")
        for option in options:
            assert f"`{option}" in section + shared, f"{path} {option}"


def commands_of(path: str, group: object) -> Iterator[tuple[str, list[str]]]:
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            yield from commands_of(f"{path} {name}", command)
        options = [one for one in command.params if one.param_type_name == "option"]
        yield f"{path} {name}", [flag for one in options for flag in one.opts if not one.hidden]
