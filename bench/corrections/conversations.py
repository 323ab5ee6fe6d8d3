"""Small conversations in which a user corrects a fact, made of ``conversations.toml``.

The same seed makes the same ones, and fewer of them are the first of more.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.resources import files
from itertools import cycle
from random import Random
from typing import Any, Final

OLD: Final = "old"
NEW: Final = "new"
"""The ids of the messages with the old and with the new statement."""
TAKEN_BACK: Final = "taken back"
_MISTAKE: Final = "mistake"
_OTHER_LANGUAGES: Final = ("id", "de", "es")
_EVERY: Final = 5
"""Every fifth is in another language than English."""
_OWN: Final = {"change": "changed", TAKEN_BACK: "withdrawn"}
"""Where a kind has wordings of its own."""
_ECHOED: Final = 1 / 3
_MINUTE: Final = timedelta(minutes=1)
_SENTENCE: Final = re.compile(r"(^|[.!?] )(\w)")

Table = Mapping[str, Any]
Messages = tuple[dict[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say a correction; ``is_next`` only makes sense right after what it corrects."""

    way: str
    how: str
    text: str
    is_own: bool = False
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What is said at one time, so long after the step before."""

    after: timedelta
    thread: str
    messages: Messages


@dataclass(frozen=True, slots=True)
class Correction:
    """A conversation and the question after it. Without a ``new`` value the old one is only taken
    back. ``is_echoed``: the assistant repeats values.
    """

    number: int
    language: str
    kind: str
    wording: Wording
    place: str
    is_echoed: bool
    old: str
    new: str | None
    correcting: str
    steps: tuple[Step, ...]
    question: str

    def has(self, value: str | None, text: str) -> bool:
        return value is not None and _alone(value).search(text) is not None

    def says_over(self, text: str) -> bool:
        """Whether a text says that something is over."""
        return _alone(tables()[self.language]["away"], is_pattern=True).search(text) is not None

    def transcript(self) -> Iterator[str]:
        thread = ""
        for step in self.steps:
            if step.thread != thread or step.after.days:
                thread = step.thread
                yield f"[{thread} thread, {step.after.days} days later]"
            yield from (f"{one['role']}: {one['content']}" for one in step.messages)


@cache
def tables() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("conversations.toml").read_text("utf-8"))


@cache
def _alone(words: str, *, is_pattern: bool = False) -> re.Pattern[str]:
    wanted = words if is_pattern else re.escape(words)
    return re.compile(rf"(?<!\w)(?:{wanted})(?!\w)", re.IGNORECASE)


def corrections(count: int, seed: int) -> Iterator[Correction]:
    """So many corrections: kinds of facts take turns, and so do the ways to correct each."""
    languages = ("en", *_OTHER_LANGUAGES)
    choices = {one: _choices(tables()[one], Random(f"{seed} {one}")) for one in languages}
    others = cycle(_OTHER_LANGUAGES)
    for number in range(count):
        language = next(others) if number % _EVERY == _EVERY - 1 else "en"
        yield _made(number, language, *next(choices[language]), Random(f"{seed} {number}"))


def _choices(table: Table, random: Random) -> Iterator[tuple[Table, Wording]]:
    ways = {kind["name"]: wordings(table, kind) for kind in table["kinds"]}
    left: dict[str, list[str]] = defaultdict(list)
    while True:
        for kind in random.sample(table["kinds"], len(table["kinds"])):
            name = kind["name"]
            left[name] = left[name] or random.sample(sorted(ways[name]), len(ways[name]))
            yield kind, random.choice(ways[name][left[name].pop()])


def wordings(table: Table, kind: Table) -> dict[str, list[Wording]]:
    """The ways to correct a fact of this kind, by name: its own, and those that fit it."""
    fitting = _clauses(kind, "", "").keys()
    found = [
        Wording(f"own words: {how}", how, text, is_own=True)
        for how in kind["hows"]
        for text in kind.get(_OWN.get(how, ""), ())
    ]
    found += [
        Wording(way["name"], way["how"], text, is_next=way.get("place") == "next")
        for way in table["ways"]
        for text in way["text"]
        if way["how"] in kind["hows"] and fitting >= set(re.findall(r"{(\w+)}", text))
    ]
    return {way: [one for one in found if one.way == way] for way in {one.way for one in found}}


def _clauses(kind: Table, old: str, new: str) -> dict[str, str]:
    texts = {
        "old": (kind.get("np", "{v}"), old),
        "new": (kind.get("np", "{v}"), new),
        "says_old": (kind.get("says"), old),
        "says_new": (kind.get("says"), new),
        "now_new": (kind.get("now"), new),
        "ended": (kind.get("ended"), old),
        "topic": (kind.get("topic"), ""),
    }
    return {name: text.format(v=value) for name, (text, value) in texts.items() if text}


def _made(number: int, language: str, kind: Table, wording: Wording, random: Random) -> Correction:
    table = tables()[language]
    old, new = random.sample(kind["values"], 2)
    has_new, is_echoed = wording.how != TAKEN_BACK, random.random() < _ECHOED
    values = {"v": old, "old": old, "new": new}
    correcting = wording.text.format(**values if wording.is_own else _clauses(kind, old, new))
    stating = random.choice(kind["old"]).format(v=old)
    places = ("at once", "next message") if wording.is_next else ("same thread", "later thread")
    place = random.choice(places)

    def answer(value: str, *, repeats: bool) -> str:
        return str(random.choice(table["echoes" if repeats else "replies"])).format(v=value)

    said = _exchange(stating, answer(old, repeats=is_echoed), id=OLD)
    corrected = _exchange(correcting, answer(new, repeats=is_echoed and has_new), id=NEW)
    others = random.sample([*table["talk"], *table["facts"]], 8)
    fillers = iter([_exchange(*one) for one in others])
    return Correction(
        number=number,
        language=language,
        kind=kind["name"],
        wording=wording,
        place=place,
        is_echoed=is_echoed,
        old=old,
        new=new if has_new else None,
        correcting=corrected[0]["content"],
        steps=tuple(_steps(place, wording.how == _MISTAKE, said, corrected, fillers, random)),
        question=random.choice(kind["ask"]),
    )


def _steps(
    place: str,
    is_mistake: bool,
    said: Messages,
    corrected: Messages,
    fillers: Iterator[Messages],
    random: Random,
) -> Iterator[Step]:
    """With something else before, between and after. A mistake is noticed soon."""
    days = timedelta(days=random.randint(1, 3) if is_mistake else random.randint(4, 20))
    thread = "first"
    yield Step(timedelta(), thread, next(fillers))
    yield Step(_MINUTE, thread, said)
    if place == "at once":  # before anything is formed
        yield Step(_MINUTE / 10, thread, corrected)
    elif place == "next message":
        yield Step(_MINUTE, thread, corrected)
    else:
        yield Step(_MINUTE, thread, next(fillers) + next(fillers))
        if place == "later thread":
            thread = "second"
            yield Step(days, thread, next(fillers))
            days = _MINUTE
        yield Step(10 * _MINUTE if is_mistake else days, thread, corrected)
    yield Step(_MINUTE, thread, next(fillers))
    yield Step(timedelta(days=1), "third", next(fillers) + next(fillers))


def _exchange(text: str, answer: str, **named: str) -> Messages:
    said = {"role": "user", "content": _capitalised(text), **named}
    return said, {"role": "assistant", "content": _capitalised(answer)}


def _capitalised(text: str) -> str:
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)
