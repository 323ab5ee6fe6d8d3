"""Options that several commands share, each set of them written once as a dataclass.

A command takes ``store: Store`` as one parameter; on the command line it is every field of
``Store``. typer knows nothing of this, so :func:`expanded` gives it the signature it expects.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, with the fields of its groups in place of the groups."""
    hints = get_type_hints(command, include_extras=True)
    declared = inspect.signature(command).parameters
    groups = {name: hints[name] for name in declared if is_dataclass(hints[name])}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        if name in groups:
            parameters += _fields_as_parameters(groups[name])
        else:
            parameters.append(_parameter(name, hints[name], parameter.default))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields_as_parameters(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield _parameter(field.name, hints[field.name], _default(field))


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    # By keyword, because then parameters with and without a default may stand in any order.
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
