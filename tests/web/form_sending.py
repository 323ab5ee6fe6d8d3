"""A browser as far as cookies and forms go, for what they are refused and what they let in."""

import re
from typing import Any, Final

import httpx2

from tests.support.service import Service

_TOKEN: Final = re.compile(r'name="token" value="([^"]+)"')


class Sender:
    """Somebody's browser at a service, signed in with a key and looking at a user's memory."""

    def __init__(
        self, service: Service, *, key: str | None = None, user: str | None = None
    ) -> None:
        self.client = service.client()
        self.answers: list[httpx2.Response] = []
        """Every answer so far."""
        if key is not None:
            self.sign_in(key)
        if user is not None:
            self.post("/ui/who", user=user)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """A page, without following where it may lead."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.client.get(path, headers=sent)
        self.answers.append(answer)
        return answer

    def post(
        self,
        path: str,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> httpx2.Response:
        """Send a form, with the token of this session unless another is given."""
        sent = {"token": self.token() if token is None else token, **fields}
        answer = self.client.post(path, data=sent, headers=headers)
        self.answers.append(answer)
        return answer

    def sign_in(self, key: str, **fields: str) -> httpx2.Response:
        """Show a key at the door."""
        return self.post("/ui/sign-in", key=key, **fields)

    def token(self) -> str:
        """What has to come back with every form."""
        page = self.get("/ui/who")
        if page.status_code == httpx2.codes.SEE_OTHER:
            page = self.get("/ui/sign-in")
        found = _TOKEN.search(page.text)
        assert found is not None
        return found[1]

    def is_in(self) -> bool:
        """Whether pages are shown, and not the way to the door."""
        page = self.get("/ui/memories")
        return "/ui/sign-in" not in page.headers.get("location", "")

    def cookie(self) -> tuple[str, str]:
        """The name and the value of the session's cookie."""
        (one,) = self.client.cookies.jar
        return one.name, one.value or ""

    def bring(self, value: str) -> None:
        """Have another cookie from now on, under the same name."""
        name, _ = self.cookie()
        (one,) = self.client.cookies.jar
        self.client.cookies.set(name, value, domain=one.domain, path=one.path)
