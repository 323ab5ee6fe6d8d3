"""``ricordo bench formation``: anybody's labelled conversations, without a model and with one."""

import json
from pathlib import Path
from typing import Any

import pytest

from ricordo.testing import ModelServer
from tests.support.commandline import ricordo
from tests.support.endpoints import FaultyModel
from tests.support.scripted_model import read_tastes

pytestmark = pytest.mark.requirement("bench.formation")


def fact(*words: str, **other: Any) -> dict[str, Any]:
    return {"what": "anything", "must_contain": words, **other}


def labelled(name: str, said: str, *facts: dict[str, Any], **other: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": said}, {"role": "assistant", "content": "I see."}]
    return {"id": name, "language": "en", "turns": turns, "facts": facts, **other}


SMALL = [
    labelled("home", "I live in Bekasi.", fact("Bekasi", type=["fact"], sensitive="city")),
    labelled("tea", "I love tea.", fact("tea"), category="drinks", note="free text"),
    labelled("snow", "I love snow.", never=["snow"], nothing=True, language="tlh"),
]


def written(path: Path, *lines: object) -> Path:
    whole = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    path.write_text(whole + "\n", encoding="utf-8")
    return path


def test_without_a_model_for_people_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "ollama")  # does not take part
    path = written(tmp_path / "small.jsonl", *SMALL)
    shown = ricordo("bench", "formation", "--path", path, "--errors")
    assert (shown.code, shown.err) == (0, "Read without a model.\n")
    head, every, *_ = (" ".join(line.split()) for line in shown.out.splitlines())
    columns = "Conversations Precision Recall Stored Expected Leaked ms/turn p50 p95"
    assert head == f"Set Language {columns}"
    assert every.split()[1:8] == ["all", "3", "0.667", "1.000", "3", "2", "1"]
    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["wrong", "leaked"]

    found = ricordo("bench", "formation", "--path", path, "--json").json
    assert (found["model"], found["mistakes"]) == (None, None)
    whole, english, klingon = found["rows"]
    assert (whole["right"], whole["found"], whole["model_calls"]) == (2, 2, 0)
    assert (english["language"], english["precision"], english["leaked"]) == ("en", 1.0, 0)
    assert (klingon["language"], klingon["precision"], klingon["leaked"]) == ("tlh", 0.0, 1)
    assert whole["per_turn"]["calls"] == 3 and whole["per_turn"]["p50_ms"] > 0


def test_files_and_folders_in_turn_and_the_first_of_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    alone = written(tmp_path / "alone.jsonl", *SMALL)
    written(folder / "b.jsonl", *SMALL[1:])
    written(folder / "a.jsonl", SMALL[0], "")
    paths = ("--path", alone, "--path", folder)
    rows = ricordo("bench", "formation", *paths, "--limit", 1, "--json").json["rows"]
    counts = [(row["set_name"], row["conversations"]) for row in rows if row["language"] == "all"]
    assert counts == [(str(alone), 1), (str(folder), 2)]


def test_with_a_model_its_calls_and_tokens_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "small.jsonl", *SMALL)
    with ModelServer() as server:
        server.answer_with(read_tastes)
        model = ("--model", "scripted", "--base-url", server.base_url, "--api-key", "k")
        found = ricordo("bench", "formation", "--path", path, *model, "--errors", "--json").json
        shown = ricordo("bench", "formation", "--path", path, *model)
    assert {one.headers["authorization"] for one in server.requests} == {"Bearer k"}
    assert found["model"] == "custom_http:scripted"
    whole = found["rows"][0]
    assert whole["model_calls"] == len(server.requests) / 2 == 3
    assert whole["prompt_tokens"] > whole["completion_tokens"] > 0
    kinds = {(one["kind"], one["conversation"]) for one in found["mistakes"]}
    assert kinds == {("wrong", "snow"), ("leaked", "snow")}
    assert shown.out.splitlines()[0].endswith("Calls  Tokens in  Tokens out  Failed")


def test_a_model_that_fails(tmp_path: Path) -> None:
    path = written(tmp_path / "small.jsonl", *SMALL)
    with FaultyModel() as server:
        server.answer_nonsense()
        model = ("--model", "scripted", "--base-url", server.base_url)
        found = ricordo("bench", "formation", "--path", path, *model, "--errors", "--json").json
        assert found["rows"][0]["failed"] == 3
        assert {one["kind"] for one in found["mistakes"]} == {"missed", "failed"}
        server.fail_next(10, status=401)
        refused = ricordo("bench", "formation", "--path", path, *model, "--json")
        assert (refused.code, refused.error["error"]) == (8, "ModelRefused")

        def then_refuses(body: dict[str, Any]) -> dict[str, Any] | str:
            server.fail_next(10, status=401)
            return read_tastes(body)

        server.answer_rightly()
        server.answer_with(then_refuses)
        found = ricordo("bench", "formation", "--path", path, *model, "--json").json
        assert found["rows"][0]["failed"] == 2
    lonely = ricordo("bench", "formation", "--path", path, "--api-key", "k", "--json")
    assert (lonely.code, lonely.error["error"]) == (2, "InvalidValue")


TURN = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object, got a list"),
        ({**SMALL[0], "fact": []}, "'fact' is not one of: id, language, category, turns, facts,"),
        ({**SMALL[0], "language": ""}, "language: must not be empty"),
        ({**SMALL[0], "turns": []}, "turns: there are none"),
        ({**SMALL[0], "turns": [{**TURN, "role": "bot"}]}, "turns 1, role: 'bot' is not one of:"),
        (labelled("x", "y", fact()), "facts 1, must_contain: name at least one word"),
        (labelled("x", "y", fact("")), "a word is empty"),
        (labelled("x", "y", fact("a"), fact("a", type="fat")), "facts 2, type: 'fat' is not one"),
        (labelled("x", "y", fact("a", sensitive="wealth")), "is not one of: preferred_name, "),
        (labelled("x", "y", fact("a", explicit=1)), "explicit: expected true or false, got a numb"),
        (labelled("x", "y", fact("a"), nothing=True), "nothing: must be true without facts"),
        (SMALL[1], "id: 'tea' is there twice"),
    ],
)
def test_a_line_that_breaks_the_format_is_refused_with_its_place(
    tmp_path: Path, line: object, said: str
) -> None:
    path = written(tmp_path / "set.jsonl", SMALL[1], "", line)
    refused = ricordo("bench", "formation", "--path", path, "--json")
    assert (refused.code, refused.error["error"]) == (2, "ImportFailed")
    assert f"{path}, line 3" in refused.error["message"]
    assert said in refused.error["message"]


def test_a_path_without_conversations_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl", written(tmp_path / "blank.jsonl", "")):
        refused = ricordo("bench", "formation", "--path", path, "--json")
        assert (refused.code, refused.error["error"]) == (2, "ImportFailed")
