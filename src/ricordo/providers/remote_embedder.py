"""Embeddings from an endpoint that speaks the OpenAI wire format."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.frozen import dataclass, field
from ricordo.limits import (
    EMBEDDING_REQUEST_SECONDS,
    MAX_EMBEDDED_CHARS,
    MAX_EMBEDDING_REQUEST_CHARS,
    MAX_EMBEDDING_RESPONSE_BYTES,
)
from ricordo.providers.address_guard import Resolve
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.providers.embedder import Vectors, fitted, in_batches, no_rows, unit_rows
from ricordo.providers.endpoint import (
    BadResponse,
    Endpoint,
    Refused,
    Unavailable,
    json_body,
    read_json,
)
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.timing import Deadline, Timing


def request_body(model: str, texts: Sequence[str], dimensions: Mapping[str, int]) -> bytes:
    """The request body. ``dimensions`` is empty, or the field that requests a width."""
    return json_body(
        {"model": model, "input": list(texts), "encoding_format": "float", **dimensions}
    )


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
    names_address: bool = True

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            self.provider, self.base_url, self.api_key, self.guarded, self.names_address
        )


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
        self._client = ModelClient(
            target.endpoint,
            max_bytes=MAX_EMBEDDING_RESPONSE_BYTES,
            attempt_seconds=EMBEDDING_REQUEST_SECONDS,
            timing=self._timing,
            breaker=breaker,
            resolve=resolve,
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
        target = self._target
        return target.model if target.dimensions is None else f"{target.model}@{target.dimensions}"

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
        target = self._target
        width = {} if target.dimensions is None else {target.dimensions_field: target.dimensions}
        body = request_body(target.model, texts, width)
        try:
            content = self._client.request("POST", "/embeddings", body, Call(deadline))
        except Unavailable as error:
            raise EmbedderUnavailable(str(error)) from None
        except Refused as error:
            raise EmbedderRefused(str(error)) from None
        except BadResponse as error:
            raise BadEmbedding(str(error)) from None
        vectors = read_vectors(content, len(texts))
        self._check_width(vectors.shape[1])
        return vectors

    def _check_width(self, width: int) -> None:
        place, requested = self._target.endpoint.place, self._target.dimensions
        if requested is not None and width != requested:
            raise BadEmbedding(f"{place} gave {width} dimensions, not the {requested} requested")
        if width > self._max_width:
            raise BadEmbedding(
                f"{place} gave vectors {width} wide; the database takes at most {self._max_width}"
            )
        if self._seen_width is not None and width != self._seen_width:
            raise BadEmbedding(
                f"{place} gave vectors {width} wide; before they were {self._seen_width} wide"
            )
        self._seen_width = width
