"""Checks on what somebody writes to choose an embedder. Each raises InvalidValue."""

from typing import Final

from ricordo.embedding.presets import PRESETS, Preset
from ricordo.embedding.targets import split_url
from ricordo.errors import InvalidValue
from ricordo.limits import MAX_API_KEY_CHARS, MAX_MODEL_NAME_CHARS, MAX_VECTOR_WIDTH

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
    if given is None and preset.default_model is None:
        raise InvalidValue("model", f"{provider} needs the name of a model")
    name = given if given is not None else preset.default_model or ""
    if not 1 <= len(name) <= MAX_MODEL_NAME_CHARS or name != name.strip() or not name.isprintable():
        raise InvalidValue("model", f"expected 1 to {MAX_MODEL_NAME_CHARS} printable characters")
    return name


def base_url(provider: str, preset: Preset, given: str | None) -> str:
    """The address as given, or the usual one, without a slash at its end."""
    url = given if given is not None else preset.base_url
    if url is None:
        raise InvalidValue("base_url", f"{provider} needs the address of the endpoint")
    trimmed = url.rstrip("/")
    if split_url(trimmed).path.endswith("/embeddings"):
        raise InvalidValue("base_url", "leave out the final /embeddings")
    return trimmed


def api_key(provider: str, preset: Preset, given: str | None) -> str | None:
    """A key that can be sent in a header; None where none is needed."""
    if given is None:
        if preset.needs_key:
            raise InvalidValue("api_key", f"{provider} needs one")
        return None
    # It travels in a header, where other characters could smuggle in headers of their own.
    if not 1 <= len(given) <= MAX_API_KEY_CHARS or not all("!" <= c <= "~" for c in given):
        raise InvalidValue(
            "api_key",
            f"expected 1 to {MAX_API_KEY_CHARS} ASCII letters, digits and signs, no spaces",
        )
    return given


def dimensions(given: int | None) -> int | None:
    """A width to ask for; None is whatever the model has."""
    if given is None:
        return None
    if type(given) is not int or not 1 <= given <= MAX_VECTOR_WIDTH:
        raise InvalidValue("dimensions", f"expected a whole number from 1 to {MAX_VECTOR_WIDTH}")
    return given
