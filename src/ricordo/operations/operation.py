"""What an operation is, and the list of all of them.

An operation is described once, by a function without a body: its parameters with their kinds, its
result and its help. The library, the command line, HTTP, tools and MCP are derived from that.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import (
    Annotated,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from ricordo.errors import InvalidValue, UnknownField
from ricordo.frozen import dataclass, replace
from ricordo.model.fields import Parameter, by_alias, described_fields
from ricordo.model.vocabulary import GroupRole, Permission

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Route:
    """How an operation is reached over HTTP.

    ``{name}`` in the path is a parameter. The others are in the query string of GET and DELETE and
    in the body of the rest; ``expected_updated_at`` comes from ``If-Match``. ``answers`` names the
    result in the answer, where it is a plain number. What is lengthy runs apart from the threads
    that all requests share. What ``creates`` something answers 201.
    """

    method: str
    path: str
    name: str
    topic: str
    answers: str | None = None
    is_lengthy: bool = False
    creates: bool = False


class Operation(Generic[P, R]):
    """One operation, as its description says."""

    def __init__(
        self,
        describe: Callable[P, R],
        *,
        name: str,
        within_categories: bool,
        within_project: bool,
        in_group: GroupRole | None,
        permission: Permission | None,
        routes: tuple[Route, ...],
        run: Callable[..., R] | None = None,
        tool: str | None = None,
    ) -> None:
        self.name = name
        self.within_categories = within_categories
        """A scope that is confined to categories may use it, within them."""
        self.within_project = within_project
        """A scope of a project may use it, within that."""
        self.in_group = in_group
        """The role that a member needs for it in the space of a group; None where it is about one
        person, or not done there."""
        self.permission = permission
        """What a key needs for it; None for what concerns one user."""
        self.routes = routes
        self.run = run
        self.tool = tool
        """What models are told of it, where they are offered it as a tool of its own."""
        self._describe = describe

    @property
    def help(self) -> str:
        """The whole description."""
        return inspect.getdoc(self._describe) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the description, in one line."""
        return " ".join(self.help.split("\n\n")[0].split())

    @cached_property
    def result(self) -> Any:
        """The type of the result."""
        return get_type_hints(self._describe, include_extras=True)["return"]

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature, with the fields of a group as parameters of their own."""
        declared = inspect.signature(self._describe)
        found = []
        for one in declared.parameters.values():
            if one.kind is not inspect.Parameter.VAR_KEYWORD:
                found.append(one)
                continue
            hints = get_type_hints(_group(one), include_extras=True)
            found += [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint
                )
                for name, hint in hints.items()
            ]
        return declared.replace(parameters=found)

    def method(
        self, run: Callable[[Any, dict[str, Any]], R], check: Callable[[Any], None]
    ) -> Callable[Concatenate[Any, P], R]:
        """A method that runs with clean values, after a check of who calls it."""

        def call(bound: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
            check(bound)
            return run(bound, self.accept(self.by_name(args, kwargs)))

        call.__name__ = call.__qualname__ = self.name
        call.__doc__ = self.help
        call.__signature__ = self._method_signature  # type: ignore[attr-defined]
        call.operation = self  # type: ignore[attr-defined]
        return call

    @property
    def _method_signature(self) -> inspect.Signature:
        own = [
            one.replace(annotation=_without_kind(one.annotation))
            for one in self.signature.parameters.values()
        ]
        is_first = any(one.kind is inspect.Parameter.POSITIONAL_ONLY for one in own)
        kind = (
            inspect.Parameter.POSITIONAL_ONLY
            if is_first
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        return self.signature.replace(parameters=[inspect.Parameter("self", kind), *own])

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in order."""
        empty = inspect.Parameter.empty
        declared = self.signature.parameters
        defaults = {name: one.default for name, one in declared.items() if one.default is not empty}
        found = described_fields({name: one.annotation for name, one in declared.items()}, defaults)
        by_position = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        return {
            name: replace(one, is_positional=declared[name].kind in by_position)
            for name, one in found.items()
        }

    @cached_property
    def _passed_through(self) -> frozenset[str]:
        """Parameters of the library alone, such as a callback; they have no kind."""
        return frozenset(self.signature.parameters) - self.parameters.keys()

    @cached_property
    def _grouped(self) -> frozenset[str]:
        """The fields of the group, which are passed on only where they are given."""
        own = inspect.signature(self._describe).parameters
        return frozenset(self.parameters.keys() - own.keys())

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        return by_alias(self.parameters.values())

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        """The clean values of what is not given."""
        found = {
            name: one.check(one.default)
            for name, one in self.parameters.items()
            if not one.is_required and name not in self._grouped
        }
        signature = self.signature.parameters
        return found | {name: signature[name].default for name in self._passed_through}

    @cached_property
    def _positions(self) -> tuple[str, ...]:
        return tuple(name for name, one in self.parameters.items() if one.is_positional)

    def accept(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The clean value of every parameter.

        Raises:
            UnknownField: there is no such parameter; it is never ignored.
            InvalidValue: a value is missing or not allowed.
        """
        parameters, clean = self.parameters, dict(self._defaults)
        named: dict[str, str] = {}
        unknown = []
        for spelt, value in given.items():
            name = self._aliases.get(spelt, spelt)
            if name in self._passed_through:
                if value is not None and not callable(value):
                    raise InvalidValue(name, f"expected a function, got {type(value).__name__}")
                clean[name] = value
                continue
            if name not in parameters:
                unknown.append(str(spelt))
                continue
            if value is None and name in self._grouped:
                continue
            if name in named:
                raise InvalidValue(spelt, f"is given twice (also as {named[name]!r})")
            named[name] = spelt
        if unknown:
            raise UnknownField("argument", unknown, parameters)
        for name, one in parameters.items():
            if name in named:
                clean[name] = one.check(given[named[name]])
            elif one.is_required:
                raise InvalidValue(name, "is missing")
        return clean

    def parameter(self, spelt: str) -> Parameter | None:
        """The parameter of a name, or of another name for it."""
        return self.parameters.get(self._aliases.get(spelt, spelt))

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of a call by name.

        Raises:
            TypeError: there are more values than positions, or one is given twice.
        """
        if not args:
            return kwargs
        if len(args) > len(self._positions):
            raise TypeError(
                f"{self.name}() takes at most {len(self._positions)} values by position,"
                f" {len(args)} were given"
            )
        given = dict(zip(self._positions, args, strict=False))
        for name in given:
            if name in kwargs:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
        return {**given, **kwargs}


def _without_kind(annotation: Any) -> Any:
    """The type alone, as people read it in a signature."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _group(parameter: inspect.Parameter) -> Any:
    """The typed dictionary of ``**filters: Unpack[Filters]``."""
    return get_args(parameter.annotation)[0]


USER_OPERATIONS: Final[dict[str, Operation[..., Any]]] = {}
"""What one user's memory can do, by name."""
STORE_OPERATIONS: Final[dict[str, Operation[..., Any]]] = {}
"""What the store as a whole can do, by name."""


class Catalogue:
    """Describes operations of one topic."""

    def __init__(self, topic: str, *, of_store: bool = False) -> None:
        self._topic = topic
        self._operations = STORE_OPERATIONS if of_store else USER_OPERATIONS

    def __call__(
        self,
        *http: str,
        name: str | None = None,
        within_categories: bool = False,
        within_project: bool | None = None,
        in_group: GroupRole | None = None,
        permission: Permission | None = None,
        answers: str | None = None,
        is_lengthy: bool = False,
        creates: bool = False,
        run: Callable[..., Any] | None = None,
        tool: str | None = None,
    ) -> Callable[[Callable[P, R]], Operation[P, R]]:
        """Describe an operation; each of ``http`` is a method, a path and an operation id.

        What may be used within categories may be used ``within_project``, too, unless that is said
        otherwise.

        ``run`` does it, given a ``UserMemory`` and the clean values; without it, the method of
        that name does. With ``tool``, which says to models when to use it, it is one of the
        standard tools.
        """

        def describe(stub: Callable[P, R]) -> Operation[P, R]:
            called = name or stub.__name__
            made = Operation(
                stub,
                name=called,
                within_categories=within_categories,
                within_project=within_categories if within_project is None else within_project,
                in_group=in_group,
                permission=permission,
                routes=tuple(
                    Route(method, path, route_name, self._topic, answers, is_lengthy, creates)
                    for method, path, route_name in (one.split() for one in http)
                ),
                run=run,
                tool=tool,
            )
            self._operations[called] = made
            return made

        return describe
