"""The page of memories: looking through them, searching them."""

import re
from collections.abc import Callable, Iterator

import httpx2
import pytest
from playwright.sync_api import expect

from ricordo import limits
from ricordo.memory import Memory
from ricordo.testing.embedding_server import EmbeddingServer
from tests.support.service import Service, running
from tests.web.browsing import Browsing

pytestmark = pytest.mark.requirement("page.memories")


@pytest.fixture
def service(open_store: Callable[..., Memory], backend_url: str) -> Iterator[Service]:
    with running(open_store(backend_url, port=0)) as opened:
        yield opened


@pytest.fixture
def filled(service: Service) -> Service:
    ana = service.memory.user("ana")
    ana.add("Prefers tea to coffee", theme="drinks", type="preference", tags=["morning", "hot"])
    ana.add("Lives in Lisbon", theme="home", importance=5, key="city")
    ana.pin(ana.add("Never plan calls before ten", theme="work", type="instruction").id)
    ana.archive(ana.add("Drove a red bicycle", theme="home").id)
    ana.forget(ana.add("Owed five euros", theme="money").id)
    return service


def _token(page: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page)
    assert found is not None
    return found.group(1)


def _shown(page: str) -> list[str]:
    """What the memories of a page say, in its order."""
    return re.findall(r'class="says"[^>]*>([^<]*)<', page)


def _search(client: httpx2.Client, **fields: str) -> httpx2.Response:
    token = _token(client.get("/ui/memories").text)
    return client.post("/ui/memories", data={"token": token, **fields})


def test_the_newest_active_ones_come_first(filled: Service) -> None:
    page = filled.client().get("/ui/memories").text
    assert _shown(page) == [
        "Never plan calls before ten",
        "Lives in Lisbon",
        "Prefers tea to coffee",
    ]
    assert "3 active memories in 4 themes" in page
    assert ">pinned<" in page
    assert "#morning" in page


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("theme=drinks", ["Prefers tea to coffee"]),
        ("type=instruction", ["Never plan calls before ten"]),
        ("tags=hot,morning", ["Prefers tea to coffee"]),
        ("tags=hot,cold", []),
        ("theme=home&archived=1", ["Drove a red bicycle", "Lives in Lisbon"]),
        ("status=archived", ["Drove a red bicycle"]),
        ("status=deleted", ["Owed five euros"]),
        ("since=2999-01-01", []),
        ("until=2000-01-01", []),
        ("sort=importance-desc&theme=home", ["Lives in Lisbon"]),
        ("sort=created_at-asc&theme=home&status=any", ["Lives in Lisbon", "Drove a red bicycle"]),
    ],
)
def test_filters_and_orders(filled: Service, query: str, wanted: list[str]) -> None:
    answer = filled.client().get(f"/ui/memories?{query}")
    assert answer.status_code == 200
    assert _shown(answer.text) == wanted
    assert ("No memory fits these filters" in answer.text) == (not wanted)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("type=dream", "type: &#39;dream&#39; is not one of"),
        ("status=gone", "is not one of"),
        ("sort=content-asc", "sort: is not one of"),
        ("since=soon", "since: is no date"),
        ("cursor=nonsense", "cursor"),
    ],
)
def test_bad_filters_are_told(filled: Service, query: str, told: str) -> None:
    answer = filled.client().get(f"/ui/memories?{query}")
    assert answer.status_code == 422
    assert told in answer.text
    assert "To the memories" in answer.text


def test_pages_make_up_the_whole(service: Service) -> None:
    ana = service.memory.user("ana")
    total = limits.PAGE_ROWS * 2 + 3
    ana.add_many([{"content": f"Fact number {number}"} for number in range(total)])
    client, seen, address = service.client(), [], "/ui/memories?sort=created_at-asc"
    while address:
        page = client.get(address).text
        seen += _shown(page)
        following = re.search(r'class="button" href="([^"]+cursor=[^"]+)"', page)
        address = following.group(1).replace("&amp;", "&") if following else ""
    assert sorted(seen) == sorted(f"Fact number {number}" for number in range(total))


def test_a_search_explains_itself(filled: Service) -> None:
    answer = _search(filled.client(), q="tea or coffee to drink?")
    assert answer.status_code == 200
    assert _shown(answer.text)[0] == "Prefers tea to coffee"
    assert "Nearness of meaning" in answer.text
    assert 'value="tea or coffee to drink?"' in answer.text
    assert "drink" not in str(answer.url)


def test_a_search_keeps_to_the_filters(filled: Service) -> None:
    assert _shown(_search(filled.client(), q="tea", theme="home").text) == ["Lives in Lisbon"]
    both = _shown(_search(filled.client(), q="bicycle", theme="home", archived="1").text)
    assert both[0] == "Drove a red bicycle"


