"""Asking a language model: for an answer of a given shape, or for text."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from ricordo.endpoints.timing import Deadline, Timing
from ricordo.errors import BadAnswer, ModelRefused
from ricordo.limits import MAX_CORRECTIONS
from ricordo.llm.choice import ModelChoice
from ricordo.llm.corrections import Unusable, compact, correction, with_schema
from ricordo.llm.dialect import Dialect
from ricordo.llm.messages import BeforeRequest, Message, OnUsage, Usage, estimated_tokens, no_limit
from ricordo.llm.presets import Structure
from ricordo.llm.reading import read_text, read_value
from ricordo.llm.schema import schema_name, strict_schema
from ricordo.llm.sending import Call, EndpointRefused, Sender
from ricordo.llm.streaming import stream_answer
from ricordo.llm.wire import Answer
from ricordo.text.tokens import estimate_tokens

T = TypeVar("T", bound=BaseModel)
Result = TypeVar("Result")
Schema = Mapping[str, object]


class ChatModel:
    """A language model behind an endpoint. Any number of threads may use it, and forked children.

    What the endpoint was found to understand is remembered, so that it is found out once.
    """

    def __init__(
        self, choice: ModelChoice, *, deadline_seconds: float, timing: Timing | None = None
    ) -> None:
        """``deadline_seconds`` is for a whole call, unless the call brings its own."""
        self._choice = choice
        self._deadline_seconds = deadline_seconds
        self._timing = timing or Timing()
        self._sender = Sender(choice, self._timing)
        # A frozen value, replaced as a whole: threads need no lock for it.
        self._dialect = Dialect.of(choice.preset)

    def __repr__(self) -> str:
        return f"ChatModel({self._choice!r})"

    @property
    def provider(self) -> str:
        """Which kind of endpoint this is."""
        return self._choice.provider

    @property
    def model(self) -> str:
        """The name of the model there."""
        return self._choice.model

    @property
    def structure(self) -> Structure:
        """How answers are kept in shape; until something was asked, how that will be tried."""
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

        ``on_usage`` is called once for each request that was sent, those that failed included;
        ``before_request`` before each, with the most tokens that it can take.

        Raises:
            ModelUnavailable: down, slow or overloaded; try again later.
            ModelRefused: the endpoint said no; trying again does not help.
            BadAnswer: something else than asked for, after all corrections.
            TypeError: the shape is one that strict JSON schemas cannot describe.
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
        """An answer in plain text, trimmed and never empty.

        Raises:
            LanguageModelError: as for :meth:`ask`.
        """
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
        """The pieces of an answer in plain text as they come; what it costs is not counted.

        Raises:
            LanguageModelError: as for :meth:`ask`, also in the middle of the answer.
        """
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        return stream_answer(
            self._choice, messages, max_tokens=max_tokens, deadline_seconds=seconds
        )

    def estimated_tokens(self, messages: Sequence[Message]) -> int:
        """An upward estimate of what the messages cost as a prompt, for budgets."""
        return estimated_tokens(messages)

    def close(self) -> None:
        """Let go of connections; using it again opens new ones."""
        self._sender.close()

    def _call(
        self,
        deadline_seconds: float | None,
        on_usage: OnUsage,
        before_request: BeforeRequest,
        max_tokens: int,
    ) -> Call:
        seconds = self._deadline_seconds if deadline_seconds is None else deadline_seconds
        deadline = Deadline(seconds, self._timing.monotonic)
        return Call(deadline, on_usage, before_request, max_tokens)

    def _converse(
        self,
        messages: Sequence[Message],
        read: Callable[[Answer], Result],
        *,
        wanted: tuple[str, Schema] | None,
        call: Call,
    ) -> Result:
        """Ask, and tell the model what was wrong with its answer, a few times at most."""
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
        wanted: tuple[str, Schema] | None,
        call: Call,
    ) -> tuple[Answer, Dialect, int]:
        """One answer, asked for in the way that the endpoint understands; and an estimate."""
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
                if dialect != known:  # found out just now; it works
                    self._dialect = dialect
                return answer, dialect, prompt_tokens


def _in_dialect(
    dialect: Dialect,
    conversation: Sequence[Message],
    wanted: tuple[str, Schema] | None,
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
    """Without halves of characters, which cannot be sent."""
    text = message.content.encode("utf-8", "replace").decode("utf-8")
    return {"role": message.role, "content": text}


def _usage(answer: Answer, prompt_tokens: int, *, failed: bool) -> Usage:
    """As the endpoint counted it, else as estimated."""
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    return Usage(
        prompt_tokens if prompt is None else prompt,
        estimate_tokens(answer.content) if completion is None else completion,
        failed,
    )
