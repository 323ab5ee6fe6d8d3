"""Settings: trying and choosing who makes the vectors, and watching them being made."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.memory import Memory
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedding_server import EmbeddingServer
from ricordo.testing.serving import Response, json_response
from ricordo.user_memory import UserMemory
from tests.support.service import Service, running
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender

SECRET = "sk-do-not-show-this-0123456789"
SETTINGS = "/ui/settings"
FORM = "/ui/settings/embeddings"
MEMORIES = 100
AT_ONCE = 64  # as many as are made between two transactions


class FalteringServer(EmbeddingServer):
    """Works until it has made so many vectors, and then says that it is overloaded."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.works_for: int | None = None

    def _posted(self, path: str, body: Any) -> Response:
        made = sum(len(texts) for texts in self.embedded[:-1])
        if self.works_for is not None and made >= self.works_for:
            return json_response(503, {"error": {"message": "all <b>busy</b>, come back later"}})
        return super()._posted(path, body)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are tested elsewhere."""
    monkeypatch.setattr("ricordo.embedding.deadlines.EMBEDDING_BACKOFF_BASE_SECONDS", 0.0)


@pytest.fixture
def server() -> Iterator[FalteringServer]:
    with FalteringServer(model="first", required_key=SECRET) as started:
        yield started


@pytest.fixture
def choosing(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """A site whose users may choose, also endpoints on this machine."""
    store = open_store(backend_url, port=0, embedder=None, allow_private_embedding_targets=True)
    with running(store) as started:
        yield started


@pytest.fixture
def ana(choosing: Service) -> UserMemory:
    """Who has memories without any vectors."""
    user = choosing.memory.user("ana")
    user.set_embeddings("none", confirm=True)
    user.add_many({"content": f"Keeps stone number {number}"} for number in range(MEMORIES))
    return user


def fill_in(page: Page, server: EmbeddingServer, key: str = SECRET) -> None:
    page.get_by_label("Provider").select_option("custom_http")
    page.get_by_label("Model").fill("first")
    page.get_by_label("Address").fill(server.base_url)
    page.get_by_label("API key").fill(key)


def typed(server: EmbeddingServer, **more: str) -> dict[str, str]:
    return {
        "provider": "custom_http",
        "model": "first",
        "base_url": server.base_url,
        "api_key": SECRET,
        **more,
    }


# -- testing -------------------------------------------------------------------------------


@pytest.mark.requirement("page.settings")
@pytest.mark.parametrize("javascript", [True, False])
def test_testing_a_provider(
    choosing: Service, server: FalteringServer, browse: Browsing, javascript: bool
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana", javascript=javascript)
    fill_in(page, server, "sk-wrong")
    page.get_by_role("button", name="Test", exact=True).click()
    answer = page.locator("#embedding-answer")
    expect(answer).to_contain_text("It does not work.")
    expect(answer).to_contain_text("Incorrect API key provided.")
    expect(answer).not_to_contain_text("sk-wrong")
    if not javascript:
        expect(page.get_by_label("API key")).to_have_value("")
    expect(page.get_by_label("Address")).to_have_value(server.base_url)
    page.get_by_label("API key").fill(SECRET)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(answer).to_contain_text("It works.")
    expect(answer).to_contain_text(f"first answers with {server.width} dimensions, in ")
    assert choosing.memory.user("ana").embedding_status().origin == "default"
    assert SECRET not in page.content()
    assert not [url for url in browse.watch(page).requested if SECRET in url]


@pytest.mark.requirement("page.settings")
def test_only_the_fields_that_a_provider_takes(choosing: Service, browse: Browsing) -> None:
    page = browse(choosing.url + SETTINGS, user="ana")
    expect(page.get_by_label("Provider")).to_have_value("local")
    expect(page.get_by_label("Model")).to_be_hidden()
    page.get_by_label("Provider").select_option("openai")
    expect(page.get_by_label("Model")).to_have_attribute("placeholder", "text-embedding-3-small")
    expect(page.get_by_label("Address")).to_have_attribute(
        "placeholder", "https://api.openai.com/v1"
    )
    page.get_by_label("Model").fill("something")
    page.get_by_label("Provider").select_option("none")
    expect(page.get_by_label("Model")).to_be_hidden()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator("#embedding-answer")).to_contain_text("There is nothing to test")
    page.get_by_label("Provider").select_option("openai")
    expect(page.locator("#embedding-answer")).to_be_empty()
    without = browse(choosing.url + SETTINGS, user="ana", javascript=False)
    for name in ("Model", "Address", "API key", "Dimensions"):
        expect(without.get_by_label(name)).to_be_visible()


@pytest.mark.requirement("page.settings")
def test_testing_what_is_used_now(
    choosing: Service, server: FalteringServer, browse: Browsing
) -> None:
    choosing.memory.user("ana").set_embeddings(**typed(server), confirm=True)
    page = browse(choosing.url + SETTINGS, user="ana")
    page.get_by_role("button", name="Test it").click()
    expect(page.locator("#embedding-plan")).to_contain_text("It works.")
    server.required_key = "another"
    page.get_by_role("button", name="Test it").click()
    expect(page.locator("#embedding-plan")).to_contain_text("It does not work.")


@pytest.mark.requirement("page.settings")
def test_what_is_typed_wrongly(
    choosing: Service, server: FalteringServer, browse: Browsing
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana")
    browse.watch(page).expect("console error: Failed to load resource: .* 422 ")
    fill_in(page, server)
    page.get_by_label("Address").fill("ftp://somewhere")
    answer = page.locator("#embedding-answer")
    for button in ("Test", "Save"):
        page.get_by_role("button", name=button, exact=True).click()
        expect(answer).to_contain_text("Address:")
        expect(page.get_by_label("API key")).to_have_value(SECRET)
        page.get_by_label("Address").fill("ftp://elsewhere")
    page.get_by_label("Address").fill(server.base_url)
    page.get_by_label("Dimensions").fill("many")
    page.get_by_role("button", name="Save").click()
    expect(answer).to_contain_text("Dimensions: is no whole number")
    dimensions = page.get_by_label("Dimensions")
    expect(dimensions).to_have_attribute("aria-invalid", "true")
    expect(dimensions).to_have_accessible_description(re.compile("is no whole number"))
    expect(page.get_by_label("Address")).not_to_have_attribute("aria-invalid", "true")
    dimensions.fill("64")
    expect(dimensions).not_to_have_attribute("aria-invalid", "true")
    assert server.requests == []


@pytest.mark.requirement("page.settings")
def test_what_is_typed_wrongly_without_script(choosing: Service, browse: Browsing) -> None:
    page = browse(choosing.url + SETTINGS, user="ana", javascript=False)
    browse.watch(page).expect("console error: Failed to load resource: .* 422 ")
    page.get_by_label("Provider").select_option("openai")
    page.get_by_label("Model").fill("a model of ours")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#embedding-answer")).to_contain_text("API key: openai needs one")
    expect(page.get_by_label("API key")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Provider")).to_have_value("openai")
    expect(page.get_by_label("Model")).to_have_value("a model of ours")
    page.get_by_label("Provider").select_option("local")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#embedding-answer")).to_contain_text("Model: is not used by 'local'")


@pytest.mark.requirement("page.settings")
def test_addresses_inside_the_network_are_refused(
    backend_url: str, open_store: Callable[..., Memory], server: FalteringServer, browse: Browsing
) -> None:
    with running(open_store(backend_url, port=0, embedder=None)) as service:
        page = browse(service.url + SETTINGS, user="ana")
        browse.watch(page).expect("console error: Failed to load resource: .* 422 ")
        fill_in(page, server)
        answer = page.locator("#embedding-answer")
        for button in ("Test", "Save"):
            page.get_by_role("button", name=button, exact=True).click()
            expect(answer).to_contain_text("allow_private_embedding_targets")
            page.get_by_label("Dimensions").fill("64")
        assert service.memory.user("ana").embedding_status().origin == "default"
        page.close()
    assert server.requests == []


@pytest.mark.requirement("page.settings")
def test_where_the_operator_has_chosen(site: Service, browse: Browsing) -> None:
    page = browse(site.url + SETTINGS, user="ana")
    expect(page.locator("main")).to_contain_text("has chosen for everybody")
    expect(page.get_by_label("Provider")).to_have_count(0)
    expect(page.get_by_role("button", name="Back to the usual way")).to_have_count(0)
    answer = Sender(site, user="ana").post(FORM, provider="none", confirm="1")
    assert answer.status_code == 409


# -- changing ------------------------------------------------------------------------------


@pytest.mark.requirement("page.rebuild")
def test_a_provider_that_fails_half_way(
    choosing: Service, ana: UserMemory, server: FalteringServer, browse: Browsing
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana")
    fill_in(page, server)
    page.get_by_role("button", name="Save").click()
    answer = page.locator("#embedding-answer")
    expect(answer).to_contain_text("The provider answers well.")
    expect(answer).to_contain_text(f"{MEMORIES} vectors have to be made anew with first")
    assert ana.embedding_status().provider == "none"

    page.get_by_role("button", name="Yes, save it").click()
    expect(page.locator("main > .notice")).to_contain_text("Saved.")
    phase, progress = page.locator("#embedding-phase"), page.locator("#embedding-progress")
    expect(phase).to_have_text("Vectors are being made.")
    expect(progress).to_contain_text(f"0 of {MEMORIES} ready")
    server.works_for = len(server.embedded) + AT_ONCE
    choosing.memory.run_jobs()

    # Nobody has touched the page: it finds out by itself.
    expect(progress).to_contain_text(f"{AT_ONCE} of {MEMORIES} ready")
    expect(progress).to_contain_text(f"{MEMORIES - AT_ONCE} still to be made")
    expect(progress).to_contain_text("503: all <b>busy</b>, come back later")
    expect(progress).to_contain_text("found by their words")
    expect(phase).to_have_text("The last try did not work. It is tried again by itself.")
    expect(progress.get_by_role("progressbar")).to_have_attribute("value", str(AT_ONCE))

    server.works_for = None
    found = {hit.content_snippet: hit for hit in ana.search("99", limit=50)}
    assert found["Keeps stone number 99"].signals.semantic is None  # by its words alone
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main > .notice")).to_contain_text("being made now")
    choosing.memory.run_jobs()
    expect(phase).to_have_text("All vectors are ready.")
    expect(progress).to_contain_text(f"{MEMORIES} of {MEMORIES} ready")
    expect(progress).not_to_contain_text("busy")
    expect(progress).not_to_have_attribute("hx-trigger", "every 1s")
    assert ana.embedding_status().ready == MEMORIES
    assert SECRET not in page.content()


@pytest.mark.requirement("page.rebuild")
def test_vectors_that_were_given_up(
    choosing: Service,
    ana: UserMemory,
    server: FalteringServer,
    browse: Browsing,
    clock: ManualClock,
) -> None:
    ana.set_embeddings(**typed(server), confirm=True)
    server.answer_nan()
    for _ in range(MAX_JOB_ATTEMPTS):
        choosing.memory.run_jobs()
        clock.advance(hours=2)
    status = ana.embedding_status()
    assert (status.pending, status.error) == (0, MEMORIES)
    page = browse(choosing.url + SETTINGS, user="ana", javascript=False)
    progress = page.locator("#embedding-progress")
    expect(page.locator("#embedding-phase")).to_have_text("Some vectors could not be made.")
    expect(progress).to_contain_text(f"{MEMORIES} failed")
    server.answer_rightly()
    page.get_by_role("button", name="Try again").click()
    choosing.memory.run_jobs()
    page.goto(choosing.url + SETTINGS)
    expect(progress).to_contain_text(f"{MEMORIES} of {MEMORIES} ready")


@pytest.mark.requirement("page.rebuild")
def test_progress_of_jobs_that_run_by_themselves(
    backend_url: str, open_store: Callable[..., Memory], server: FalteringServer, browse: Browsing
) -> None:
    settings = {"run_jobs": True, "embedder": None, "allow_private_embedding_targets": True}
    with running(open_store(backend_url, port=0, **settings)) as service:
        user = service.memory.user("ana")
        user.set_embeddings("none", confirm=True)
        user.add_many({"content": f"Keeps stone number {number}"} for number in range(MEMORIES))
        page = browse(service.url + SETTINGS, user="ana")
        fill_in(page, server)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Yes, save it").click()
        expect(page.locator("#embedding-phase")).to_have_text("All vectors are ready.")
        page.close()


@pytest.mark.requirement("page.rebuild")
def test_choosing_without_script(
    choosing: Service, ana: UserMemory, server: FalteringServer, browse: Browsing
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana", javascript=False)
    browse.watch(page).expect("console error: Failed to load resource: .* 422 ")
    fill_in(page, server)
    page.get_by_role("button", name="Save").click()
    answer = page.locator("#embedding-answer")
    expect(answer).to_contain_text("Type the API key once more")
    expect(page.get_by_label("API key")).to_have_value("")
    page.get_by_label("API key").fill(SECRET)
    page.get_by_role("button", name="Yes, save it").click()
    expect(page.locator("main > .notice")).to_contain_text("Saved.")
    choosing.memory.run_jobs()
    page.goto(choosing.url + SETTINGS)
    expect(page.locator("#embedding-phase")).to_have_text("All vectors are ready.")

    page.get_by_role("button", name="Make all vectors anew").click()
    plan = page.locator("#embedding-plan")
    expect(plan).to_contain_text(f"{MEMORIES} vectors will be dropped")
    page.get_by_role("button", name="Yes, make them anew").click()
    expect(page.locator("#embedding-progress")).to_contain_text(f"0 of {MEMORIES} ready")


@pytest.mark.requirement("page.rebuild")
def test_making_all_anew_and_going_back(
    choosing: Service, server: FalteringServer, browse: Browsing
) -> None:
    user = choosing.memory.user("ana")
    user.set_embeddings(**typed(server), confirm=True)
    user.add("Keeps stones")
    choosing.memory.run_jobs()
    page = browse(choosing.url + SETTINGS, user="ana")
    plan, progress = page.locator("#embedding-plan"), page.locator("#embedding-progress")
    page.get_by_role("button", name="Make all vectors anew").click()
    expect(plan).to_contain_text("1 vector will be dropped and made anew with first")
    page.get_by_role("link", name="Leave it as it is").click()
    expect(plan).to_be_empty()
    assert user.embedding_status().ready == 1
    page.get_by_role("button", name="Make all vectors anew").click()
    page.get_by_role("button", name="Yes, make them anew").click()
    expect(progress).to_contain_text("0 of 1 ready")
    choosing.memory.run_jobs()
    expect(progress).to_contain_text("1 of 1 ready")

    page.get_by_role("button", name="Back to the usual way").click()
    expect(plan).to_contain_text("Your own choice, and the key")
    assert user.embedding_status().origin == "user"
    page.get_by_role("button", name="Yes, go back").click()
    expect(page.locator("main")).to_contain_text("nobody yet: the usual way here")
    assert user.embedding_status().origin == "default"


@pytest.mark.requirement("page.rebuild")
def test_a_provider_that_does_not_answer_can_be_saved_all_the_same(
    choosing: Service, server: FalteringServer, browse: Browsing
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana")
    fill_in(page, server, "sk-wrong")
    page.get_by_role("button", name="Save").click()
    answer = page.locator("#embedding-answer")
    expect(answer).to_contain_text("does not answer as it should")
    expect(answer).to_contain_text("Incorrect API key provided.")
    page.get_by_role("button", name="Save it all the same").click()
    expect(page.locator("main > .notice")).to_contain_text("Saved.")
    assert choosing.memory.user("ana").embedding_status().origin == "user"


@pytest.mark.requirement("page.rebuild")
def test_what_is_confirmed_is_what_was_shown(choosing: Service, server: FalteringServer) -> None:
    user = choosing.memory.user("ana")
    sender = Sender(choosing, user="ana")
    planned = sender.post(FORM, **typed(server))
    seal = planned.text.partition('name="planned" value="')[2].partition('"')[0]
    assert seal
    for changed in ({"model": "second"}, {"provider": "openai"}, {"dimensions": "32"}):
        answer = sender.post(FORM, **typed(server, **changed), planned=seal, confirm="1")
        assert answer.status_code == 200
        assert 'name="confirm"' in answer.text
    assert sender.post(FORM, **typed(server), confirm="1").status_code == 200
    assert user.embedding_status().origin == "default"
    assert sender.post(FORM, **typed(server), planned=seal, confirm="1").status_code == 303
    assert user.embedding_status().origin == "user"
    assert all(SECRET not in answer.text + str(answer.headers) for answer in sender.answers)


@pytest.mark.requirement("page.rebuild")
def test_who_has_seen_the_progress_is_told_nothing(
    choosing: Service, ana: UserMemory, server: FalteringServer
) -> None:
    ana.set_embeddings(**typed(server), confirm=True)
    sender = Sender(choosing, user="ana")
    first = sender.get(f"{FORM}/progress", HX_Request="true")
    again = first.text.partition('hx-get="')[2].partition('"')[0]
    assert again.startswith(f"{FORM}/progress?seen=working-")
    nothing = sender.get(again, HX_Request="true")
    assert (nothing.status_code, nothing.text) == (204, "")
    choosing.memory.run_jobs()
    news = sender.get(again, HX_Request="true")
    assert news.status_code == 200
    assert f"<strong>{MEMORIES}</strong> of {MEMORIES} ready" in news.text
    assert "hx-get" not in news.text
    assert "All vectors are ready." in news.text
    assert "All vectors are ready." not in sender.get(f"{FORM}/progress?seen=ready-0").text


# -- who is signed in ----------------------------------------------------------------------


@pytest.mark.requirement("page.settings")
def test_who_is_signed_in(keyed_site: Service, site: Service, browse: Browsing) -> None:
    page = browse(site.url + SETTINGS, user="ana")
    expect(page.locator("main")).to_contain_text("only listens on this machine")
    expect(page.get_by_role("link", name="Keys of this service")).to_be_visible()
    made = keyed_site.memory.create_key("phone", user="ana", expires_days=3)
    page = browse(keyed_site.url + SETTINGS, key=made.secret)
    who = page.get_by_role("region", name="Who is signed in")
    expect(who).to_contain_text("phone")
    expect(who).to_contain_text("one user")
    expect(who).to_contain_text("nothing beyond one user's memory")
    expect(who.locator("time")).to_have_count(1)
    expect(page.get_by_role("link", name="Keys of this service")).to_have_count(0)


@pytest.mark.requirement("page.settings")
def test_agents_of_some_categories_have_no_settings(keyed_site: Service) -> None:
    made = keyed_site.memory.create_key("helper", user="ana", agent="a", categories=["food"])
    sender = Sender(keyed_site, key=made.secret)
    assert sender.get(SETTINGS).status_code == 403
    assert sender.post(FORM, provider="none", confirm="1").status_code == 403
    assert keyed_site.memory.user("ana").embedding_status().provider != "none"
