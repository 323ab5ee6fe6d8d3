"""What keys look like, and how they are checked."""

import hashlib
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access import keys
from ricordo.errors import NotAuthenticated
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import KeyKind

pytestmark = pytest.mark.requirement("access.key-secrets")

SHAPE = re.compile(r"rk_[a-z2-7]{12}_[a-z2-7]{52}")


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


def test_nearly_a_key_is_none() -> None:
    secret = keys.new_secret(keys.new_id())
    for nearly in (
        *(secret.upper(), f"{secret}\n", f" {secret}", secret[:-1], f"{secret}a"),
        *(secret.replace("_", "-"), secret[:-1] + "１"),
    ):
        with pytest.raises(NotAuthenticated):
            keys.id_in(nearly)


def test_a_secret_is_not_in_what_is_printed_of_a_new_key() -> None:
    secret, at = keys.new_secret("a" * 12), datetime(2026, 1, 1, tzinfo=UTC)
    empty = dict.fromkeys(
        ("user_id", "agent_id", "categories", "expires_at", "revoked_at", "last_used_at")
    )
    key = ApiKey(
        id="a" * 12, name="one", kind=KeyKind.SERVICE, permissions=(), created_at=at, **empty
    )
    made = CreatedKey(key=key, secret=secret)
    assert secret.rsplit("_", 1)[1] not in repr(made) + str(made)
    assert made.to_dict()["secret"] == secret
