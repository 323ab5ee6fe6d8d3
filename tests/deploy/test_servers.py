"""Several servers of one store, as the page about deployment sets them up."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from ricordo import InvalidValue, Memory, Permission
from ricordo.settings import SETTINGS_FROM_FILES, Settings
from ricordo.wiring import read_settings
from tests.docs.markdown import DOCS, blocks
from tests.support.served import served
from tests.support.waiting import PATIENCE_SECONDS

PAGES = sorted((DOCS / "howto").glob("deploy*.md"))
NOT_SETTINGS = {"RICORDO_ROLE_PASSWORD"}


def client(url: str, key: str, user: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}", "X-Ricordo-User": user}
    return httpx2.Client(base_url=url, headers=headers, timeout=PATIENCE_SECONDS)


@pytest.mark.slow
@pytest.mark.requirement("deploy.servers")
def test_two_servers_agree_at_once(postgres_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(postgres_url)
    secret = memory.create_key("chat", permissions=[Permission.MANAGE]).secret
    settings = {
        "RICORDO_REQUIRE_KEYS": "true",
        "RICORDO_RUN_JOBS": "false",
        "RICORDO_EMBEDDING_PROVIDER": "none",
    }
    with (
        served(postgres_url, **settings) as first,
        served(postgres_url, **settings) as second,
        client(first.url, secret, "ana") as here,
        client(second.url, secret, "ana") as there,
    ):
        for _ in range(2):  # also when both have the user's index in memory
            asked = {"query": "harbour"}
            before = len(there.post("/v1/memories/search", json=asked).json()["results"])
            text = f"Painted the harbour bridge {before}"
            added = here.post("/v1/memories", json={"content": text})
            assert added.status_code == 201
            found = there.post("/v1/memories/search", json=asked).json()["results"]
            assert len(found) == before + 1
            assert there.get(added.headers["Location"]).json()["content"] == text

        again = {"Idempotency-Key": "once"}
        asked = {"content": "Said once"}
        original = here.post("/v1/memories", json=asked, headers=again)
        repeated = there.post("/v1/memories", json=asked, headers=again)
        assert repeated.headers["Idempotent-Replayed"] == "true"
        assert repeated.json() == original.json()

        (key,) = memory.keys()
        memory.revoke_key(key.id)
        assert here.get("/v1/memories").status_code == 401
        assert there.get("/v1/memories").status_code == 401


@pytest.mark.requirement("deploy.servers")
def test_every_setting_that_is_named_exists() -> None:
    from_files = {f"{name}_file" for name in SETTINGS_FROM_FILES}
    known = {f"RICORDO_{name.upper()}" for name in {*Settings.model_fields, *from_files}}
    known |= NOT_SETTINGS
    for page in PAGES:
        named = set(re.findall(r"RICORDO_[A-Z_]+", page.read_text(encoding="utf-8")))
        assert named <= known, page


def test_the_environment_of_the_page_is_accepted() -> None:
    (listed,) = [
        block.text
        for block in blocks(DOCS / "howto" / "deploy.md")
        if block.text.startswith("# /etc/ricordo/ricordo.env")
    ]
    given = dict(line.split("=", 1) for line in listed.splitlines()[1:])
    settings = read_settings(given, {})
    assert settings.require_keys
    assert settings.embedding_threads == 1


@pytest.mark.requirement("deploy.secrets")
@pytest.mark.parametrize("name", sorted(SETTINGS_FROM_FILES))
def test_what_holds_a_secret_is_read_from_a_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    variable = f"RICORDO_{name.upper()}"
    file.write_text("postgresql://ana:secret@db/ricordo\n", encoding="utf-8")
    read = getattr(read_settings({f"{variable}_FILE": str(file)}, {}), name)
    assert (read if name == "url" else read.get_secret_value()) == file.read_text().strip()

    given = read_settings({f"{variable}_FILE": str(tmp_path / "no")}, {name: ":memory:"})
    assert getattr(given, name) is not None  # what is given wins, and the file is not read
    for environment, says in (
        ({variable: "x", f"{variable}_FILE": str(file)}, "leave one"),
        ({f"{variable}_FILE": str(tmp_path / "no")}, "No such file"),
        ({f"{variable}_FILE": os.devnull}, "is empty"),
    ):
        with pytest.raises(InvalidValue, match=f"setting {name}.*{says}") as refused:
            read_settings(environment, {})
        assert "secret@" not in str(refused.value)
