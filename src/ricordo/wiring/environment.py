"""The settings: from the environment, and from what is given."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from ricordo.errors import InvalidValue, UnknownField
from ricordo.settings import Settings

ENVIRONMENT_PREFIX: Final = "RICORDO_"


def read_settings(environment: Mapping[str, str], given: Mapping[str, Any]) -> Settings:
    """The settings from the environment, overridden by those given.

    Raises:
        UnknownField: a given setting does not exist.
        InvalidValue: a value is not allowed; the message names it.
    """
    names = set(Settings.model_fields)
    unknown = set(given) - names
    if unknown:
        raise UnknownField("setting", unknown, names)
    from_environment = {
        name: environment[ENVIRONMENT_PREFIX + name.upper()]
        for name in names
        if environment.get(ENVIRONMENT_PREFIX + name.upper())
    }
    try:
        return Settings(**{**from_environment, **given})
    except ValidationError as problems:
        first = problems.errors()[0]
        raise InvalidValue(f"setting {first['loc'][0]}", first["msg"]) from None
