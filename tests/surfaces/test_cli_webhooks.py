"""Webhooks on the command line."""

from collections.abc import Callable

import pytest

from ricordo import Memory
from tests.support.commandline import Ran
from tests.support.receivers import receiver

pytestmark = pytest.mark.requirement("webhooks.deliver")
Cli = Callable[..., Ran]


def test_webhooks_are_made_tried_and_ended(
    cli: Cli, store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_WEBHOOK_LOOPBACK", "true")
    assert "No webhooks. Make one: ricordo webhooks create" in cli("webhooks").out
    with receiver() as hook:
        said = cli("webhooks", "create", hook.url, "--event", "ADD", "--event", "PIN").out
        assert said.startswith("whsec_") and "copy it now" in said
        (made,) = cli("webhooks", "--json").json
        assert (made["events"], made["user_id"]) == (["ADD", "PIN"], "ana")
        assert cli("webhooks", "test", made["id"]).out.startswith("Delivered in ")
        hook.answers = [500]
        assert cli("webhooks", "test", made["id"]).out == "Not delivered: answered 500.\n"
        cli("add", "Likes tea")
        cli("jobs", "run")
        assert hook.received[-1].revisions == [1]
        shown = cli("webhooks", "deliveries", made["id"]).out
        assert "memory.changes" in shown and "answered 500" in shown
        assert "paused by request" in cli("webhooks", "update", made["id"], "--paused").out
        assert ": active." in cli("webhooks", "update", made["id"], "--no-paused").out
        rotated = cli("webhooks", "rotate", made["id"], "--json").json
        assert rotated["secret"] not in said
    every = cli("webhooks", "create", "https://example.org/", "--all-users", "--json").json
    assert every["webhook"]["user_id"] is None
    assert "all users" in cli("webhooks", "--all-users").out
    assert cli("webhooks", "show", every["webhook"]["id"]).code == 3
    assert cli("webhooks", "show", every["webhook"]["id"], "--all-users").code == 0
    assert cli("webhooks", "--limit", "3").code == 2  # of all webhooks
    refused = cli("webhooks", "create", "https://10.0.0.7/", "--json")
    assert (refused.code, refused.error["error"]) == (2, "TargetRefused")
    assert "is deleted" in cli("webhooks", "delete", made["id"]).out
    assert store.user("ana").webhooks() == ()
