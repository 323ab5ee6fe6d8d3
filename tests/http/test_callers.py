"""Whom a request names, and which of its credentials is a key of ours."""

import pytest
from starlette.datastructures import Headers

from ricordo import InvalidValue
from ricordo.http.callers import user_named

pytestmark = pytest.mark.requirement("access.isolation")


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ({"X-Ricordo-User": "ana", "x-openwebui-user-id": "ben"}, "ana"),
        ({"X-OpenWebUI-User-Id": "ben"}, "ben"),
        ({"X-Ricordo-User": " ", "x-openwebui-user-id": ""}, None),
        ({"x-ricordo-user": "žofie".encode().decode("latin-1")}, "žofie"),
        ({"x-ricordo-user": "\xe9"}, "é"),
        ({}, None),
    ],
)
def test_the_user(headers: dict[str, str], user: str | None) -> None:
    assert user_named(Headers(headers)) == user


@pytest.mark.parametrize("name", ["*", "x" * 201, "a\x01b"])
def test_a_name_that_nobody_can_have(name: str) -> None:
    with pytest.raises(InvalidValue, match="user_id"):
        user_named(Headers({"X-Ricordo-User": name}))


def test_two_names_are_one_too_many() -> None:
    several = Headers(raw=[(b"x-ricordo-user", b"ana"), (b"x-ricordo-user", b"ben")])
    with pytest.raises(InvalidValue, match="more than once"):
        user_named(several)
