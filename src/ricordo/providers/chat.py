"""Chat models: structured and plain answers, corrections, and a self-test."""

import contextlib
import functools
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, Field

from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused, ModelUnavailable
from ricordo.frozen import dataclass, replace
from ricordo.limits import (
    DEFAULT_ANSWER_TOKENS,
    DEFAULT_THINKING_TOKENS,
    MAX_CORRECTIONS,
    MAX_MODEL_RESPONSE_BYTES,
)
from ricordo.model.reports import ModelReport
from ricordo.providers.chat_answer import (
    ModelAnswer,
    T,
    Unusable,
    compact,
    correction,
    read_answer,
    read_text,
    read_value,
    streamed_text,
    with_schema,
)
from ricordo.providers.chat_model import (
    BeforeRequest,
    Dialect,
    Message,
    ModelChoice,
    OnUsage,
    Structure,
    Usage,
    estimated_tokens,
    no_limit,
)
from ricordo.providers.endpoint import BadResponse, Refused, Unavailable, json_body
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.json_repair import without_thinking
from ricordo.providers.timing import Deadline, Timing
from ricordo.text.tokens import estimate_tokens

_PATH: Final = "/chat/completions"
_KEPT: Final = ("type", "enum", "description")
_IN_WORDS: Final[Mapping[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "pattern": "matching {}",
    "format": "as {}",
}
_NAME_SIGNS = re.compile(r"[^A-Za-z0-9_-]+")
_QUESTION: Final = (
    Message("system", "Read the sentence and give what is asked for."),
    Message("user", "The train to the coast leaves at nine. When does it leave?"),
)


# Endpoints support different parts of JSON Schema, and some refuse a schema for one unknown
# keyword. So only what all of them know is used: references are inlined, every field is required,
# no others are allowed, titles and defaults are dropped.
#
# Bounds (``maxLength``, ``pattern`` …) go into the field's description, where the model reads them;
# validation checks them. Endpoints that turn a schema into a grammar may be given the bounds of
# numbers and lists (``keep_bounds``), because small models run on without them, and need not fill
# in fields that have a default. Bounds of strings would become hundreds of grammar rules.

Schema = dict[str, Any]


@functools.lru_cache(maxsize=64)
def strict_schema(model: type[BaseModel], *, keep_bounds: bool = False) -> Schema:
    """The schema of a model. It is cached: do not change it. Raises TypeError."""
    whole = model.model_json_schema()
    return _Strict(whole.get("$defs", {}), keep_bounds).of(whole, model.__name__, ())


def schema_name(model: type[BaseModel]) -> str:
    """A name for the schema, in the characters that endpoints allow."""
    return _NAME_SIGNS.sub("_", model.__name__)[:64]


class _Strict:
    """Rewrites one schema."""

    def __init__(self, definitions: Mapping[str, Schema], keep_bounds: bool) -> None:
        self._definitions = definitions
        self._keep_bounds = keep_bounds

    def of(self, given: Schema, path: str, inside: tuple[str, ...]) -> Schema:
        """``inside`` are the definitions that this one is nested in."""
        reference = given.get("$ref")
        if reference is not None:
            return self._referred(given, str(reference).rpartition("/")[2], path, inside)
        strict: Schema = {name: given[name] for name in _KEPT if name in given}
        if "const" in given:
            strict["enum"] = [given["const"]]
        choices = given.get("anyOf") or given.get("oneOf")
        if choices:
            strict["anyOf"] = [self.of(choice, path, inside) for choice in choices]
        elif given.get("type") == "object":
            strict |= self._fields(given, path, inside)
        elif given.get("type") == "array":
            if not given.get("items"):
                raise TypeError(f"{path}: a list must say what is in it")
            strict["items"] = self.of(given["items"], f"{path}[]", inside)
        elif "type" not in strict and "enum" not in strict:
            raise TypeError(f"{path}: a value of any kind cannot be described")
        self._add_bounds(strict, given)
        return strict

    def _referred(self, given: Schema, name: str, path: str, inside: tuple[str, ...]) -> Schema:
        if name in inside:
            raise TypeError(f"{path}: {name} contains itself")
        strict = self.of(self._definitions[name], path, (*inside, name))
        if "description" in given:  # the field's own says more than that of its type
            strict["description"] = given["description"]
        return strict

    def _fields(self, given: Schema, path: str, inside: tuple[str, ...]) -> Schema:
        fields: Mapping[str, Schema] = given.get("properties", {})
        if not fields or given.get("additionalProperties") not in (None, False):
            raise TypeError(f"{path}: every field must have a name")
        return {
            "properties": {
                name: self.of(field, f"{path}.{name}", inside) for name, field in fields.items()
            },
            "required": [
                name
                for name, field in fields.items()
                if not self._keep_bounds or "default" not in field
            ],
            "additionalProperties": False,
        }

    def _add_bounds(self, strict: Schema, given: Schema) -> None:
        words = []
        for name, wording in _IN_WORDS.items():
            if name not in given:
                continue
            if self._keep_bounds and name in ("minimum", "maximum", "minItems", "maxItems"):
                strict[name] = given[name]
            words.append(wording.format(given[name]))
        if words:
            described = [strict["description"]] if "description" in strict else []
            strict["description"] = " ".join([*described, f"({', '.join(words)})"])


Result = TypeVar("Result")
JsonSchema = Mapping[str, object]


class ChatModel:
    """A language model behind an endpoint. Thread-safe and fork-safe.

    What the endpoint supports is found out once and remembered.
    """

    def __init__(
        self,
        choice: ModelChoice,
        *,
        deadline_seconds: float,
        answer_tokens: int = DEFAULT_ANSWER_TOKENS,
        thinking_tokens: int = DEFAULT_THINKING_TOKENS,
        timing: Timing | None = None,
    ) -> None:
        """``deadline_seconds`` is for a whole call, unless the call has its own.

        A model that is seen thinking gets ``thinking_tokens`` on top of those of an answer.
        """
        self._choice = choice
        self._deadline_seconds = deadline_seconds
        self._answer_tokens = answer_tokens
        self._thinking_tokens = thinking_tokens
        self._timing = timing or Timing()
        self._client = ModelClient(
            choice.endpoint, max_bytes=MAX_MODEL_RESPONSE_BYTES, timing=self._timing
        )
        # Immutable and replaced as a whole: threads need no lock for it.
        self._dialect = Dialect.of(choice.preset)

    def __repr__(self) -> str:
        return f"ChatModel({self._choice!r})"

    @property
    def provider(self) -> str:
        return self._choice.provider

    @property
    def model(self) -> str:
        return self._choice.model

    @property
    def structure(self) -> Structure:
        """How answers are structured; before the first call, what will be tried."""
        return self._dialect.structure

    def ask(
        self,
        messages: Sequence[Message],
        answer: type[T],
        *,
        on_usage: OnUsage,
        before_request: BeforeRequest = no_limit,
        deadline_seconds: float | None = None,
    ) -> T:
        """An answer of the given shape.

        ``on_usage`` is called once per request sent, including failed ones; ``before_request``
        before each, with the most tokens that it can take.

        Raises:
            ModelUnavailable: down, slow or overloaded; try again later.
            ModelRefused: the endpoint said no; trying again does not help.
            BadAnswer: not what was asked for, after all corrections.
            TypeError: strict JSON schemas cannot describe the shape.
        """
        schema = strict_schema(answer, keep_bounds=self._choice.preset.keeps_bounds)
        return self._converse(
            messages,
            lambda given: read_value(given, answer),
            wanted=(schema_name(answer), schema),
            call=self._call(deadline_seconds, on_usage, before_request),
        )

    def reply(
        self,
        messages: Sequence[Message],
        *,
        on_usage: OnUsage,
        before_request: BeforeRequest = no_limit,
        deadline_seconds: float | None = None,
    ) -> str:
        """An answer in plain text, stripped and never empty. Raises LanguageModelError."""
        return self._converse(
            messages,
            read_text,
            wanted=None,
            call=self._call(deadline_seconds, on_usage, before_request),
        )

    def stream(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int,
        deadline_seconds: float | None = None,
    ) -> Generator[str, None, None]:
        """The pieces of an answer in plain text as they arrive; usage is not counted.

        Never retried: the reader decides that. Closing the iterator ends the answer. Raises
        LanguageModelError: as for :meth:`ask`, also in the middle of the answer.
        """
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        dialect = self._dialect
        with _model_errors():
            while True:
                body = {
                    "model": self.model,
                    "messages": list(messages),
                    "stream": True,
                    dialect.max_tokens_field: max_tokens,
                }
                try:
                    with self._client.stream(_PATH, json_body(body), seconds) as (kind, parts):
                        yield from streamed_text(kind, parts, self._choice.endpoint)
                    return
                except Refused as refusal:
                    dialect = _other_dialect(dialect, refusal, is_structured=False)

    def estimated_tokens(self, messages: Sequence[Message]) -> int:
        """An upper estimate of the prompt tokens, for budgets."""
        return estimated_tokens(messages)

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        self._client.close()

    def _call(
        self,
        deadline_seconds: float | None,
        on_usage: OnUsage,
        before_request: BeforeRequest,
    ) -> "_ModelCall":
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        deadline = Deadline(seconds, self._timing.monotonic)
        return _ModelCall(Call(deadline), on_usage, before_request)

    def _max_tokens(self, dialect: Dialect) -> int:
        return self._answer_tokens + (self._thinking_tokens if dialect.thinks else 0)

    def _converse(
        self,
        messages: Sequence[Message],
        read: Callable[[ModelAnswer], Result],
        *,
        wanted: tuple[str, JsonSchema] | None,
        call: "_ModelCall",
    ) -> Result:
        """Ask, and have the model correct its answer a few times at most."""
        conversation = list(messages)
        corrections = 0
        while True:
            with _model_errors():
                given, dialect, prompt_tokens = self._exchange(conversation, wanted, call)
            try:
                result = read(given)
            except Unusable as problem:
                call.on_usage(_usage(given, prompt_tokens, failed=True))
                was_thinking = given.has_thought or not given.content.strip()
                if problem.is_cut_off and was_thinking and not dialect.thinks:
                    self._dialect = replace(dialect, thinks=True)
                    continue
                if problem.is_final or corrections == MAX_CORRECTIONS:
                    what = self._cut_off(given, dialect) if problem.is_cut_off else problem.what
                    place = self._choice.endpoint.place
                    raise BadAnswer(f"{place}: no usable answer: {what}") from None
                is_unseen = dialect.structure is Structure.JSON_SCHEMA and not corrections
                schema = wanted[1] if wanted is not None and is_unseen else None
                conversation += correction(given.content, problem, schema)
                corrections += 1
            else:
                call.on_usage(_usage(given, prompt_tokens, failed=False))
                return result

    def _cut_off(self, given: ModelAnswer, dialect: Dialect) -> str:
        """Whose limit an answer reached, and what to do about it."""
        limit = self._max_tokens(dialect)
        spent = given.completion_tokens
        if spent is not None and spent < limit - 1:
            return (
                f"it was cut off after {spent} tokens by the server, before our limit of {limit}:"
                " its context is too small for question and answer, or it has a limit of its own"
            )
        name, tokens = "model_answer_tokens", self._answer_tokens
        if dialect.thinks and not without_thinking(given.content).strip():
            name, tokens = "model_thinking_tokens", self._thinking_tokens
        at = f"at our limit of {limit} tokens" if spent is not None else "at a limit of tokens"
        return f"it was cut off {at}: raise the setting {name}, which is {tokens}"

    def _exchange(
        self,
        conversation: Sequence[Message],
        wanted: tuple[str, JsonSchema] | None,
        call: "_ModelCall",
    ) -> tuple[ModelAnswer, Dialect, int]:
        """One answer in the best dialect that the endpoint supports, and a token estimate."""
        dialect = self._dialect
        while True:
            max_tokens = self._max_tokens(dialect)
            shown, extras = _in_dialect(dialect, conversation, wanted, max_tokens)
            sent = [{"role": message.role, "content": message.content} for message in shown]
            prompt_tokens = estimated_tokens(shown)
            if wanted is not None and dialect.structure is Structure.JSON_SCHEMA:
                prompt_tokens += estimate_tokens(compact(wanted[1]))  # some show it to the model
            failed = functools.partial(call.on_usage, Usage(prompt_tokens, 0, failed=True))
            try:
                content = self._client.request(
                    "POST",
                    _PATH,
                    json_body({"model": self.model, "messages": sent, **extras}),
                    call.requests,
                    before_request=functools.partial(
                        call.before_request, prompt_tokens + max_tokens
                    ),
                    on_failure=failed,
                )
                break
            except Refused as refusal:
                dialect = _other_dialect(dialect, refusal, is_structured=wanted is not None)
        try:
            answer = read_answer(content)
        except BadAnswer as problem:
            failed()
            raise BadAnswer(f"{self._choice.endpoint.place}: {problem}") from None
        # It works, and what it shows of thinking counts from the next question on.
        self._dialect = replace(dialect, thinks=self._dialect.thinks or answer.has_thought)
        return answer, dialect, prompt_tokens


@dataclass(frozen=True)
class _ModelCall:
    """What all requests of one call share."""

    requests: Call
    on_usage: OnUsage
    before_request: BeforeRequest


@contextlib.contextmanager
def _model_errors() -> Iterator[None]:
    """Raise errors of the client as those of language models."""
    try:
        yield
    except Unavailable as error:
        raise ModelUnavailable(str(error)) from None
    except Refused as error:
        raise ModelRefused(str(error)) from None
    except BadResponse as error:
        raise BadAnswer(str(error)) from None


def _other_dialect(dialect: Dialect, refusal: Refused, *, is_structured: bool) -> Dialect:
    """What to try after a refusal; raises it where it is about something else."""
    other = dialect.after_refusal(refusal.status, refusal.said, is_structured=is_structured)
    if other is None:
        raise refusal
    return other


def _in_dialect(
    dialect: Dialect,
    conversation: Sequence[Message],
    wanted: tuple[str, JsonSchema] | None,
    max_tokens: int,
) -> tuple[list[Message], dict[str, object]]:
    """The messages to send, and the fields beside them."""
    extras: dict[str, object] = {dialect.max_tokens_field: max_tokens}
    if dialect.sends_temperature:
        extras["temperature"] = 0
    if wanted is None:
        return list(conversation), extras
    name, schema = wanted
    match dialect.structure:
        case Structure.JSON_SCHEMA:
            described = {"name": name, "strict": True, "schema": schema}
            extras["response_format"] = {"type": "json_schema", "json_schema": described}
            return list(conversation), extras
        case Structure.JSON_OBJECT:
            extras["response_format"] = {"type": "json_object"}
    return with_schema(conversation, schema), extras


def _usage(answer: ModelAnswer, prompt_tokens: int, *, failed: bool) -> Usage:
    """As the endpoint counted, otherwise as estimated."""
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    return Usage(
        prompt_tokens if prompt is None else prompt,
        estimate_tokens(answer.content) if completion is None else completion,
        failed,
    )


class _Departure(BaseModel, defer_build=True):
    hour: int = Field(description="the hour as a number")
    destination: str = Field(description="where it goes, in a word or two")


def test_model(
    model: ChatModel,
    *,
    deadline_seconds: float | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> ModelReport:
    """Ask for a small structured answer. Its content does not matter, only its shape."""
    spent: list[Usage] = []
    problem = None
    begun = monotonic()
    try:
        model.ask(
            _QUESTION,
            _Departure,
            on_usage=spent.append,
            deadline_seconds=deadline_seconds,
        )
    except LanguageModelError as error:
        problem = " ".join(str(error).split())
    latency_ms = (monotonic() - begun) * 1_000
    is_well = problem is None
    return ModelReport(
        ok=is_well,
        provider=model.provider,
        model=model.model,
        structured_output=model.structure.value if is_well else None,
        latency_ms=latency_ms if is_well else None,
        prompt_tokens=sum(usage.prompt_tokens for usage in spent),
        completion_tokens=sum(usage.completion_tokens for usage in spent),
        problem=problem,
    )
