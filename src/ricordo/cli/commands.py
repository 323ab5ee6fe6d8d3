"""Typer commands from plain functions, each built only when it is called."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, TypeAlias, get_type_hints

import typer
from typer.core import TyperGroup

from ricordo.frozen import dataclass

# A command takes ``store: Store`` as one parameter; on the command line it is every field of
# ``Store``. :func:`expanded` gives typer the flat signature it expects.

HELP_OPTIONS: Final = ["-h", "--help"]
_MAX_SUMMARY_CHARS: Final = 100


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its option groups, and the options of the operations that it
    names, as parameters of their own."""
    from ricordo.cli.derived import OptionsOf

    declared = inspect.signature(command).parameters
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in declared if is_dataclass(hints[name])}
    derived = {
        name: one.default for name, one in declared.items() if isinstance(one.default, OptionsOf)
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made: dict[str, Any] = {name: options.take(given) for name, options in derived.items()}
        for name, group in groups.items():
            made[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        if name in groups:
            parameters += _fields_as_parameters(groups[name])
        elif name in derived:
            parameters += derived[name].parameters()
        else:
            parameters.append(_parameter(name, hints[name], parameter.default))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields_as_parameters(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _parameter(field.name, hints[field.name], default)


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    # By keyword, so that parameters with and without defaults may be mixed.
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


# One command line names one command. Building all eighty would dominate the start-up time.


Command: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Group:
    """Commands of two words, such as ``jobs run``.

    The ``default`` runs when only the first word is given; without one, that is a usage error.
    """

    summary: str
    commands: dict[str, Command]
    default: str | None = None


Topics: TypeAlias = Mapping[str, Mapping[str, Command | Group]]
"""Commands by name, grouped by topic."""


def by_words(topics: Topics) -> dict[str, Command]:
    """Every command by the words that call it, such as ``jobs run``."""
    found: dict[str, Command] = {}
    for listed in topics.values():
        for name, one in listed.items():
            if isinstance(one, Group):
                found |= {f"{name} {inner}": call for inner, call in one.commands.items()}
            else:
                found[name] = one
    return found


def assembled(topics: Topics, root: Command) -> typer.Typer:
    """The typer application; ``root`` holds the global options."""
    # typer's rich help loads slowly.
    return typer.Typer(
        cls=_group_by_topic(topics),
        callback=root,
        context_settings={"help_option_names": HELP_OPTIONS},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def made(name: str, command: Command | Group) -> Any:
    """One command or group as a click command."""
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


class _LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each built on first access."""

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


def _group_by_topic(topics: Topics) -> type[TyperGroup]:
    class ByTopic(TyperGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            everything = {
                name: one for commands in topics.values() for name, one in commands.items()
            }
            self.commands = _LazyCommands(everything)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as in click
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
        """A group that runs its default command when none is named."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Insert the name of the default command where none is given."""
            is_named = bool(args) and (args[0] in HELP_OPTIONS or not args[0].startswith("-"))
            return super().parse_args(ctx, args if is_named else [default, *args])

    return RunsByDefault


def _nothing() -> None: ...
