"""The command ``checkpoint``."""

import json
from pathlib import Path

import pytest

from tests.support.commandline import Ran, ricordo


@pytest.mark.requirement("checkpoints.states")
def test_save_load_list_delete(backend_url: str, tmp_path: Path) -> None:
    def run(*arguments: object, stdin: str = "") -> Ran:
        return ricordo("checkpoint", *arguments, "--db", backend_url, "-u", "ana", stdin=stdin)

    state = {"step": 3, "text": "Grüße \u0000"}
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state), encoding="utf-8")
    assert run("save", "monday", file).out == "Saved version 1 of monday.\n"
    saved = run("save", "monday", "--expect", 1, "--json", stdin=json.dumps(state)).json
    assert (saved["version"], saved["state"]) == (2, state)
    assert run("load", "monday", "--json").json == saved
    assert json.loads(run("load", "monday").out) == state
    listed = run("--json").json
    assert [one["thread_id"] for one in listed["items"]] == ["monday"]
    assert "monday" in run("list").out
    assert run("delete", "monday", "--expect", 1).code == 4
    assert run("delete", "monday", "--expect", 2, "--json").json == {
        "thread_id": "monday",
        "deleted": True,
    }
    assert run("delete", "monday").out == "Nothing is saved for monday.\n"
    assert "No checkpoints" in run("list").out


@pytest.mark.requirement("checkpoints.states")
@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (("load", "nothing"), "", 3, "no checkpoint of thread 'nothing'"),
        (("save", "t"), "{broken", 2, "not JSON in UTF-8"),
        (("save", "t"), "NaN", 2, "is not JSON"),
        (("save", "t", "/no/such/file"), "", 2, "cannot be read"),
        (("save", "t", "--expect", "4"), "1", 4, "has none; version 4 was expected"),
    ],
)
def test_mistakes(
    sqlite_url: str, arguments: tuple[str, ...], stdin: str, code: int, message: str
) -> None:
    ran = ricordo("checkpoint", *arguments, "--db", sqlite_url, "--json", stdin=stdin)
    assert ran.code == code
    assert message in ran.error["message"]
