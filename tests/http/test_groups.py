"""Groups over HTTP: who may do what, and what the header names."""

import pytest

from tests.support.service import Service

pytestmark = pytest.mark.requirement("groups.roles")

GROUP = {"X-Ricordo-Group": "payments"}


def test_members_act_in_their_group_and_nobody_else_does(keyed: Service) -> None:
    make = keyed.memory.create_key
    operator = keyed.client(key=make("m", permissions=["manage", "read_all"]).secret)
    ana, ben, dan = (
        keyed.client(key=make(name, user=name).secret) for name in ("ana", "ben", "dan")
    )
    made = operator.post("/v1/admin/groups", json={"group": "payments", "manager": "ana"})
    assert (made.status_code, made.json()["members"]) == (201, 1)
    assert ana.post("/v1/admin/groups", json={"group": "mine"}).status_code == 403
    put = ana.put("/v1/groups/payments/members/ben", json={"role": "read"})
    assert (put.status_code, put.json()["added_by"]) == (200, "ana")
    kept = ana.post("/v1/memories", json={"content": "Refunds are slow"}, headers=GROUP)
    assert kept.status_code == 201
    path = f"/v1/memories/{kept.json()['id']}"
    assert ben.get(path).json()["user_id"] == "*payments"
    assert [one["group"] for one in ben.get("/v1/groups").json()] == ["payments"]
    assert [one["user_id"] for one in ben.get("/v1/groups/payments/members").json()] == [
        "ana",
        "ben",
    ]
    refused = ben.post("/v1/memories", json={"content": "x"}, headers=GROUP)
    assert (refused.status_code, refused.json()["type"]) == (403, "PermissionMissing")
    unknown = dan.get("/v1/memories/999999").json()
    hidden = dan.get(path).json()
    assert (hidden["type"], hidden["status"]) == (unknown["type"], 404)
    for path_of_group in ("/v1/memories", "/v1/themes", "/v1/changes"):
        answered = dan.get(path_of_group, headers=GROUP)
        nothing = dan.get(path_of_group, headers={"X-Ricordo-Group": "nothing"})
        assert (answered.status_code, answered.json()["type"]) == (404, "GroupNotFound")
        assert nothing.status_code == 404
    assert dan.get("/v1/groups/payments/members").status_code == 404
    assert dan.put("/v1/groups/payments/members/dan", json={"role": "manage"}).status_code == 404
    observed = ana.post("/v1/threads/t/turns", json={"messages": []}, headers=GROUP)
    assert (observed.status_code, observed.json()["type"]) == (422, "InvalidValue")
    chat = ana.post("/v1/chat/completions", json={"messages": []}, headers=GROUP)
    assert chat.status_code in (422, 503)
    assert ana.get("/v1/memories", headers={"X-Ricordo-Group": "A B"}).status_code == 422
    listed = operator.get("/v1/admin/groups").json()
    assert [(one["name"], one["members"]) for one in listed] == [("payments", 2)]
    assert ben.delete("/v1/groups/payments/members/ben").status_code == 204
    assert ben.get(path).status_code == 404
    assert operator.delete("/v1/admin/groups/payments").json()["removed"]["items"] == 1
    assert ana.get(path).status_code == 404


def test_an_answer_is_repeated_to_members_in_the_same_group(keyed: Service) -> None:
    keyed.memory.create_group("payments", manager="ana")
    keyed.memory.create_group("legal", manager="ana")
    ana = keyed.client("ana", key=keyed.memory.create_key("s").secret)
    once = {"Idempotency-Key": "k1"}
    sent = {"content": "Refunds are slow"}
    first = ana.post("/v1/memories", json=sent, headers=GROUP | once)
    assert ana.post("/v1/memories", json=sent, headers=GROUP | once).json() == first.json()
    elsewhere = ana.post("/v1/memories", json=sent, headers={"X-Ricordo-Group": "legal"} | once)
    own = ana.post("/v1/memories", json=sent, headers=once)
    assert len({one.json()["id"] for one in (first, elsewhere, own)}) == 3
    keyed.memory.remove_member("payments", "ana")
    gone = ana.post("/v1/memories", json=sent, headers=GROUP | once)
    assert (gone.status_code, gone.json()["type"]) == (404, "GroupNotFound")
