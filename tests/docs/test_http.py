"""The calls with curl that the page on the service begins with, sent to a service."""

import re
import shlex

import pytest

from tests.docs.markdown import DOCS
from tests.http.conftest import service
from tests.support.service import Service

__all__ = ["service"]

SAID_ADDRESS = "http://127.0.0.1:8377"


@pytest.mark.requirement("docs.true")
def test_the_calls_with_curl_work(service: Service) -> None:
    text = (DOCS / "howto" / "http.md").read_text(encoding="utf-8")
    calls = re.findall(r"^curl (.+)$", text, re.MULTILINE)
    assert len(calls) == 4
    for call in calls:
        words = iter(shlex.split(call))
        method, url, headers, body = "GET", "", {}, None
        for word in words:
            if word == "-X":
                method = next(words)
            elif word == "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            elif word == "--json":
                method, body = "POST", next(words)
                headers["Content-Type"] = "application/json"
            else:
                assert not word.startswith("-")
                url = word
        assert url.startswith(SAID_ADDRESS)
        path = url.removeprefix(SAID_ADDRESS)
        answered = service.client().request(method, path, headers=headers, content=body)
        assert answered.status_code in (200, 201), answered.text
