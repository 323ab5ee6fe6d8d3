"""Two users, each with a key: neither ever sees anything of the other."""

import re
from dataclasses import dataclass
from itertools import product
from urllib.parse import quote

import httpx2
import pytest

from ricordo.testing import ManualClock
from tests.http.filled import FilledStore, filled
from tests.support.life import Life
from tests.support.service import Service
from tests.web.addresses import MISSING, known_pages
from tests.web.browsing import Browsing
from tests.web.conftest import EACH_DATABASE, Serve
from tests.web.form_sending import Sender
from tests.web.visiting import main_text

pytestmark = pytest.mark.requirement("page.isolation")

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


@pytest.fixture(scope="module", params=EACH_DATABASE)
def two(request: pytest.FixtureRequest, serve_for_module: Serve) -> Two:
    service = serve_for_module(request.param, ManualClock(), require_keys=True)

    def person(name: str, mark: str) -> Person:
        made = service.memory.create_key(f"{mark} key", user=name)
        return Person(name, made.secret, made.key.id, filled(service, name, mark, key=made.secret))

    return Two(service, person("ana", "heron"), person("ben", "otter"))


def test_on_no_page_anything_of_the_other_is_shown(two: Two) -> None:
    for own, other in ((two.ana, two.ben), (two.ben, two.ana)):
        sender = Sender(two.service, key=own.secret)
        for route, address in known_pages().items():
            html = sender.get(address.path(own.life)).text
            assert not other.is_seen_in(html), route
            if route not in _MANAGING and route != MISSING:
                assert f"<bdi>{own.name}</bdi>" in html, route
        found = sender.post("/ui/memories", q=f"Saw a bird on day 1 {own.has.mark}")
        assert f"Saw a {own.has.mark}" in found.text
        assert other.has.mark not in found.text


def test_addresses_of_the_other_lead_nowhere(two: Two) -> None:
    sender, ana = Sender(two.service, key=two.ben.secret), two.ana.life
    cursor = two.service.memory.user("ana").list(limit=1).next_cursor
    assert cursor is not None
    typed = [
        *(address.path(ana) for address in known_pages().values()),
        *(f"/ui/memories?theme={theme}" for theme in ana.themes),
        *(f"/ui/graph?theme={theme}" for theme in ana.themes),
        f"/ui/conversations/thread?id={quote(ana.threads[0])}&from=1",
        f"/ui/memories?cursor={quote(cursor)}",
        f"/ui/who?after={two.ana.name}",
        "/ui/who?next=/ui/memories",
        "/ui/changes?before=1000000",
        "/ui/changes/newer?after=0",
    ]
    for path in typed:
        assert not two.ana.is_seen_in(sender.get(path).text), path
    for theirs, unknown in (
        *((f"/ui/memories/{item}", f"/ui/memories/{UNKNOWN}") for item in ana.items),
        ("/ui/conversations/thread?id=heron-thread", "/ui/conversations/thread?id=none"),
    ):
        told = [sender.get(path) for path in (theirs, unknown)]
        assert [answer.status_code for answer in told] == [404, 404]
        assert _comparable(told[0]) == _comparable(told[1]), theirs


def _comparable(answer: httpx2.Response) -> str:
    return re.sub(r"memory \d+|thread '[^']*'|request \w+", "", main_text(answer))


_ACTIONS = ("undo", "restore", "rate", "pin", "tags", "archive", "forget", "unlink")


def test_nothing_can_be_done_to_what_is_the_others(two: Two) -> None:
    sender, ana = Sender(two.service, key=two.ben.secret), two.service.memory.user("ana")
    before = (ana.revision(), [one.id for one in ana.proposals()])
    page = sender.get("/ui/memories").text
    token = page.partition('name="token" value="')[2].partition('"')[0]
    for kind, numbers, actions in (
        ("memories", two.ana.life.items, _ACTIONS),
        ("proposals", two.ana.has.known["proposal"], ("approve", "reject")),
    ):
        for number, action in product(numbers, actions):
            answer = sender.post(f"/ui/{kind}/{number}/{action}", token=token, verdict="wrong")
            assert answer.status_code == 404, (kind, action)
            assert not two.ana.is_seen_in(answer.text)
    assert sender.post("/ui/who", token=token, user="ana").status_code == 403
    revoke = f"/ui/settings/keys/{two.ana.key_id}/revoke"
    assert sender.post(revoke, token=token, confirm="1").status_code == 403
    assert (ana.revision(), [one.id for one in ana.proposals()]) == before


@pytest.mark.browser
def test_after_signing_out_nothing_is_left(two: Two, browse: Browsing) -> None:
    page = browse(f"{two.service.url}/ui/memories", key=two.ana.secret)
    assert two.ana.is_seen_in(page.content())
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/ui/sign-in")
    page.go_back()
    page.wait_for_url("**/ui/sign-in*")
    assert not two.ana.is_seen_in(page.content())
