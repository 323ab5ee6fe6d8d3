"""Embeddings from an endpoint that speaks the OpenAI wire format."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy

from ricordo import fork_safety
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable, RicordoError
from ricordo.limits import (
    BREAKER_FAILURES,
    BREAKER_OPEN_SECONDS,
    EMBEDDING_BACKOFF_BASE_SECONDS,
    EMBEDDING_BACKOFF_CAP_SECONDS,
    EMBEDDING_REQUEST_SECONDS,
    MAX_EMBEDDED_CHARS,
    MAX_EMBEDDING_ATTEMPTS,
    MAX_EMBEDDING_REQUEST_CHARS,
    MAX_EMBEDDING_RESPONSE_BYTES,
)
from ricordo.providers import endpoint
from ricordo.providers.address_guard import Resolve, allowed_addresses, system_resolve
from ricordo.providers.embedder import Vectors, fitted, in_batches, no_rows, unit_rows
from ricordo.providers.endpoint import (
    Deadline,
    Monotonic,
    SharedClient,
    Timing,
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

if TYPE_CHECKING:
    import httpx2


def request_body(model: str, texts: Sequence[str], dimensions: Mapping[str, int]) -> bytes:
    """The request body. ``dimensions`` is empty, or the field that asks for a width."""
    body = {"model": model, "input": list(texts), "encoding_format": "float", **dimensions}
    return json.dumps(body).encode("ascii")


def read_vectors(content: bytes, count: int) -> Vectors:
    """The vectors of an answer, in the order of the texts, normalised. Raises BadEmbedding."""
    rows = _in_order(_entries(read_json(content, BadEmbedding)), count)
    width = len(rows[0])
    for row in rows:
        if len(row) != width:
            raise BadEmbedding(f"the answer has vectors of {width} and of {len(row)} numbers")
        # numpy would accept True and "1.5" as numbers.
        if not all(type(number) in (float, int) for number in row):
            raise BadEmbedding("the answer has a vector with something other than numbers in it")
    if not width:
        raise BadEmbedding("the answer has vectors without numbers")
    try:
        matrix = numpy.asarray(rows, dtype=numpy.float64)
    except OverflowError:
        raise BadEmbedding("the answer has a vector with numbers that are too large") from None
    return unit_rows(matrix, "the endpoint")


def _entries(answer: Any) -> list[Mapping[str, Any]]:
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadEmbedding("the answer has no list of embeddings under 'data'; is base_url right?")
    return entries


def _in_order(entries: list[Mapping[str, Any]], count: int) -> list[list[Any]]:
    if len(entries) != count:
        raise BadEmbedding(f"the answer has {len(entries)} vectors for {count} texts")
    vectors = [entry.get("embedding") for entry in entries]
    if not all(isinstance(vector, list) for vector in vectors):
        raise BadEmbedding("the answer has an embedding that is not a list of numbers")
    if any("index" in entry for entry in entries):
        # Some servers omit zeros, so a single missing index means the first text.
        places = [entry.get("index", 0) for entry in entries]
        if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
            raise BadEmbedding("the answer does not say which vector belongs to which text")
    else:
        places = list(range(count))
    ordered: list[list[Any]] = [[]] * count
    for place, vector in zip(places, vectors, strict=True):
        ordered[place] = vector  # type: ignore[assignment]  # checked above
    return ordered


def open_client(base_url: str, *, guarded: bool, resolve: Resolve | None = None) -> "httpx2.Client":
    """An HTTP client of the endpoint; ``guarded`` ones connect only to allowed addresses."""
    import httpx2

    if guarded:
        from ricordo.providers.guarded_transport import GuardedTransport

        # No proxy from the environment: it would resolve the name again, unchecked.
        guard = GuardedTransport(partial(allowed_addresses, resolve=resolve or system_resolve))
        return httpx2.Client(transport=guard, trust_env=False, follow_redirects=False)
    return httpx2.Client(
        verify=trusted_at(base_url), trust_env=not is_nearby(base_url), follow_redirects=False
    )


class CircuitBreaker:
    """Circuit breaker: stop calling a failing endpoint for a while.

    Closed: all calls pass. Open: none. Half open: one may try. ``EmbedderUnavailable`` and
    unexpected errors count as failures. An endpoint that refuses or answers with nonsense responds
    at once, so nobody waits for it.
    """

    def __init__(
        self,
        failures: int = BREAKER_FAILURES,
        open_seconds: float = BREAKER_OPEN_SECONDS,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        self._limit = failures
        self._open_seconds = open_seconds
        self._monotonic = monotonic
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    def reset_after_fork(self) -> threading.Lock:
        """A child begins with a closed circuit and a fresh lock."""
        inherited = self._lock
        self._set_up()
        return inherited

    @property
    def is_open(self) -> bool:
        """Whether a call would be rejected now."""
        with self._lock:
            return self._refusal() is not None

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Count the outcome of a call. Raises EmbedderUnavailable."""
        probe = self._admit()
        reached = False
        try:
            yield
            reached = True
        except RicordoError as error:
            reached = not isinstance(error, EmbedderUnavailable)
            raise
        finally:
            self._record(reached, probe)

    def _admit(self) -> bool:
        with self._lock:
            refusal = self._refusal()
            if refusal is not None:
                raise EmbedderUnavailable(refusal)
            self._probing = self._opened_at is not None
            return self._probing

    def _refusal(self) -> str | None:
        if self._opened_at is None:
            return None
        left = self._opened_at + self._open_seconds - self._monotonic()
        if left > 0:
            return f"failed {self._failures} times in a row; tried again in {left:.0f} s"
        return "failed before; another call is trying it right now" if self._probing else None

    def _record(self, reached: bool, probe: bool) -> None:
        with self._lock:
            if probe:
                self._probing = False
            if reached:
                self._failures, self._opened_at = 0, None
            elif probe or self._opened_at is None:
                # Calls that began before the circuit opened do not keep it open for longer.
                self._failures += 1
                if self._failures >= self._limit:
                    self._opened_at = self._monotonic()


