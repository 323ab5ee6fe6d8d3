"""The client of all endpoints: what it sends, reads, repeats and reports."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from ricordo.limits import BREAKER_FAILURES, MAX_MODEL_RETRIES
from ricordo.providers.endpoint import (
    BadResponse,
    Endpoint,
    EndpointError,
    Redirected,
    Refused,
    Unavailable,
)
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.timing import Deadline
from ricordo.version import __version__
from tests.endpoints.surroundings import SteppingTime, forget_proxies
from tests.support.endpoints import FaultyModel

Make = Callable[..., ModelClient]
PATH = "/chat/completions"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)


@pytest.fixture(autouse=True)
def no_pauses_between_requests() -> None:
    """These tests are about the pauses, on a clock that they move themselves."""


@pytest.fixture
def server() -> Iterator[FaultyModel]:
    with FaultyModel() as running:
        yield running


@pytest.fixture
def time() -> SteppingTime:
    return SteppingTime()


@pytest.fixture
def client(server: FaultyModel, time: SteppingTime) -> Iterator[Make]:
    with contextlib.ExitStack() as opened:

        def make(*, max_bytes: int = 1024, **given: object) -> ModelClient:
            endpoint = Endpoint("here", server.base_url, **given)  # type: ignore[arg-type]
            made = ModelClient(endpoint, max_bytes=max_bytes, timing=time.timing)
            opened.callback(made.close)
            return made

        yield make


def post(client: ModelClient, time: SteppingTime, **hooks: Callable[[], None]) -> bytes:
    call = Call(Deadline(60.0, time.timing.monotonic))
    return client.request("POST", PATH, b"{}", call, **hooks)


def test_hooks_are_called_around_each_request(
    server: FaultyModel, client: Make, time: SteppingTime
) -> None:
    events: list[str] = []
    server.fail_next(2, status=503)
    server.fail_next(status=200, body=b"fine")
    found = post(
        client(),
        time,
        before_request=lambda: events.append("before"),
        on_failure=lambda: events.append("failed"),
    )
    assert (found, time.pauses) == (b"fine", [0.5, 1.0])
    assert events == ["before", "failed", "before", "failed", "before"]


def test_what_is_sent_names_us_and_keeps_no_cookie(
    server: FaultyModel, client: Make, time: SteppingTime
) -> None:
    made = client(api_key="sk-own")
    server.fail_next(2, status=200, headers={"Set-Cookie": "session=1"}, body=b"fine")
    for _ in range(2):
        post(made, time)
    for request in server.requests:
        assert request.headers.get("user-agent") == f"ricordo/{__version__}"
        assert request.headers.get("authorization") == "Bearer sk-own"
        assert request.headers.get("accept-encoding") == "identity"
        assert request.headers.get("cookie") is None


def test_an_answer_is_read_no_further_than_its_limit(
    server: FaultyModel, client: Make, time: SteppingTime
) -> None:
    made = client(max_bytes=10)
    server.fail_next(status=200, body=b"x" * 10)
    assert post(made, time) == b"x" * 10
    server.fail_next(status=200, body=b"x" * 11)
    with pytest.raises(BadResponse, match="larger than 10 bytes"):
        post(made, time)
    server.fail_next(status=200, body=b"x" * 11)
    with pytest.raises(BadResponse), made.stream(PATH, b"{}", 30.0) as (_, parts):
        list(parts)
    for encoding in ("gzip", "br", "identity, gzip"):
        server.fail_next(status=200, headers={"Content-Encoding": encoding}, body=b"x")
        with pytest.raises(BadResponse, match="compressed"):
            post(made, time)


def test_errors_of_each_kind_and_none_with_the_key(
    server: FaultyModel, client: Make, time: SteppingTime
) -> None:
    made = client(api_key="sk-hidden")
    body = b'{"error": {"message": "not with sk-hidden"}}'
    for status, kind in ((307, Redirected), (400, Refused), (503, Unavailable)):
        for send in (lambda: post(made, time), lambda: streamed(made)):
            server.fail_next(1 + MAX_MODEL_RETRIES, status=status, body=body)
            with pytest.raises(kind, match=f"answered {status}") as caught:
                send()
            assert "sk-hidden" not in str(caught.value)
            server.forget_faults()


def streamed(client: ModelClient) -> bytes:
    with client.stream(PATH, b"{}", 30.0) as (_, parts):
        return b"".join(parts)


def test_an_endpoint_that_keeps_failing_is_left_alone_by_streams_too(
    server: FaultyModel, client: Make, time: SteppingTime
) -> None:
    made = client()
    server.fail_next(100, status=503)
    for _ in range(BREAKER_FAILURES + 2):
        with pytest.raises(Unavailable):
            streamed(made)
    assert len(server.requests) == BREAKER_FAILURES
    with pytest.raises(
        Unavailable, match="here .* not available: failed 5 times in a row"
    ) as open_:
        post(made, time)
    assert not open_.value.was_sent


def test_leaving_a_stream_is_no_failure_of_the_endpoint(server: FaultyModel, client: Make) -> None:
    made = client(max_bytes=100_000)
    for _ in range(2 * BREAKER_FAILURES):
        server.fail_next(status=200, body=b"x" * 50_000)
        with made.stream(PATH, b"{}", 30.0) as (_, parts):
            assert next(parts)
    assert len(server.requests) == 2 * BREAKER_FAILURES


def test_an_address_that_is_hidden_is_in_no_error(time: SteppingTime) -> None:
    endpoint = Endpoint("ours", "http://inside.invalid:1/v1", names_address=False)
    made = ModelClient(endpoint, max_bytes=10, timing=time.timing)
    with pytest.raises(EndpointError) as caught:
        post(made, time)
    made.close()
    assert "inside.invalid" not in str(caught.value)


@pytest.mark.requirement("formation.model-layer")
def test_no_library_of_a_vendor_is_needed(server: FaultyModel) -> None:
    server.answer("Tea.")
    program = (
        "import sys\n"
        "sys.modules['openai'] = None\n"
        "from ricordo.providers.chat import ChatModel\n"
        "from ricordo.providers.chat_model import Message, ModelChoice\n"
        f"choice = ModelChoice.parse('custom_http', model='m', base_url='{server.base_url}')\n"
        "model = ChatModel(choice, deadline_seconds=30)\n"
        "asked = [Message('user', 'What does ana drink?')]\n"
        "print(model.reply(asked, on_usage=lambda _: None))\n"
        "model.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Tea.\n"
