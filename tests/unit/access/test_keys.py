"""What keys look like, how they are checked, and what an agent's key reaches."""

import hashlib
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access import keys
from ricordo.access.policy import AccessPolicy
from ricordo.errors import CategoryNotAllowed, NotAuthenticated
from ricordo.model.key import ApiKey, CreatedKey
from ricordo.model.vocabulary import KeyKind

pytestmark = pytest.mark.requirement("access.key-secrets")

SHAPE = re.compile(r"rk_[a-z2-7]{12}_[a-z2-7]{52}")
POLICY = AccessPolicy(
    allowlists={"planner": frozenset({"tasks", "goals"}), "supervisor": frozenset({"*"})}
)


def key_of(agent: str | None, categories: tuple[str, ...] | None) -> ApiKey:
    return ApiKey(
        id="a" * 12,
        name="one",
        kind=KeyKind.SERVICE if agent is None else KeyKind.AGENT,
        user_id=None if agent is None else "ana",
        agent_id=agent,
        categories=categories,
        permissions=(),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        expires_at=None,
        revoked_at=None,
        last_used_at=None,
    )


def test_a_secret_has_its_id_and_256_random_bits() -> None:
    made = [keys.new_secret(keys.new_id()) for _ in range(200)]
    assert all(SHAPE.fullmatch(secret) for secret in made)
    assert len({keys.id_in(secret) for secret in made}) == 200
    random_parts = [secret.rsplit("_", 1)[1] for secret in made]
    assert len(set(random_parts)) == 200
    assert len(set("".join(random_parts))) ** 52 >= 2**256
    assert keys.new_secret("a" * 12) != keys.new_secret("a" * 12)


def test_only_the_hash_is_kept_and_only_the_whole_secret_fits() -> None:
    secret = keys.new_secret(keys.new_id())
    kept = keys.hash_of(secret)
    assert kept == hashlib.sha256(secret.encode()).hexdigest()
    assert keys.is_the_one(secret, kept)
    other = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    assert not keys.is_the_one(other, kept)
    assert not keys.is_the_one(secret, None)
    assert not keys.is_the_one("", None)


@given(st.one_of(st.none(), st.integers(), st.binary(), st.text()))
def test_what_is_no_key_is_refused_in_one_way(shown: object) -> None:
    with pytest.raises(NotAuthenticated) as refusal:
        keys.id_in(shown)
    assert str(refusal.value) == str(keys.refused())


@pytest.mark.parametrize(
    "changed",
    [
        lambda secret: secret.upper(),
        lambda secret: f"{secret}\n",
        lambda secret: f" {secret}",
        lambda secret: secret[:-1],
        lambda secret: f"{secret}a",
        lambda secret: secret.replace("_", "-"),
        lambda secret: secret[:-1] + "１",
    ],
)
def test_nearly_a_key_is_none(changed: object) -> None:
    secret = keys.new_secret(keys.new_id())
    with pytest.raises(NotAuthenticated):
        keys.id_in(changed(secret))  # type: ignore[operator]


def test_a_secret_is_not_in_what_is_printed_of_a_new_key() -> None:
    secret = keys.new_secret("a" * 12)
    made = CreatedKey(key=key_of(None, None), secret=secret)
    assert secret.rsplit("_", 1)[1] not in repr(made) + str(made)
    assert made.to_dict()["secret"] == secret


@pytest.mark.requirement("access.categories")
def test_a_key_reaches_what_both_the_policy_and_it_allow() -> None:
    assert POLICY.allowed(None, None) is None
    assert POLICY.allowed("supervisor", None) is None
    assert POLICY.allowed("supervisor", frozenset(("tone",))) == {"tone"}
    assert POLICY.allowed("planner", None) == {"tasks", "goals"}
    assert POLICY.allowed("planner", frozenset(("tasks", "tone"))) == {"tasks"}
    assert POLICY.allowed("planner", frozenset(("tone",))) == set()
    assert POLICY.allowed("stranger", frozenset(("tone",))) == set()


@pytest.mark.requirement("access.categories")
def test_a_request_reads_within_its_scope_and_the_allowlist() -> None:
    within = frozenset({"tasks", "tone"})
    assert POLICY.check("planner", [], within=within) == ("tasks",)
    assert POLICY.check("supervisor", [], within=within) == ("tasks", "tone")
    assert POLICY.check(None, [], within=within) == ("tasks", "tone")
    for asker, asked in (("planner", "goals"), ("planner", "tone"), (None, "goals")):
        with pytest.raises(CategoryNotAllowed):
            POLICY.check(asker, [asked], within=within)
    with pytest.raises(CategoryNotAllowed) as refusal:
        POLICY.check(None, [], within=frozenset(), user="ana")
    assert refusal.value.agent == "ana"
