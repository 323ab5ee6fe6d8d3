"""The OpenAI wire format for embeddings: requests made, answers read and distrusted."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy

from ricordo.embedding.contract import Vectors
from ricordo.embedding.vectors import unit_rows
from ricordo.errors import BadEmbedding

_MAX_MESSAGE_CHARS: Final = 300


def request_body(model: str, texts: Sequence[str], dimensions: Mapping[str, int]) -> bytes:
    """What is posted. ``dimensions`` is empty, or the one field that asks for a width."""
    body = {"model": model, "input": list(texts), "encoding_format": "float", **dimensions}
    return json.dumps(body).encode("ascii")


def read_vectors(content: bytes, count: int) -> Vectors:
    """The vectors of an answer, in the order of the texts, each of length one.

    Raises:
        BadEmbedding: it is not one finite vector per text, all of one width.
    """
    rows = _in_order(_entries(_parsed(content)), count)
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


def refusal_message(content: bytes, secret: str | None) -> str:
    """What an endpoint says is wrong, in one line and without the key."""
    text = content[: 8 * _MAX_MESSAGE_CHARS].decode("utf-8", "replace")
    said = text
    try:
        said = _message_in(json.loads(content)) or text
    except (ValueError, RecursionError):
        if _looks_like_html(content):
            said = "an HTML page"
    if secret:
        said = said.replace(secret, "[key]")
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    return line[:_MAX_MESSAGE_CHARS] or "no explanation"


def says_quota_is_used_up(content: bytes) -> bool:
    """Whether a "too many requests" will not go away by waiting."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return False
    error = answer.get("error") if isinstance(answer, dict) else None
    return isinstance(error, dict) and "insufficient_quota" in (
        error.get("code"),
        error.get("type"),
    )


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        what = "an HTML page" if _looks_like_html(content) else "not JSON"
        raise BadEmbedding(f"the answer is {what}; is base_url right?") from None


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


def _message_in(answer: Any) -> str | None:
    """``{"error": {"message": …}}`` and what others made of it."""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    for name in ("error", "message", "detail"):
        found = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return found
    return None


def _looks_like_html(content: bytes) -> bool:
    start = content[:200].lstrip().lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))
