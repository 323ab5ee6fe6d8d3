"""Models that fail: which error, how many attempts, how long a wait, and what it costs."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable

import pytest

from ricordo.errors import BadAnswer, ModelRefused, ModelUnavailable
from ricordo.limits import (
    MAX_CORRECTIONS,
    MAX_MODEL_ANSWER_CHARS,
    MAX_MODEL_RESPONSE_BYTES,
    MAX_MODEL_RETRIES,
)
from ricordo.providers.chat_model import Usage, estimated_tokens
from tests.endpoints.surroundings import SteppingTime
from tests.llm.conftest import QUESTION, TEA, Asker
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("formation.model-faults")

Make = Callable[..., Asker]
PROMPT_TOKENS = estimated_tokens(QUESTION)


def test_what_may_pass_is_tried_again(server: FaultyModel, asker: Make, time: SteppingTime) -> None:
    server.fail_next(status=408)
    server.fail_next(status=503)
    server.answer(TEA)
    ana = asker()
    assert ana.ask().drink == "tea"
    assert time.pauses == [0.5, 1.0]
    assert ana.failed == [True, True, False]


def test_a_failed_request_counts_its_prompt(server: FaultyModel, asker: Make) -> None:
    server.fail_next(100, status=503)
    ana = asker()
    with pytest.raises(ModelUnavailable, match="not available: answered 503: scripted failure"):
        ana.reply()
    assert len(server.requests) == 1 + MAX_MODEL_RETRIES
    assert ana.used == [Usage(PROMPT_TOKENS, 0, failed=True)] * (1 + MAX_MODEL_RETRIES)


def test_retries_are_bounded_over_all_corrections(server: FaultyModel, asker: Make) -> None:
    """Each wrong answer comes after as many faults as one call may have in all."""
    server.fail_next(MAX_MODEL_RETRIES)
    server.answer("nonsense")
    server.answer_broken(times=1)
    with pytest.raises(ModelUnavailable):
        asker().ask()
    assert len(server.requests) == MAX_MODEL_RETRIES + 2


def test_an_asked_for_pause_is_kept_unless_it_is_too_long(
    server: FaultyModel, asker: Make, time: SteppingTime
) -> None:
    server.fail_next(status=429, headers={"Retry-After": "7"})
    server.answer("Tea.")
    asker().reply()
    assert time.pauses == [7.0]
    for wanted, deadline in (("3600", 7_200.0), ("20", 10.0)):
        server.fail_next(status=429, headers={"Retry-After": wanted})
        with pytest.raises(ModelUnavailable, match="429"):
            asker().reply(deadline_seconds=deadline)
    assert time.pauses == [7.0]


def test_no_pause_goes_past_the_deadline(
    server: FaultyModel, asker: Make, time: SteppingTime
) -> None:
    server.fail_next(100)
    ana = asker()
    with pytest.raises(ModelUnavailable, match="0 s were not enough"):
        ana.ask(deadline_seconds=0)
    assert (server.requests, ana.used) == ([], [])
    with pytest.raises(ModelUnavailable):
        ana.ask(deadline_seconds=2.0)
    assert time.pauses == [0.5, 1.0]


def test_the_deadline_covers_corrections(
    server: FaultyModel, asker: Make, time: SteppingTime
) -> None:
    def slowly() -> None:
        time.now += 6.0

    server.before_answer = slowly
    server.answer_nonsense()
    ana = asker()
    with pytest.raises(ModelUnavailable, match="10 s were not enough"):
        ana.ask(deadline_seconds=10.0)
    assert len(server.requests) == 2
    assert ana.failed == [True, True]


def test_a_hanging_model_costs_no_more_than_the_deadline(server: FaultyModel, asker: Make) -> None:
    server.hang_until(threading.Event())
    ana = asker(is_real_time=True)
    with pytest.raises(ModelUnavailable, match="no answer within"):
        ana.reply(deadline_seconds=2)
    assert len(server.requests) == 1
    assert ana.used == [Usage(PROMPT_TOKENS, 0, failed=True)]


@pytest.mark.parametrize(
    "beginning", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"]
)
def test_a_byte_now_and_then_does_not_buy_time(asker: Make, beginning: bytes) -> None:
    """No single read takes long, and yet the answer never comes."""
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(beginning)
            while not over.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip, args=(listener,))
        dripping.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        ana = asker(is_real_time=True, base_url=address)
        with pytest.raises(ModelUnavailable, match="no answer within"):
            ana.reply(deadline_seconds=2)
        over.set()
        dripping.join()
    assert ana.failed == [True]


def test_nobody_listens(asker: Make, time: SteppingTime) -> None:
    with socket.socket() as taken:  # bound but not listening, so nobody else can be there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        ana = asker(provider="ollama", base_url=address)
        with pytest.raises(ModelUnavailable, match="ollama .* cannot be reached"):
            ana.ask()
    assert len(time.pauses) == MAX_MODEL_RETRIES
    assert ana.used == []  # nothing was sent


def test_a_connection_that_breaks_in_the_middle(server: FaultyModel, asker: Make) -> None:
    server.answer_broken()
    ana = asker()
    with pytest.raises(ModelUnavailable, match="not available: broke off: "):
        ana.reply()
    assert len(ana.used) == len(server.requests) == 1 + MAX_MODEL_RETRIES


def test_a_refusal_is_not_tried_again(server: FaultyModel, asker: Make) -> None:
    bodies = [
        b'{"error": {"message": "no\\n such\\u0000  thing"}}',
        b"no such thing",
        b"[" * 100_000,
    ]
    for asked, (status, body) in enumerate(zip((400, 401, 413), bodies, strict=True), 1):
        server.fail_next(status=status, body=body)
        ana = asker()
        with pytest.raises(
            ModelRefused, match=rf"answered {status}: (no such thing$|\[\[)"
        ) as caught:
            ana.ask()
        assert (len(server.requests), ana.failed) == (asked, [True])
        assert len(str(caught.value)) < 500


def test_a_used_up_quota_is_a_refusal(server: FaultyModel, asker: Make) -> None:
    body = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    server.fail_next(status=429, body=body)
    with pytest.raises(ModelRefused, match="exceeded your quota"):
        asker().ask()
    assert len(server.requests) == 1


def test_redirects_are_not_followed(server: FaultyModel, asker: Make) -> None:
    server.fail_next(status=307, headers={"Location": f"{server.root}/elsewhere"})
    with pytest.raises(ModelRefused, match="redirect, which is not followed"):
        asker().ask()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "problem", "requests"),
    [
        (FaultyModel.answer_html, "an HTML page; is base_url right", 1),
        (FaultyModel.answer_without_choices, "no choices with a message", 1),
        (FaultyModel.answer_refusal, "the model declined to answer", 1),
        (FaultyModel.answer_empty, "it was empty", 1 + MAX_CORRECTIONS),
        (FaultyModel.answer_truncated, "it was cut off after 1 tokens", 1 + MAX_CORRECTIONS),
        (FaultyModel.answer_nonsense, "not a JSON object", 1 + MAX_CORRECTIONS),
    ],
)
def test_answers_of_no_use(
    server: FaultyModel,
    asker: Make,
    fault: Callable[[FaultyModel], None],
    problem: str,
    requests: int,
) -> None:
    fault(server)
    ana = asker()
    with pytest.raises(BadAnswer, match=problem):
        ana.ask()
    assert len(server.requests) == requests
    assert ana.failed == [True] * requests


def test_what_is_no_answer_at_all(server: FaultyModel, asker: Make) -> None:
    for body in (
        *(b"[]", b"null", b"{}", b"not JSON", b"", b"\xff", b"[" * 100_000),
        *(b'{"choices": null}', b'{"choices": []}', b'{"choices": [7]}'),
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"delta": {"content": "x"}}]}',
        b'{"error": {"message": "upstream", "code": "bad"}}',
    ):
        server.fail_next(status=200, body=body)
        ana = asker()
        with pytest.raises(BadAnswer, match="is base_url right"):
            ana.ask()
        assert ana.failed == [True]


def test_an_error_in_an_answer_that_says_it_is_well(
    server: FaultyModel, asker: Make, time: SteppingTime
) -> None:
    server.fail_next(status=200, body=b'{"error": {"message": "overloaded", "code": 503}}')
    server.fail_next(status=200, body=b'{"error": {"message": "no credit", "code": 402}}')
    with pytest.raises(ModelRefused, match="answered 402: no credit"):
        asker().ask()
    assert time.pauses == [0.5]


@pytest.mark.parametrize(
    ("message", "usage"),
    [
        ({"content": [{"type": "text", "text": "Te"}, {"text": "a."}, 7, {"text": 7}]}, None),
        ({"content": "Tea."}, "none"),
        ({"content": "Tea.", "refusal": ""}, {"prompt_tokens": -1, "completion_tokens": True}),
    ],
)
def test_odd_answers_that_can_be_used(
    server: FaultyModel, asker: Make, message: dict[str, object], usage: object
) -> None:
    body = {"choices": [{"message": message}], "usage": usage}
    server.fail_next(status=200, body=json.dumps(body).encode())
    ana = asker()
    assert ana.reply() == "Tea."
    (used,) = ana.used
    assert used.prompt_tokens == PROMPT_TOKENS
    assert used.completion_tokens > 0


def test_a_filter_is_a_refusal_of_the_model(server: FaultyModel, asker: Make) -> None:
    body = b'{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}'
    server.fail_next(status=200, body=body)
    with pytest.raises(BadAnswer, match="declined"):
        asker().reply()


def test_half_a_sentence_is_not_taken_for_a_whole_one(server: FaultyModel, asker: Make) -> None:
    server.answer_truncated('{"cups": 2, "drink": "tea with', times=1)
    server.answer(TEA)
    assert asker().ask().drink == "tea"
    assert "be much shorter" in server.prompts[1][-1]["content"]


def test_a_whole_object_before_the_cut_is_taken(server: FaultyModel, asker: Make) -> None:
    server.answer_truncated('{"cups": 2, "drink": "tea"}\n\n\n', times=1)
    assert asker().ask().drink == "tea"


def test_a_text_that_is_cut_off_is_asked_for_again(server: FaultyModel, asker: Make) -> None:
    server.answer_truncated("Tea is what", times=1)
    server.answer_empty(times=1)
    server.answer("Tea.")
    ana = asker()
    assert ana.reply() == "Tea."
    assert ana.failed == [True, True, False]
    assert server.prompts[2][4]["content"] == "(nothing)"


def test_too_large_or_compressed_an_answer_is_not_read(server: FaultyModel, asker: Make) -> None:
    server.fail_next(status=200, body=b" " * (MAX_MODEL_RESPONSE_BYTES + 1))
    with pytest.raises(BadAnswer, match="larger than"):
        asker().ask()
    server.fail_next(status=400, body=b" " * (MAX_MODEL_RESPONSE_BYTES + 1))
    with pytest.raises(BadAnswer, match="larger than"):
        asker().ask()
    server.answer("x" * (MAX_MODEL_ANSWER_CHARS + 1))
    with pytest.raises(BadAnswer, match="longer than"):
        asker().ask()
    server.fail_next(status=200, headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b")
    with pytest.raises(BadAnswer, match="compressed"):
        asker().ask()
