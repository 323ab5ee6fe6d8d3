"""Keys at rest: sealed, opened again with the right key only, and one key file for everybody."""

import stat
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.embedding.secrets import SecretBox
from ricordo.errors import EmbedderRefused, InvalidValue

BOX = SecretBox(key=SecretBox.new_key())


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_what_was_sealed_comes_back(secret: str) -> None:
    sealed = BOX.seal(secret)
    assert BOX.open(sealed) == secret
    assert sealed.isascii()
    assert len(secret) < 4 or secret not in sealed


def test_another_key_opens_nothing() -> None:
    with pytest.raises(EmbedderRefused, match="the stored key cannot be decrypted: it was sealed"):
        SecretBox(key=SecretBox.new_key()).open(BOX.seal("sk-1"))


@pytest.mark.parametrize("damaged", ["", "sk-1", "gAAAAA", "ключ"])
def test_damaged_texts(damaged: str) -> None:
    with pytest.raises(EmbedderRefused, match="cannot be decrypted"):
        BOX.open(damaged)


def test_a_file_is_made_on_first_use_and_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret.key"
    box = SecretBox(path)
    assert not path.exists()
    sealed = box.seal("sk-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SecretBox(path).open(sealed) == "sk-1"
    assert list(path.parent.iterdir()) == [path]


def test_processes_that_race_end_up_with_one_key(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as processes:
        sealed = list(processes.map(_seal, [path] * 16))
    assert {SecretBox(path).open(text) for text in sealed} == {"sk-1"}
    assert list(tmp_path.glob("*secret*")) == [path]


def test_threads_that_start_together_end_up_with_one_key(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def seal(path: Path) -> str:
        together.wait()
        return SecretBox(path).seal("sk-1")

    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            path = tmp_path / f"{number}.key"
            sealed = list(threads.map(seal, [path] * 8))
            assert {SecretBox(path).open(text) for text in sealed} == {"sk-1"}


def _seal(path: Path) -> str:
    return SecretBox(path).seal("sk-1")


def test_a_file_that_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_text("hello")
    with pytest.raises(EmbedderRefused, match=r": secret\.key does not hold a key") as refused:
        SecretBox(path).seal("sk-1")
    assert str(tmp_path) not in str(refused.value)


def test_a_file_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "secret.key"
    path.mkdir()
    with pytest.raises(EmbedderRefused, match="directory") as refused:
        SecretBox(path).seal("sk-1")
    assert str(tmp_path) not in str(refused.value), "users are told, and need not know where it is"
    assert str(path) in caplog.text


def test_settings_that_are_no_key(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="secret_key: expected 32 random bytes"):
        SecretBox(key="password")
    with pytest.raises(InvalidValue, match="give a key"):
        SecretBox()


def test_the_key_is_not_shown() -> None:
    key = SecretBox.new_key()
    assert key not in repr(SecretBox(key=key))
