"""A user with something of every kind, made over HTTP."""

from dataclasses import dataclass

from tests.support.service import Service


@dataclass(frozen=True)
class FilledStore:
    """What exists of a user, by the names of path parameters; all of it says ``mark``."""

    mark: str
    known: dict[str, list[object]]


def filled(
    service: Service, user: str, mark: str = "heron", *, key: str | None = None
) -> FilledStore:
    """Give a user memories, a conversation, a state and a proposal."""
    client = service.client(user, key=key)
    ids = []
    for number in range(3):
        memory = {
            "content": f"Saw a {mark} on day {number}",
            "theme": f"{mark}-{number % 2}",
            "key": f"{mark}-key" if number == 0 else None,
        }
        made = client.post("/v1/memories", json=memory)
        assert made.status_code == 201, made.text
        ids.append(made.json()["id"])
    said = [
        {"role": "user", "content": f"I have asthma. I like the {mark}."},
        {"role": "assistant", "content": f"Noted: the {mark}."},
    ]
    thread = f"{mark}-thread"
    seen = client.post(f"/v1/threads/{thread}/turns", json={"messages": said})
    assert seen.is_success, seen.text
    formed = client.post(f"/v1/threads/{thread}/form")
    assert formed.is_success, formed.text
    kept = client.put(f"/v1/checkpoints/{thread}", json={"seen": mark})
    assert kept.is_success, kept.text
    proposals = [entry["id"] for entry in client.get("/v1/proposals").json()["items"]]
    assert proposals
    known: dict[str, list[object]] = {
        "id": [*ids, *proposals],
        "proposal": proposals,
        "thread": [thread],
        "theme": [f"{mark}-0", f"{mark}-1"],
    }
    return FilledStore(mark, known)
