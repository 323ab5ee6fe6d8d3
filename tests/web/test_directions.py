"""Arabic, Hebrew and Persian run from right to left on every page, and scramble nothing there.

Everything that a caller can name has a word of its own here. Wherever one of them stands, an
element or a pair of signs keeps it apart from the English around it.
"""

import re
from html.parser import HTMLParser
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from ricordo.testing import ManualClock, WordEmbedder
from ricordo.web.rendering import static_file
from tests.support.life import Life
from tests.support.service import Service
from tests.web.addresses import known_pages
from tests.web.browsing import Browsing
from tests.web.conftest import Serve
from tests.web.visiting import Visit, field

pytestmark = pytest.mark.requirement("page.directions")

USER: Final = "ליאור"
SENDER: Final = "نسرین"
VIEWER: Final = "کاوه"
BLOCKED: Final = "דניאל"
SAID: Final = "أحمد"
NAMES: Final = {
    "theme": "مطبخ",
    "display name": "طعام",
    "description": "شرب",
    "tag": "نعناع",
    "key": "مشروب",
    "actor": "سلمى",
    "agent": "مساعد",
    "run": "جولة",
    "thread": "شرفة",
    "title": "حديقة",
    "source context": "نافذة",
    "reason": "تصحيح",
    "memory": "قهوة",
    "earlier memory": "شاي",
    "shared memory": "رمان",
    "offered memory": "زيتون",
    "turn": "صباح",
    "tool call": "חיפוש",
    "profile": "حيفا",
    "model": "דגם",
    "name of a key": "مفتاح",
    "category": "عمل",
    "user": USER,
    "sender": SENDER,
    "viewer": VIEWER,
    "blocked": BLOCKED,
    "speaker": SAID,
}
QUESTION: Final = f"2 {NAMES['memory']} (latte)?"
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff]")
_APART: Final = re.compile("\u2068[^\u2068\u2069]*\u2069")
_EMPTY: Final = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_TYPED: Final = ("value", "placeholder")


