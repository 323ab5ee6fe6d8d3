"""Requests of webhooks: which addresses they reach, and what hostile receivers can do."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from ricordo import limits
from ricordo.providers.webhook_sender import Answer, WebhookSender
from tests.support.receivers import Receiver, answering, closes, receiver

pytestmark = pytest.mark.requirement("webhooks.addresses")

PUBLIC = "93.184.215.14"


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def post(sender: WebhookSender, url: str) -> Answer:
    with sender.to(url) as send:
        return send({"webhook-id": "msg_1"}, b"{}")


def test_a_name_is_checked_each_time_it_is_connected_to(hook: Receiver) -> None:
    port = hook.url.rsplit(":", 1)[1]
    answers = {"rebinds.example": "127.0.0.1", "inside.example": "10.0.0.7"}
    sender = WebhookSender(
        allow_loopback=False, resolve=lambda host, _port: [PUBLIC, answers[host]]
    )
    for host in answers:
        url = sender.check(f"https://{host}:{port}")  # names are not resolved before
        answer = post(sender, url)
        assert answer.status is None
        assert answer.error is not None
        assert answer.error.startswith(f"url: {host} has no public address")
        assert "10.0.0.7" not in answer.error
    for url in (hook.url, hook.url.replace("http://", "https://")):
        assert post(sender, url).status is None
    assert hook.received == []


def test_loopback_by_name_where_the_operator_allows_it(hook: Receiver) -> None:
    by_name = hook.url.replace("127.0.0.1", "localhost")
    sender = WebhookSender(allow_loopback=True, resolve=lambda *_: ["127.0.0.1"])
    assert post(sender, by_name).status == 200
    public = WebhookSender(allow_loopback=True, resolve=lambda *_: [PUBLIC])
    assert "no public address" in str(post(public, by_name).error)
    assert len(hook.received) == 1


def test_proxies_of_the_environment_are_not_asked(
    hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, hook.url)
    refusing = WebhookSender(allow_loopback=False, resolve=lambda *_: ["10.0.0.7"])
    assert post(refusing, "https://inside.example/").status is None
    assert hook.received == []


def test_redirects_are_not_followed(hook: Receiver) -> None:
    sender = WebhookSender(allow_loopback=True)
    for status in (301, 302, 303, 307, 308):
        hook.answers = [answering(status, Location=hook.url)]
        answer = post(sender, hook.url)
        assert answer.error == f"answered {status}: a redirect, which is not followed"
    assert len(hook.received) == 5


def test_a_receiver_that_hangs_or_trickles_ends_in_time(hook: Receiver) -> None:
    over = threading.Event()

    def hangs(_handler: BaseHTTPRequestHandler) -> None:
        over.wait(60)

    def trickles(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not over.wait(0.02):
            try:
                handler.wfile.write(b"x-more: 1\r\n")
            except OSError:
                return

    sender = WebhookSender(allow_loopback=True, seconds=0.3)
    try:
        for answers in (hangs, trickles):
            hook.answers = [answers]
            answer = post(sender, hook.url)
            assert answer.status is None
            assert answer.error == "no answer within 0.3 s" or "reached" in str(answer.error)
    finally:
        over.set()


def test_an_endless_answer_is_not_read_to_its_end(hook: Receiver) -> None:
    written = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal written
        handler.send_response(200)
        handler.end_headers()
        try:
            while written < 100 * limits.MAX_WEBHOOK_ANSWER_BYTES:
                written += handler.wfile.write(b"x" * 65_536)
        except OSError:
            handler.close_connection = True

    hook.answers = [endless]
    assert post(WebhookSender(allow_loopback=True), hook.url).status == 200
    assert written < 100 * limits.MAX_WEBHOOK_ANSWER_BYTES


def test_what_is_no_answer_is_a_failure(hook: Receiver) -> None:
    def nonsense(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"220 ready\r\n")
        handler.close_connection = True

    sender = WebhookSender(allow_loopback=True)
    for answers in (closes, nonsense):
        hook.answers = [answers]
        answer = post(sender, hook.url)
        assert not answer.is_good and answer.status is None
    with receiver() as gone:
        url = gone.url
    assert "cannot be reached" in str(post(sender, url).error)
