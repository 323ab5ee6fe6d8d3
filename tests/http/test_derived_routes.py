"""What every derived route has in common: where arguments come from, and what is refused."""

import pytest

from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("surfaces.same-mistakes")


def test_names_that_are_no_arguments_are_refused(service: Service) -> None:
    ana = service.client("ana")
    for method, route, body in (
        ("POST", "/v1/memories", {"content": "x", "user": "ana"}),
        ("GET", "/v1/memories?bound=1", None),
        ("POST", "/v1/memories?theme=x", {"content": "x"}),
        ("POST", "/v1/settings/embeddings/fill", {"progress": 5}),
        ("POST", "/v1/admin/reindex", {"everything": True, "progress": 5}),
    ):
        assert problem(ana.request(method, route, json=body)) == (422, "UnknownField"), route


def test_objects_are_no_lists(service: Service) -> None:
    ana = service.client("ana")
    for route, body in (
        ("/v1/memories", {"content": "x", "tags": {"a": 1}}),
        ("/v1/memories/search", {"theme": {"a": 1}}),
        ("/v1/context", {"tools": [None, 1]}),
        ("/v1/memories", ["x"]),
    ):
        assert problem(ana.post(route, json=body)) == (422, "InvalidValue"), route


def test_a_state_is_expected_by_etag_or_by_time(service: Service) -> None:
    ana = service.client("ana")
    ana.post("/v1/memories", json={"content": "Prefers tea"})
    seen = ana.get("/v1/memories/1")
    time = {"expected_updated_at": seen.json()["updated_at"]}
    etag = {"If-Match": seen.headers["etag"]}
    assert ana.post("/v1/memories/1/pin", json=time).status_code == 200
    for refused in (
        ana.post("/v1/memories/1/pin", json=time),
        ana.post("/v1/memories/forget", json={"id": 1}, headers=etag),
        ana.delete("/v1/memories/1", headers=etag),
    ):
        assert problem(refused) == (412, "Changed")
    twice = ana.post("/v1/memories/1/pin", json=time, headers=etag)
    assert problem(twice) == (422, "InvalidValue")


def test_a_description_can_be_taken_away(service: Service) -> None:
    ana = service.client("ana")
    ana.post("/v1/memories", json={"content": "Prefers tea"})
    for said, kept in (("What fits nowhere else", "What fits nowhere else"), ("", None)):
        changed = ana.patch("/v1/themes/general", json={"description": said})
        assert changed.json()["description"] == kept


@pytest.mark.requirement("formation.consent")
def test_the_key_of_an_agent_gives_no_consent(service: Service) -> None:
    key = service.memory.create_key("bot", user="ana", agent="bot")
    agent = service.client(key=key.secret)
    said = {"content": "I was diagnosed with diabetes"}
    assert problem(agent.post("/v1/memories", json={**said, "supersedes": "x"})) == (
        422,
        "InvalidValue",
    )
    proposed = agent.post("/v1/memories", json=said)
    assert proposed.status_code == 202
    approval = f"/v1/proposals/{proposed.json()['proposal_id']}/approve"
    explicit = {"fields": {"health": "diabetes"}, "explicit": True}
    file = b'{"health": "I was diagnosed with diabetes"}'
    for refused in (
        agent.post(approval),
        agent.post(approval.replace("approve", "reject")),
        agent.patch("/v1/profile", json=explicit),
        agent.post("/v1/import?format=keyvalue", content=file),
    ):
        assert problem(refused) == (403, "PermissionMissing")
    assert service.client("ana").get("/v1/memories").json()["items"] == []
    assert service.client("ana").post(approval).status_code == 200
