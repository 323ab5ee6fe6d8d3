"""Whatever is remembered is shown as text: nothing of it runs, breaks a page, or is in an address.

Everything that a caller can name is hostile here: the user, themes, tags, conversations, speakers,
reasons, keys, and what a provider says when it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import unquote_plus

import pytest
from playwright.sync_api import Page

from ricordo.errors import EmbedderRefused
from ricordo.formation.schedule import FORM_JOB
from ricordo.limits import MAX_CONTENT_CHARS, MAX_JOB_ATTEMPTS
from ricordo.memory import Memory
from ricordo.providers.embedder import Vectors
from ricordo.testing import ManualClock, WordEmbedder
from tests.support.life import Life
from tests.support.service import Service
from tests.web.addresses import MISSING, known_pages
from tests.web.browsing import NARROW
from tests.web.conftest import EACH_DATABASE, Reading, Serve
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("page.hostile")

SECRET: Final = "zqcontent"
"""In all that is said, and in no label: it may stand in no address."""
TEXTS: Final = {
    "script": f"<script data-hostile>document.title = 'owned'; alert(1)</script> {SECRET}",
    "image": f"<img data-hostile src=x onerror=alert(1)> {SECRET}",
    "attribute": f"\"'><svg/onload=alert(1) data-hostile> {SECRET}",
    "template": f"{{{{ 7*7 }}}} {{% include 'x' %}} ${{7*7}} {SECRET}",
    "address": f"javascript:alert(1)//{SECRET}",
    "direction": f"\u202eright to left\u202c \u2067and isolated\u2069 שלום {SECRET}",
    "closing": f"</textarea></title></script></style>--></main><b data-hostile>b</b> {SECRET}",
    "entities": f"&lt;b data-hostile&gt; &amp;amp; &#60;&quot; {SECRET}",
    "emoji": f"👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 é {SECRET}",
    "long": f"{SECRET}{'x' * (MAX_CONTENT_CHARS - len(SECRET))}",
}
NAME: Final = "<img src=x onerror=alert(1) data-hostile>"
"""Short enough for every label."""
LONG_NAME: Final = f"<b data-hostile>{'w' * 40}"
USER: Final = f'"><i data-hostile>{"u" * 120}'
THREAD: Final = '"><svg/onload=alert(1) data-hostile>&id=2#x'
UNEMBEDDABLE: Final = "cannot be embedded"
_NOT_FOUND: Final = r"console error: Failed to load resource: .* 404 .*/ui/nowhere"

# Elements that only what is remembered could have made, and links that would run something.
_MADE: Final = """() => [
  ...document.querySelectorAll("[data-hostile], [onerror], [onload], [onclick], script:not([src])"),
  ...[...document.querySelectorAll("[href], [action]")].filter(one => {
    const address = one.getAttribute("href") || one.getAttribute("action");
    return new URL(address, location.href).origin !== location.origin;
  }),
].map(one => one.outerHTML.slice(0, 200))"""
_ADDRESSES: Final = """() => [...document.querySelectorAll("*")].flatMap(one =>
  ["href", "src", "action", "formaction", "hx-get", "hx-post", "hx-push-url"]
    .map(name => one.getAttribute(name))).filter(Boolean)"""


class RefusingEmbedder(WordEmbedder):
    """A provider with a bad name that says bad things when it cannot embed."""

    def __init__(self) -> None:
        super().__init__()
        self.model = NAME

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if any(UNEMBEDDABLE in text for text in texts):
            raise EmbedderRefused(f"the provider says: {TEXTS['image']}")
        return super().embed(texts, deadline_seconds=deadline_seconds)


@dataclass(frozen=True)
class HostileStore:
    """A served store in which everything is hostile."""

    service: Service
    life: Life
    ids: dict[str, int]
    """Of the memory with each text."""


def _filled(service: Service, clock: ManualClock) -> HostileStore:
    memory = service.memory
    user = memory.user(USER, actor=NAME)
    life = Life(USER, threads=[THREAD])
    ids = {}
    for place, (kind, text) in enumerate(TEXTS.items()):
        given = {"theme": f"theme {place % 3}", "tags": [NAME, LONG_NAME], "reason": text[:500]}
        # Twice nearly the same, so that there is something to relate.
        user.add(f"{text[:200]} again", **given)
        ids[kind] = user.add(text, **given, source_context=TEXTS["image"]).id
    user.add(f"{UNEMBEDDABLE}: {TEXTS['image']}", key=f"key {NAME}")
    about = {"tags": ["decision", f"file:{NAME}"], "reason": TEXTS["image"][:500]}
    user.add(f"{TEXTS['script']} of a project", project_id="github.com/acme/shop", **about)
    user.add(f"{TEXTS['script']} of another", project_id=LONG_NAME)
    for theme, text in zip(user.themes(), TEXTS.values(), strict=False):
        user.describe_theme(theme.slug, display_name=LONG_NAME, description=text[:1000])
    said = [
        {"role": "assistant" if place % 2 else "user", "content": text, "actor": NAME}
        for place, text in enumerate(TEXTS.values())
    ]
    user.observe(said, thread=THREAD, title=TEXTS["closing"])
    user.update_user_profile({"city": TEXTS["image"], "address": TEXTS["entities"]})
    _fail_a_job(memory, clock)
    life.key_ids = [
        memory.create_key(NAME, user=USER).key.id,
        memory.create_key(LONG_NAME, user=USER, agent=NAME).key.id,
    ]
    life.items = list(ids.values())
    return HostileStore(service, life, ids)


def _fail_a_job(memory: Memory, clock: ManualClock) -> None:
    queue = memory.runner.queue
    for _ in range(MAX_JOB_ATTEMPTS):
        clock.advance(hours=1)
        job = queue.claim(frozenset({FORM_JOB}))
        assert job is not None
        queue.fail(job, f"LanguageModelRefused: {TEXTS['script']}")
    while memory.run_jobs():
        clock.advance(hours=1)


@pytest.fixture(scope="module", params=EACH_DATABASE)
def hostile(request: pytest.FixtureRequest, serve_for_module: Serve) -> HostileStore:
    clock = ManualClock()
    service = serve_for_module(request.param, clock, embedder=RefusingEmbedder())
    return _filled(service, clock)


@pytest.fixture(scope="module")
def reading(hostile: HostileStore, reader: Callable[..., Reading]) -> Reading:
    return reader(hostile.service.url, width=NARROW)


SHOWN: Final = {
    "/ui/memories": [text for kind, text in TEXTS.items() if kind != "long"]
    + [NAME, LONG_NAME, USER],
    "/ui/themes": [LONG_NAME, *list(TEXTS.values())[:3]],
    "/ui/conversations": [TEXTS["closing"]],
    "/ui/conversations/thread": [*TEXTS.values(), NAME],
    "/ui/projects": [LONG_NAME],
    "/ui/projects/project": [TEXTS["script"], NAME],
    "/ui/changes": [TEXTS["script"], NAME],
    "/ui/proposals": [TEXTS["image"], TEXTS["entities"]],
    "/ui/graph": [LONG_NAME],
    "/ui/activity": [],
    "/ui/settings": [NAME],
    "/ui/settings/keys": [NAME, LONG_NAME],
    "/ui/settings/keys/{id}": [NAME],
    "/ui/settings/programs": [],
    "/ui/who": [USER],
    "/ui/memories/{id}": [TEXTS["script"]],
    MISSING: [USER],
}
"""What has to be read on each page, to the letter."""


@pytest.mark.parametrize("route", known_pages())
def test_everything_is_shown_as_text(route: str, hostile: HostileStore) -> None:
    page = Parsed(Visit(hostile.service).get(known_pages()[route].path(hostile.life)).text)
    assert page.made == []
    said = _squeezed("".join(page.said))
    assert [text for text in SHOWN[route] if _squeezed(text) not in said] == []


class Parsed(HTMLParser):
    """What a page says, and what of it only something that is remembered could have made."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.made: list[str] = []
        self.said: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        links = [value or "" for name, value in attrs if name in ("href", "action", "src")]
        is_ours = all(link.startswith(("/", "#", "?")) for link in links)
        if not is_ours or names & {"data-hostile", "onerror", "onload", "onclick"}:
            self.made.append(self.get_starttag_text() or "")

    def handle_data(self, data: str) -> None:
        self.said.append(data)


