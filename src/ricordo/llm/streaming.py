"""An answer that comes piece by piece, as somebody at a terminal wants to read it."""

import contextlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ricordo.endpoints.answers import may_pass, one_line, said
from ricordo.errors import BadAnswer, LanguageModelError, ModelRefused, ModelUnavailable
from ricordo.limits import MAX_MODEL_ANSWER_CHARS, MODEL_CONNECT_SECONDS
from ricordo.llm.choice import ModelChoice
from ricordo.llm.connections import open_client
from ricordo.llm.dialect import Dialect
from ricordo.llm.sending import EndpointRefused
from ricordo.llm.wire import read_answer

if TYPE_CHECKING:
    import openai

_EVENTS: Final = "text/event-stream"


def stream_answer(
    choice: ModelChoice,
    messages: Sequence[Mapping[str, str]],
    *,
    max_tokens: int,
    deadline_seconds: float,
) -> Generator[str, None, None]:
    """The pieces of an answer as they come. Closing the iterator ends the answer.

    Nothing is tried again: whoever reads along decides that. An endpoint that does not stream
    gives its answer in one piece.

    Raises:
        ModelUnavailable: down, slow, overloaded, or gone in the middle of the answer.
        ModelRefused: the endpoint, or the model, said no.
        BadAnswer: what came is no answer, or has no end.
    """
    with contextlib.closing(open_client(choice.base_url, choice.api_key)) as client:
        stream = _opened(client, choice, messages, max_tokens, deadline_seconds)
        length = 0
        with _our_errors(choice), contextlib.closing(stream):
            for piece in _pieces(stream):
                length += len(piece)
                if length > MAX_MODEL_ANSWER_CHARS:
                    problem = f"the answer is longer than {MAX_MODEL_ANSWER_CHARS} characters"
                    raise BadAnswer(f"{choice.place}: {problem}")
                yield piece
        if not length:
            raise BadAnswer(f"{choice.place}: the answer is empty")


def _opened(
    client: "openai.OpenAI",
    choice: ModelChoice,
    messages: Sequence[Mapping[str, str]],
    max_tokens: int,
    deadline_seconds: float,
) -> "openai.Stream[object]":
    """The answer, asked for in the way that the endpoint understands."""
    import httpx2
    import openai

    dialect: Dialect | None = Dialect.of(choice.preset)
    timeout = httpx2.Timeout(deadline_seconds, connect=min(deadline_seconds, MODEL_CONNECT_SECONDS))
    while dialect is not None:
        body = {
            "model": choice.model,
            "messages": [_on_wire(message) for message in messages],
            "stream": True,
            dialect.max_tokens_field: max_tokens,
        }
        try:
            with _our_errors(choice):
                return client.post(
                    "/chat/completions",
                    cast_to=object,
                    body=body,
                    options={"timeout": timeout},
                    stream=True,
                    stream_cls=openai.Stream[object],
                )
        except EndpointRefused as refusal:
            problem = refusal
            dialect = dialect.after_refusal(refusal.status, refusal.said, is_structured=False)
    raise ModelRefused(str(problem)) from None


def _pieces(stream: "openai.Stream[object]") -> Iterator[str]:
    if _EVENTS not in stream.response.headers.get("content-type", ""):
        yield read_answer(stream.response.read()).content
        return
    for event in stream:
        choices = event.get("choices") if isinstance(event, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        delta = first.get("delta") if isinstance(first, dict) else None
        if not isinstance(delta, dict):
            continue
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            raise ModelRefused(f"the model declines: {one_line(delta['refusal'], None)}")
        piece = delta.get("content")
        if isinstance(piece, str) and piece:
            yield piece


@contextlib.contextmanager
def _our_errors(choice: ModelChoice) -> Iterator[None]:
    import httpx2
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise _refusal(choice, error.response.status_code, error.response.content) from None
    except openai.APIConnectionError as error:
        raise _broken(choice, error.__cause__ or error) from None
    except openai.APIError as error:  # told in the middle of the answer
        problem = one_line(error.message, choice.api_key)
        raise ModelUnavailable(f"{choice.place} broke off: {problem}") from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise _broken(choice, error) from None
    except json.JSONDecodeError:
        raise BadAnswer(f"{choice.place}: a piece of the answer is not JSON") from None


def _refusal(choice: ModelChoice, status: int, content: bytes) -> LanguageModelError:
    reason = said(content, choice.api_key)
    if may_pass(status, content):
        return ModelUnavailable(f"{choice.place} is not available: answered {status}: {reason}")
    return EndpointRefused(choice.place, status, reason)


def _broken(choice: ModelChoice, cause: BaseException) -> LanguageModelError:
    import httpx2

    if isinstance(cause, httpx2.LocalProtocolError):  # its message would show the key
        return ModelRefused(f"{choice.place}: the request cannot be sent; check api_key")
    if isinstance(cause, httpx2.DecodingError):
        return BadAnswer(f"{choice.place}: {cause}")
    if isinstance(cause, httpx2.TimeoutException):
        return ModelUnavailable(f"{choice.place} is not available: no answer in time")
    what = one_line(str(cause) or type(cause).__name__, choice.api_key)
    return ModelUnavailable(f"{choice.place} cannot be reached, or broke off: {what}")


def _on_wire(message: Mapping[str, str]) -> dict[str, Any]:
    """Without halves of characters, which cannot be sent."""
    return {
        name: value.encode("utf-8", "replace").decode("utf-8") for name, value in message.items()
    }
