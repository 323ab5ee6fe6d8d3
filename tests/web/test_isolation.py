"""Two users in two browsers, each with a key: neither ever sees anything of the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from ricordo.testing.clock import ManualClock
from tests.conftest import BACKENDS
from tests.http.filled import FilledStore, filled
from tests.support.life import Life
from tests.support.service import Service
from tests.web.addresses import MISSING, known_pages
from tests.web.browsing import Browsing
from tests.web.conftest import Serve

pytestmark = pytest.mark.requirement("page.isolation")

_NOT_THERE = r"console error: Failed to load resource: .* (403|404) "
_MANAGING = {"/ui/settings/keys", "/ui/settings/keys/{id}", "/ui/who"}
UNKNOWN = 987_654_321


@dataclass(frozen=True)
class Person:
    """Somebody with a key and something of every kind, all of which says their mark."""

    name: str
    secret: str
    key_id: str
    has: FilledStore

    @property
    def life(self) -> Life:
        """Where their pages are."""
        known = self.has.known
        return Life(
            self.name,
            items=[one for one in known["id"] if isinstance(one, int)],
            threads=[str(one) for one in known["thread"]],
            themes=[str(one) for one in known["theme"]],
            key_ids=[self.key_id, self.key_id],
        )

    def is_seen_in(self, text: str) -> bool:
        """Whether a page tells anything of what they said or who they are."""
        said = (f"Saw a {self.has.mark}", f"the {self.has.mark}", f"of {self.name}", self.key_id)
        return any(words in text for words in said)


@dataclass(frozen=True)
class Two:
    """Both, in one store."""

    service: Service
    ana: Person
    ben: Person


@pytest.fixture(scope="module", params=BACKENDS)
def two(request: pytest.FixtureRequest, serve_for_module: Serve) -> Two:
    service = serve_for_module(request.param, ManualClock(), require_keys=True)

    def person(name: str, mark: str) -> Person:
        made = service.memory.create_key(f"{mark} key", user=name)
        return Person(name, made.secret, made.key.id, filled(service, name, mark, key=made.secret))

    return Two(service, person("ana", "heron"), person("ben", "otter"))


@pytest.fixture
def both(two: Two, browse: Browsing) -> Iterator[dict[str, Page]]:
    """A signed-in browser for each."""
    pages = {}
    for person in (two.ana, two.ben):
        page = browse(f"{two.service.url}/ui/memories", key=person.secret)
        browse.watch(page).expect(_NOT_THERE)
        pages[person.name] = page
    yield pages


def test_on_no_page_anything_of_the_other_is_shown(two: Two, both: dict[str, Page]) -> None:
    for route, address in known_pages().items():
        for own, other in ((two.ana, two.ben), (two.ben, two.ana)):
            page = both[own.name]
            page.goto(two.service.url + address.path(own.life))
            html = page.content()
            assert not other.is_seen_in(html), route
            if route not in _MANAGING and route != MISSING:
                assert f"<bdi>{own.name}</bdi>" in html, route


def test_addresses_of_the_other_lead_nowhere(two: Two, both: dict[str, Page]) -> None:
    page, ana = both["ben"], two.ana.life
    typed = [
        *(address.path(ana) for address in known_pages().values()),
        *(f"/ui/memories/{item}" for item in ana.items),
        *(f"/ui/memories?theme={theme}" for theme in ana.themes),
        *(f"/ui/graph?theme={theme}" for theme in ana.themes),
        f"/ui/conversations/thread?id={quote(ana.threads[0])}&from=1",
        f"/ui/memories?cursor={quote(_cursor(two))}",
        f"/ui/who?after={two.ana.name}",
        "/ui/who?next=/ui/memories",
        "/ui/changes?before=1000000",
        "/ui/changes/newer?after=0",
    ]
    for path in typed:
        page.goto(two.service.url + path)
        assert not two.ana.is_seen_in(page.content()), path


def test_what_is_the_others_is_told_like_what_there_never_was(
    two: Two, both: dict[str, Page]
) -> None:
    page = both["ben"]
    for item in two.ana.life.items:
        told = []
        for number in (item, UNKNOWN):
            answer = page.goto(f"{two.service.url}/ui/memories/{number}")
            assert answer is not None
            text = page.locator("main").inner_text().split("Status")[0]
            told.append((answer.status, text.replace(str(number), "N")))
        assert told[0] == told[1]
        assert told[0][0] == 404


def test_nothing_can_be_done_to_what_is_the_others(two: Two, both: dict[str, Page]) -> None:
    page, ana = both["ben"], two.service.memory.user("ana")
    before = (ana.revision(), [one.id for one in ana.proposals()])
    page.goto(f"{two.service.url}/ui/memories")
    token = page.locator("input[name=token]").first.input_value()
    proposals = two.ana.has.known["proposal"]
    paths = [
        *(
            f"/ui/memories/{item}/{what}"
            for item in two.ana.life.items
            for what in ("undo", "restore")
        ),
        *(f"/ui/choices/{one}/{what}" for one in proposals for what in ("approve", "reject")),
    ]
    for path in paths:
        answer = page.request.post(two.service.url + path, form={"token": token}, max_redirects=0)
        assert answer.status == 404, path
        assert not two.ana.is_seen_in(answer.text())
    refused = page.request.post(
        f"{two.service.url}/ui/who", form={"token": token, "user": "ana"}, max_redirects=0
    )
    assert refused.status == 403
    revoked = page.request.post(
        f"{two.service.url}/ui/settings/keys/{two.ana.key_id}/revoke",
        form={"token": token, "confirm": "1"},
        max_redirects=0,
    )
    assert revoked.status == 403
    assert (ana.revision(), [one.id for one in ana.proposals()]) == before


def test_a_search_finds_only_ones_own(two: Two, both: dict[str, Page]) -> None:
    for own, other in ((two.ana, two.ben), (two.ben, two.ana)):
        page = both[own.name]
        page.goto(f"{two.service.url}/ui/memories")
        page.get_by_role("searchbox").fill(f"Saw a bird on day 1 {own.has.mark}")
        page.keyboard.press("Enter")
        page.locator("#found .why").first.wait_for()
        shown = page.locator("#found").inner_text()
        assert f"Saw a {own.has.mark}" in shown
        assert other.has.mark not in shown


def test_after_signing_out_nothing_is_left(two: Two, browse: Browsing) -> None:
    page = browse(f"{two.service.url}/ui/memories", key=two.ana.secret)
    assert two.ana.is_seen_in(page.content())
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/ui/sign-in")
    page.go_back()
    page.wait_for_url("**/ui/sign-in*")
    assert not two.ana.is_seen_in(page.content())


def _cursor(two: Two) -> str:
    cursor = two.service.memory.user("ana").list(limit=1).next_cursor
    assert cursor is not None
    return cursor
