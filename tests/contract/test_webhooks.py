"""Webhooks: what is delivered to whom, in order, again after failures, and to which addresses."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import (
    Conflict,
    InvalidSignature,
    InvalidValue,
    Memory,
    PermissionMissing,
    TargetRefused,
    UserMemory,
    WebhookNotFound,
    WebhookState,
    limits,
    verify_webhook,
)
from ricordo.jobs.webhooks import backoff_seconds
from ricordo.providers.encryption import SecretBox
from ricordo.testing import ManualClock
from ricordo.user_memory.base import UserOperations
from ricordo.wiring import open_memory, restore_backup
from tests.contract.conftest import on_sqlite
from tests.support.receivers import Received, Receiver, answering, closes, receiver
from tests.support.waiting import wait_until

SETTLED = limits.WEBHOOK_SETTLE_SECONDS


@pytest.fixture
def memory(backend_url: str, open_store: Callable[..., Memory]) -> Memory:
    return open_store(backend_url, webhook_loopback=True)


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def verified(one: Received, secret: str, clock: ManualClock) -> dict[str, Any]:
    return verify_webhook(one.body, one.headers, secret, now=clock())


def deliver(memory: Memory, clock: ManualClock, **later: float) -> None:
    """Run what is due after some time."""
    clock.advance(**(later or {"seconds": SETTLED}))
    memory.run_jobs()


@pytest.mark.requirement("webhooks.deliver")
def test_what_happens_from_now_on_is_delivered_as_the_feed_has_it(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    ana.add("Before")
    made = ana.create_webhook(hook.url)
    since = ana.revision()
    home = ana.add("Lives in Turin", key="home")
    ana.add("Lives in Lisbon", key="home")
    ana.pin(home.id)
    memory.user("ben").add("Somebody else's")
    memory.run_jobs()

    (got,) = hook.received
    sent = verified(got, made.secret, clock)
    assert sent["type"] == "memory.changes"
    feed = ana.changes(since).to_dict()
    assert sent["data"] == {"webhook_id": made.webhook.id, "user_id": "ana", **feed}
    assert got.headers["content-type"] == "application/json"
    (delivery,) = ana.webhook_deliveries(made.webhook.id)
    assert (delivery.delivered, delivery.status, delivery.changes) == (True, 200, 3)
    assert (delivery.message_id, delivery.user_id) == (got.id, "ana")
    assert (delivery.first_revision, delivery.last_revision) == (2, 4)

    deliver(memory, clock)
    assert len(hook.received) == 1  # nothing new, nothing sent
    ana.forget(home.id)
    memory.run_jobs()
    assert hook.revisions == list(range(2, ana.revision() + 1))
    assert hook.received[1].id != got.id


@pytest.mark.requirement("webhooks.deliver")
def test_many_changes_are_several_requests_in_order(
    memory: Memory, ana: UserMemory, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WEBHOOK_CHANGES", 4)
    ana.create_webhook(hook.url)
    ana.add_many([{"content": f"Fact {number}"} for number in range(10)])
    memory.run_jobs()
    assert [one.revisions for one in hook.received] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert [one.sent["data"]["more"] for one in hook.received] == [True, True, False]
    monkeypatch.setattr(limits, "MAX_WEBHOOK_BYTES", 500)
    ana.add_many([{"content": f"More {number}"} for number in range(4)])
    memory.run_jobs()
    assert [one.revisions for one in hook.received[3:]] == [[11, 12], [13, 14]]


@pytest.mark.requirement("webhooks.kinds")
def test_only_the_kinds_of_change_that_are_wanted(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url, events=["DELETE", "PIN"]).webhook
    tea = ana.add("Likes tea")
    memory.run_jobs()
    assert hook.received == []
    ana.pin(tea.id)
    ana.verify(tea.id)
    memory.run_jobs()
    assert [one.revisions for one in hook.received] == [[2]]
    assert hook.received[0].sent["data"]["more"] is False
    assert ana.update_webhook(made.id, events="any").events == ()
    ana.archive(tea.id)
    deliver(memory, clock)
    assert hook.revisions == [2, 4]
    with pytest.raises(InvalidValue, match="'EATEN' is not one of: ADD, UPDATE"):
        ana.create_webhook(hook.url, events=["EATEN"])


@pytest.mark.requirement("webhooks.everybody")
def test_the_operator_gets_the_changes_of_all_users(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    ana.add("Before")
    made = memory.create_webhook(hook.url)
    assert made.webhook.user_id is None
    ana.add("Likes tea")
    memory.user("ben").add("Likes coffee")
    memory.global_memories().add("The office is closed on Mondays")
    memory.create_group("payments", manager="ana")
    memory.user("ana", group="payments").add("Deploys on Thursdays")
    ana.add("Likes cocoa, too")
    memory.run_jobs()
    told = {one.sent["data"]["user_id"]: one.revisions for one in hook.received}
    assert told == {"ana": [2, 3], "ben": [1], "*": [1], "*payments": [1]}
    assert {one.id for one in hook.received} == {
        one.message_id for one in memory.webhook_deliveries(made.webhook.id)
    }
    memory.update_webhook(made.webhook.id, paused=True)
    ana.add("While it pauses")
    memory.user("eve").add("New meanwhile")
    deliver(memory, clock)
    assert len(hook.received) == 4
    memory.update_webhook(made.webhook.id, paused=False)
    deliver(memory, clock)
    assert sorted(one.sent["data"]["user_id"] for one in hook.received[4:]) == ["ana", "eve"]


@pytest.mark.requirement("webhooks.everybody")
def test_an_operator_sees_all_webhooks_and_a_user_their_own(
    memory: Memory, ana: UserMemory, hook: Receiver
) -> None:
    mine = ana.create_webhook(hook.url).webhook
    theirs = memory.user("ben").create_webhook(hook.url).webhook
    every = memory.create_webhook(hook.url).webhook
    assert ana.webhooks() == (mine,)
    assert {one.id for one in memory.webhooks()} == {mine.id, theirs.id, every.id}
    assert memory.webhooks(user="ben") == (theirs,)
    ids = sorted([mine.id, theirs.id, every.id])
    assert [one.id for one in memory.webhooks(limit=1, after=ids[0])] == ids[1:2]
    for foreign in (theirs.id, every.id, "wh_none"):
        for refused in (
            ana.webhook,
            ana.update_webhook,
            ana.delete_webhook,
            ana.test_webhook,
            ana.rotate_webhook_secret,
            ana.webhook_deliveries,
        ):
            with pytest.raises(WebhookNotFound, match=f"no webhook '{foreign}'"):
                refused(foreign)
    assert memory.update_webhook(theirs.id, paused=True).state is WebhookState.PAUSED
    assert memory.delete_webhook(theirs.id).id == theirs.id
    assert memory.user("ben").webhooks() == ()


@pytest.mark.requirement("webhooks.isolation")
def test_a_scope_gets_no_more_than_it_may_see(
    memory: Memory, ana: UserMemory, hook: Receiver
) -> None:
    shop = memory.user("ana", project="shop")
    kept_to = shop.create_webhook(hook.url).webhook
    whole = ana.create_webhook(hook.url).webhook
    assert shop.webhooks() == (kept_to,)
    with pytest.raises(WebhookNotFound):
        shop.webhook(whole.id)
    assert {one.id for one in ana.webhooks()} == {kept_to.id, whole.id}
    shop.add("Uses SQLite")
    memory.user("ana", project="blog").add("Uses Markdown")
    memory.run_jobs()
    by_hook = {
        one.id: [
            revision
            for got in hook.received
            if got.sent["data"]["webhook_id"] == one.id
            for revision in got.revisions
        ]
        for one in (kept_to, whole)
    }
    assert by_hook == {kept_to.id: [1], whole.id: [1, 2]}
    with pytest.raises(PermissionMissing, match="whole memory"):
        memory.user("ana", categories=["work"]).create_webhook(hook.url)
    memory.create_group("payments", manager="ana")
    with pytest.raises(InvalidValue, match="the space of a group"):
        memory.user("ana", group="payments").create_webhook(hook.url)


@pytest.mark.requirement("webhooks.isolation")
def test_an_agent_registers_nothing(memory: Memory, ana: UserMemory, hook: Receiver) -> None:
    from dataclasses import replace

    agent = UserMemory(memory.parts, replace(ana.scope, agent_id="planner", is_agent=True))
    assert isinstance(agent, UserOperations)
    with pytest.raises(PermissionMissing, match="for the user to decide"):
        agent.create_webhook(hook.url)
    with pytest.raises(PermissionMissing):
        agent.webhooks()


# -- failures -----------------------------------------------------------------------------------


@pytest.mark.requirement("webhooks.retry")
def test_a_failed_request_is_sent_again_in_order_under_the_same_id(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    hook.answers = [500, closes, answering(302, Location="http://127.0.0.1:9/")]
    made = ana.create_webhook(hook.url).webhook
    ana.add("One")
    memory.run_jobs()
    failing = ana.webhook(made.id)
    assert (failing.failures, failing.last_error) == (1, "answered 500")
    assert failing.next_attempt_at is not None and failing.next_attempt_at > clock()
    ana.add("Two")  # does not make it come earlier, nor go first
    memory.run_jobs()
    assert len(hook.received) == 1
    for tries in (2, 3, 4):
        deliver(memory, clock, minutes=1)
        assert len(hook.received) >= tries
    deliver(memory, clock)
    assert [one.revisions for one in hook.received] == [[1], [1], [1], [1], [2]]
    assert len({one.id for one in hook.received[:4]}) == 1
    assert hook.received[3].sent["data"]["more"] is True
    well = ana.webhook(made.id)
    assert (well.failures, well.failing_since, well.last_error) == (0, None, None)
    errors = [one.error for one in reversed(ana.webhook_deliveries(made.id))]
    assert errors[0] == "answered 500"
    assert errors[1] is not None and errors[1].startswith("cannot be reached")
    assert errors[2] == "answered 302: a redirect, which is not followed"
    assert errors[3:] == [None, None]


@pytest.mark.requirement("webhooks.retry")
def test_pauses_grow_and_differ_and_a_receiver_can_ask_for_longer_ones() -> None:
    longest = [backoff_seconds(failures, None, lambda: 1.0) for failures in range(1, 20)]
    shortest = [backoff_seconds(failures, None, lambda: 0.0) for failures in range(1, 20)]
    assert longest[:3] == pytest.approx([6, 12, 24])
    assert shortest[:3] == pytest.approx([4, 8, 16])
    assert longest[-1] == pytest.approx(1.2 * limits.WEBHOOK_BACKOFF_CAP_SECONDS)
    assert backoff_seconds(1, 90.0, lambda: 1.0) == 90.0
    assert backoff_seconds(1, 1e9, lambda: 1.0) == limits.MAX_WEBHOOK_PAUSE_SECONDS
    assert backoff_seconds(10_000, None, lambda: 0.0) > 0


@pytest.mark.requirement("webhooks.retry")
def test_a_receiver_can_ask_to_be_left_alone(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    hook.answers = [answering(429, Retry_After="3600")]
    made = ana.create_webhook(hook.url).webhook
    ana.add("One")
    memory.run_jobs()
    assert ana.webhook(made.id).next_attempt_at == clock() + timedelta(hours=1)
    deliver(memory, clock, minutes=59)
    assert len(hook.received) == 1
    deliver(memory, clock, minutes=1)
    assert hook.revisions == [1, 1]


@pytest.mark.requirement("webhooks.pause")
def test_long_failure_pauses_and_resuming_goes_on_where_it_was(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    hook.usual = 503
    made = ana.create_webhook(hook.url).webhook
    ana.add("One")
    memory.run_jobs()
    for _ in range(limits.WEBHOOK_FAILING_HOURS):
        deliver(memory, clock, hours=1.3)
    paused = ana.webhook(made.id)
    assert paused.state is WebhookState.PAUSED
    assert paused.reason == "nothing could be delivered for 72 hours: answered 503"
    attempts = len(hook.received)
    ana.add("Two")
    deliver(memory, clock, hours=10)
    assert len(hook.received) == attempts
    hook.usual = 200
    resumed = ana.update_webhook(made.id, paused=False)
    assert (resumed.state, resumed.reason, resumed.failures) == (WebhookState.ACTIVE, None, 0)
    deliver(memory, clock)
    assert [one.revisions for one in hook.received[attempts:]] == [[1], [2]]


@pytest.mark.requirement("webhooks.pause")
def test_a_receiver_that_is_gone_is_paused_at_once(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    hook.answers = [410]
    made = ana.create_webhook(hook.url).webhook
    ana.add("One")
    memory.run_jobs()
    gone = ana.webhook(made.id)
    assert gone.state is WebhookState.PAUSED
    assert gone.reason == "the receiver answered 410: it is gone for good"
    deliver(memory, clock, days=1)
    assert len(hook.received) == 1
    with receiver() as elsewhere:
        ana.update_webhook(made.id, url=elsewhere.url, paused=False)
        deliver(memory, clock)
        assert elsewhere.revisions == [1]


@pytest.mark.requirement("webhooks.pause")
def test_a_user_pauses_and_resumes(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url).webhook
    paused = ana.update_webhook(made.id, paused=True)
    assert (paused.state, paused.reason) == (WebhookState.PAUSED, "paused by request")
    ana.add("One")
    deliver(memory, clock)
    assert hook.received == []
    ana.update_webhook(made.id, paused=False)
    deliver(memory, clock)
    assert hook.revisions == [1]
    assert ana.update_webhook(made.id) == ana.webhook(made.id)


@pytest.mark.requirement("webhooks.erasure")
def test_what_was_erased_is_not_sent_later(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    hook.answers = [500]
    every = memory.create_webhook(hook.url).webhook
    home = ana.add("Lives in Turin, Via Po 7", key="home", reason="she told it on Via Po")
    ana.add("Lives in Lisbon", key="home")
    memory.run_jobs()
    assert b"Via Po" in hook.received[0].body
    ana.forget(home.id)
    ana.purge(before_time=True)
    deliver(memory, clock, minutes=1)
    assert hook.received[1].id == hook.received[0].id
    assert all(b"Via Po" not in one.body for one in hook.received[1:])

    hook.answers = [500]
    attempts = len(hook.received)
    ana.add("Plays the cello")
    memory.run_jobs()
    memory.erase_user("ana")
    assert memory.webhook_deliveries(every.id) == ()
    deliver(memory, clock, minutes=1)
    assert len(hook.received) == attempts + 1
    ana.add("Begins again")
    memory.run_jobs()
    assert hook.received[-1].revisions == [1]


@pytest.mark.requirement("webhooks.erasure")
def test_erasing_a_user_removes_their_webhooks(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    ana.create_webhook(hook.url)
    ana.add("One")
    receipt = memory.erase_user("ana")
    assert receipt.removed["webhooks"] == 1
    assert ana.webhooks() == ()
    ana.add("Two")
    deliver(memory, clock)
    assert hook.received == []


@pytest.mark.requirement("webhooks.erasure")
def test_a_deleted_webhook_delivers_nothing_more(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url).webhook
    ana.add("One")
    assert ana.delete_webhook(made.id).id == made.id
    deliver(memory, clock)
    assert hook.received == []
    with pytest.raises(WebhookNotFound):
        ana.webhook_deliveries(made.id)


# -- secrets ------------------------------------------------------------------------------------


@pytest.mark.requirement("webhooks.signed")
def test_after_a_rotation_both_secrets_are_good_for_a_day(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url)
    renewed = ana.rotate_webhook_secret(made.webhook.id)
    assert renewed.secret != made.secret
    assert renewed.webhook.old_secret_until == clock() + timedelta(hours=24)
    ana.add("One")
    memory.run_jobs()
    for secret in (made.secret, renewed.secret):
        verified(hook.received[0], secret, clock)
    deliver(memory, clock, hours=24)
    ana.add("Two")
    memory.run_jobs()
    verified(hook.received[1], renewed.secret, clock)
    with pytest.raises(InvalidSignature):
        verified(hook.received[1], made.secret, clock)
    with memory.database.read_all() as view:
        kept = view.connection.exec_driver_sql("SELECT * FROM webhooks").all()
    assert made.secret not in str(kept) and renewed.secret not in str(kept)
    assert renewed.secret not in "".join(ana.export_lines())


@pytest.mark.requirement("webhooks.signed")
def test_who_rotates_twice_in_a_row_loses_no_receiver(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url)
    secrets = [made.secret]
    for _ in range(2):  # the answer to the first got lost
        secrets.append(ana.rotate_webhook_secret(made.webhook.id).secret)
        clock.advance(hours=13)
    ana.test_webhook(made.webhook.id)
    with pytest.raises(InvalidSignature):
        verified(hook.received[0], secrets[0], clock)
    for secret in secrets[1:]:
        verified(hook.received[0], secret, clock)
    for _ in range(10):
        secrets.append(ana.rotate_webhook_secret(made.webhook.id).secret)
    ana.test_webhook(made.webhook.id)
    assert len(hook.received[1].headers["webhook-signature"].split()) == 5
    for secret in secrets[-5:]:
        verified(hook.received[1], secret, clock)


@on_sqlite
@pytest.mark.requirement("webhooks.signed")
def test_secrets_without_their_key_are_replaced_by_a_rotation(
    backend_url: str, open_store: Callable[..., Memory], hook: Receiver, clock: ManualClock
) -> None:
    opened = [
        open_store(backend_url, webhook_loopback=True, secret_key=SecretBox.new_key())
        for _ in range(2)
    ]
    made = opened[0].user("ana").create_webhook(hook.url).webhook
    ana = opened[1].user("ana")
    ana.add("One")
    opened[1].run_jobs()
    assert "the stored key cannot be decrypted" in str(ana.webhook(made.id).last_error)
    assert ana.test_webhook(made.id).status is None
    renewed = ana.rotate_webhook_secret(made.id)
    deliver(opened[1], clock, minutes=1)
    verified(hook.received[0], renewed.secret, clock)
    assert hook.revisions == [1]


@pytest.mark.requirement("webhooks.signed")
def test_a_ping_says_at_once_what_became_of_it(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    made = ana.create_webhook(hook.url)
    ana.update_webhook(made.webhook.id, paused=True)
    hook.answers = [200, 500]
    good = ana.test_webhook(made.webhook.id)
    assert (good.delivered, good.status, good.type) == (True, 200, "webhook.ping")
    sent = verified(hook.received[0], made.secret, clock)
    assert sent["data"] == {"webhook_id": made.webhook.id, "user_id": "ana"}
    bad = ana.test_webhook(made.webhook.id)
    assert (bad.delivered, bad.status, bad.error) == (False, 500, "answered 500")
    assert ana.webhook_deliveries(made.webhook.id) == (bad, good)
    assert ana.webhook_deliveries(made.webhook.id, limit=1) == (bad,)
    assert ana.webhook(made.webhook.id).failures == 0


# -- workers ------------------------------------------------------------------------------------


@pytest.mark.requirement("webhooks.one-at-a-time")
def test_many_workers_deliver_one_request_at_a_time(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock
) -> None:
    entered, goes_on = threading.Event(), threading.Event()

    def slow(handler: Any) -> None:
        entered.set()
        assert goes_on.wait(60)
        answering(200)(handler)

    hook.answers = [slow]
    ana.create_webhook(hook.url)
    ana.add("One")
    first = threading.Thread(target=memory.run_jobs)
    first.start()
    assert entered.wait(60)
    ana.add("Two")
    memory.run_jobs()  # another worker finds the webhook busy
    assert len(hook.received) == 1
    goes_on.set()
    first.join()
    deliver(memory, clock)
    assert hook.revisions == [1, 2]
    assert hook.most_at_once == 1


@on_sqlite
@pytest.mark.requirement("jobs.stint")
def test_many_deliveries_let_others_go_first(
    backend_url: str,
    open_store: Callable[..., Memory],
    hook: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_WEBHOOK_CHANGES", 1)
    memory = open_store(backend_url, webhook_loopback=True)
    monkeypatch.setattr(memory.runner, "_run_seconds", 0)
    memory.create_webhook(hook.url, events="PIN")
    for user_id in ("ana", "ben", "eve"):
        user = memory.user(user_id)
        user.verify(user.add("Likes tea").id)
    memory.run_jobs(limit=4)  # what three users have, and the first look at one of them
    (job,) = memory.jobs(kind="webhook", state="queued")
    assert (job.attempts, job.last_error) == (0, "looking for what is wanted")
    tea = memory.user("ana").list().items[0]
    for _ in range(2):
        memory.user("ana").pin(tea.id)
        memory.user("ana").verify(tea.id)
    memory.run_jobs()
    assert hook.revisions == [3]  # the second pin changed nothing
    assert memory.jobs(kind="webhook", state="queued") == ()


@on_sqlite
@pytest.mark.requirement("webhooks.limits")
def test_there_are_not_more_webhooks_than_allowed(
    memory: Memory, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WEBHOOKS_PER_USER", 2)
    monkeypatch.setattr(limits, "MAX_STORE_WEBHOOKS", 1)
    for make, most in ((ana.create_webhook, 2), (memory.create_webhook, 1)):
        for number in range(most):
            made = make(f"https://example.org/{number}").webhook
        with pytest.raises(Conflict, match=f"there are {most} webhooks, the most allowed"):
            make("https://example.org/hook")
    monkeypatch.setattr(limits, "MAX_STORE_WEBHOOKS", 3)
    with pytest.raises(Conflict, match=f"webhook {made.id} delivers to this address already"):
        memory.create_webhook(made.url)
    with pytest.raises(Conflict, match="delivers to this address already"):
        ana.update_webhook(ana.webhooks()[0].id, url=ana.webhooks()[1].url)
    monkeypatch.setattr(limits, "MAX_KEPT_DELIVERIES", 3)
    (every,) = (one for one in memory.webhooks() if one.user_id is None)
    with receiver() as hook:
        memory.update_webhook(every.id, url=hook.url)
        kept = [memory.test_webhook(every.id).id for _ in range(5)]
    assert [one.id for one in memory.webhook_deliveries(every.id, limit=3)] == kept[:1:-1]


# -- addresses ----------------------------------------------------------------------------------

INSIDE = (
    "https://127.0.0.1/hook",
    "https://localhost/hook",
    "https://api.localhost/hook",
    "https://[::1]/hook",
    "https://10.0.0.7/hook",
    "https://172.16.4.4/hook",
    "https://192.168.1.1/hook",
    "https://169.254.169.254/latest/meta-data",
    "https://[fe80::1]/hook",
    "https://[fd00:ec2::254]/hook",
    "https://[::ffff:127.0.0.1]/hook",
    "https://100.100.100.200/hook",
    "https://0.0.0.0/hook",
    "https://224.0.0.1/hook",
)
NO_ADDRESS = (
    "http://example.org/hook",
    "ftp://example.org/hook",
    "example.org/hook",
    "https://ana:secret@example.org/hook",
    "https://example.org/hook#part",
    "https://127.1/hook",
    "https://0x7f000001/hook",
    "https://2130706433/hook",
    "https://exam ple.org/hook",
    "https://example.org\\@127.0.0.1/hook",
    "",
)


@on_sqlite
@pytest.mark.requirement("webhooks.addresses")
def test_addresses_inside_are_refused(backend_url: str, open_store: Callable[..., Memory]) -> None:
    ana = open_store(backend_url).user("ana")
    for url in INSIDE:
        with pytest.raises(TargetRefused, match="^url: "):
            ana.create_webhook(url)
    for url in NO_ADDRESS:
        with pytest.raises(InvalidValue, match="^url: "):
            ana.create_webhook(url)
    assert ana.webhooks() == ()
    made = ana.create_webhook("https://example.org/hook?token=1").webhook
    assert made.url == "https://example.org/hook?token=1"
    with pytest.raises(TargetRefused):
        ana.update_webhook(made.id, url=INSIDE[0])


@on_sqlite
@pytest.mark.requirement("webhooks.addresses")
def test_with_the_setting_loopback_and_nothing_else_inside(memory: Memory) -> None:
    ana = memory.user("ana")
    for url in (*INSIDE[:4], "http://127.0.0.1:8000/hook", "http://localhost/x", "http://[::1]/x"):
        assert ana.create_webhook(url).webhook.url == url
    for url in (*INSIDE[4:], "http://10.0.0.7/x"):
        with pytest.raises(TargetRefused):
            ana.create_webhook(url)
    with pytest.raises(InvalidValue, match="http:// is for loopback alone"):
        ana.create_webhook("http://example.org/hook")


@on_sqlite
@pytest.mark.requirement("webhooks.pause")
def test_a_restored_copy_does_not_send_what_the_original_sends(
    memory: Memory, ana: UserMemory, hook: Receiver, clock: ManualClock, tmp_path: Path
) -> None:
    made = ana.create_webhook(hook.url)
    memory.create_webhook(hook.url)
    ana.add("One")
    memory.backup(tmp_path / "kept.backup")
    settings: dict[str, Any] = {"webhook_loopback": True, "run_jobs": False, "clock": clock}
    restore_backup(tmp_path / "kept.backup", tmp_path / "copy.db", clock=clock)
    with open_memory(tmp_path / "copy.db", **settings) as copy:
        copy.user("ana").add("Two")
        deliver(copy, clock)
        assert hook.received == []
        assert {one.reason for one in copy.webhooks()} == {"the store was restored from a backup"}
        copy.user("ana").update_webhook(made.webhook.id, paused=False)
        deliver(copy, clock)
        assert hook.revisions == [1, 2]


@on_sqlite
@pytest.mark.requirement("jobs.lanes")
def test_a_receiver_that_hangs_holds_up_no_other_job(
    backend_url: str, open_store: Callable[..., Memory], hook: Receiver
) -> None:
    goes_on = threading.Event()

    def hangs(handler: Any) -> None:
        goes_on.wait(60)
        closes(handler)

    hook.usual = hangs
    with receiver() as well:
        memory = open_store(backend_url, webhook_loopback=True, run_jobs=True, purge_after_days=0)
        ana = memory.user("ana")
        ana.create_webhook(hook.url)
        try:
            tea = ana.add("Likes tea")
            wait_until(lambda: hook.received)
            memory.create_webhook(well.url)
            ana.forget(tea.id)
            wait_until(lambda: memory.jobs(kind="lifecycle", state="done"))
            wait_until(lambda: well.received)
        finally:
            goes_on.set()
            memory.close()
