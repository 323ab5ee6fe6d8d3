"""One request to an endpoint, sent again where a fault may pass, and every one of them counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ricordo.endpoints.answers import may_pass, one_line, said
from ricordo.endpoints.hurry import within
from ricordo.endpoints.shared_client import SharedClient
from ricordo.endpoints.timing import (
    Deadline,
    Timing,
    backoff_seconds,
    may_wait,
    retry_after_seconds,
)
from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused, ModelUnavailable
from ricordo.limits import (
    MAX_MODEL_RETRIES,
    MODEL_BACKOFF_BASE_SECONDS,
    MODEL_BACKOFF_CAP_SECONDS,
    MODEL_CONNECT_SECONDS,
)
from ricordo.llm.choice import ModelChoice
from ricordo.llm.connections import open_client
from ricordo.llm.messages import BeforeRequest, OnUsage, Usage
from ricordo.llm.wire import Answer, error_status, read_answer


@dataclass
class Call:
    """What all requests of one call have together."""

    deadline: Deadline
    on_usage: OnUsage
    before_request: BeforeRequest
    max_tokens: int
    retries: int = 0


class EndpointRefused(ModelRefused):
    """The endpoint said no, with a status and in words that may tell what it does not know."""

    def __init__(self, place: str, status: int, said: str) -> None:
        self.status = status
        self.said = said
        super().__init__(f"{place} answered {status}: {said}")


class _Failure(Exception):
    """One request came to nothing. ``may_pass``: the next one may not."""

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
    """Posts to one endpoint. Any number of threads may use it at once."""

    def __init__(self, choice: ModelChoice, timing: Timing) -> None:
        self._choice = choice
        self._timing = timing
        self._client = SharedClient(partial(open_client, choice.base_url, choice.api_key))

    def close(self) -> None:
        """Let go of connections; using it again opens new ones."""
        self._client.close()

    def send(self, body: Mapping[str, object], prompt_tokens: int, call: Call) -> Answer:
        """What the model answered; its tokens are the caller's to report, those of faults are not.

        ``prompt_tokens`` is what a request that fails is taken to have cost.

        Raises:
            ModelUnavailable: nothing but faults, or no time left.
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

    def _pause(self, failure: _Failure, call: Call) -> None:
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

    def _attempt(self, body: Mapping[str, object], seconds: float) -> Answer:
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
        """What the endpoint answers, with any status.

        Raises:
            TimeoutError: nothing in time.
            _Failure: no connection, or a broken one.
        """
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
