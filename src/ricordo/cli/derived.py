"""Options and whole commands that are derived from the descriptions of operations."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from ricordo.cli.render import Shown, answer, working
from ricordo.cli.store import (
    Acting,
    Actor,
    AllUsers,
    Named,
    Owner,
    Store,
    completing_names,
    open_store,
    open_user,
)
from ricordo.frozen import dataclass, field
from ricordo.model.fields import Flag, Kind, Parameter, Several
from ricordo.operations.operation import STORE_OPERATIONS, Operation

Given = dict[str, Any]
"""Values by the names of an operation's parameters; what was not typed is not there."""


@dataclass(frozen=True)
class OptionsOf:
    """The default of a command's parameter that stands for the options of an operation."""

    operation: Operation[..., Any]
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    spelt: Mapping[str, str] = field(default_factory=dict)

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Each as a parameter for typer. Values stay text: the library reads and checks them."""
        return map(self._parameter, self._chosen())

    def take(self, values: dict[str, Any]) -> Given:
        """The values of these options, taken out of all that typer has read."""
        given = {}
        for one in self._chosen():
            value = values.pop(one.name)
            if value is None or value == [] or (value is False and self._default(one) is False):
                continue
            given[one.name] = not value if self._is_off_switch(one) else _read(one.kind, value)
        return given

    def _is_off_switch(self, one: Parameter) -> bool:
        return self.spelt.get(one.name, "").startswith("/")

    def _default(self, one: Parameter) -> bool | None:
        """What a flag is where it is not given: None where it can be switched on and off."""
        return False if one.default is False or self._is_off_switch(one) else None

    def _chosen(self) -> list[Parameter]:
        described = self.operation.parameters.values()
        wanted = self.only or self.operation.parameters
        return [one for one in described if one.name in wanted and one.name not in self.without]

    def _parameter(self, one: Parameter) -> inspect.Parameter:
        kind = one.kind
        value_type: Any = str | None
        default: Any = None
        if isinstance(kind, Flag):
            default = self._default(one)
            value_type = bool | None if default is None else bool
        elif kind.takes_several:
            value_type = list[str] if one.is_required else list[str] | None
        elif one.is_required:
            value_type = str
        if one.is_required:
            default = inspect.Parameter.empty
        settings: dict[str, Any] = {"help": _help(one), "autocompletion": _completion(kind)}
        if not isinstance(kind, Flag):
            settings["metavar"] = kind.metavar
        spelt = self.spelt.get(one.name, "")
        if spelt[:1].isalpha() or (one.is_required and one.is_positional and not spelt):
            settings["metavar"] = spelt or kind.metavar
            declared: Any = typer.Argument(show_default=False, **settings)
        else:
            declared = typer.Option(*_spellings(one, spelt), show_default=False, **settings)
        return inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[value_type, declared],
        )


def options_of(
    operation: Operation[..., Any], *without: str, **spelt: str
) -> Any:  # the default of a parameter of type Given
    """The options of an operation, but for some.

    ``spelt`` says where they are called otherwise: ``--name -n``, ``/--off`` for a flag that takes
    something away, ``NAME`` for an argument as usage shows it.
    """
    return OptionsOf(operation, without=without, spelt=spelt)


def some_options_of(operation: Operation[..., Any], *only: str, **spelt: str) -> Any:
    """Those options of an operation that are named; see :func:`options_of`."""
    return OptionsOf(operation, only=only, spelt=spelt)


def command_of(
    operation: Operation[..., Any],
    show: Callable[[Any], Shown],
    *,
    about: str = "",
    example: str = "",
    doing: str = "",
    names_actor: bool = False,
    for_all_users: bool = False,
    **spelt: str,
) -> Callable[..., None]:
    """A command that calls an operation of a user or of the store, and shows its result.

    ``about`` is its help, by default that of the operation. ``doing`` is shown while it works.
    With ``names_actor`` the caller can say who acts; with ``for_all_users`` the operation of the
    same name for the whole store can be chosen.
    """

    def run(
        *,
        given: Given = options_of(operation, **spelt),
        owner: Any,
        actor: str | None = None,
        all_users: bool = False,
    ) -> None:
        is_of_store = all_users or not isinstance(owner, Owner)
        opened = open_store(owner) if is_of_store else open_user(owner, Acting(actor=actor))
        with opened as memory, working(doing, wanted=bool(doing) and not owner.as_json):
            found = getattr(memory, operation.name)(**given)
        if owner.as_json and (name := answer_name(operation)) is not None:
            found = {name: found}
        answer(owner.as_json, found, show)

    is_of_store = STORE_OPERATIONS.get(operation.name) is operation
    types: dict[str, Any] = {"given": Given, "owner": Store if is_of_store else Owner}
    if names_actor:
        types["actor"] = Actor
    if for_all_users:
        types["all_users"] = AllUsers
    declared = inspect.signature(run).parameters
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [declared[name].replace(annotation=hint) for name, hint in types.items()]
    )
    run.__annotations__ = types
    run.__doc__ = about or operation.summary.replace("``", "")
    if example:
        run.__doc__ += f"\n\nExample: {example}"
    return run


def operation_of(command: Callable[..., None]) -> Operation[..., Any] | None:
    """The operation whose options a command has."""
    defaults = getattr(command, "__kwdefaults__", None) or {}
    found = (one.operation for one in defaults.values() if isinstance(one, OptionsOf))
    return next(found, None)


def answer_name(operation: Operation[..., Any]) -> str | None:
    """What the result is called in JSON, where it is a plain number."""
    return next((route.answers for route in operation.routes), None)


def _read(kind: Kind, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not isinstance(value, list | tuple):
        return kind.from_text(value)
    read = [kind.from_text(one) for one in value]
    return read[0] if isinstance(kind, Several) and len(read) == 1 else read


def _spellings(one: Parameter, spelt: str) -> list[str]:
    if spelt:
        return spelt.removeprefix("/").split()
    dashed = one.name.replace("_", "-")
    if isinstance(one.kind, Flag) and one.default is not False:
        return [f"--{dashed}/--no-{dashed}"]
    aliases = [alias for alias in one.kind.aliases if alias == "category"]
    return [f"--{spelling}" for spelling in (dashed, *aliases)]


def _help(one: Parameter) -> str:
    """What it is, which words are allowed, and what holds where it is not given."""
    about = one.kind.about.removeprefix("False: ").rstrip(".")
    parts = [about] if about else []
    if words := _words(one.kind):
        parts.append(f"one of: {', '.join(words)}")
    if one.kind.takes_several and not one.is_required:
        parts.append("may be given several times")
    if one.default not in (None, False, True, "", ()):
        parts.append(f"default: {one.default}")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _completion(kind: Kind) -> Any:
    if kind.completes is not None:
        return completing_names(Named[kind.completes.upper()])
    words = _words(kind)

    def matching(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return matching if words else None


def _words(kind: Kind) -> list[str]:
    """The words that it takes, where there are some to choose from."""
    schema = kind.schema()
    one = schema["anyOf"][-1] if "anyOf" in schema else schema.get("items", schema)
    return list(one.get("enum", ()))
