"""Chat models: structured and plain answers, corrections, and a self-test."""

import functools
import json
import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused
from ricordo.limits import MAX_CORRECTIONS, MAX_REPEATED_ANSWER_CHARS
from ricordo.model.record import Record
from ricordo.providers.chat_client import (
    EndpointRefused,
    ModelAnswer,
    ModelCall,
    Sender,
    stream_answer,
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
from ricordo.providers.endpoint import Deadline, Timing
from ricordo.providers.json_repair import read_object, without_thinking
from ricordo.text.tokens import estimate_tokens

_MAX_PROBLEMS: Final = 3
_MAX_PROBLEM_CHARS: Final = 160

_ONLY_JSON: Final = (
    "Answer with one JSON object and nothing else: no explanation, no code fence."
    " It must follow this JSON schema:\n"
)

T = TypeVar("T", bound=BaseModel)
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
_MAX_TOKENS: Final = 64
_QUESTION: Final = (
    Message("system", "Read the sentence and give what is asked for."),
    Message("user", "The train to the coast leaves at nine. When does it leave?"),
)


class Unusable(Exception):
    """An answer that cannot be used; ``what`` says why, for the model and for people."""

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        """``is_final``: telling the model would not help."""
        self.what = what
        self.is_final = is_final
        super().__init__(what)


def compact(schema: Mapping[str, object]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def with_schema(messages: Sequence[Message], schema: Mapping[str, object]) -> list[Message]:
    wanted = _ONLY_JSON + compact(schema)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{wanted}"), *messages[1:]]
    return [Message("system", wanted), *messages]


def correction(
    wrong: str, problem: Unusable, schema: Mapping[str, object] | None
) -> tuple[Message, Message]:
    """The wrong answer and what was wrong with it, to continue the conversation.

    The schema is repeated where the conversation does not show it: an endpoint that ignored the
    schema did not show it to the model either.
    """
    again = f"That answer cannot be used: {problem.what}. Answer again."
    if schema is not None:
        again = f"{again} {_ONLY_JSON}{compact(schema)}"
    # Never empty: some endpoints refuse such messages.
    repeated = wrong[:MAX_REPEATED_ANSWER_CHARS] if wrong.strip() else "(nothing)"
    return Message("assistant", repeated), Message("user", again)


def problems(error: ValidationError) -> str:
    """Validation errors on one line, without the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in entry['loc']) or 'the object'}: {entry['msg']}"
        for entry in found[:_MAX_PROBLEMS]
    ]
    more = [f"and {len(found) - _MAX_PROBLEMS} more"] if len(found) > _MAX_PROBLEMS else []
    return "; ".join([line[:_MAX_PROBLEM_CHARS] for line in lines] + more)


def read_value(answer: ModelAnswer, shape: type[T]) -> T:
    """The first object in the answer that has the shape. Raises Unusable: there is none."""
    _check_given(answer)

    def validated(found: dict[str, object]) -> T:
        return shape.model_validate_json(json.dumps(found))

    try:
        # A truncated answer is not closed: half a sentence may well have the right shape.
        return read_object(answer.content, validated, close_open_ends=not answer.is_cut_off)
    except ValueError as error:
        if answer.is_cut_off:
            raise _cut_off(answer) from None
        what = problems(error) if isinstance(error, ValidationError) else str(error)
        raise Unusable(what) from None


def read_text(answer: ModelAnswer) -> str:
    """The text of the answer. Raises Unusable: there is none, or it is truncated."""
    _check_given(answer)
    if answer.is_cut_off:
        raise _cut_off(answer)
    text = without_thinking(answer.content).strip()
    if not text:
        raise Unusable("it was empty")
    return text


def _check_given(answer: ModelAnswer) -> None:
    if answer.is_withheld:
        raise Unusable("the model declined to answer", is_final=True)
    if not answer.content.strip():
        raise _cut_off(answer) if answer.is_cut_off else Unusable("it was empty")


def _cut_off(answer: ModelAnswer) -> Unusable:
    spent = answer.completion_tokens
    after = "" if spent is None else f" after {spent} tokens"
    return Unusable(f"it was cut off{after} because it was too long; be much shorter")


# Endpoints support different parts of JSON Schema, and some refuse a schema for one unknown
# keyword. So only what all of them know is used: references are inlined, every field is required,
# no others are allowed, titles and defaults are dropped.
#
# Bounds (``maxLength``, ``pattern`` …) go into the field's description, where the model reads them;
# validation checks them. Endpoints that turn a schema into a grammar may be given the bounds of
# numbers and lists (``keep_bounds``), because small models run on without them. Bounds of strings
# would become hundreds of grammar rules.

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
            "required": list(fields),
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
        self, choice: ModelChoice, *, deadline_seconds: float, timing: Timing | None = None
    ) -> None:
        """``deadline_seconds`` is for a whole call, unless the call has its own."""
        self._choice = choice
        self._deadline_seconds = deadline_seconds
        self._timing = timing or Timing()
        self._sender = Sender(choice, self._timing)
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
        max_tokens: int,
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
            call=self._call(deadline_seconds, on_usage, before_request, max_tokens),
        )

    def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        on_usage: OnUsage,
        before_request: BeforeRequest = no_limit,
        deadline_seconds: float | None = None,
    ) -> str:
        """An answer in plain text, stripped and never empty. Raises LanguageModelError."""
        return self._converse(
            messages,
            read_text,
            wanted=None,
            call=self._call(deadline_seconds, on_usage, before_request, max_tokens),
        )

    def stream(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int,
        deadline_seconds: float | None = None,
    ) -> Generator[str, None, None]:
        """The pieces of an answer in plain text as they arrive; usage is not counted.

        Raises:
            LanguageModelError: as for :meth:`ask`, also in the middle of the answer.
        """
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        return stream_answer(
            self._choice, messages, max_tokens=max_tokens, deadline_seconds=seconds
        )

    def estimated_tokens(self, messages: Sequence[Message]) -> int:
        """An upper estimate of the prompt tokens, for budgets."""
        return estimated_tokens(messages)

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        self._sender.close()

    def _call(
        self,
        deadline_seconds: float | None,
        on_usage: OnUsage,
        before_request: BeforeRequest,
        max_tokens: int,
    ) -> ModelCall:
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        deadline = Deadline(seconds, self._timing.monotonic)
        return ModelCall(deadline, on_usage, before_request, max_tokens)

    def _converse(
        self,
        messages: Sequence[Message],
        read: Callable[[ModelAnswer], Result],
        *,
        wanted: tuple[str, JsonSchema] | None,
        call: ModelCall,
    ) -> Result:
        """Ask, and have the model correct its answer a few times at most."""
        conversation = list(messages)
        corrections = 0
        while True:
            given, dialect, prompt_tokens = self._exchange(conversation, wanted, call)
            try:
                result = read(given)
            except Unusable as problem:
                call.on_usage(_usage(given, prompt_tokens, failed=True))
                if problem.is_final or corrections == MAX_CORRECTIONS:
                    place = self._choice.place
                    raise BadAnswer(f"{place}: no usable answer: {problem.what}") from None
                is_unseen = dialect.structure is Structure.JSON_SCHEMA and not corrections
                schema = wanted[1] if wanted is not None and is_unseen else None
                conversation += correction(given.content, problem, schema)
                corrections += 1
            else:
                call.on_usage(_usage(given, prompt_tokens, failed=False))
                return result

    def _exchange(
        self,
        conversation: Sequence[Message],
        wanted: tuple[str, JsonSchema] | None,
        call: ModelCall,
    ) -> tuple[ModelAnswer, Dialect, int]:
        """One answer in the best dialect that the endpoint supports, and a token estimate."""
        known = dialect = self._dialect
        while True:
            shown, extras = _in_dialect(dialect, conversation, wanted, call.max_tokens)
            body = {"model": self.model, "messages": [_on_wire(m) for m in shown], **extras}
            prompt_tokens = estimated_tokens(shown)
            if wanted is not None and dialect.structure is Structure.JSON_SCHEMA:
                prompt_tokens += estimate_tokens(compact(wanted[1]))  # some show it to the model
            try:
                answer = self._sender.send(body, prompt_tokens, call)
            except EndpointRefused as refusal:
                is_structured = wanted is not None
                other = dialect.after_refusal(
                    refusal.status, refusal.said, is_structured=is_structured
                )
                if other is None:
                    raise ModelRefused(str(refusal)) from None
                dialect = other
            else:
                if dialect != known:  # found out just now, and it works
                    self._dialect = dialect
                return answer, dialect, prompt_tokens


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


def _on_wire(message: Message) -> dict[str, str]:
    """Without lone surrogates, which cannot be sent."""
    text = message.content.encode("utf-8", "replace").decode("utf-8")
    return {"role": message.role, "content": text}


def _usage(answer: ModelAnswer, prompt_tokens: int, *, failed: bool) -> Usage:
    """As the endpoint counted, otherwise as estimated."""
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    return Usage(
        prompt_tokens if prompt is None else prompt,
        estimate_tokens(answer.content) if completion is None else completion,
        failed,
    )


class _Refused(BaseModel, defer_build=True):
    hour: int = Field(description="the hour as a number")
    destination: str = Field(description="where it goes, in a word or two")


@dataclass(frozen=True, slots=True)
class ModelReport(Record):
    """What came of it. ``problem`` is None when all is well; tokens are those of all requests."""

    ok: bool
    provider: str
    model: str
    structured_output: str | None
    latency_ms: float | None
    prompt_tokens: int
    completion_tokens: int
    problem: str | None


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
            _Refused,
            max_tokens=_MAX_TOKENS,
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
