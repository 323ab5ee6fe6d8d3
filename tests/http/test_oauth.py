"""Programs that sign in by OAuth: what they get, and what attackers do not."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from ricordo import InvalidValue, Memory
from ricordo.access.grants import OAuthRefusal, check_redirect_uri, is_redirect_of
from ricordo.http.app import create_app
from ricordo.http.client_documents import ClientDocuments, is_document_address
from ricordo.limits import (
    MAX_GRANTS_PER_USER,
    MAX_OAUTH_REGISTRATIONS,
    OAUTH_ACCESS_SECONDS,
    OAUTH_CODE_SECONDS,
    OAUTH_REFRESH_DAYS,
)
from ricordo.model.scope import Client
from ricordo.storage.tables import grant_tokens
from ricordo.testing import ManualClock
from tests.support.programs import (
    REDIRECT,
    Person,
    Program,
    answer_of,
    free_port,
    hidden,
)
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("mcp.oauth")
Open = Callable[..., Memory]


@pytest.fixture
def public(backend_url: str, open_store: Open) -> Iterator[Service]:
    """A service at an address that programs know."""
    port = free_port()
    with running(open_store(backend_url, port=port, public_url=f"http://127.0.0.1:{port}")) as one:
        yield one


@pytest.fixture
def ana(public: Service) -> Person:
    return Person(public.client(), public.memory.create_key("laptop", user="ana").secret)


def refused(answer: httpx2.Response, error: str) -> None:
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.headers["cache-control"] == "no-store"


def test_the_service_says_how_programs_get_in(public: Service) -> None:
    client = public.client()
    refusal = client.post("/mcp", json={})
    metadata = f"{public.url}/.well-known/oauth-protected-resource/mcp"
    assert refusal.status_code == 401
    assert refusal.headers["www-authenticate"] == (
        f'Bearer resource_metadata="{metadata}", scope="memory:read memory:write"'
    )
    wrong = client.post("/mcp", json={}, headers={"Authorization": "Bearer ra_wrong"})
    assert wrong.status_code == 401
    assert wrong.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    said = client.get(metadata).json()
    assert said["resource"] == f"{public.url}/mcp"
    assert said["authorization_servers"] == [public.url]
    assert client.get("/.well-known/oauth-protected-resource").json() == said
    server = client.get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == public.url
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]


def test_without_a_public_address_there_are_only_keys(sqlite_url: str, open_store: Open) -> None:
    with running(open_store(sqlite_url, port=0, require_keys=True)) as service:
        client = service.client()
        assert client.post("/mcp", json={}).headers["www-authenticate"] == "Bearer"
        for path in ("oauth-protected-resource", "oauth-authorization-server"):
            assert client.get(f"/.well-known/{path}").status_code == 404
        assert client.post("/oauth/register", json={}).status_code == 404
        person = Person(service.client(), service.memory.create_key("k", user="ana").secret)
        assert person.browser.get("/ui/authorize").status_code == 404


def test_settings_that_contradict_each_other_are_refused(sqlite_url: str, open_store: Open) -> None:
    url = "https://memory.example.org"
    for settings, named in (
        ({"public_url": "http://memory.example.org"}, "public_url"),
        ({"public_url": f"{url}/ricordo"}, "public_url"),
        ({"public_url": url, "require_keys": False}, "require_keys"),
        ({"public_url": url, "page": False}, "public_url"),
        ({"oauth_issuer": "https://login.example.org"}, "oauth_issuer"),
        ({"public_url": url, "oauth_issuer": "http://login.example.org"}, "oauth_issuer"),
    ):
        with pytest.raises(InvalidValue, match=f"setting {named}"):
            create_app(open_store(sqlite_url, **settings))
    assert create_app(open_store(sqlite_url, public_url=url)).state.gate.requires_keys


@pytest.mark.both_databases
def test_a_program_works_until_it_is_disconnected(public: Service, ana: Person) -> None:
    program = Program(public)
    page = ana.browser.get(program.address()).text
    assert "helper" in page
    assert "nobody: anybody can register under any name" in page
    assert "127.0.0.1:5" in page
    said = answer_of(ana.send(page))
    assert (said["state"], said["iss"]) == ("abc&d", public.url)
    issued = program.redeem(said["code"])
    assert issued.headers["cache-control"] == "no-store"
    tokens = issued.json()
    assert tokens["token_type"] == "Bearer"
    assert tokens["scope"] == "memory:read memory:write"
    assert program.call(tokens["access_token"], "memory_add").status_code == 200
    user = public.memory.user("ana")
    assert [item.content for item in user.list()] == ["Drinks green tea."]
    (grant,) = user.grants()
    assert (grant.client_name, grant.resource) == ("helper", f"{public.url}/mcp")
    assert public.memory.user("ben").grants() == ()
    assert "helper" in ana.browser.get("/ui/settings/programs").text
    token = hidden(ana.browser.get("/ui/settings/programs").text)["token"]
    ended = ana.browser.post(f"/ui/settings/programs/{grant.id}/revoke", data={"token": token})
    assert ended.status_code == 303
    assert program.call(tokens["access_token"]).status_code == 401
    refused(program.refresh(tokens["refresh_token"]), "invalid_grant")


def test_tokens_are_kept_as_hashes_and_erased_with_the_user(public: Service, ana: Person) -> None:
    tokens = Program(public).let_in(ana)
    with public.memory.database.read_all() as view:
        rows = view.connection.execute(sa.select(grant_tokens)).mappings().all()
    for secret in (tokens["access_token"], tokens["refresh_token"]):
        assert secret not in str(rows)
    erased = public.memory.erase_user("ana").removed
    assert (erased["grants"], erased["grant_tokens"]) == (1, 3)
    assert Program(public).call(tokens["access_token"]).status_code == 401


@pytest.mark.both_databases
def test_refresh_tokens_are_good_once_and_a_copy_ends_it_all(public: Service, ana: Person) -> None:
    program = Program(public)
    first = program.let_in(ana)
    second = program.refresh(first["refresh_token"]).json()
    assert program.call(first["access_token"]).status_code == 401  # replaced
    assert program.call(second["access_token"]).status_code == 200
    refused(program.refresh(first["refresh_token"]), "invalid_grant")
    assert program.call(second["access_token"]).status_code == 401
    refused(program.refresh(second["refresh_token"]), "invalid_grant")
    assert public.memory.user("ana").grants() == ()


@pytest.mark.both_databases
def test_a_code_is_good_once_and_a_copy_ends_it_all(public: Service, ana: Person) -> None:
    program = Program(public)
    code = answer_of(ana.decide(program.address()))["code"]
    tokens = program.redeem(code).json()
    refused(program.redeem(code), "invalid_grant")
    assert program.call(tokens["access_token"]).status_code == 401


def test_a_code_is_for_its_program_its_address_and_its_secret(public: Service, ana: Person) -> None:
    program, other = Program(public), Program(public, name="other")
    code = answer_of(ana.decide(program.address()))["code"]
    refused(program.redeem(code, code_verifier="w" * 64), "invalid_grant")
    refused(program.redeem(code, redirect_uri="http://127.0.0.1:6/callback"), "invalid_grant")
    refused(other.redeem(code), "invalid_grant")
    refused(program.redeem(code, resource="https://elsewhere.example/mcp"), "invalid_target")
    refused(program.token(grant_type="password", code=code), "unsupported_grant_type")
    refused(program.token(grant_type="authorization_code", code=code), "invalid_request")
    tokens = program.redeem(code).json()
    refused(other.refresh(tokens["refresh_token"]), "invalid_grant")
    refused(program.refresh(tokens["access_token"]), "invalid_grant")
    refused(program.refresh(tokens["refresh_token"], scope="memory:read admin"), "invalid_scope")
    assert program.refresh(tokens["refresh_token"]).status_code == 200


def test_everything_expires(public: Service, ana: Person, clock: ManualClock) -> None:
    program = Program(public)
    late = answer_of(ana.decide(program.address()))["code"]
    clock.advance(seconds=OAUTH_CODE_SECONDS)
    refused(program.redeem(late), "invalid_grant")
    assert public.memory.user("ana").grants() == ()
    tokens = program.let_in(ana)
    clock.advance(seconds=OAUTH_ACCESS_SECONDS)
    assert program.call(tokens["access_token"]).status_code == 401
    tokens = program.refresh(tokens["refresh_token"]).json()
    clock.advance(days=OAUTH_REFRESH_DAYS)
    refused(program.refresh(tokens["refresh_token"]), "invalid_grant")


def test_a_token_has_the_limits_of_the_key_behind_it(public: Service, clock: ManualClock) -> None:
    store = public.memory
    store.user("ana").add("Has a sore knee.", theme="health")
    store.user("ana").add("Works at a bakery.", theme="work")
    program = Program(public)
    agent = store.create_key("a", user="ana", agent="coach", categories=["health"], expires_days=2)
    tokens = program.let_in(Person(public.client(), agent.secret))
    uri = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    sent = {"Accept": "application/json, text/event-stream"}
    sent["Authorization"] = f"Bearer {tokens['access_token']}"
    seen = program.client.post("/mcp", json=uri, headers=sent).text
    assert "knee" in seen
    assert "bakery" not in seen
    clock.advance(minutes=50)
    store.revoke_key(agent.key.id)
    assert program.call(tokens["access_token"]).status_code == 401
    refused(program.refresh(tokens["refresh_token"]), "invalid_grant")


def test_a_token_reaches_nothing_but_mcp_of_its_user(public: Service) -> None:
    store = public.memory
    key = store.create_key("ops", permissions=["read_all", "manage", "share"])
    person = Person(public.client(), key.secret)
    shown = person.browser.get(Program(public).address())
    assert shown.headers["location"].startswith("/ui/who?next=")
    chosen = {"token": hidden(person.browser.get("/ui/who").text)["token"], "user": "ana"}
    assert person.browser.post("/ui/who", data=chosen).status_code == 303
    program = Program(public)
    token = program.let_in(person)["access_token"]
    assert program.call(token, "memory_add").status_code == 200
    assert store.user("ana").list().items
    named = program.call(token, **{"X-Ricordo-User": "ben"})
    assert (named.status_code, named.json()["type"]) == (403, "PermissionMissing")
    bearer = {"Authorization": f"Bearer {token}"}
    for path in ("/v1/memories", "/v1/admin/users", "/v1/grants"):
        assert program.client.get(path, headers=bearer).status_code == 401
    with pytest.raises(AssertionError):
        Person(public.client(), token)  # and it opens no page


def test_keys_let_in_as_before(public: Service) -> None:
    key = public.memory.create_key("k", user="ana").secret
    assert Program(public).call(key, "memory_add").status_code == 200


def test_who_may_only_read_writes_nothing(public: Service, ana: Person) -> None:
    program = Program(public)
    asked = program.let_in(ana, scope="memory:read")
    page = ana.browser.get(program.address()).text
    unticked = program.redeem(answer_of(ana.send(page, may_write=""))["code"]).json()
    for tokens in (asked, unticked):
        assert tokens["scope"] == "memory:read"
        listed = program.call(tokens["access_token"]).text
        assert "memory_search" in listed
        assert "memory_add" not in listed
        assert program.call(tokens["access_token"], "memory_search").status_code == 200
        refusal = program.call(tokens["access_token"], "memory_add")
        assert (refusal.status_code, refusal.json()["type"]) == (403, "ScopeMissing")
        challenge = refusal.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert "memory:write" in challenge
    assert not public.memory.user("ana").list().items


def test_refusing_tells_the_program(public: Service, ana: Person) -> None:
    program = Program(public)
    said = answer_of(ana.decide(program.address(), "refuse"))
    assert said == {"error": "access_denied", "state": "abc&d", "iss": public.url}
    assert public.memory.user("ana").grants() == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "http://127.0.0.1:5/other"},
        {"redirect_uri": "http://127.0.0.1.evil.example:5/callback"},
        {"redirect_uri": "http://127.0.0.1:5@evil.example/callback"},
        {"redirect_uri": None},
        {"client_id": "rp_unknown"},
        {"client_id": None},
        {"client_id": "https://127.0.0.1/program.json"},
        {"response_type": "token"},
        {"code_challenge": None},
        {"code_challenge_method": "plain"},
        {"scope": "admin"},
        {"resource": "https://elsewhere.example/mcp"},
    ],
)
def test_a_request_with_a_mistake_leads_nowhere(
    public: Service, ana: Person, changed: dict[str, str | None]
) -> None:
    program = Program(public)
    shown = ana.browser.get(program.address(**changed))
    assert shown.status_code == 400
    assert "location" not in shown.headers
    assert "Allow" not in shown.text
    forged = {**hidden(ana.browser.get(program.address()).text), "decision": "allow"}
    for name, value in changed.items():
        if value is None:
            del forged[name]
        else:
            forged[name] = value
    assert ana.browser.post("/ui/authorize", data=forged).status_code == 400
    assert public.memory.user("ana").grants() == ()


def test_on_this_machine_any_port_is_the_same_address(public: Service, ana: Person) -> None:
    program = Program(public)
    program.redirect = "http://127.0.0.1:61234/callback"
    answer = ana.decide(program.address())
    assert answer.headers["location"].startswith("http://127.0.0.1:61234/callback?code=")
    assert program.redeem(answer_of(answer)["code"]).status_code == 200


def test_nobody_decides_for_the_user(public: Service, ana: Person) -> None:
    program = Program(public)
    page = ana.browser.get(program.address())
    fields = {**hidden(page.text), "decision": "allow"}
    for token in ("", "wrong"):  # a form of another site
        forged = ana.browser.post("/ui/authorize", data={**fields, "token": token})
        assert forged.status_code == 403
    stranger = public.client()
    sent_on = stranger.get(program.address())
    assert sent_on.status_code == 303
    assert sent_on.headers["location"].startswith("/ui/sign-in?next=%2Fui%2Fauthorize%3F")
    assert stranger.post("/ui/authorize", data=fields).headers["location"] == "/ui/sign-in"
    assert page.headers["x-frame-options"] == "DENY"
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:5;" in policy
    assert page.headers["cache-control"] == "no-store"
    assert public.memory.user("ana").grants() == ()


def test_after_signing_in_one_is_back_at_the_question(public: Service) -> None:
    key = public.memory.create_key("laptop", user="ana").secret
    program = Program(public)
    browser = public.client()
    entrance = browser.get(browser.get(program.address()).headers["location"]).text
    led = browser.post("/ui/sign-in", data={**hidden(entrance), "key": key})
    assert "helper" in browser.get(led.headers["location"]).text


def test_a_program_gives_back_what_it_got(public: Service, ana: Person) -> None:
    program, other = Program(public), Program(public, name="other")
    for kind in ("access_token", "refresh_token"):
        tokens = program.let_in(ana)
        for who in (other, program):
            assert program.call(tokens["access_token"]).status_code == 200
            fields = {"token": tokens[kind], "client_id": who.id}
            assert who.client.post("/oauth/revoke", data=fields).status_code == 200
        assert program.call(tokens["access_token"]).status_code == 401
    unknown = {"token": "ra_unknown", "client_id": program.id}
    assert program.client.post("/oauth/revoke", data=unknown).status_code == 200
    refused(program.client.post("/oauth/revoke", data={"token": "x"}), "invalid_request")


def test_registrations_are_bounded(public: Service) -> None:
    client = public.client()
    for said, error in (
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://example.org/"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT], "client_name": "x" * 101}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "client_name": 7}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "grant_types": ["implicit"]}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
    ):
        refused(client.post("/oauth/register", json=said), error)
    large = {"redirect_uris": [REDIRECT], "x": "x" * 70_000}
    refused(client.post("/oauth/register", json=large), "invalid_client_metadata")
    answers = [
        client.post("/oauth/register", json={"redirect_uris": [REDIRECT]}).status_code
        for _ in range(MAX_OAUTH_REGISTRATIONS)
    ]
    assert set(answers) == {201, 429}


def test_registered_programs_give_way_where_nobody_allowed_them(
    public: Service, ana: Person, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_OAUTH_CLIENTS", 2)
    first, second = Program(public, name="kept"), Program(public, name="unused")
    first.let_in(ana)
    full = public.client().post("/oauth/register", json={"redirect_uris": [REDIRECT]})
    assert (full.status_code, full.json()["error"]) == (503, "temporarily_unavailable")
    clock.advance(hours=2)
    Program(public, name="third")
    assert ana.browser.get(first.address()).status_code == 200
    assert ana.browser.get(second.address()).status_code == 400


def test_nobody_connects_more_programs_than_allowed(
    public: Service, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_GRANTS_PER_USER > 1
    monkeypatch.setattr("ricordo.limits.MAX_GRANTS_PER_USER", 1)
    program = Program(public)
    program.let_in(ana)
    assert ana.decide(program.address()).status_code == 409


def test_an_agent_takes_nothing_back(public: Service, ana: Person) -> None:
    program = Program(public)
    program.let_in(ana)
    store = public.memory
    (grant,) = store.user("ana").grants()
    agent = public.client(key=store.create_key("a", user="ana", agent="coach").secret)
    assert agent.delete(f"/v1/grants/{grant.id}").status_code == 403
    ben = public.client(key=store.create_key("b", user="ben").secret)
    assert ben.delete(f"/v1/grants/{grant.id}").status_code == 404
    own = public.client(key=store.create_key("c", user="ana").secret)
    assert [one["id"] for one in own.get("/v1/grants").json()] == [grant.id]
    assert own.delete(f"/v1/grants/{grant.id}").json()["client_name"] == "helper"
    assert store.user("ana").grants() == ()


def test_which_addresses_a_program_may_name() -> None:
    for good in (
        "https://claude.ai/api/mcp/auth_callback",
        "http://localhost:3000/cb",
        "http://[::1]/cb",
        "com.example.app:/cb",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ):
        check_redirect_uri(good)
    for bad in (
        "http://example.org/cb",
        "http://localhost.example.org/cb",
        "https:///cb",
        "https://a.example/#f",
        "https://me@a.example/",
        "https://a.example;script-src/",
        "https://a.example/\r\nX: 1",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        7,
    ):
        with pytest.raises(OAuthRefusal):
            check_redirect_uri(bad)
    now = ManualClock()()
    known = Client(id="x", name="x", redirect_uris=("https://a.example/cb",), created_at=now)
    assert not is_redirect_of(known, "https://a.example:444/cb")
    assert not is_redirect_of(known, "https://a.example/cb?x=1")


def test_documents_of_programs_are_read_from_public_addresses_alone() -> None:
    assert is_document_address("https://app.example.org/program.json")
    for wrong in ("http://app.example.org/p", "https://app.example.org/", "https://a.example/../p"):
        assert not is_document_address(wrong)
    documents = ClientDocuments(ManualClock(), allow_private=False)
    for inside in ("127.0.0.1", "169.254.169.254", "[::1]", "10.0.0.1", "localhost"):
        with pytest.raises(OAuthRefusal, match="cannot be read"):
            documents.client(f"https://{inside}/program.json")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"client_id": "https://other.example/p"}, "does not name it"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "another token_endpoint_auth_method"),
        ({"client_name": None}, "no client_name"),
        ({"redirect_uris": ["http://a.example/"]}, "allowed: https"),
    ],
)
def test_what_a_document_has_to_say(
    change: dict[str, Any], problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    address = "https://app.example.org/program.json"
    said = {"client_id": address, "client_name": "App", "redirect_uris": [REDIRECT], **change}
    read: list[str] = []

    def answer(_self: object, _method: str, path: str, *_rest: object) -> bytes:
        read.append(path)
        return json.dumps(said).encode()

    monkeypatch.setattr("ricordo.providers.http_client.ModelClient.request", answer)
    clock = ManualClock()
    documents = ClientDocuments(clock, allow_private=False)
    if problem is not None:
        with pytest.raises(OAuthRefusal, match=problem):
            documents.client(address)
        return
    assert documents.client(address).name == documents.client(address).name == "App"
    assert read == ["/program.json"]  # the second time from memory
    clock.advance(minutes=6)
    documents.client(address)
    assert len(read) == 2
