"""The OpenAI wire format for embeddings: requests made, answers read and distrusted."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ricordo.embedding.contract import Vectors
from ricordo.embedding.vectors import unit_rows
from ricordo.endpoints.answers import read_json
from ricordo.errors import BadEmbedding


def request_body(model: str, texts: Sequence[str], dimensions: Mapping[str, int]) -> bytes:
    """What is posted. ``dimensions`` is empty, or the one field that asks for a width."""
    body = {"model": model, "input": list(texts), "encoding_format": "float", **dimensions}
    return json.dumps(body).encode("ascii")


def read_vectors(content: bytes, count: int) -> Vectors:
    """The vectors of an answer, in the order of the texts, each of length one.

    Raises:
        BadEmbedding: it is not one finite vector per text, all of one width.
    """
    rows = _in_order(_entries(read_json(content, BadEmbedding)), count)
    width = len(rows[0])
    for row in rows:
        if len(row) != width:
            raise BadEmbedding(f"the answer has vectors of {width} and of {len(row)} numbers")
        # numpy would take True and "1.5" for numbers.
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
        # Some servers leave out what is zero, so a single missing index means the first text.
        places = [entry.get("index", 0) for entry in entries]
        if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
            raise BadEmbedding("the answer does not say which vector belongs to which text")
    else:
        places = list(range(count))
    ordered: list[list[Any]] = [[]] * count
    for place, vector in zip(places, vectors, strict=True):
        ordered[place] = vector  # type: ignore[assignment]  # checked above
    return ordered
