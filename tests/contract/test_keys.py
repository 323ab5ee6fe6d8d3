"""API keys: made, listed, used, ended, and gone with their user."""

import json
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import (
    Conflict,
    InvalidCursor,
    InvalidValue,
    KeyKind,
    KeyNotFound,
    Memory,
    NotAuthenticated,
    Permission,
    StorageBusy,
)
from ricordo.access import keys as key_format
from ricordo.limits import KEY_USE_MINUTES, MAX_KEY_DAYS, MAX_KEY_NAME_CHARS
from ricordo.storage.access import StoredKeys
from ricordo.storage.tables import api_keys
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite

pytestmark = pytest.mark.requirement("access.keys")


def refusal(memory: Memory, secret: str | None) -> str:
    with pytest.raises(NotAuthenticated) as refused:
        memory.authenticate(secret)
    return str(refused.value)


def rows(memory: Memory) -> list[dict[str, Any]]:
    with memory.database.read_all() as view:
        return [dict(row) for row in view.connection.execute(sa.select(api_keys)).mappings()]


def test_three_kinds_by_whom_they_are_for(memory: Memory, clock: ManualClock) -> None:
    service = memory.create_key("  open webui ", permissions=["read_all", "manage", "read_all"])
    user = memory.create_key("laptop", user="ana")
    agent = memory.create_key(
        "planner", user="ana", agent="planner", categories=["Work", "Home life"], expires_days=30
    )
    kinds = [made.key.kind for made in (service, user, agent)]
    assert kinds == [KeyKind.SERVICE, KeyKind.USER, KeyKind.AGENT]
    assert (service.key.name, service.key.user_id, service.key.agent_id) == (
        "open webui",
        None,
        None,
    )
    assert service.key.permissions == (Permission.MANAGE, Permission.READ_ALL)
    assert (service.key.created_at, service.key.expires_at) == (clock(), None)
    assert (user.key.user_id, user.key.categories) == ("ana", None)
    assert (agent.key.agent_id, agent.key.categories) == ("planner", ("home-life", "work"))
    assert agent.key.expires_at == clock() + timedelta(days=30)
    for made in (service, user, agent):
        assert made.secret.startswith(f"rk_{made.key.id}_")
        assert memory.authenticate(made.secret) == made.key


@on_sqlite
def test_what_does_not_go_together_is_refused(memory: Memory) -> None:
    agent = {"user": "ana", "agent": "planner"}
    refused: list[tuple[dict[str, Any], str]] = [
        *(({"name": name}, "name") for name in ("", "x" * (MAX_KEY_NAME_CHARS + 1), "two\nlines")),
        ({"agent": "planner"}, "agent"),
        ({"user": "*"}, "user_id"),
        ({"user": "ana", "agent": ""}, "agent"),
        ({"categories": ["work"]}, "categories"),
        ({"user": "ana", "categories": ["work"]}, "categories"),
        ({**agent, "categories": []}, "categories"),
        ({**agent, "categories": ["!"]}, "theme"),
        ({"user": "ana", "permissions": ["read_all"]}, "permissions"),
        ({**agent, "permissions": "manage"}, "permissions"),
        ({**agent, "permissions": ["share", "read_all"]}, "permissions"),
        ({"user": "ana", "permissions": ["share"]}, "permissions"),
        ({"permissions": ["everything"]}, "permissions"),
        *(({"expires_days": days}, "expires_days") for days in (0, MAX_KEY_DAYS + 1, True)),
    ]
    for given, field in refused:
        with pytest.raises(InvalidValue) as caught:
            memory.create_key(**{"name": "one", **given})
        assert caught.value.field == field
    assert (rows(memory), memory.users()) == ([], ())


