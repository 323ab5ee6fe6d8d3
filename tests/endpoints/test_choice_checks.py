"""What somebody writes to choose an endpoint."""

import pytest

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_API_KEY_CHARS, MAX_MODEL_NAME_CHARS
from ricordo.providers import endpoint


def test_what_is_given_comes_before_what_is_usual() -> None:
    assert endpoint.checked_model("p", "given", "usual") == "given"
    assert endpoint.checked_model("p", None, "usual") == "usual"
    assert endpoint.checked_base_url("p", "http://a/", "http://b", path="/x") == "http://a"
    assert endpoint.checked_base_url("p", None, "http://b", path="/x") == "http://b"
    assert endpoint.checked_api_key("p", "sk-1", is_needed=False) == "sk-1"
    assert endpoint.checked_api_key("p", None, is_needed=False) is None


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InvalidValue, match="model: p needs the name"):
        endpoint.checked_model("p", None, None)
    with pytest.raises(InvalidValue, match="base_url: p needs the address"):
        endpoint.checked_base_url("p", None, None, path="/x")
    with pytest.raises(InvalidValue, match="api_key: p needs one"):
        endpoint.checked_api_key("p", None, is_needed=True)


def test_what_is_no_name_and_what_cannot_be_sent_as_a_key() -> None:
    for name in ("", " m", "m ", "m\n", "x" * (MAX_MODEL_NAME_CHARS + 1)):
        with pytest.raises(InvalidValue, match="model: expected"):
            endpoint.checked_model("p", name, "usual")
    for key in ("", "a b", "a\r\nX: 1", "é", "x" * (MAX_API_KEY_CHARS + 1)):
        with pytest.raises(InvalidValue, match="api_key: expected"):
            endpoint.checked_api_key("p", key, is_needed=True)


def test_the_path_that_calls_add_is_left_out() -> None:
    with pytest.raises(InvalidValue, match="leave out the final /x"):
        endpoint.checked_base_url("p", "http://a/v1/x/", None, path="/x")
