"""Completion in the shell: ``completion``."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from ricordo.cli.completing import VARIABLE
from ricordo.cli.options import AsJson, completing, words
from ricordo.cli.render import answer
from ricordo.cli.shapes import CompletionInstalled, CompletionScript
from ricordo.errors import InvalidInput
from ricordo.model import checks

_NAME: Final = "ricordo"


class Shell(StrEnum):
    """Shells that can complete our commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"
    PWSH = "pwsh"


OfShell = Annotated[
    str,
    typer.Argument(metavar="SHELL", help=f"{words(Shell)}.", autocompletion=completing(Shell)),
]
Install = Annotated[
    bool, typer.Option("--install", help="Put it where that shell finds it when it starts.")
]


def completion(*, shell: OfShell, install: Install = False, as_json: AsJson = False) -> None:
    """Print what makes a shell complete commands, options, themes, threads and users.

    With --install it is put into a file of that shell's own, and read by it from its next start.

    Example: source <(ricordo completion bash)
    """
    chosen = checks.choice("shell", shell, Shell)
    if install:
        path = _installed(chosen)
        done = CompletionInstalled(shell=chosen.value, installed=path)
        answer(as_json, done, lambda _: f"Wrote {path}; start a new {chosen} to use it.")
        return
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=_NAME, complete_var=VARIABLE, shell=chosen.value)
    answer(as_json, CompletionScript(shell=chosen.value, script=script), lambda _: script)


def _installed(shell: Shell) -> str:
    from typer.completion import install  # type: ignore[attr-defined]

    try:
        _, path = install(shell=shell.value, prog_name=_NAME, complete_var=VARIABLE)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"cannot be installed for {shell}: {error}") from None
    return str(path)
