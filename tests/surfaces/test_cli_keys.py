"""The commands about keys: shown once, never on a command line."""

import json

import pytest

from ricordo import KeyKind, Memory
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("access.keys")


@pytest.fixture
def place(backend_url: str) -> tuple[str, str]:
    return ("--db", backend_url)


def opened(place: tuple[str, str]) -> Memory:
    return open_memory(place[1], run_jobs=False)


def test_a_key_is_made_shown_once_and_works(place: tuple[str, str]) -> None:
    assert ricordo("keys", *place).out == "No keys yet. Make one: ricordo keys create NAME\n"
    options = ("-u", "ana", "--agent", "planner", "--category", "Work", "--expires-days", 9)
    said = ricordo("keys", "create", "my agent", *options, *place)
    secret, about, hint = said.out.splitlines()
    assert "for agent 'planner' of user 'ana', only work, until " in about
    assert "not shown again" in hint
    with opened(place) as memory:
        key = memory.authenticate(secret)
    assert (key.kind, key.name, key.categories) == (KeyKind.AGENT, "my agent", ("work",))
    listed = ricordo("keys", "list", *place).out
    assert key.id in listed
    assert secret.rsplit("_", 1)[1] not in listed
    assert ricordo("keys", "list", "-u", "ben", *place).out == "No keys here.\n"
    found = ricordo("keys", "--json", "-u", "ana", *place).json
    assert [one["id"] for one in found["items"]] == [key.id]


def test_json_has_the_key_with_its_secret(place: tuple[str, str]) -> None:
    permissions = ("--permission", "read_all", "--permission", "manage")
    made = ricordo("keys", "create", "all", *permissions, "--json", *place).json
    assert set(made) == {"key", "secret"}
    assert made["key"]["kind"] == "service"
    assert made["key"]["permissions"] == ["manage", "read_all"]
    assert made["secret"].startswith(f"rk_{made['key']['id']}_")


def test_a_key_is_checked_by_standard_input_or_the_environment(
    place: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ricordo("keys", "create", "one", "-u", "ana", "--json", *place).json
    said = ricordo("keys", "check", *place, stdin=f"{made['secret']}\n")
    assert said.out == "Good: one, for user 'ana'.\n"
    monkeypatch.setenv("RICORDO_API_KEY", made["secret"])
    assert ricordo("keys", "check", "--json", *place).json["id"] == made["key"]["id"]
    assert ricordo("keys", "check", made["secret"], *place).code == 2  # never as an argument
    revoked = ricordo("keys", "revoke", made["key"]["id"], "--json", *place).json
    assert revoked["revoked_at"] is not None
    refused = ricordo("keys", "check", "--json", *place)
    assert (refused.code, refused.error["error"]) == (5, "NotAuthenticated")
    assert made["secret"] not in json.dumps(refused.error)
    assert ricordo("keys", "--json", *place).json["items"] == []
    assert len(ricordo("keys", "--all", "--json", *place).json["items"]) == 1
    assert "revoked" in ricordo("keys", "--all", *place).out


@pytest.mark.requirement("keys.show")
def test_one_key_is_shown_without_its_secret(place: tuple[str, str]) -> None:
    made = ricordo("keys", "create", "one", "-u", "ana", "--json", *place).json
    ricordo("keys", "create", "another", *place)
    said = ricordo("keys", "show", made["key"]["id"], *place).out
    assert "for user 'ana'" in said
    assert said.rstrip().endswith("good")
    assert "another" not in said
    found = ricordo("keys", "show", made["key"]["id"], "--json", *place)
    assert found.json == made["key"]
    assert made["secret"] not in found.out
    ricordo("keys", "revoke", made["key"]["id"], *place)
    assert "revoked" in ricordo("keys", "show", made["key"]["id"], *place).out


def test_mistakes_are_explained(place: tuple[str, str]) -> None:
    for given, code, kind in (
        (("create", "x", "--agent", "planner"), 2, "InvalidValue"),
        (("create", "x", "--category", "work"), 2, "InvalidValue"),
        (("create", "x", "-u", "ana", "--permission", "manage"), 2, "InvalidValue"),
        (("create", "x", "--permission", "everything"), 2, "InvalidValue"),
        (("revoke", "aaaaaaaaaaaa"), 3, "KeyNotFound"),
        (("show", "aaaaaaaaaaaa"), 3, "KeyNotFound"),
        (("list", "--cursor", "nonsense"), 2, "InvalidCursor"),
    ):
        ran = ricordo("keys", *given, "--json", *place)
        assert (ran.code, ran.error["error"]) == (code, kind)
    with opened(place) as memory:
        assert not memory.has_keys()