@pytest.mark.browser
def test_nothing_runs_or_is_in_an_address(hostile: HostileStore, reading: Reading) -> None:
    for route, address in known_pages().items():
        reading.watch.expect(_NOT_FOUND)
        _check(reading, reading.open(address.path(hostile.life)), SHOWN[route])
    for kind, number in hostile.ids.items():
        page = reading.open(f"/ui/memories/{number}")
        _check(reading, page, [TEXTS[kind], NAME, LONG_NAME, TEXTS["image"]])
    for kind in ("script", "attribute", "closing"):
        page = reading.open("/ui/memories")
        page.get_by_role("searchbox").fill(TEXTS[kind])
        page.keyboard.press("Enter")
        page.locator("#found .why").first.wait_for()
        _check(reading, page, [TEXTS[kind]])


@pytest.mark.browser
@pytest.mark.requirement("page.no_script")
def test_without_script_as_well(hostile: HostileStore, reader: Callable[..., Reading]) -> None:
    reading = reader(hostile.service.url, javascript=False)
    page = reading.open("/ui/memories")
    page.get_by_role("searchbox").fill(TEXTS["attribute"])
    page.get_by_role("button", name="Search").click()
    assert page.get_by_role("searchbox").input_value() == TEXTS["attribute"]
    _check(reading, page, [TEXTS["attribute"]])


def _check(reading: Reading, page: Page, shown: Sequence[str]) -> None:
    assert page.evaluate(_MADE) == []
    assert page.title() != "owned"
    said = _squeezed(page.evaluate("() => document.body.textContent"))
    assert [text for text in shown if _squeezed(text) not in said] == []
    asked = [*page.evaluate(_ADDRESSES), *reading.watch.requested, page.url]
    assert [one for one in asked if SECRET in unquote_plus(one)] == []
    assert (
        page.evaluate("() => document.scrollingElement.scrollWidth") <= page.viewport_size["width"]
    )
    reading.browsing.check()


def _squeezed(text: str) -> str:
    """Without regard to how many blanks there are, which templates add around what they show."""
    return " ".join(text.split())
