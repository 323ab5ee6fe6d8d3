"""The page that shows what the service offers."""

import html.parser
import re

import pytest

from ricordo.http import manual
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.docs")

_VOID = {"meta"}


class Page(html.parser.HTMLParser):
    """What a browser would see, and what it would be asked to load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_every_route_is_shown(service: Service) -> None:
    client = service.client()
    answered = client.get("/docs")
    assert (answered.status_code, answered.headers["content-type"]) == (
        200,
        "text/html; charset=utf-8",
    )
    page = Page(answered.text)
    assert page.open == []
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in page.texts
            for parameter in operation.get("parameters", ()):
                assert parameter["name"] in page.texts
    for field_of_a_body in ("tool_calls", "base_url", "expires_days"):
        assert field_of_a_body in page.texts


def test_it_loads_and_runs_nothing(service: Service) -> None:
    answered = service.client().get("/docs")
    page = Page(answered.text)
    assert page.tags.isdisjoint({"script", "link", "img", "iframe", "form", "object"})
    assert page.links == ["openapi.json"]
    assert not any(name.startswith("on") or name == "style" for name in page.attributes)
    policy = answered.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    (style,) = re.findall("<style>(.*?)</style>", answered.text, re.DOTALL)
    assert manual.style_source(style) in policy


def test_it_needs_no_key(keyed: Service) -> None:
    assert keyed.client().get("/docs").status_code == 200


def test_whatever_the_document_says_is_only_text() -> None:
    evil = "</code><script>alert(1)</script><b a='\"'>"
    schema = {"type": "object", "required": [evil], "properties": {evil: {"description": evil}}}
    operation = {
        "operationId": evil,
        "tags": [evil],
        "description": evil,
        "parameters": [{"name": evil, "in": evil, "description": evil, "schema": {"type": evil}}],
        "requestBody": {"description": evil, "content": {evil: {"schema": schema}}},
        "responses": {evil: {"description": evil, "content": {evil: {"schema": {"$ref": evil}}}}},
    }
    document = {
        "info": {"title": evil, "version": evil, "description": evil},
        "paths": {evil: {"get": operation}},
    }
    page = Page(manual.page(document))
    assert page.open == []
    assert page.tags.isdisjoint({"script", "b"})
