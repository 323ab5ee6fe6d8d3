"""Keys at rest: sealed, opened again with the right key only, and one key file for everybody."""

import stat
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import EmbedderRefused, InvalidValue
from ricordo.providers.encryption import SecretBox

BOX = SecretBox(key=SecretBox.new_key())


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_what_was_sealed_comes_back(secret: str) -> None:
    sealed = BOX.seal(secret)
    assert BOX.open(sealed) == secret
    assert sealed.isascii()
    assert len(secret) < 4 or secret not in sealed


def test_nothing_else_is_opened_and_the_key_is_not_shown() -> None:
    key = SecretBox.new_key()
    other = SecretBox(key=key)
    assert key not in repr(other)
    with pytest.raises(EmbedderRefused, match="the stored key cannot be decrypted: it was sealed"):
        other.open(BOX.seal("sk-1"))
    for damaged in ("", "sk-1", "gAAAAA", "ключ"):
        with pytest.raises(EmbedderRefused, match="cannot be decrypted"):
            BOX.open(damaged)


def test_settings_that_are_no_key() -> None:
    with pytest.raises(InvalidValue, match="secret_key: expected 32 random bytes"):
        SecretBox(key="password")
    with pytest.raises(InvalidValue, match="give a key"):
        SecretBox()


def test_a_file_without_a_key_is_refused_without_its_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Users are told, and need not know where it is."""
    wrong, folder = tmp_path / "wrong.key", tmp_path / "folder.key"
    wrong.write_text("hello")
    folder.mkdir()
    for path, problem in ((wrong, r": wrong\.key does not hold a key"), (folder, "directory")):
        with pytest.raises(EmbedderRefused, match=problem) as refused:
            SecretBox(path).seal("sk-1")
        assert str(tmp_path) not in str(refused.value)
    assert str(folder) in caplog.text


def test_a_file_is_made_on_first_use_and_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret.key"
    box = SecretBox(path)
    assert not path.exists()
    sealed = box.seal("sk-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SecretBox(path).open(sealed) == "sk-1"
    assert list(path.parent.iterdir()) == [path]


def _seal(path: Path) -> str:
    return SecretBox(path).seal("sk-1")


@pytest.mark.slow
def test_processes_that_race_end_up_with_one_key(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    with ProcessPoolExecutor(6, mp_context=get_context("spawn")) as processes:
        sealed = list(processes.map(_seal, [path] * 12))
    assert {SecretBox(path).open(text) for text in sealed} == {"sk-1"}
    assert list(tmp_path.glob("*secret*")) == [path]