def test_without_a_question_the_filters_make_the_address(filled: Service) -> None:
    client = filled.client()
    token = _token(client.get("/ui/memories").text)
    fields = {"token": token, "q": "  ", "theme": "home", "zone": "Europe/Rome", "archived": "1"}
    answer = client.post("/ui/memories", data=fields, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/ui/memories?theme=home&archived=1"


def test_nothing_found_says_what_to_do(service: Service) -> None:
    page = service.client().get("/ui/memories").text
    assert "Nothing is remembered yet" in page
    assert 'ricordo add "Prefers tea to coffee" --user me' in page
    service.memory.user("ana").add("Lives in Lisbon")
    page = _search(service.client(), q="zzqx", type="procedure").text
    assert "Nothing found" in page
    assert "clear the filters" in page


def test_badges_say_what_became_of_vectors(service: Service) -> None:
    service.memory.user("ana").add("Lives in Lisbon")
    assert ">embedded<" in service.client().get("/ui/memories").text


def test_a_vector_that_is_to_come_is_said_to_wait(
    open_store: Callable[..., Memory], backend_url: str
) -> None:
    with EmbeddingServer() as server:
        memory = open_store(
            backend_url,
            port=0,
            embedder=None,
            embedding_provider="openai",
            embedding_base_url=server.base_url,
            embedding_model="test-model",
            embedding_api_key="sk-test",
        )
        memory.user("ana").add("Lives in Lisbon")
        with running(memory) as service:
            assert ">embedding waits<" in service.client().get("/ui/memories").text


def test_where_no_vectors_are_made_none_is_said_to_wait(
    open_store: Callable[..., Memory], backend_url: str
) -> None:
    memory = open_store(backend_url, embedder=None, embedding_provider="none", port=0)
    memory.user("ana").add("Lives in Lisbon")
    with running(memory) as service:
        assert ">words only<" in service.client().get("/ui/memories").text


class TestInTheBrowser:
    """With the script."""

    def test_results_come_while_typing(self, filled: Service, browse: Browsing) -> None:
        page = browse(f"{filled.url}/ui/memories")
        expect(page.locator(".memory")).to_have_count(3)
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            page.get_by_role("searchbox").fill("coffee or t")
        expect(page.locator(".memory .says").first).to_have_text("Prefers tea to coffee")
        why = page.locator(".why").first
        expect(why.locator("dl")).to_be_hidden()
        why.locator("summary").click()
        expect(why.get_by_text("Nearness of meaning")).to_be_visible()
        assert page.url == f"{filled.url}/ui/memories"
        page.get_by_role("searchbox").fill("")
        expect(page.locator(".memory")).to_have_count(3)
        assert not any("coffee" in asked for asked in browse.watch(page).requested)

    def test_filters_apply_at_once(self, filled: Service, browse: Browsing) -> None:
        page = browse(f"{filled.url}/ui/memories")
        page.get_by_text("Filters and order").click()
        page.get_by_label("Include archived").check()
        expect(page.locator(".memory")).to_have_count(4)
        expect(page).to_have_url(re.compile(r"archived=1"))
        page.locator("select[name=theme]").select_option("home")
        expect(page.locator(".memory")).to_have_count(2)
        page.reload()
        expect(page.locator(".memory")).to_have_count(2)
        page.get_by_role("link", name="Clear all").click()
        expect(page.locator(".memory")).to_have_count(3)

    def test_more_are_shown_below(self, service: Service, browse: Browsing) -> None:
        total = limits.PAGE_ROWS + 4
        facts = [{"content": f"Fact number {number}"} for number in range(total)]
        service.memory.user("ana").add_many(facts)
        page = browse(f"{service.url}/ui/memories")
        expect(page.locator(".memory")).to_have_count(limits.PAGE_ROWS)
        page.get_by_role("link", name="Show more").click()
        expect(page.locator(".memory")).to_have_count(total)
        expect(page.get_by_role("link", name="Show more")).to_have_count(0)

    def test_without_script_the_same_by_buttons(self, filled: Service, browse: Browsing) -> None:
        page = browse(f"{filled.url}/ui/memories", javascript=False)
        page.get_by_role("searchbox").fill("where is home?")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".memory .says").first).to_have_text("Lives in Lisbon")
        page.locator(".why summary").first.click()
        expect(page.locator(".why").first.get_by_text("Nearness of meaning")).to_be_visible()

    def test_a_mistake_is_told_in_place(self, filled: Service, browse: Browsing) -> None:
        page = browse(f"{filled.url}/ui/memories")
        browse.watch(page).expect("422")
        page.get_by_text("Filters and order").click()
        page.get_by_label("Tags").fill("x" * 300)
        page.get_by_label("Tags").blur()
        expect(page.get_by_role("alert")).to_contain_text("tag")
        expect(page.get_by_role("searchbox")).to_be_visible()


@pytest.mark.requirement("page.times")
def test_times_are_in_the_readers_zone(filled: Service, browse: Browsing) -> None:
    created = filled.memory.user("ana").list(theme="drinks").items[0].created_at
    page = browse(f"{filled.url}/ui/memories?theme=drinks", timezone="Asia/Tokyo")
    shown = page.locator(".memory time")
    hour = (created.hour + 9) % 24
    expect(shown).to_have_text(re.compile(rf"\b{hour:02}:{created.minute:02}$"))
    title = shown.get_attribute("title") or ""
    assert f"{created:%Y-%m-%d %H:%M:%S} UTC" in title
    plain = browse(f"{filled.url}/ui/memories?theme=drinks", javascript=False)
    expect(plain.locator(".memory time")).to_have_text(f"{created.day} {created:%b %Y, %H:%M} UTC")
