"""Trying a model out never fails: it reports."""

from collections.abc import Callable

import pytest

from ricordo.llm import checkup
from ricordo.testing.model_server import ModelServer
from tests.llm.conftest import Asker

Make = Callable[..., Asker]
RIGHT = {"hour": 9, "destination": "the coast"}


@pytest.mark.requirement("formation.model-layer")
def test_all_is_well(server: ModelServer, asker: Make) -> None:
    server.refuse_schema()
    server.answer(RIGHT)
    moments = iter([1.0, 1.25])
    report = checkup.test_model(asker().model, monotonic=lambda: next(moments))
    assert report.to_dict() == {
        "ok": True,
        "provider": "custom_http",
        "model": "test-model",
        "structured_output": "json_object",
        "latency_ms": 250.0,
        "prompt_tokens": report.prompt_tokens,
        "completion_tokens": 5,
        "problem": None,
    }
    assert report.prompt_tokens > 50  # those of the refused request as well


@pytest.mark.requirement("formation.model-layer")
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (lambda server: server.fail_next(status=401), "answered 401"),
        (lambda server: server.fail_next(9, status=503), "not available: answered 503"),
        (ModelServer.answer_nonsense, "no usable answer"),
        (ModelServer.answer_html, "an HTML page"),
    ],
)
def test_a_problem_is_one_line(
    server: ModelServer, asker: Make, fault: Callable[[ModelServer], None], problem: str
) -> None:
    fault(server)
    report = checkup.test_model(asker().model)
    assert report.problem is not None
    assert problem in report.problem
    assert "\n" not in report.problem
    assert (report.ok, report.structured_output, report.latency_ms) == (False, None, None)
    assert report.prompt_tokens > 0