class Parsed(HTMLParser):
    """What runs from right to left on a page, and what of it nothing keeps apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.said = ""
        self.loose: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_directed = tag == "bdi" or "dir" in given
        if tag == "input" and given.get("type") not in ("hidden", "checkbox"):
            typed = [given[name] for name in _TYPED if _RIGHT_TO_LEFT.search(given.get(name) or "")]
            self.loose += [] if is_directed else [text or "" for text in typed]
        if tag not in _EMPTY:
            self._open.append((tag, is_directed))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.said += data
        if not any(is_directed for _, is_directed in self._open):
            # What the page itself is called is not shown among other words.
            self.loose += [data] if _RIGHT_TO_LEFT.search(_APART.sub("", data)) else []


@pytest.fixture(scope="module")
def written(serve_for_module: Serve) -> tuple[Service, Life]:
    embedder = WordEmbedder()
    embedder.model = NAMES["model"]
    clock = ManualClock()
    service = serve_for_module("sqlite", clock, embedder=embedder)
    memory, life = service.memory, Life(USER, threads=[NAMES["thread"]])
    user = memory.user(
        USER, actor=NAMES["actor"], agent=NAMES["agent"], run=NAMES["run"], thread=NAMES["thread"]
    )
    filed = {"theme": NAMES["theme"], "tags": [NAMES["tag"]], "reason": f"{NAMES['reason']} (2)."}
    earlier = user.add(f"2 {NAMES['earlier memory']} green, 3 sugar", key=NAMES["key"], **filed)
    user.add(f"{NAMES['memory']} (latte), 2 sugar", key=NAMES["key"], **filed)
    likely = user.add(
        f"{NAMES['memory']} (espresso), 2 sugar", **filed, source_context=NAMES["source context"]
    )
    owner = memory.user(USER)
    owner.describe_theme(
        NAMES["theme"], display_name=NAMES["display name"], description=NAMES["description"]
    )
    said = {"role": "user", "actor": SAID, "content": f"{NAMES['turn']} (8:30), good morning."}
    call = {"name": "search", "arguments": {"q": NAMES["tool call"]}}
    owner.observe(
        [said, {"role": "assistant", "content": "…", "tool_calls": [call]}],
        thread=NAMES["thread"],
        title=f"{NAMES['title']} (1)",
    )
    owner.update_user_profile({"city": NAMES["profile"]})
    owner.link(likely.id, VIEWER)
    sender = memory.user(SENDER)
    for text in ("shared memory", "offered memory"):
        sender.link(sender.add(NAMES[text]).id, USER)
    shared = next(one for one in owner.proposals().items if one.content == NAMES["shared memory"])
    owner.approve(shared.id)
    owner.block_sender(BLOCKED)
    life.items = [likely.id, earlier.id]
    life.key_ids = [
        memory.create_key(
            NAMES["name of a key"], user=USER, agent=NAMES["agent"], categories=[NAMES["category"]]
        ).key.id
    ]
    return service, life


def _pages(service: Service, life: Life) -> dict[str, str]:
    visit = Visit(service).choose(USER)
    paths = {route: address.path(life) for route, address in known_pages().items()}
    paths |= {f"memory {one}": f"/ui/memories/{one}" for one in life.items}
    paths |= {f"proposals, {one}": f"/ui/proposals?state={one}" for one in ("approved", "rejected")}
    paths |= {
        "memories, narrowed": f"/ui/memories?theme={NAMES['theme']}&tags={NAMES['tag']}",
        "graph, narrowed": f"/ui/graph?theme={NAMES['theme']}",
    }
    pages = {name: visit.get(path).text for name, path in paths.items()}
    token = field(pages["/ui/memories"], "token")
    found = visit.client.post("/ui/memories", data={"token": token, "q": QUESTION})
    return pages | {"search": found.text}


def test_what_people_write_runs_in_its_own_direction(written: tuple[Service, Life]) -> None:
    read = {name: Parsed(html) for name, html in _pages(*written).items()}
    assert {name: page.loose for name, page in read.items() if page.loose} == {}
    said = "".join(page.said for page in read.values())
    assert [kind for kind, word in NAMES.items() if word not in said] == []


def test_the_layout_follows_the_direction() -> None:
    """Only the axis of a chart has a side of its own."""
    rules = static_file("ricordo.css").content.decode()
    sided = re.findall(r"^.*\b(?:left|right)\b.*$", re.sub(r"/\*.*?\*/", "", rules), re.MULTILINE)
    assert [rule for rule in sided if not rule.startswith(".plot ")] == []


_PLACES: Final = """text => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const start = node.data.indexOf(text);
    if (start < 0) continue;
    return [...text].map((_, place) => {
      const range = document.createRange();
      range.setStart(node, start + place);
      range.setEnd(node, start + place + 1);
      return Math.round(range.getBoundingClientRect().left);
    });
  }
}"""


@pytest.mark.browser
def test_a_browser_shows_it_from_right_to_left(
    written: tuple[Service, Life], browse: Browsing
) -> None:
    service, life = written
    page = browse(f"{service.url}/ui/memories/{life.items[0]}")
    if "/ui/who" in page.url:
        page.locator(f"button:has-text('{USER}')").first.click()
        page.goto(f"{service.url}/ui/memories/{life.items[0]}")
    expect(page.locator("main h1")).to_have_css("direction", "rtl")
    places = page.evaluate(_PLACES, NAMES["memory"])
    assert places == sorted(places, reverse=True)
    _expect_outer_left(page, "latte" if "latte" in page.inner_text("main h1") else "espresso")


def _expect_outer_left(page: Page, latin: str) -> None:
    """The Latin word in brackets comes after the Arabic one: to its left."""
    arabic, word = page.evaluate(_PLACES, NAMES["memory"]), page.evaluate(_PLACES, latin)
    assert max(word) < min(arabic)
