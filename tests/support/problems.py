"""Reading how a request was refused."""

import httpx2


def problem(response: httpx2.Response) -> tuple[int, str]:
    """Status and kind of a refusal, which must be problem details about this very request."""
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert set(told) == {"type", "title", "status", "detail", "request_id"}
    assert told["status"] == response.status_code
    assert told["request_id"] == response.headers["x-request-id"]
    return response.status_code, told["type"]
