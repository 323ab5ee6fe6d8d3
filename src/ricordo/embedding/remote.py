"""Vectors from an endpoint that speaks the OpenAI wire format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy

from ricordo.embedding.batches import fitted, in_batches
from ricordo.embedding.breaker import CircuitBreaker
from ricordo.embedding.connections import open_client
from ricordo.embedding.contract import Vectors
from ricordo.embedding.deadlines import backoff_seconds
from ricordo.embedding.targets import Resolve
from ricordo.embedding.vectors import no_rows
from ricordo.embedding.wire import read_vectors, request_body
from ricordo.endpoints.answers import bounded, check_not_compressed, may_pass, one_line, said
from ricordo.endpoints.hurry import within
from ricordo.endpoints.shared_client import SharedClient
from ricordo.endpoints.timing import Deadline, Timing, may_wait, retry_after_seconds
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.limits import (
    EMBEDDING_REQUEST_SECONDS,
    MAX_EMBEDDED_CHARS,
    MAX_EMBEDDING_ATTEMPTS,
    MAX_EMBEDDING_REQUEST_CHARS,
    MAX_EMBEDDING_RESPONSE_BYTES,
)

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True)
class RemoteTarget:
    """Where an endpoint is and what it can take."""

    provider: str
    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    dimensions_field: str = "dimensions"
    known_width: int | None = None
    max_batch_texts: int = 32
    max_text_chars: int = MAX_EMBEDDED_CHARS
    guarded: bool = True
    """Whether the address comes from a user, and so may not lead into our own network."""
    names_address: bool = True
    """Whether errors say where it is. Users read them, and the operator's network is not theirs."""


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: "httpx2.Headers"
    content: bytes


class _TryAgain(EmbedderUnavailable):
    """A failure that may pass; ``pause_seconds`` is what the endpoint asks for, if anything."""

    def __init__(self, problem: str, pause_seconds: float | None = None) -> None:
        self.pause_seconds = pause_seconds
        super().__init__(problem)


