"""Groups on the command line."""

from collections.abc import Callable

import pytest

from ricordo import Memory
from tests.support.commandline import Ran, ricordo

pytestmark = pytest.mark.requirement("groups.members")
Cli = Callable[..., Ran]


def test_groups_are_made_and_used(cli: Cli, store: Memory, backend_url: str) -> None:
    def run(*words: str) -> Ran:
        return ricordo(*words, "--db", backend_url)

    assert "No groups. Make one" in cli("groups").out
    made = ricordo(
        "groups",
        "create",
        "payments",
        "--db",
        backend_url,
        "--manager",
        "ana",
        "--title",
        "The team",
    ).out
    assert made.strip() == "Group payments is made."
    assert "ben is in payments: read." in cli("groups", "set", "payments", "ben", "read").out
    kept = cli("add", "Refunds go through the ledger", "--group", "payments", "--json").json
    assert store.user("ben").get(kept["id"]).user_id == "*payments"
    assert "group payments wrote" in run("search", "refunds", "-u", "ben").out
    refused = run("add", "Not mine to say", "--group", "payments", "-u", "ben", "--json")
    assert (refused.code, refused.error["error"]) == (5, "PermissionMissing")
    missing = run("list", "--group", "payments", "-u", "dan", "--json")
    assert (missing.code, missing.error["error"]) == (3, "GroupNotFound")
    both = cli("list", "--group", "payments", "--global")
    assert both.code == 2
    assert [one["role"] for one in cli("groups", "members", "payments", "--json").json] == [
        "manage",
        "read",
    ]
    assert cli("groups", "--all-users", "--json").json[0]["members"] == 2
    assert cli("groups", "--limit", "3").code == 2  # of all groups
    assert run("groups", "remove", "payments", "ben", "-u", "ben", "--json").json == {
        "group": "payments",
        "removed": "ben",
    }
    last = cli("groups", "remove", "payments", "ana", "--json")
    assert last.error["error"] == "Conflict"
    assert cli("groups", "remove", "payments", "ana", "--all-users").code == 0
    assert "needs --yes" in run("groups", "delete", "payments").err
    assert "Erased group 'payments'" in run("groups", "delete", "payments", "--yes").out
    assert store.groups() == ()


def test_the_group_of_the_environment_is_used(
    cli: Cli, store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_group("payments", manager="ana")
    monkeypatch.setenv("RICORDO_GROUP", "payments")
    kept = cli("add", "Refunds go through the ledger", "--json").json
    assert store.user("ana", group="payments").get(kept["id"]).actor_id == "ana"
    told = cli("window", "t", "--json")
    assert told.error["error"] == "InvalidValue"
