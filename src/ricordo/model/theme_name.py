"""The names of themes, which are called categories where agents and keys are concerned."""

from collections.abc import Iterable

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.vocabulary import GENERAL_THEME
from ricordo.text.normalise import slug


def theme_slug(value: object) -> str:
    """The slug of a theme as a caller names it; nothing named means ``general``.

    Raises:
        InvalidValue: too long, or without any letter or digit.
    """
    name = checks.optional_text("theme", value, limits.MAX_THEME_CHARS)
    if name is None:
        return GENERAL_THEME
    made = slug(name)
    if not made or len(made) > limits.MAX_THEME_CHARS:
        raise InvalidValue("theme", f"{name!r} has no letters or digits to make a name of")
    return made


def category_slugs(given: object) -> frozenset[str]:
    """The slugs of the categories that somebody is to be kept to, one or several; maybe none,
    which is then nothing at all and not everything.

    Raises:
        InvalidValue: one of them cannot be a name, or there are too many.
    """
    if isinstance(given, Iterable) and not isinstance(given, str):
        named = checks.entries("categories", given, limits.MAX_FILTER_VALUES)
    else:
        named = [given]
    return frozenset(
        theme_slug(checks.text("categories", name, limits.MAX_THEME_CHARS)) for name in named
    )