class RemoteEmbedder:
    """Posts texts in batches. Any number of threads may use it at once."""

    is_local = False

    def __init__(
        self,
        target: RemoteTarget,
        *,
        max_width: int,
        breaker: CircuitBreaker | None = None,
        timing: Timing | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """``max_width`` is the width of the database; wider vectors are refused."""
        self._target = target
        self._max_width = max_width
        self._timing = timing or Timing()
        self._breaker = breaker or CircuitBreaker(monotonic=self._timing.monotonic)
        self._client = SharedClient(
            partial(open_client, target.base_url, guarded=target.guarded, resolve=resolve)
        )
        self._seen_width: int | None = None

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._target!r})"

    @property
    def provider(self) -> str:
        """Which kind of endpoint this is."""
        return self._target.provider

    @property
    def model(self) -> str:
        """The model, and the width that was asked for: others cannot be compared with it."""
        asked = self._target.dimensions
        return self._target.model if asked is None else f"{self._target.model}@{asked}"

    @property
    def width(self) -> int | None:
        """As answered; before that as asked for, or as known of the model."""
        return self._seen_width or self._target.dimensions or self._target.known_width

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One row of length one per text; see the contract for errors."""
        if not texts:
            return no_rows(self.width)
        deadline = Deadline(deadline_seconds, self._timing.monotonic)
        fit = [fitted(text, self._target.max_text_chars) for text in texts]
        batches = in_batches(fit, self._target.max_batch_texts, MAX_EMBEDDING_REQUEST_CHARS)
        return numpy.concatenate([self._embed_batch(batch, deadline) for batch in batches])

    def close(self) -> None:
        """Let go of connections; using it again opens new ones."""
        self._client.close()

    def _embed_batch(self, texts: Sequence[str], deadline: Deadline) -> Vectors:
        attempt = 1
        while True:
            seconds = deadline.remaining(at_most=EMBEDDING_REQUEST_SECONDS)
            if seconds <= 0:  # the caller's hurry is no failure of the endpoint
                raise EmbedderUnavailable(f"{self._place}: {deadline.seconds:g} s were not enough")
            try:
                with self._breaker.attempt():
                    return self._attempt(texts, seconds)
            except _TryAgain as problem:
                if attempt == MAX_EMBEDDING_ATTEMPTS or self._breaker.is_open:
                    raise self._unavailable(problem) from None
                self._pause(attempt, problem, deadline)
                attempt += 1
            except EmbedderUnavailable as problem:  # the circuit is open
                raise self._unavailable(problem) from None

    def _attempt(self, texts: Sequence[str], seconds: float) -> Vectors:
        try:
            answer = within(seconds, partial(self._post, texts), thread_name="ricordo-embedding")
        except TimeoutError:
            raise _TryAgain(f"no answer within {seconds:g} s") from None
        self._check_status(answer)
        vectors = read_vectors(answer.content, len(texts))
        self._check_width(vectors.shape[1])
        return vectors

    def _pause(self, attempt: int, problem: _TryAgain, deadline: Deadline) -> None:
        seconds = max(backoff_seconds(attempt, self._timing.jitter), problem.pause_seconds or 0.0)
        if not may_wait(seconds, deadline):
            raise self._unavailable(problem) from None
        self._timing.sleep(seconds)

    def _post(self, texts: Sequence[str], seconds: float) -> _Answer:
        import httpx2

        target = self._target
        limit = Deadline(seconds, self._timing.monotonic)
        asked = {} if target.dimensions is None else {target.dimensions_field: target.dimensions}
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if target.api_key is not None:
            headers["Authorization"] = f"Bearer {target.api_key}"
        try:
            with (
                self._client.lent() as client,
                client.stream(
                    "POST",
                    f"{target.base_url}/embeddings",
                    content=request_body(target.model, texts, asked),
                    headers=headers,
                    timeout=httpx2.Timeout(seconds),
                ) as response,
            ):
                return _Answer(response.status_code, response.headers, _content(response, limit))
        except httpx2.TimeoutException:
            raise TimeoutError from None
        except httpx2.LocalProtocolError:  # its message would show the key
            raise EmbedderRefused(
                f"{self._place}: the request cannot be sent; check api_key and base_url"
            ) from None
        except httpx2.TransportError as error:
            problem = one_line(self._without_host(str(error)), target.api_key)
            raise _TryAgain(f"cannot be reached: {problem}") from None

    def _check_status(self, answer: _Answer) -> None:
        status = answer.status
        if status == 200:
            return
        if 300 <= status < 400:
            raise EmbedderRefused(
                f"{self._place} answered {status}, a redirect, which is not followed;"
                " set base_url to where it leads"
            )
        problem = f"answered {status}: {said(answer.content, self._target.api_key)}"
        if may_pass(status, answer.content):
            pause = retry_after_seconds(answer.headers.get("retry-after"), self._timing.clock())
            raise _TryAgain(problem, pause)
        raise EmbedderRefused(f"{self._place} {problem}")

    def _check_width(self, width: int) -> None:
        asked = self._target.dimensions
        if asked is not None and width != asked:
            raise BadEmbedding(f"{self._place} gave {width} dimensions, not the {asked} asked for")
        if width > self._max_width:
            raise BadEmbedding(
                f"{self._place} gave vectors {width} wide; the database takes at most"
                f" {self._max_width}"
            )
        if self._seen_width is not None and width != self._seen_width:
            raise BadEmbedding(
                f"{self._place} gave vectors {width} wide; before they were {self._seen_width} wide"
            )
        self._seen_width = width

    @property
    def _place(self) -> str:
        if not self._target.names_address:
            return self._target.provider
        return f"{self._target.provider} ({self._target.base_url})"

    def _without_host(self, text: str) -> str:
        host = urlsplit(self._target.base_url).hostname
        return text if self._target.names_address or not host else text.replace(host, "[host]")

    def _unavailable(self, problem: EmbedderUnavailable) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"{self._place} is not available: {problem}")


def _content(response: "httpx2.Response", deadline: Deadline) -> bytes:
    """The whole body, within its limits in size and time.

    Raises:
        BadEmbedding: it is too large, or compressed though that was not asked for.
        TimeoutError: it did not end in time.
    """
    check_not_compressed(response.headers.get("content-encoding"), BadEmbedding)
    return b"".join(
        bounded(
            response.iter_raw(),
            max_bytes=MAX_EMBEDDING_RESPONSE_BYTES,
            deadline=deadline,
            too_large=BadEmbedding,
            too_late=TimeoutError,
        )
    )
