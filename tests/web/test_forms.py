"""Forms do nothing that somebody else's page sends, whichever page they belong to."""

from collections.abc import Callable
from typing import Final

import pytest
from starlette.routing import Route

from ricordo.memory import Memory
from ricordo.web.pages import ROUTERS
from tests.support.service import Service
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.csrf")

POSTS: Final = sorted(
    {
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    }
)
"""Every route that takes forms, of whichever page."""
FIELDS: Final = {
    "/ui/settings/embeddings": {"provider": "none", "confirm": "1"},
    "/ui/settings/embeddings/rebuild": {"confirm": "1"},
    "/ui/settings/keys": {"name": "stolen", "form_id": "once"},
    "/ui/settings/keys/{id}/revoke": {"confirm": "1"},
    "/ui/who": {"user": "ben"},
}
"""What a form says that would do something."""
FOREIGN: Final = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


def test_the_routes_are_found() -> None:
    assert "/ui/sign-in" in POSTS
    assert any(route.startswith("/ui/choices/") for route in POSTS)
    assert set(FIELDS) <= set(POSTS)


def lived(memory: Memory) -> Callable[[str], str]:
    """Something in a store that each form is about; the address of a route there."""
    ana = memory.user("ana")
    old = ana.add("Drinks green tea").id
    new = ana.add("Drinks black tea", supersedes=old).id
    ana.observe([{"role": "user", "content": "I am allergic to nuts"}], thread="t")
    ana.form("t")
    (proposal,) = ana.proposals()
    key = memory.create_key("phone", user="ana").key
    ids = {
        "/ui/memories/{id}/undo": new,
        "/ui/memories/{id}/restore": old,
        "/ui/choices/{id}/approve": proposal.id,
        "/ui/choices/{id}/reject": proposal.id,
        "/ui/settings/keys/{id}/revoke": key.id,
    }
    with_ids = {route for route in POSTS if "{id}" in route}
    assert with_ids == set(ids), "say here what a new form is about"
    return lambda route: route.replace("{id}", str(ids.get(route)))


def everything(memory: Memory) -> list[object]:
    """All that a form could change."""
    ana = memory.user("ana")
    return [
        *memory.export_lines(),
        ana.embedding_status(),
        ana.proposals(state="any").items,
        memory.keys(include_revoked=True).items,
    ]


def admin_of(service: Service) -> Sender:
    made = service.memory.create_key("admin", permissions=["read_all", "manage"])
    return Sender(service, key=made.secret, user="ana")


def test_no_form_without_its_sessions_token(keyed_site: Service) -> None:
    where = lived(keyed_site.memory)
    visit, other = admin_of(keyed_site), admin_of(keyed_site)
    tokens = {"none": "", "made up": "x" * 32, "another session's": other.token()}
    before = everything(keyed_site.memory)
    for route in POSTS:
        for kind, token in tokens.items():
            refused = visit.post(where(route), token=token, **FIELDS.get(route, {}))
            assert refused.status_code == 403, (route, kind)
            assert "too old" in refused.text
    assert everything(keyed_site.memory) == before
    assert visit.is_in()


def test_a_form_with_its_token_is_taken(site: Service) -> None:
    """Else the refusals above would say nothing."""
    where = lived(site.memory)
    sender = Sender(site, user="ana")
    for route in POSTS:
        taken = sender.post(where(route), **FIELDS.get(route, {}))
        assert taken.status_code != 403, (route, taken.text)


def test_no_form_of_a_foreign_page_where_no_key_is_needed(site: Service) -> None:
    where = lived(site.memory)
    visit = Sender(site, user="ana")
    token = visit.token()
    before = everything(site.memory)
    for route in POSTS:
        for headers in (FOREIGN, {"Origin": "null"}, {"Host": "evil.example"}):
            refused = visit.post(
                where(route), token=token, headers=headers, **FIELDS.get(route, {})
            )
            assert refused.status_code == 403, (route, headers)
    assert everything(site.memory) == before


def test_nobody_without_a_key_gets_as_far_as_a_form(keyed_site: Service) -> None:
    where = lived(keyed_site.memory)
    visit = Sender(keyed_site)
    token = visit.token()
    before = everything(keyed_site.memory)
    for route in POSTS:
        if route == "/ui/sign-in":
            continue
        led = visit.post(where(route), token=token, **FIELDS.get(route, {}))
        assert (led.status_code, led.headers["location"]) == (303, "/ui/sign-in"), route
    assert everything(keyed_site.memory) == before


def test_the_token_goes_to_nobody_else(site: Service) -> None:
    visit = Sender(site, user="ana")
    token = visit.token()
    page = visit.get("/ui/settings")
    assert token in page.text
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in page.headers
    assert token not in str(page.headers)


def test_a_form_with_too_many_fields_is_refused(site: Service) -> None:
    visit = Sender(site, user="ana")
    many = {f"field{number}": "x" for number in range(200)}
    assert 400 <= visit.post("/ui/memories", **many).status_code < 500
