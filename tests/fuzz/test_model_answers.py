"""What a language model, or an endpoint in its place, may write."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ricordo.errors import RicordoError
from ricordo.formation.extraction import Extracted
from ricordo.limits import MAX_ANSWER_DEPTH, MAX_MODEL_ANSWER_CHARS
from ricordo.providers.chat_answer import ModelAnswer, Unusable, read_answer, read_text, read_value
from ricordo.providers.endpoint import error_status, one_line, said
from ricordo.providers.json_repair import read_object, readings
from ricordo.providers.remote_embedder import read_vectors
from tests.fuzz.mutating import altered, json_values, mutated, mutated_bytes, odd_texts
from tests.fuzz.running import FUZZ

pytestmark = pytest.mark.requirement("faults.fuzzed")

ENTRY = {
    "content": "User lives in Porto.",
    "quote": "I live in Porto",
    "type": "fact",
    "theme": "places",
    "key": "home_city",
    "importance": 4,
}
ANSWERS = (
    json.dumps({"memories": [ENTRY, ENTRY]}),
    json.dumps({"memories": [ENTRY]}, indent=2),
    f"<think>Let me see: {{x}}</think>\n```json\n{json.dumps({'memories': [ENTRY]})}\n```\nDone.",
    "{'memories': [{'content': 'it's ana's', 'importance': 5, 'key': None, 'x': True,}]}",
    '{memories: [], "n": -1.5e3, "deep": [[[{"a": {"b": []}}]]]}',
)
BODIES = (
    {
        "choices": [
            {"message": {"content": ANSWERS[0], "refusal": None}, "finish_reason": "stop"},
            {"message": {"content": [{"type": "text", "text": "Tea."}]}},
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    },
    {"error": {"message": "quota", "code": 429, "type": "insufficient_quota"}},
    {"detail": "no such model"},
    {"data": [{"embedding": [0.1, 0.2], "index": 0}, {"embedding": [1, 2], "index": 1}]},
)
NAMES = (
    *("choices", "message", "content", "refusal", "finish_reason", "usage", "prompt_tokens"),
    *("error", "code", "type", "data", "embedding", "index", "text", "memories", "importance"),
)
reasons = st.sampled_from((None, "stop", "length", "content_filter", "x"))


def depth_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0) if isinstance(value, dict | list) else 0


@FUZZ
@given(mutated(ANSWERS))
def test_an_answer_is_an_object_or_a_value_error_and_reading_it_again_changes_nothing(
    text: str,
) -> None:
    try:
        found = read_object(text, dict)
    except ValueError:
        return
    assert depth_of(found) <= MAX_ANSWER_DEPTH
    with contextlib.suppress(ValueError):  # infinity cannot be written
        assert read_object(json.dumps(found, allow_nan=False), dict) == found


@FUZZ
@given(mutated(ANSWERS))
def test_no_answer_is_read_more_than_once(text: str) -> None:
    found = list(readings(text[:MAX_MODEL_ANSWER_CHARS]))
    assert sum(one.end - one.start for one in found) <= 3 * len(text)


@FUZZ
@given(mutated(ANSWERS), reasons)
@pytest.mark.parametrize("shape", [Extracted])
def test_an_answer_has_the_shape_or_is_unusable(
    shape: type[BaseModel], text: str, reason: str | None
) -> None:
    answer = ModelAnswer(text, reason, None, None, 7)
    with contextlib.suppress(Unusable):
        found = read_value(answer, shape)
        assert (
            read_value(ModelAnswer(found.model_dump_json(), None, None, None, None), shape) == found
        )
    with contextlib.suppress(Unusable):
        assert read_text(answer)


@FUZZ
@given(
    mutated([json.dumps(body) for body in BODIES]).map(lambda text: text.encode("utf-8", "replace"))
    | mutated_bytes([json.dumps(body).encode() for body in BODIES])
    | altered(BODIES, NAMES).map(lambda body: json.dumps(body).encode())
    | json_values(NAMES).map(lambda body: json.dumps(body).encode())
)
def test_an_endpoint_that_says_anything_is_understood_or_refused(content: bytes) -> None:
    with contextlib.suppress(RicordoError):
        answer = read_answer(content)
        assert len(answer.content) <= MAX_MODEL_ANSWER_CHARS
    with contextlib.suppress(RicordoError):
        vectors = read_vectors(content, 2)
        assert vectors.shape[0] == 2
    assert error_status(content) in (None, *range(400, 600))
    told = said(content, "sk-secret")
    assert told.isprintable() and "sk-secret" not in told


@FUZZ
@given(odd_texts, odd_texts)
def test_what_is_told_of_an_endpoint_never_has_its_key(text: str, other: str) -> None:
    told = one_line(f"{text}sk-secret{other}sk-secret", "sk-secret")
    assert told.isprintable() and "sk-secret" not in told
    assert told == one_line(told, "sk-secret")
