"""Looking at pages over plain HTTP: what a browser without script sends, and what the page says."""

import re
from html.parser import HTMLParser
from typing import Self

import httpx2

from tests.support.service import Service


class Visit:
    """A browser without script: it keeps its cookie and fills in forms."""

    def __init__(self, service: Service) -> None:
        self.client = service.client()

    def choose(self, user: str) -> Self:
        """Look at a user's memory, where no key is needed."""
        assert self.post("/ui/who", on="/ui/who", user=user).status_code == 303
        return self

    def sign_in(self, key: str) -> Self:
        """Come in with a key."""
        assert self.post("/ui/sign-in", on="/ui/sign-in", key=key).status_code == 303
        return self

    def get(self, path: str) -> httpx2.Response:
        """A page."""
        return self.client.get(path)

    def partial(self, path: str) -> httpx2.Response:
        """A part of a page, as htmx asks for it."""
        return self.client.get(path, headers={"HX-Request": "true"})

    def text(self, path: str) -> str:
        """What a page that is there says."""
        answer = self.get(path)
        assert answer.status_code == 200, main_text(answer)
        return main_text(answer)

    def post(self, path: str, *, on: str, **fields: str) -> httpx2.Response:
        """Send a form with the token that a page of this visit has; go nowhere afterwards."""
        token = field(self.get(on).text, "token")
        return self.client.post(path, data={"token": token, **fields})


def field(html: str, name: str) -> str:
    """What a hidden field of a page says."""
    found = re.search(rf'name="{name}" value="([^"]+)"', html)
    assert found is not None, f"no field {name}"
    return found.group(1)


def main_text(answer: httpx2.Response) -> str:
    """What the page says below its head, with single blanks."""
    reader = _MainText()
    reader.feed(answer.text)
    return " ".join("".join(reader.said).split())


class _MainText(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = self._inside or tag == "main"
        if tag in ("p", "li", "div", "td", "th", "dt", "dd", "h1", "h2", "blockquote"):
            self.said.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "main"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.said.append(data)
