"""Settings: trying and choosing who makes the vectors, and watching them being made."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ricordo.memory import Memory
from ricordo.model.embedding import ChoiceOrigin, EmbeddingStatus
from ricordo.testing import Response, json_response
from ricordo.user_memory import UserMemory
from ricordo.web.settings import EmbeddingProgress
from tests.support.endpoints import EmbeddingServer
from tests.support.service import Service, running
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender
from tests.web.visiting import Visit, main_text

SECRET = "sk-do-not-show-this-0123456789"
SETTINGS = "/ui/settings"
FORM = "/ui/settings/embeddings"
MEMORIES = 70
AT_ONCE = 64  # as many as are made between two transactions


class FalteringServer(EmbeddingServer):
    """Works until it has made so many vectors, and then says that it is overloaded."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.works_for: int | None = None

    def on_post(self, path: str, body: Any) -> Response:
        made = sum(len(texts) for texts in self.embedded[:-1])
        if self.works_for is not None and made >= self.works_for:
            return json_response(503, {"error": {"message": "all <b>busy</b>, come back later"}})
        return super().on_post(path, body)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are tested elsewhere."""


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
    page.get_by_label("Provider", exact=True).select_option("custom_http")
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


@pytest.mark.browser
@pytest.mark.requirement("page.rebuild")
def test_a_provider_that_fails_half_way(
    choosing: Service, ana: UserMemory, server: FalteringServer, browse: Browsing
) -> None:
    page = browse(choosing.url + SETTINGS, user="ana")
    fill_in(page, server)
    page.get_by_role("button", name="Save").click()
    answer = page.locator("#embedding-answer")
    expect(answer).to_contain_text("The provider works.")
    expect(answer).to_contain_text(f"{MEMORIES} vectors have to be rebuilt with first")
    assert ana.embedding_status().provider == "none"
    page.get_by_role("button", name="Yes, save it").click()
    expect(page.locator("main > .notice")).to_contain_text("Saved.")
    phase, progress = page.locator("#embedding-phase"), page.locator("#embedding-progress")
    expect(phase).to_have_text("Vectors are being computed.")
    expect(progress).to_contain_text(f"0 of {MEMORIES} ready")
    server.works_for = len(server.embedded) + AT_ONCE
    choosing.memory.run_jobs()
    # Nobody has touched the page: it finds out by itself.
    expect(progress).to_contain_text(f"{AT_ONCE} of {MEMORIES} ready")
    expect(progress).to_contain_text(f"{MEMORIES - AT_ONCE} still to be computed")
    expect(progress).to_contain_text("503: all <b>busy</b>, come back later")
    expect(phase).to_have_text("The last attempt failed. It is retried automatically.")
    server.works_for = None
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main > .notice")).to_contain_text("being computed")
    choosing.memory.run_jobs()
    expect(phase).to_have_text("All vectors are ready.")
    expect(progress).to_contain_text(f"{MEMORIES} of {MEMORIES} ready")
    assert ana.embedding_status().ready == MEMORIES
    assert SECRET not in page.content()


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


@pytest.mark.requirement("page.settings")
def test_testing_a_provider(choosing: Service, server: FalteringServer) -> None:
    user = choosing.memory.user("ana")
    sender = Sender(choosing, user="ana")
    test = f"{FORM}/test"
    wrong = sender.post(test, **typed(server, api_key="sk-wrong"))
    assert "It does not work." in wrong.text
    assert "Incorrect API key provided." in wrong.text
    assert "sk-wrong" not in wrong.text
    works = sender.post(test, **typed(server))
    assert f"<bdi>first</bdi> answers with {server.width} dimensions, in " in works.text
    assert "There is nothing to test" in sender.post(test, provider="none").text
    for field, value, told in (
        ("base_url", "ftp://somewhere", "Address:"),
        ("dimensions", "many", "Dimensions: is not a whole number"),
        ("api_key", "", "API key: openai needs one"),
    ):
        for path in (test, FORM):
            provider = "openai" if field == "api_key" else "custom_http"
            refused = sender.post(path, **{**typed(server, provider=provider), field: value})
            assert refused.status_code == 422
            assert told in main_text(refused)
    assert user.embedding_status().origin == "default"
    assert all(SECRET not in answer.text for answer in sender.answers)


@pytest.mark.requirement("page.settings")
def test_what_the_operator_does_not_allow(
    site: Service, open_store: Callable[..., Memory], server: FalteringServer, tmp_path: Path
) -> None:
    with running(open_store(str(tmp_path / "other.db"), port=0, embedder=None)) as service:
        sender = Sender(service, user="ana")
        for path in (FORM, f"{FORM}/test"):
            refused = sender.post(path, **typed(server))
            assert "allow_private_embedding_targets" in refused.text
        assert service.memory.user("ana").embedding_status().origin == "default"
    assert server.requests == []
    sender = Sender(site, user="ana")
    assert "has chosen for everybody" in sender.get(SETTINGS).text
    assert sender.post(FORM, provider="none", confirm="1").status_code == 409


@pytest.mark.requirement("page.rebuild")
def test_making_all_anew_and_going_back(choosing: Service, server: FalteringServer) -> None:
    user = choosing.memory.user("ana")
    sender = Sender(choosing, user="ana")
    planned = sender.post(FORM, **typed(server, api_key="sk-wrong"))
    assert "The provider does not work" in planned.text
    user.set_embeddings(**typed(server), confirm=True)
    user.add("Keeps stones")
    choosing.memory.run_jobs()
    assert "1 vector will be rebuilt" in sender.post(f"{FORM}/rebuild").text
    assert user.embedding_status().ready == 1
    assert sender.post(f"{FORM}/rebuild", confirm="1").status_code == 303
    assert user.embedding_status().ready == 0
    assert sender.post(f"{FORM}/retry").status_code == 303
    choosing.memory.run_jobs()
    assert "All vectors are ready." in sender.get(SETTINGS).text
    assert "own provider and its API key" in sender.post(f"{FORM}/reset").text
    assert user.embedding_status().origin == "user"
    assert sender.post(f"{FORM}/reset", confirm="1").status_code == 303
    assert "the default" in sender.get(SETTINGS).text
    assert user.embedding_status().origin == "default"


@pytest.mark.requirement("page.settings")
def test_who_is_signed_in(keyed_site: Service) -> None:
    made = keyed_site.memory.create_key("phone", user="ana", expires_days=3)
    said = Visit(keyed_site).sign_in(made.secret).text(SETTINGS)
    for part in ("phone", "one user", "none beyond one user's memory"):
        assert part in said
    assert "Keys of this service" not in said


def told(**values: Any) -> EmbeddingProgress:
    usual: dict[str, Any] = {
        "provider": "custom_http",
        "model": "m",
        "origin": ChoiceOrigin.USER,
        "dimensions": 3,
        "memories": 10,
        "turns": 0,
        "ready": 0,
        "pending": 0,
        "stale": 0,
        "error": 0,
        "last_error": None,
        "problem": None,
    }
    return EmbeddingProgress.of(EmbeddingStatus(**{**usual, **values}))


@pytest.mark.requirement("page.rebuild")
def test_phases() -> None:
    for values, phase, moves, can_be_retried in (
        ({}, "empty", False, False),
        ({"ready": 10}, "ready", False, False),
        ({"ready": 4, "pending": 6}, "working", True, False),
        ({"ready": 4, "pending": 6, "last_error": "down"}, "waiting", True, True),
        ({"ready": 4, "pending": 5, "error": 1, "last_error": "odd"}, "working", True, True),
        ({"ready": 9, "error": 1, "last_error": "odd"}, "failed", False, True),
        ({"model": None, "provider": "none", "pending": 10}, "off", False, False),
        ({"model": None, "pending": 10, "problem": "no key"}, "unusable", False, False),
    ):
        progress = told(**values)
        assert (progress.phase, progress.is_moving) == (phase, moves)
        assert progress.can_be_retried is can_be_retried
        assert progress.sentence


@pytest.mark.requirement("page.rebuild")
def test_errors_are_told_without_our_names_for_them() -> None:
    for stored, shown in (
        ("EmbedderUnavailable: http://x is down", "http://x is down"),
        ("custom_http: it is down", "custom_http: it is down"),
    ):
        assert told(pending=1, last_error=stored).error == shown
