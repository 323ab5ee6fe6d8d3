"""HTTP to a chat endpoint: requests with retries, answers whole or streamed."""

import contextlib
import json
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused, ModelUnavailable
from ricordo.limits import (
    MAX_MODEL_ANSWER_CHARS,
    MAX_MODEL_RESPONSE_BYTES,
    MAX_MODEL_RETRIES,
    MODEL_BACKOFF_BASE_SECONDS,
    MODEL_BACKOFF_CAP_SECONDS,
    MODEL_CONNECT_SECONDS,
)
from ricordo.providers.chat_model import BeforeRequest, Dialect, ModelChoice, OnUsage, Usage
from ricordo.providers.endpoint import (
    Deadline,
    SharedClient,
    Timing,
    backoff_seconds,
    bounded,
    check_not_compressed,
    is_nearby,
    may_pass,
    may_wait,
    one_line,
    read_json,
    retry_after_seconds,
    said,
    trusted_at,
    within,
)
from ricordo.version import __version__

if TYPE_CHECKING:
    import httpx2
    import openai

_SENT_HEADERS: Final = frozenset({"host", "accept", "content-type", "content-length", "connection"})


def open_client(base_url: str, api_key: str | None) -> "openai.OpenAI":
    """A client of the endpoint that sends no extra headers and limits what it reads."""
    import httpx2
    import openai

    http = httpx2.Client(
        verify=trusted_at(base_url),
        trust_env=not is_nearby(base_url),
        follow_redirects=False,
        event_hooks={"request": [partial(_set_headers, api_key)], "response": [_bound]},
    )
    return openai.OpenAI(
        api_key="set below",  # by _set_headers
        base_url=base_url,
        max_retries=0,
        http_client=http,
    )


def _set_headers(api_key: str | None, request: "httpx2.Request") -> None:
    """Send only what is needed: the client also takes headers from the environment."""
    for name in list(request.headers):
        if name.lower() not in _SENT_HEADERS:
            del request.headers[name]
    request.headers["User-Agent"] = f"ricordo/{__version__}"
    request.headers["Accept-Encoding"] = "identity"
    if api_key is not None:
        request.headers["Authorization"] = f"Bearer {api_key}"


def _bound(response: "httpx2.Response") -> None:
    """Limit the size and time of answers."""
    import httpx2

    check_not_compressed(response.headers.get("content-encoding"), httpx2.DecodingError)
    deadline = Deadline(response.request.extensions["timeout"]["read"], time.monotonic)

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            return bounded(
                self._stream,
                max_bytes=MAX_MODEL_RESPONSE_BYTES,
                deadline=deadline,
                too_large=httpx2.DecodingError,
                too_late=httpx2.ReadTimeout,
            )

        def close(self) -> None:
            self._stream.close()

    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = Bounded(response.stream)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model wrote, and how it ended."""

    content: str
    finish_reason: str | None
    refusal: str | None
    prompt_tokens: int | None
    completion_tokens: int | None

    @property
    def is_cut_off(self) -> bool:
        """Whether it reached the token limit."""
        return self.finish_reason == "length"

    @property
    def is_withheld(self) -> bool:
        """Whether the model, or a filter after it, declined to answer."""
        return self.refusal is not None or self.finish_reason == "content_filter"


def read_answer(content: bytes) -> ModelAnswer:
    """The first choice of an answer with status 200. Raises BadAnswer: there is none in it."""
    body = read_json(content, BadAnswer)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise BadAnswer("the answer has no choices with a message; is base_url right?")
    text = _text(message.get("content"))
    if len(text) > MAX_MODEL_ANSWER_CHARS:
        raise BadAnswer(f"the answer is longer than {MAX_MODEL_ANSWER_CHARS} characters")
    return ModelAnswer(
        content=text,
        finish_reason=_word(choice.get("finish_reason")),
        refusal=_word(message.get("refusal")),
        prompt_tokens=_count(body, "prompt_tokens"),
        completion_tokens=_count(body, "completion_tokens"),
    )


def error_status(content: bytes) -> int | None:
    """The error status that a gateway hides in an answer with status 200; None when it does not."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "choices" in body:
        return None
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else None


