"""``ricordo init``: makes what is missing, and touches nothing that is there."""

from pathlib import Path

import pytest

from ricordo.files.comments import without_comments
from ricordo.files.starters import RULES_STARTER, SOUL_STARTER, USER_STARTER
from tests.support.commandline import ricordo


def prompts_of(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((home / "prompts").glob("[!.]*"))}


@pytest.mark.requirement("prompt.init")
def test_it_makes_a_home(own_home: Path) -> None:
    ran = ricordo("init")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("Made ") == 5
    assert "Next:" in ran.out
    assert sorted(path.name for path in own_home.iterdir() if not path.name.startswith(".")) == [
        "memory",
        "prompts",
        "ricordo.db",
    ]
    assert prompts_of(own_home) == {
        "RULES.md": RULES_STARTER.encode(),
        "SOUL.md": SOUL_STARTER.encode(),
        "USER.md": USER_STARTER.encode(),
    }


@pytest.mark.requirement("prompt.init")
def test_it_says_what_it_made_in_json(own_home: Path) -> None:
    first = ricordo("init", "--json").json
    assert first["user"] == "me"
    assert [Path(path).name for path in first["made"]] == [
        "SOUL.md",
        "RULES.md",
        "USER.md",
        "memory",
        "ricordo.db",
    ]
    assert first["present"] == []
    before = prompts_of(own_home)
    again = ricordo("init", "--json").json
    assert (again["made"], again["present"]) == ([], first["made"])
    assert prompts_of(own_home) == before


@pytest.mark.requirement("prompt.init")
def test_nothing_that_is_there_is_touched(own_home: Path) -> None:
    soul = own_home / "prompts" / "SOUL.md"
    soul.parent.mkdir(parents=True)
    soul.write_bytes(b"mine \xff")
    (own_home / "prompts" / "USER.md").symlink_to(own_home / "nowhere")
    assert ricordo("add", "Prefers tea").code == 0
    report = ricordo("init", "--json").json
    assert [Path(path).name for path in report["present"]] == ["SOUL.md", "USER.md", "ricordo.db"]
    assert soul.read_bytes() == b"mine \xff"
    assert not (own_home / "nowhere").exists()
    assert ricordo("list", "--json").json["items"][0]["content"] == "Prefers tea"


@pytest.mark.requirement("prompt.init")
def test_another_user_gets_files_of_their_own(own_home: Path) -> None:
    assert ricordo("init").code == 0
    report = ricordo("init", "--user", "ben", "--json").json
    assert [str(Path(path).relative_to(own_home)) for path in report["made"]] == [
        "people/ben/USER.md",
        "people/ben/memory",
    ]


@pytest.mark.requirement("prompt.init")
def test_another_database_needs_a_folder(tmp_path: Path, own_home: Path) -> None:
    other = tmp_path / "other.db"
    ran = ricordo("init", "--db", other)
    assert ran.code == 2
    assert "RICORDO_FILES" in ran.err
    assert not other.exists()
    assert not own_home.exists()


@pytest.mark.requirement("prompt.init")
def test_a_folder_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_FILES", str(tmp_path / "elsewhere"))
    report = ricordo("init", "--db", tmp_path / "other.db", "--json").json
    assert report["folder"] == str(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "prompts" / "RULES.md").exists()
    assert (tmp_path / "other.db").exists()


@pytest.mark.requirement("prompt.init")
def test_what_cannot_be_made_is_an_error(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "prompts").write_text("a file in the place of the folder")
    ran = ricordo("init", "--json")
    assert ran.code == 9
    assert ran.error["error"] == "FilesUnavailable"
    assert ricordo("init", "--user", " ").code == 2


@pytest.mark.requirement("prompt.init")
def test_the_starters_say_what_they_are_for() -> None:
    assert without_comments(USER_STARTER).strip() == ""
    assert "not sure" in without_comments(RULES_STARTER)
    assert "later date" in without_comments(RULES_STARTER)
    assert without_comments(SOUL_STARTER).strip().startswith("You are")
