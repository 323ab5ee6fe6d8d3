"""Answers that come piece by piece, over real HTTP."""

import contextlib
import threading
from collections.abc import Iterator

import pytest

from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused, ModelUnavailable
from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import ModelChoice
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("conversations.chat")

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well? \ud800"}]
STREAM = {"Content-Type": "text/event-stream"}
TEXT = "The tulips come up in April, the roses in June."


@contextlib.contextmanager
def model(base_url: str, api_key: str | None = None) -> Iterator[ChatModel]:
    choice = ModelChoice.parse("custom_http", model="scripted", base_url=base_url, api_key=api_key)
    with contextlib.closing(ChatModel(choice, deadline_seconds=30)) as opened:
        yield opened


def stream(server: FaultyModel, api_key: str | None = None, **more: float) -> Iterator[str]:
    with model(server.base_url, api_key) as opened:
        yield from opened.stream(ASKED, max_tokens=100, **more)


def read(server: FaultyModel, **more: float) -> list[str]:
    return list(stream(server, **more))


def test_pieces_come_as_they_are_written(server: FaultyModel) -> None:
    server.answer(TEXT)
    pieces = read(server)
    assert len(pieces) > 3
    assert "".join(pieces) == TEXT
    (request,) = server.requests
    assert request.body["stream"] is True
    assert request.body["messages"][1]["content"] == "Well? ?"


def test_an_endpoint_that_does_not_stream_gives_one_piece(server: FaultyModel) -> None:
    whole = b'{"choices": [{"message": {"content": "All at once."}, "finish_reason": "stop"}]}'
    server.fail_next(status=200, body=whole)
    assert read(server) == ["All at once."]


def test_an_endpoint_that_knows_another_name_for_the_limit(server: FaultyModel) -> None:
    said = b'{"error": {"message": "Unsupported parameter: use max_completion_tokens"}}'
    server.fail_next(status=400, body=said)
    server.answer(TEXT)
    assert "".join(read(server)) == TEXT
    fields = [
        set(request.body) & {"max_tokens", "max_completion_tokens"} for request in server.requests
    ]
    assert fields[0] != fields[1]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, ModelRefused), (401, ModelRefused), (429, ModelUnavailable), (503, ModelUnavailable)],
)
def test_a_refusal_is_told_in_one_line_without_the_key(
    server: FaultyModel, status: int, kind: type[LanguageModelError]
) -> None:
    body = b'{"error": {"message": "no\\nway, sk-hidden"}}'
    server.fail_next(status=status, body=body)
    with pytest.raises(kind, match=r"no way, \[key\]"):
        list(stream(server, "sk-hidden"))
    assert len(server.requests) == 1


def test_an_answer_that_breaks_off_gives_what_came(server: FaultyModel) -> None:
    server.answer_broken()
    came: list[str] = []
    with pytest.raises(ModelUnavailable, match="broke off"):
        came.extend(stream(server))
    assert "".join(came).startswith("This is")
    events = (
        b'data: {"choices": [{"delta": {"content": "So"}}]}\n\n'
        b'data: {"error": {"message": "out of memory"}}\n\n'
    )
    server.fail_next(status=200, headers=STREAM, body=events)
    came.clear()
    with pytest.raises(ModelUnavailable, match="out of memory"):
        came.extend(stream(server))
    assert came == ["So"]


@pytest.mark.parametrize("fault", ["html", "without_choices", "empty", "refusal"])
def test_what_is_no_answer(server: FaultyModel, fault: str) -> None:
    getattr(server, f"answer_{fault}")()
    with pytest.raises(ModelRefused if fault == "refusal" else BadAnswer):
        read(server)


def test_strange_events_are_passed_over(server: FaultyModel) -> None:
    events = (
        b": a comment\n\n"
        b'data: {"choices": []}\n\ndata: [1]\n\ndata: {"choices": [5]}\n\n'
        b'data: {"choices": [{"delta": {"content": null}}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "Yes."}}]}\n\ndata: [DONE]\n\n'
    )
    server.fail_next(status=200, headers=STREAM, body=events)
    assert read(server) == ["Yes."]
    server.fail_next(status=200, headers=STREAM, body=b"data: {not json\n\n")
    with pytest.raises(BadAnswer):
        read(server)


def test_nobody_there_and_nothing_in_time(server: FaultyModel) -> None:
    held = threading.Event()
    server.hang_until(held)
    with pytest.raises(ModelUnavailable, match="no answer within 0.2 s"):
        read(server, deadline_seconds=0.2)
    held.set()
    with model("http://127.0.0.1:9/v1") as gone, pytest.raises(ModelUnavailable):
        list(gone.stream(ASKED, max_tokens=10))


def test_whoever_has_read_enough_lets_go(server: FaultyModel) -> None:
    server.answer(TEXT)
    with (
        model(server.base_url) as opened,
        contextlib.closing(opened.stream(ASKED, max_tokens=10)) as pieces,
    ):
        assert TEXT.startswith(next(pieces))
