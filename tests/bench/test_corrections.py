"""What ``python -m bench corrections`` asks, and how it judges what is shown."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from bench.corrections.conversations import NEW, OLD, Correction, corrections, tables, wordings
from bench.corrections.measure import Judge, Line, outcomes, prompt_lines

MOVED = next(one for one in corrections(1, 1))
"""Any; what matters here is replaced."""


def changed(old: str, new: str | None, correcting: str) -> Correction:
    return replace(MOVED, language="en", old=old, new=new, correcting=correcting)


def test_the_same_seed_makes_the_same_corrections() -> None:
    made = list(corrections(200, 1))
    assert made[:60] == list(corrections(60, 1))
    assert made != list(corrections(200, 2))
    languages = Counter(one.language for one in made)
    assert (languages["en"], languages.total()) == (160, 200)
    assert {one.wording.how for one in made} == {"change", "mistake", "taken back"}
    assert len({one.kind for one in made}) >= 25
    by_way: dict[str, set[str]] = {}
    for one in made:
        by_way.setdefault(one.wording.way, set()).add(one.kind)
    assert min(map(len, by_way.values())) > 1


def test_a_correction_comes_after_what_it_corrects() -> None:
    for one in corrections(300, 3):
        said = [message for step in one.steps for message in step.messages]
        (stating,) = (place for place, each in enumerate(said) if each.get("id") == OLD)
        (correcting,) = (place for place, each in enumerate(said) if each.get("id") == NEW)
        assert stating < correcting and said[correcting]["content"] == one.correcting
        assert one.has(one.old, said[stating]["content"])
        assert one.new is None or one.has(one.new, one.correcting)
        assert not any("{" in each["content"] or "the a " in each["content"] for each in said)
        assert sum((step.after for step in one.steps), timedelta()) < timedelta(days=30)


@pytest.mark.parametrize("language", ["en", "id", "de", "es"])
def test_every_kind_has_several_ways_and_its_values_alone(language: str) -> None:
    table = tables()[language]
    fillers = [*table["talk"], *table["facts"], table["replies"]]
    for kind in table["kinds"]:
        found = wordings(table, kind)
        assert {one.how for some in found.values() for one in some} == set(kind["hows"])
        assert sum(map(len, found.values())) > 1
        for text in (*kind["ask"], *(text for one in fillers for text in one)):
            assert not any(MOVED.has(value, text) for value in kind["values"]), text


ACME = changed("Acme", "Globex", "I left Acme, I'm at Globex now.")
STEAK = changed("steak", None, "I don't eat meat any more.")
MARKED = "I work at Acme [no longer current since 1 March 2026: “User works at Acme.”]"
DATED_OLD, DATED_NEW = Line("- 1 March 2026 At Acme", True), Line("- 2 March 2026 At Globex", True)


@pytest.mark.parametrize(
    ("correction", "lines", "verdict"),
    [
        (ACME, [Line("Works at Acme"), Line("Works at Globex")], "stale"),
        (ACME, [Line("Works at Acme")], "stale"),
        (ACME, [Line("Works at Globex"), Line("Works at Acme")], "both"),
        (ACME, [Line(ACME.correcting), Line(MARKED)], "current"),
        (ACME, [Line("Likes tea"), Line(MARKED)], "nothing"),
        (ACME, [Line("User left Acme")], "current"),
        (ACME, [Line("Works at Acmeville")], "nothing"),
        (ACME, [Line(f"{MARKED[:-1]}; now: “At Globex” #4]")], "current"),
        (ACME, [Line("At Acme [no longer current since 1 March 2026: “Lives in Rome”]")], "stale"),
        (ACME, [DATED_OLD, DATED_NEW], "both"),
        (ACME, [Line("Works at Acme"), DATED_OLD, DATED_NEW], "stale"),
        (ACME, [DATED_OLD], "stale"),
        (STEAK, [Line("Loves steak"), Line(STEAK.correcting)], "stale"),
        (STEAK, [Line(STEAK.correcting), Line("Loves steak")], "current"),
        (STEAK, [Line("Loves tea")], "current"),
        (STEAK, [Line("- 1 March 2026 Loves steak", True)], "stale"),
    ],
)
def test_the_class_of_what_is_shown(
    correction: Correction, lines: list[Line], verdict: str
) -> None:
    assert Judge(correction, ["User left Acme"]).verdict(lines) == verdict


def test_how_old_and_new_are_stored() -> None:
    judge = Judge(ACME, ["Worked at Acme"])  # repeats the old value, and not that it is over
    assert judge.states([("active", "Worked at Acme")]) == "old active, new not stored"
    stored = [("superseded", "Works at Acme"), ("waits", "Is at Globex"), ("active", "Likes tea")]
    assert judge.states(stored) == "old superseded, new waits"


def test_the_lines_of_a_prompt() -> None:
    system = (
        "Now: Monday.\n\nWhat is known:\n<ricordo-memory>\nWork: Is a nurse. Has a dog.\n"
        "</ricordo-memory>\n\nSaid:\n<ricordo-memory>\n- 1 March 2026, user: Hello. Bye.\n"
        "</ricordo-memory>"
    )
    assert prompt_lines(system) == [
        Line("Work: Is a nurse."),
        Line("Has a dog."),
        Line("- 1 March 2026, user: Hello. Bye.", is_dated=True),
    ]


def test_every_path_shows_something() -> None:
    (found,) = outcomes([next(one for one in corrections(50, 1) if one.place == "later thread")])
    assert set(found.verdicts) == set(found.shown)
    assert {"search_turns", "context", "proxy"} <= {
        path for path, lines in found.shown.items() if lines
    }
    assert found.memories