def backoff_seconds(attempt: int, jitter: Callable[[], float]) -> float:
    """A random pause after attempt 1, 2 …, longer each time."""
    return endpoint.backoff_seconds(
        attempt, jitter, base=EMBEDDING_BACKOFF_BASE_SECONDS, cap=EMBEDDING_BACKOFF_CAP_SECONDS
    )


@dataclass(frozen=True)
class RemoteTarget:
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
    """The address comes from a user, so it must not lead into our own network."""
    names_address: bool = True
    """Whether errors name the address. Users read them, and the operator's network is not theirs.
    """


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: "httpx2.Headers"
    content: bytes


class _TryAgain(EmbedderUnavailable):
    """A temporary failure; ``pause_seconds`` is what the endpoint asks for, if anything."""

    def __init__(self, problem: str, pause_seconds: float | None = None) -> None:
        self.pause_seconds = pause_seconds
        super().__init__(problem)


class RemoteEmbedder:
    """Posts texts in batches. Thread-safe."""

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
        return self._target.provider

    @property
    def model(self) -> str:
        """The model and the requested width: vectors of others are not comparable."""
        asked = self._target.dimensions
        return self._target.model if asked is None else f"{self._target.model}@{asked}"

    @property
    def width(self) -> int | None:
        """As answered; before that as requested, or as known of the model."""
        return self._seen_width or self._target.dimensions or self._target.known_width

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One unit row per text; see :class:`Embedder` for errors."""
        if not texts:
            return no_rows(self.width)
        deadline = Deadline(deadline_seconds, self._timing.monotonic)
        fit = [fitted(text, self._target.max_text_chars) for text in texts]
        batches = in_batches(fit, self._target.max_batch_texts, MAX_EMBEDDING_REQUEST_CHARS)
        return numpy.concatenate([self._embed_batch(batch, deadline) for batch in batches])

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        self._client.close()

    def _embed_batch(self, texts: Sequence[str], deadline: Deadline) -> Vectors:
        attempt = 1
        while True:
            seconds = deadline.remaining(at_most=EMBEDDING_REQUEST_SECONDS)
            if seconds <= 0:  # the caller's deadline is no failure of the endpoint
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
    """The whole body, within its limits.

    Raises:
        BadEmbedding: it is too large, or compressed though that was not requested.
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
