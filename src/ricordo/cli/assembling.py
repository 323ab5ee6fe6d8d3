"""Making typer's commands out of ours, each only when it is asked for.

A command line names one command, so the other eighty are not made: that would take longer than
all the rest of starting.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import typer
from typer.core import TyperGroup

from ricordo.cli.groups import expanded

HELP_OPTIONS: Final = ["-h", "--help"]
_MAX_SUMMARY_CHARS: Final = 100

Command: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that go by two words, such as ``jobs run``.

    The ``default`` is run when only the first word is given; without one, that is a mistake.
    """

    summary: str
    commands: dict[str, Command]
    default: str | None = None


Topics: TypeAlias = Mapping[str, Mapping[str, Command | Group]]
"""Commands by their names, under what they are for."""


def assembled(topics: Topics, root: Command) -> typer.Typer:
    """The whole command line; ``root`` has the options of the program itself."""
    # typer's rich help takes longer to load than all the rest of --help.
    return typer.Typer(
        cls=_listed_by(topics),
        callback=root,
        context_settings={"help_option_names": HELP_OPTIONS},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def made(name: str, command: Command | Group) -> Any:
    """One command, or all that share their first word, as typer runs it."""
    app = typer.Typer(
        add_completion=False,
        context_settings={"help_option_names": HELP_OPTIONS},
        rich_markup_mode=None,
    )
    if isinstance(command, Group):
        app.info.cls = TyperGroup if command.default is None else _running(command.default)
        app.info.help = command.summary
        app.callback()(_nothing)
        for inner, call in command.commands.items():
            app.command(inner)(expanded(call))
    else:
        app.command(name)(expanded(command))
    found = typer.main.get_command(app)
    found.name = name
    return found


class _WhenNeeded(MutableMapping[str, Any]):
    """Every command under its name; made when somebody looks at it."""

    def __init__(self, declared: Mapping[str, Command | Group]) -> None:
        self._declared = dict(declared)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = made(name, self._declared[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._declared[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def __contains__(self, name: object) -> bool:
        return name in self._declared


def _listed_by(topics: Topics) -> type[TyperGroup]:
    class ByTopic(TyperGroup):
        """Commands that ``--help`` lists under their topics."""

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            everything = {
                name: one for commands in topics.values() for name, one in commands.items()
            }
            self.commands = _WhenNeeded(everything)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as in click
            """Write the list of commands."""
            for topic, commands in topics.items():
                with formatter.section(topic):
                    formatter.write_dl([(name, _summary(one)) for name, one in commands.items()])

    return ByTopic


def _summary(command: Command | Group) -> str:
    said = command.summary if isinstance(command, Group) else command.__doc__ or ""
    first = " ".join(said.strip().split("\n\n")[0].split())
    return first if len(first) <= _MAX_SUMMARY_CHARS else f"{first[: _MAX_SUMMARY_CHARS - 3]}..."


def _running(default: str) -> type[TyperGroup]:
    class RunsByDefault(TyperGroup):
        """Commands of which one is run when none is named."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the command line, with what is understood put in its place."""
            is_named = bool(args) and (args[0] in HELP_OPTIONS or not args[0].startswith("-"))
            return super().parse_args(ctx, args if is_named else [default, *args])

    return RunsByDefault


def _nothing() -> None:
    """What a group does before one of its commands."""
