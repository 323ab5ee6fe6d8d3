"""Checks on what somebody writes to choose an endpoint. Each raises InvalidValue."""

from ricordo.endpoints.addresses import split_url
from ricordo.errors import InvalidValue
from ricordo.limits import MAX_API_KEY_CHARS, MAX_MODEL_NAME_CHARS


def model(provider: str, given: str | None, usual: str | None) -> str:
    """The model as given, or the usual one."""
    name = given if given is not None else usual
    if name is None:
        raise InvalidValue("model", f"{provider} needs the name of a model")
    if not 1 <= len(name) <= MAX_MODEL_NAME_CHARS or name != name.strip() or not name.isprintable():
        raise InvalidValue("model", f"expected 1 to {MAX_MODEL_NAME_CHARS} printable characters")
    return name


def base_url(provider: str, given: str | None, usual: str | None, *, path: str) -> str:
    """The address as given, or the usual one, without a slash at its end.

    ``path`` is what calls add to it, such as ``/embeddings``; people like to give it as well.
    """
    url = given if given is not None else usual
    if url is None:
        raise InvalidValue("base_url", f"{provider} needs the address of the endpoint")
    trimmed = url.rstrip("/")
    if split_url(trimmed).path.endswith(path):
        raise InvalidValue("base_url", f"leave out the final {path}")
    return trimmed


def api_key(provider: str, given: str | None, *, is_needed: bool) -> str | None:
    """A key that can be sent in a header; None where none is needed."""
    if given is None:
        if is_needed:
            raise InvalidValue("api_key", f"{provider} needs one")
        return None
    # It travels in a header, where other characters could smuggle in headers of their own.
    if not 1 <= len(given) <= MAX_API_KEY_CHARS or not all("!" <= c <= "~" for c in given):
        raise InvalidValue(
            "api_key",
            f"expected 1 to {MAX_API_KEY_CHARS} ASCII letters, digits and signs, no spaces",
        )
    return given
