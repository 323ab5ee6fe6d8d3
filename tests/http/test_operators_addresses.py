"""Where the operator's models are is no business of those who use the service."""

from collections.abc import Callable

import pytest

from ricordo.memory import Memory
from tests.support.commandline import ricordo
from tests.support.service import running

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.mark.requirement("security.secrets-in-logs")
def test_errors_do_not_tell_users_where_the_operators_models_are(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(
        sqlite_url,
        port=0,
        embedder=None,
        embedding_provider="custom_http",
        embedding_model="m",
        embedding_base_url=NOWHERE,
        model_provider="custom_http",
        model_name="m",
        model_base_url=NOWHERE,
    )
    memory.user("ana").add("Prefers tea")
    memory.user("ana").observe([{"role": "user", "content": "I love tea"}], thread="t")
    with running(memory) as service:
        client = service.client("ana")
        found = client.post("/v1/memories/search", json={"query": "tea"})
        formed = client.post("/v1/form", json={})
        told = [
            found.text,
            formed.text,
            client.get("/v1/settings/embeddings").text,
            client.post("/v1/settings/embeddings/test", json={}).text,
            client.post("/v1/settings/embeddings/fill", json={}).text,
            client.get("/ui/settings").text,
        ]
    assert found.json()["degraded"].startswith("custom_http is not available")
    assert formed.status_code == 503
    assert [text for text in told if "127.0.0.1:9" in text] == []


@pytest.mark.requirement("doctor.checks")
def test_the_operator_is_told_by_doctor(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "custom_http")
    monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", "m")
    monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", NOWHERE)
    ran = ricordo("doctor", "--json", "--db", sqlite_url)
    found = {one["check"]: one["found"] for one in ran.json}
    assert found["embedder"].startswith(f"custom_http at {NOWHERE}: ")
