"""``HEAD`` asks what ``GET`` would answer, without its body."""

import pytest

from tests.support.service import Service

OF_ONE_ANSWER = ("date", "x-request-id", "set-cookie", "transfer-encoding")
PATHS = {
    "/": 303,
    "/ui/": 303,
    "/ui/memories": 200,
    "/ui/nothing-here": 404,
    "/healthz": 200,
    "/openapi.json": 200,
    "/v1/memories": 200,
    "/v1/memories/999": 404,
    "/v1/memories?limit=none": 422,
    "/v1/export": 200,
    "/v1/chat/completions": 405,
    "/mcp": 405,
}


@pytest.mark.requirement("http.head")
def test_a_head_request_answers_like_get_without_the_body(service: Service) -> None:
    service.memory.user("ana").add("Prefers tea")
    getting, asking = service.client("ana"), service.client("ana")
    for path, status in PATHS.items():
        got, head = getting.get(path), asking.head(path)
        assert (path, head.status_code, got.status_code) == (path, status, status)
        assert head.content == b""
        assert ("set-cookie" in head.headers) == ("set-cookie" in got.headers)
        for answer in (got, head):
            for name in OF_ONE_ANSWER:
                answer.headers.pop(name, None)
        assert dict(head.headers) == dict(got.headers), path
    metrics = getting.get("/metrics").text
    assert 'method="HEAD",route="/v1/memories/{id}"' in metrics
