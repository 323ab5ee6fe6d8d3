"""Importing flat key-value JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import ImportFailed, Memory, Source, UserMemory
from ricordo.transfer.importers import IMPORTERS


@pytest.fixture
def ana(open_store: Callable[..., Memory], sqlite_url: str) -> UserMemory:
    return open_store(sqlite_url).user("ana")


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[Any], Path]:
    """A file with this JSON in it."""

    def write(data: Any) -> Path:
        path = tmp_path / "profile.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.mark.requirement("transfer.keyvalue")
def test_each_value_is_kept_under_its_key(ana: UserMemory, exported: Callable[[Any], Path]) -> None:
    profile = {
        "favourite_drink": "tea",
        "shoe-size": 38.5,
        "has_cat": True,
        "languages": ["Italian", "", "English"],
        "___": "only marks",
    }
    report = ana.import_file(exported(profile))
    assert (report.format, report.added, report.skipped) == ("keyvalue", 5, {})
    found = list(ana.list())
    assert {item.key: item.content for item in found} == {
        "favourite_drink": "favourite drink: tea",
        "shoe-size": "shoe size: 38.5",
        "has_cat": "has cat: true",
        "languages": "languages: Italian, English",
        "___": "___: only marks",
    }
    assert {(item.theme, item.source) for item in found} == {("general", Source.IMPORT)}


@pytest.mark.requirement("transfer.keyvalue")
def test_an_outer_key_is_the_theme(ana: UserMemory, exported: Callable[[Any], Path]) -> None:
    ana.import_file(exported({"name": "Ana", "Work & Play": {"role": "teacher"}, "!!!": {"a": 1}}))
    assert {(item.theme, item.key, item.content) for item in ana.list()} == {
        ("general", "name", "name: Ana"),
        ("work-play", "role", "role: teacher"),
        ("general", "a", "a: 1"),
    }


@pytest.mark.requirement("transfer.keyvalue")
def test_what_cannot_be_kept_is_left_out_and_counted(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    profile = {
        "a": None,
        "b": " ",
        "c": [],
        "": "nameless",
        "k" * 201: "long key",
        "d": "x" * 8_001,
        "e": "kept\x00 \ud83d",
        "f": "first",
        " f ": "second",
    }
    report = ana.import_file(exported(profile))
    assert {item.content for item in ana.list()} == {"e: kept \ufffd", "f: second"}
    assert report.skipped == {
        "empty": 4,
        "key given again": 1,
        "longer than 200 characters": 1,
        "longer than 8000 characters": 1,
    }


@pytest.mark.requirement("transfer.keyvalue")
def test_a_changed_file_updates_what_it_changed(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    ana.import_file(exported({"home": "Bekasi", "pets": {"cat": "Miso"}}))
    revision = ana.revision()
    again = ana.import_file(exported({"home": "Bekasi", "pets": {"cat": "Miso"}}))
    assert (again.added, again.updated, again.duplicates) == (0, 0, 2)
    assert ana.revision() == revision
    moved = ana.import_file(exported({"home": "Jakarta", "pets": {"cat": "Miso"}}))
    assert (moved.added, moved.updated, moved.duplicates) == (0, 1, 1)
    assert [item.content for item in ana.list(key="home")] == ["home: Jakarta"]


@pytest.mark.requirement("transfer.keyvalue")
def test_spellings_of_one_key_do_not_change_it_with_every_import(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    path = exported({"Work": {"role": "cook"}, "work": {"role ": "teacher"}})
    ana.import_file(path)
    assert ana.import_file(path).updated == 0
    assert [item.content for item in ana.list()] == ["role: teacher"]


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", "b"], "expected an object, got a list"),
        ({"a": "x", "work": {"team": {"lead": "ben"}}}, "'work', 'team': expected text, a number"),
        ({"a": [["nested"]]}, "'a': expected text, a number"),
        ({"a": {"b": [None]}}, "'a', 'b': expected text, a number"),
    ],
)
def test_a_wrong_file_says_where(
    ana: UserMemory, exported: Callable[[Any], Path], data: Any, message: str
) -> None:
    path = exported(data)
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path, format="keyvalue")
    assert message in str(failed.value)
    assert str(path) in str(failed.value)
    assert ana.revision() == 0


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@pytest.mark.requirement("transfer.bad-files")
@given(text=st.text(st.characters(codec="utf-8")) | ANY_JSON.map(json.dumps))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(text, encoding="utf-8")
    try:
        found = IMPORTERS["keyvalue"](path)
    except ImportFailed as failed:
        assert str(path) in str(failed)
    else:
        assert all(memory.key is not None for memory in found.memories)