def _text(content: object) -> str:
    """A text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(body: Mapping[str, Any], name: str) -> int | None:
    usage = body.get("usage")
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None


@dataclass
class ModelCall:
    """What all requests of one call share."""

    deadline: Deadline
    on_usage: OnUsage
    before_request: BeforeRequest
    max_tokens: int
    retries: int = 0


class EndpointRefused(ModelRefused):
    """The endpoint said no; status and message may say what it does not support."""

    def __init__(self, place: str, status: int, said: str) -> None:
        self.status = status
        self.said = said
        super().__init__(f"{place} answered {status}: {said}")


class _Failure(Exception):
    """One request failed. ``may_pass``: the next one may succeed."""

    def __init__(
        self,
        error: LanguageModelError,
        *,
        may_pass: bool = False,
        was_sent: bool = True,
        pause_seconds: float | None = None,
    ) -> None:
        self.error = error
        self.may_pass = may_pass
        self.was_sent = was_sent
        self.pause_seconds = pause_seconds
        super().__init__(str(error))


@dataclass(frozen=True)
class _Response:
    status: int
    retry_after: str | None
    content: bytes


class Sender:
    """Posts to one endpoint. Thread-safe."""

    def __init__(self, choice: ModelChoice, timing: Timing) -> None:
        self._choice = choice
        self._timing = timing
        self._client = SharedClient(partial(open_client, choice.base_url, choice.api_key))

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        self._client.close()

    def send(self, body: Mapping[str, object], prompt_tokens: int, call: ModelCall) -> ModelAnswer:
        """The model's answer; the caller reports its tokens, this method those of failed requests.

        ``prompt_tokens`` is the assumed cost of a failed request.

        Raises:
            ModelUnavailable: nothing but failures, or no time left.
            ModelRefused: the endpoint said no.
            BadAnswer: what came back is not an answer at all.
        """
        while True:
            seconds = call.deadline.remaining()
            if seconds <= 0:
                raise self._unavailable(f"{call.deadline.seconds:g} s were not enough")
            call.before_request(prompt_tokens + call.max_tokens)
            try:
                return self._attempt(body, seconds)
            except _Failure as failure:
                if failure.was_sent:
                    call.on_usage(Usage(prompt_tokens, 0, failed=True))
                if not failure.may_pass or call.retries == MAX_MODEL_RETRIES:
                    raise failure.error from None
                call.retries += 1
                self._pause(failure, call)

    def _pause(self, failure: _Failure, call: ModelCall) -> None:
        pause = backoff_seconds(
            call.retries,
            self._timing.jitter,
            base=MODEL_BACKOFF_BASE_SECONDS,
            cap=MODEL_BACKOFF_CAP_SECONDS,
        )
        seconds = max(pause, failure.pause_seconds or 0.0)
        if not may_wait(seconds, call.deadline):
            raise failure.error from None
        self._timing.sleep(seconds)

    def _attempt(self, body: Mapping[str, object], seconds: float) -> ModelAnswer:
        try:
            response = within(seconds, partial(self._post, body), thread_name="ricordo-model")
        except TimeoutError:
            raise _Failure(self._unavailable(f"no answer within {seconds:.3g} s")) from None
        self._check_status(response)
        try:
            return read_answer(response.content)
        except BadAnswer as problem:
            raise _Failure(BadAnswer(f"{self._choice.place}: {problem}")) from None

    def _post(self, body: Mapping[str, object], seconds: float) -> _Response:
        """The endpoint's response, with any status. Raises TimeoutError or _Failure."""
        import httpx2
        import openai

        timeout = httpx2.Timeout(seconds, connect=min(seconds, MODEL_CONNECT_SECONDS))
        try:
            with self._client.lent() as client:
                response = client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body=dict(body),
                    options={"timeout": timeout},
                )
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:
            raise self._connection_failure(error.__cause__) from None
        header = response.headers.get("retry-after")
        return _Response(response.status_code, header, response.content)

    def _connection_failure(self, cause: BaseException | None) -> Exception:
        import httpx2

        if isinstance(cause, httpx2.LocalProtocolError):  # its message would show the key
            problem = f"{self._choice.place}: the request cannot be sent; check api_key"
            return _Failure(ModelRefused(problem), was_sent=False)
        if isinstance(cause, httpx2.DecodingError):
            return _Failure(BadAnswer(f"{self._choice.place}: {cause}"))
        not_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, not_sent):
            return TimeoutError()
        what = one_line(str(cause) or type(cause).__name__, self._choice.api_key)
        return _Failure(
            self._unavailable(f"cannot be reached: {what}"),
            may_pass=True,
            was_sent=not isinstance(cause, not_sent),
        )

    def _check_status(self, response: _Response) -> None:
        status, content = response.status, response.content
        if status == 200:
            status = error_status(content) or status
        if status == 200:
            return
        if 300 <= status < 400:
            problem = "a redirect, which is not followed; set base_url to where it leads"
            raise _Failure(EndpointRefused(self._choice.place, status, problem))
        reason = said(content, self._choice.api_key)
        if may_pass(status, content):
            raise _Failure(
                self._unavailable(f"answered {status}: {reason}"),
                may_pass=True,
                pause_seconds=retry_after_seconds(response.retry_after, self._timing.clock()),
            )
        raise _Failure(EndpointRefused(self._choice.place, status, reason))

    def _unavailable(self, problem: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._choice.place} is not available: {problem}")