@pytest.mark.requirement("access.key-secrets")
def test_nothing_of_a_secret_is_kept(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        made = memory.create_key("one", user="ana")
        memory.authenticate(made.secret)
        refusal(memory, made.secret[:-1] + ("a" if made.secret[-1] != "a" else "b"))
    random_part = made.secret.rsplit("_", 1)[1]
    (row,) = rows(memory)
    assert row["secret_hash"] == key_format.hash_of(made.secret)
    assert random_part[:12] not in repr(row) + caplog.text
    listed = memory.keys().to_dict()
    assert random_part not in json.dumps(listed)
    assert row["secret_hash"] not in json.dumps(listed)
    assert random_part not in repr(made)


@pytest.mark.requirement("access.key-secrets")
def test_every_key_that_is_no_good_gets_one_answer(memory: Memory, clock: ManualClock) -> None:
    good = memory.create_key("good")
    revoked = memory.create_key("revoked")
    expired = memory.create_key("expired", expires_days=1)
    memory.revoke_key(revoked.key.id)
    clock.advance(days=1)
    shown = [
        None,
        "",
        "nonsense",
        good.key.id,
        f"{good.secret} ",
        key_format.new_secret(key_format.new_id()),  # unknown
        key_format.new_secret(good.key.id),  # the id of a good one
        revoked.secret,
        expired.secret,
    ]
    assert len({refusal(memory, secret) for secret in shown}) == 1
    assert memory.authenticate(good.secret).name == "good"


def test_a_revoked_key_is_refused_at_once_everywhere(
    memory: Memory, backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    other = open_store(backend_url)
    made = memory.create_key("one", user="ana")
    assert other.authenticate(made.secret).user_id == "ana"
    clock.advance(minutes=1)
    ended = memory.revoke_key(made.key.id)
    assert ended.revoked_at == clock()
    refusal(memory, made.secret)
    refusal(other, made.secret)
    clock.advance(minutes=1)
    assert memory.revoke_key(made.key.id).revoked_at == ended.revoked_at
    assert not memory.has_keys()


@pytest.mark.requirement("keys.show")
def test_one_key_is_read_and_says_whether_it_opens(memory: Memory, clock: ManualClock) -> None:
    lasting = memory.create_key("one", user="ana", agent="planner", categories=["work"])
    ending = memory.create_key("two", permissions=["manage"], expires_days=2)
    for made in (lasting, ending):
        assert memory.key(made.key.id) == made.key
        assert made.secret not in repr(memory.key(made.key.id))
    memory.revoke_key(lasting.key.id)
    assert not memory.key(lasting.key.id).is_live(clock())
    clock.advance(days=2, microseconds=-1)
    assert memory.key(ending.key.id).is_live(clock())
    memory.authenticate(ending.secret)
    assert memory.has_keys()
    clock.advance(microseconds=1)  # at its end it is over
    assert not memory.key(ending.key.id).is_live(clock())
    refusal(memory, ending.secret)
    assert not memory.has_keys()
    assert [key.id for key in memory.keys().items] == [
        ending.key.id
    ]  # to be seen, until it is revoked
    for unknown in ("aaaaaaaaaaaa", "no such key", "", lasting.secret, "x" * 500, "a\x00b", 7):
        with pytest.raises((KeyNotFound, InvalidValue)) as read:
            memory.key(unknown)  # type: ignore[arg-type]
        with pytest.raises((KeyNotFound, InvalidValue)) as revoked:
            memory.revoke_key(unknown)  # type: ignore[arg-type]
        assert (read.type, str(read.value)) == (revoked.type, str(revoked.value))
    with pytest.raises(KeyNotFound):
        memory.key("no such key")


def test_keys_are_listed_newest_first_in_pages(memory: Memory, clock: ManualClock) -> None:
    made = []
    for number in range(7):
        whose = None if number % 2 else "ana"
        made.append(memory.create_key(f"key {number}", user=whose).key)
        if number != 3:  # two of them at one moment
            clock.advance(seconds=1)
    memory.revoke_key(made[0].id)
    newest = sorted(made, key=lambda key: (key.created_at, key.id), reverse=True)
    found: list[str] = []
    cursor = None
    while True:
        page = memory.keys(limit=2, cursor=cursor, include_revoked=True)
        found += [key.id for key in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [key.id for key in newest]
    assert [key.id for key in memory.keys().items] == [key.id for key in newest if key != made[0]]
    assert [key.id for key in memory.keys(user="ana")] == [made[6].id, made[4].id, made[2].id]
    assert memory.keys(user="ben").items == ()
    with pytest.raises(InvalidCursor):
        memory.keys(cursor="nonsense")
    with pytest.raises(InvalidValue):
        memory.keys(limit=0)


def test_a_use_is_noted_every_few_minutes_if_it_can_be(
    memory: Memory,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = memory.create_key("one")
    tried = []

    def busy(_rows: StoredKeys, key_id: str, _now: object) -> None:
        tried.append(key_id)
        raise StorageBusy("the database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(StoredKeys, "note_use", busy)
        for _ in range(3):
            assert memory.authenticate(made.secret).id == made.key.id
    assert tried == [made.key.id]  # and not for every request: each would wait
    assert "StorageBusy" in caplog.text
    clock.advance(minutes=KEY_USE_MINUTES)
    began = clock()
    memory.authenticate(made.secret)
    clock.advance(minutes=KEY_USE_MINUTES - 1)
    assert memory.authenticate(made.secret).last_used_at == began
    clock.advance(minutes=1)
    memory.authenticate(made.secret)
    assert memory.keys().items[0].last_used_at == clock()


def test_there_is_a_maximum(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.storage.access.MAX_API_KEYS", 2)
    memory.create_key("one")
    memory.create_key("two", user="ana")
    for whose in (None, "ana", "ben"):
        with pytest.raises(Conflict, match="2 keys, the most allowed"):
            memory.create_key("three", user=whose)
    assert memory.users() == ("ana",)


def test_keys_made_at_once_are_all_there(memory: Memory) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: memory.create_key(f"{n}", user="ana"), range(12)))
        list(pool.map(lambda one: memory.authenticate(one.secret), made))
    assert {one.key.id for one in made} == {key.id for key in memory.keys().items}


@pytest.mark.requirement("erasure.no-trace")
def test_erasing_a_user_ends_their_keys(memory: Memory) -> None:
    memory.user("ana").add("Prefers tea")
    hers = [memory.create_key("a", user="ana"), memory.create_key("b", user="ana", agent="x")]
    others = [memory.create_key("c", user="ben"), memory.create_key("d")]
    memory.revoke_key(hers[0].key.id)
    assert memory.erase_user("ana").removed["api_keys"] == 2
    for made in hers:
        refusal(memory, made.secret)
    for made in others:
        memory.authenticate(made.secret)
    assert memory.users() == ("ben",)  # who has nothing but a key, and can be erased as well
    assert memory.erase_user("ben").removed["api_keys"] == 1
    assert [row["id"] for row in rows(memory)] == [others[1].key.id]


def test_keys_never_leave_the_store(
    memory: Memory, tmp_path: Path, sqlite_template: Path, open_store: Callable[..., Memory]
) -> None:
    ana = memory.user("ana")
    ana.add("Prefers tea")
    made = memory.create_key("secret name", user="ana", agent="planner")
    memory.export(tmp_path / "all.jsonl")
    written = (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    for part in (made.key.id, "secret name", key_format.hash_of(made.secret)):
        assert part not in written
    other = open_store(shutil.copy(sqlite_template, tmp_path / "other.db"))
    other.import_file(tmp_path / "all.jsonl")
    assert not other.has_keys()
    memory.erase_user("ana")
    ana.import_file(tmp_path / "all.jsonl")
    refusal(memory, made.secret)
