"""What takes long does not keep others waiting."""

import threading
from collections.abc import Callable

import pytest

from ricordo.memory import Memory
from ricordo.testing.model_server import ModelServer
from tests.support.service import running

pytestmark = pytest.mark.requirement("http.serve")


def test_while_a_model_is_asked_others_are_answered(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    go_on = threading.Event()
    with ModelServer() as model:
        model.hang_until(go_on)
        model.answer_with(lambda _request: {"memories": []})
        memory = open_store(
            backend_url,
            port=0,
            service_threads=1,
            model_provider="openai",
            model_api_key="sk-test",
            model_base_url=model.base_url,
        )
        memory.user("ana").observe(
            [{"role": "user", "content": "I moved to Rome in May with my sister."}], thread="t"
        )
        statuses: list[int] = []
        with running(memory) as service:
            ana = service.client("ana")

            def form() -> None:
                statuses.append(ana.post("/v1/form").status_code)

            forming = [threading.Thread(target=form) for _ in range(2)]
            for one in forming:
                one.start()
            assert model.wait_for_requests(1)
            assert service.client().get("/readyz").status_code == 200
            assert service.client("ben").get("/v1/revision").status_code == 200
            assert statuses == []
            go_on.set()
            for one in forming:
                one.join()
        assert 200 in statuses
