"""Shell completion: ``completion``."""

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, get_type_hints

import typer

from ricordo.cli.commands import Command, Group, Topics, expanded, made
from ricordo.cli.json_answers import CompletionInstalled, CompletionScript
from ricordo.cli.render import answer
from ricordo.cli.store import AsJson, completing, words
from ricordo.errors import InvalidInput
from ricordo.frozen import dataclass
from ricordo.model import checks

# Typer's completion loads too much to be fast enough for a tab key, so only the command being typed
# is built here. The shell scripts are typer's own; each passes the command line in its own
# variables.

VARIABLE: Final = "_RICORDO_COMPLETE"
_EQUALS: Final = "="
_OF_THE_PROGRAM: Final = ("--help", "--version", "--install-completion", "--show-completion")

_NAME: Final = "ricordo"


@dataclass(frozen=True, slots=True)
class Completion:
    value: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """The words before the one being typed, and that word."""

    before: list[str]
    word: str


def complete(topics: Topics, instruction: str) -> str:
    """The output for the calling shell; empty for an unknown one."""
    shell = instruction.removeprefix("complete_")
    asking = _ASKING.get(shell)
    if asking is None or shell == instruction:
        return ""
    read, shown = asking
    # Whatever is typed, a completing shell must not show a traceback.
    with contextlib.suppress(Exception):
        return shown(list(offers(topics, read())))
    return ""


def offers(topics: Topics, typed: Typed) -> Iterator[Completion]:
    commands: dict[str, Command | Group] = {
        name: one for listed in topics.values() for name, one in listed.items()
    }
    words = list(typed.before)
    if not words or words[0] not in commands:
        if not words:
            yield from _matching(commands, typed.word)
        if typed.word.startswith("-"):
            yield from (Completion(name) for name in _OF_THE_PROGRAM if name.startswith(typed.word))
        return
    command = commands[words.pop(0)]
    if isinstance(command, Group):
        if words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        else:
            if not words:
                yield from _matching(command.commands, typed.word)
            if command.default is None:
                return
            command = command.commands[command.default]
    yield from _of_command(command, words, typed)


def _matching(commands: Any, word: str) -> Iterator[Completion]:
    for name, one in commands.items():
        if name.startswith(word):
            said = one.summary if isinstance(one, Group) else one.__doc__ or ""
            yield Completion(name, " ".join(said.split("\n\n")[0].split()))


def _of_command(command: Command, words: Sequence[str], typed: Typed) -> Iterator[Completion]:
    parameters = made("", command).params
    options = {
        flag: one
        for one in parameters
        if one.param_type_name == "option" and not one.hidden
        for flag in (*one.opts, *one.secondary_opts)
    }
    waiting, given = _read(options, words)
    name, equals, part = typed.word.partition(_EQUALS)
    if waiting is not None:
        yield from _values(command, waiting, typed.before, typed.word)
    elif equals and name in options:
        for offer in _values(command, options[name].name, typed.before, part):
            yield Completion(f"{name}={offer.value}", offer.summary)
    elif typed.word.startswith("-"):
        for flag, one in options.items():
            if flag.startswith(typed.word) and flag not in words:
                yield Completion(flag, one.help or "")
    else:
        arguments = [one for one in parameters if one.param_type_name == "argument"]
        if arguments:
            place = arguments[min(given, len(arguments) - 1)]
            if given < len(arguments) or place.nargs == -1:
                yield from _values(command, place.name, typed.before, typed.word)


def _read(options: dict[str, Any], words: Sequence[str]) -> tuple[str | None, int]:
    """The option that the next word is a value of, if any, and the number of arguments so far."""
    waiting: str | None = None
    given = 0
    for word in words:
        if waiting is not None:
            waiting = None
        elif word in options and not options[word].is_flag:
            waiting = options[word].name
        elif not word.startswith("-"):
            given += 1
    return waiting, given


def _values(command: Command, name: str, before: list[str], part: str) -> Iterator[Completion]:
    hint = get_type_hints(expanded(command), include_extras=True)[name]
    for note in getattr(hint, "__metadata__", ()):
        offering = getattr(note, "autocompletion", None)
        if offering is not None:
            wanted = offering.__code__.co_varnames[: offering.__code__.co_argcount]
            given = {"args": before, "incomplete": part}
            yield from (Completion(value) for value in offering(*(given[one] for one in wanted)))


# -- per shell: how it asks, and the output it expects


def _split(text: str) -> list[str]:
    """Split like a shell; an open quote ends at the end of the text."""
    for closing in ("", "'", '"'):
        with contextlib.suppress(ValueError):
            return shlex.split(text + closing)
    return text.split()


def _from_bash() -> Typed:
    words = _split(os.environ["COMP_WORDS"])
    position = int(os.environ["COMP_CWORD"])
    before = words[1:position]
    word = words[position] if position < len(words) else ""
    # Bash splits --option=value into three words.
    if word == _EQUALS:
        word = ""
    return Typed([one for one in before if one != _EQUALS], word)


def _from_line() -> Typed:
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    if words and not line.endswith(" "):
        return Typed(words[:-1], words[-1])
    return Typed(words, "")


def _from_powershell() -> Typed:
    word = os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
    words = _split(os.environ.get("_TYPER_COMPLETE_ARGS", ""))[1:]
    return Typed(words[:-1] if word else words, word)


def _for_bash(found: list[Completion]) -> str:
    return "\n".join(shlex.quote(one.value) for one in found)


def _for_zsh(found: list[Completion]) -> str:
    if not found:
        return "_files"
    quoted = (
        f'"{_for_zsh_word(one.value)}"'
        + (f':"{_for_zsh_word(one.summary)}"' if one.summary else "")
        for one in found
    )
    return "_arguments '*: :((" + "\n".join(quoted) + "))'"


def _for_zsh_word(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '""').replace("'", "''")
    return escaped.replace("$", "\\$").replace("`", "\\`").replace(":", "\\\\:")


def _for_fish(found: list[Completion]) -> str:
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        raise SystemExit(0 if found else 1)  # tells fish whether to offer files instead
    return "\n".join(f"{one.value}\t{one.summary}" if one.summary else one.value for one in found)


def _for_powershell(found: list[Completion]) -> str:
    return "\n".join(f"{one.value}:::{one.summary or ' '}" for one in found)


_ASKING: Final[dict[str, tuple[Callable[[], Typed], Callable[[list[Completion]], str]]]] = {
    "bash": (_from_bash, _for_bash),
    "zsh": (_from_line, _for_zsh),
    "fish": (_from_line, _for_fish),
    "powershell": (_from_powershell, _for_powershell),
    "pwsh": (_from_powershell, _for_powershell),
}


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"
    PWSH = "pwsh"


OfShell = Annotated[
    str, typer.Argument(metavar="SHELL", help=f"{words(Shell)}.", autocompletion=completing(Shell))
]
Install = Annotated[
    bool, typer.Option("--install", help="Put it where that shell finds it when it starts.")
]


def completion(*, shell: OfShell, install: Install = False, as_json: AsJson = False) -> None:
    """Print the completion script of a shell.

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