def stream_answer(
    choice: ModelChoice,
    messages: Sequence[Mapping[str, str]],
    *,
    max_tokens: int,
    deadline_seconds: float,
) -> Generator[str, None, None]:
    """The pieces of an answer as they arrive. Closing the iterator ends the answer.

    Never retried: the reader decides that. An endpoint that does not stream gives its answer in one
    piece.

    Raises:
        ModelUnavailable: down, slow, overloaded, or lost in the middle of the answer.
        ModelRefused: the endpoint, or the model, said no.
        BadAnswer: what came is no answer, or has no end.
    """
    with contextlib.closing(open_client(choice.base_url, choice.api_key)) as client:
        stream = _opened(client, choice, messages, max_tokens, deadline_seconds)
        length = 0
        with _our_errors(choice), contextlib.closing(stream):
            for piece in _pieces(stream):
                length += len(piece)
                if length > MAX_MODEL_ANSWER_CHARS:
                    problem = f"the answer is longer than {MAX_MODEL_ANSWER_CHARS} characters"
                    raise BadAnswer(f"{choice.place}: {problem}")
                yield piece
        if not length:
            raise BadAnswer(f"{choice.place}: the answer is empty")


def _opened(
    client: "openai.OpenAI",
    choice: ModelChoice,
    messages: Sequence[Mapping[str, str]],
    max_tokens: int,
    deadline_seconds: float,
) -> "openai.Stream[object]":
    """The stream, in the best dialect that the endpoint supports."""
    import httpx2
    import openai

    dialect: Dialect | None = Dialect.of(choice.preset)
    timeout = httpx2.Timeout(deadline_seconds, connect=min(deadline_seconds, MODEL_CONNECT_SECONDS))
    while dialect is not None:
        body = {
            "model": choice.model,
            "messages": [_on_wire(message) for message in messages],
            "stream": True,
            dialect.max_tokens_field: max_tokens,
        }
        try:
            with _our_errors(choice):
                return client.post(
                    "/chat/completions",
                    cast_to=object,
                    body=body,
                    options={"timeout": timeout},
                    stream=True,
                    stream_cls=openai.Stream[object],
                )
        except EndpointRefused as refusal:
            problem = refusal
            dialect = dialect.after_refusal(refusal.status, refusal.said, is_structured=False)
    raise ModelRefused(str(problem)) from None


def _pieces(stream: "openai.Stream[object]") -> Iterator[str]:
    if "text/event-stream" not in stream.response.headers.get("content-type", ""):
        yield read_answer(stream.response.read()).content
        return
    for event in stream:
        choices = event.get("choices") if isinstance(event, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        delta = first.get("delta") if isinstance(first, dict) else None
        if not isinstance(delta, dict):
            continue
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            raise ModelRefused(f"the model declines: {one_line(delta['refusal'], None)}")
        piece = delta.get("content")
        if isinstance(piece, str) and piece:
            yield piece


@contextlib.contextmanager
def _our_errors(choice: ModelChoice) -> Iterator[None]:
    import httpx2
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise _refusal(choice, error.response.status_code, error.response.content) from None
    except openai.APIConnectionError as error:
        raise _broken(choice, error.__cause__ or error) from None
    except openai.APIError as error:  # an error in the middle of the answer
        problem = one_line(error.message, choice.api_key)
        raise ModelUnavailable(f"{choice.place} broke off: {problem}") from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise _broken(choice, error) from None
    except json.JSONDecodeError:
        raise BadAnswer(f"{choice.place}: a piece of the answer is not JSON") from None


def _refusal(choice: ModelChoice, status: int, content: bytes) -> LanguageModelError:
    reason = said(content, choice.api_key)
    if may_pass(status, content):
        return ModelUnavailable(f"{choice.place} is not available: answered {status}: {reason}")
    return EndpointRefused(choice.place, status, reason)


def _broken(choice: ModelChoice, cause: BaseException) -> LanguageModelError:
    import httpx2

    if isinstance(cause, httpx2.LocalProtocolError):  # its message would show the key
        return ModelRefused(f"{choice.place}: the request cannot be sent; check api_key")
    if isinstance(cause, httpx2.DecodingError):
        return BadAnswer(f"{choice.place}: {cause}")
    if isinstance(cause, httpx2.TimeoutException):
        return ModelUnavailable(f"{choice.place} is not available: no answer in time")
    what = one_line(str(cause) or type(cause).__name__, choice.api_key)
    return ModelUnavailable(f"{choice.place} cannot be reached, or broke off: {what}")


def _on_wire(message: Mapping[str, str]) -> dict[str, Any]:
    """Without lone surrogates, which cannot be sent."""
    return {
        name: value.encode("utf-8", "replace").decode("utf-8") for name, value in message.items()
    }
