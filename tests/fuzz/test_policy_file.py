"""Policy files: what is half understood would let an agent read what it must not."""

import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access.policy_file import parse_policy
from ricordo.errors import InvalidPolicy
from ricordo.limits import MAX_FILTER_VALUES, MAX_RAG_LENGTH
from tests.fuzz.mutating import altered, mutated, mutated_bytes
from tests.fuzz.running import FUZZ
from tests.unit.access.test_loading import EXAMPLE

pytestmark = pytest.mark.requirement("faults.fuzzed")

NAME = Path("policy.yaml")
POLICIES = (
    EXAMPLE,
    "categories: [a, b]\nallowlists: {default: ['*']}\n",
    "a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nallowlists: *c\n",
    "categories:\n  x: !!python/object/apply:os.system [echo]\nallowlists: {d: !!set {a: }}\n",
    "%YAML 1.1\n---\ncategories: {a: {rag_length: 010}}\nallowlists:\n  ? default\n  : [a]\n...\n",
    'categories: {"\\U0001F600": {context: all}}\nallowlists: {x: [2026-01-31, 1:30, ~]}\n',
    "categories: |\n  a\n  b\nallowlists: >-\n  x\n<<: {a: b}\n",
)
NAMES = ("categories", "allowlists", "default", "context", "rag_length", "description", "*")


@FUZZ
@given(
    mutated(POLICIES).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | mutated_bytes([policy.encode() for policy in POLICIES])
    | altered([yaml.safe_load(EXAMPLE)], NAMES).map(lambda value: yaml.safe_dump(value).encode())
)
def test_a_policy_is_understood_to_the_last_word_or_refused_at_its_place(raw: bytes) -> None:
    try:
        policy = parse_policy(NAME, raw)
    except InvalidPolicy as problem:
        assert problem.line is not None and problem.line >= 1
        assert problem.column is not None and problem.column >= 1
        assert len(str(problem)) < 4_000
        return
    for rule in policy.categories.values():
        assert rule.rag_length is None or 1 <= rule.rag_length <= MAX_RAG_LENGTH
    for allowed in policy.allowlists.values():
        assert len(allowed) <= MAX_FILTER_VALUES
        assert allowed <= {"*", *policy.categories}


@FUZZ
@given(st.text(alphabet="[]{}:,-?&*!|>'\"%@` #\n\tab1.~", max_size=120))
def test_no_signs_of_yaml_are_more_than_an_invalid_policy(text: str) -> None:
    with contextlib.suppress(InvalidPolicy):
        parse_policy(NAME, text.encode())
