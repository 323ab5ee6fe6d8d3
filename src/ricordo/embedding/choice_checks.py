"""Checks on what somebody writes to choose an embedder. Each raises InvalidValue."""

from typing import Final

from ricordo.embedding.presets import PRESETS, Preset
from ricordo.endpoints import choice_checks
from ricordo.errors import InvalidValue
from ricordo.limits import MAX_VECTOR_WIDTH

LOCAL: Final = "local"
LOCAL_FOLDER: Final = "local:"
NONE: Final = "none"
PROVIDERS: Final = (LOCAL, *PRESETS, NONE)


def check_without_endpoint(provider: str, from_user: bool, **options: object) -> None:
    """A provider that needs no endpoint, and so takes no options."""
    is_folder = provider.startswith(LOCAL_FOLDER) and provider != LOCAL_FOLDER
    if is_folder and from_user:
        raise InvalidValue("provider", "only the operator may name a model folder; use 'local'")
    if not is_folder and provider not in (LOCAL, NONE):
        allowed = ", ".join(PROVIDERS) + ("" if from_user else ", local:FOLDER")
        raise InvalidValue("provider", f"{provider[:60]!r} is not one of: {allowed}")
    for name, value in options.items():
        if value is not None:
            raise InvalidValue(name, f"is not used by {provider!r}; leave it out")


def model(provider: str, preset: Preset, given: str | None) -> str:
    """The model as given, or the usual one."""
    if given is None and provider == "llamacpp":
        raise InvalidValue("model", "llamacpp needs the id that its /v1/models lists")
    return choice_checks.model(provider, given, preset.default_model)


def base_url(provider: str, preset: Preset, given: str | None) -> str:
    """The address as given, or the usual one, without a slash at its end."""
    return choice_checks.base_url(provider, given, preset.base_url, path="/embeddings")


def api_key(provider: str, preset: Preset, given: str | None) -> str | None:
    """A key that can be sent in a header; None where none is needed."""
    return choice_checks.api_key(provider, given, is_needed=preset.needs_key)


def dimensions(given: int | None) -> int | None:
    """A width to ask for; None is whatever the model has."""
    if given is None:
        return None
    if type(given) is not int or not 1 <= given <= MAX_VECTOR_WIDTH:
        raise InvalidValue("dimensions", f"expected a whole number from 1 to {MAX_VECTOR_WIDTH}")
    return given
