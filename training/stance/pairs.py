"""Pairs of an earlier statement and a later one, with one of four labels.

Written ones in ``data``; and plain ones, made from its ``frames.json``, which the written ones have
too few of: of an attribute with one value at a time another value ends the old one, of one with
several it does not; a denial ends the value that it names and no other.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

LABELS = ("replaced", "same", "refined", "other")
OLD_TOKENS, NEW_TOKENS = 48, 64
FIRST, BETWEEN = 101, 102  # marks of the tokenizer
HELD = "pairs-d.jsonl"
EVERY = 8  # of what was said in conversations, every so many-th statement is held back
FOLDER = Path(__file__).parent / "data"
MEMORIES = Path(__file__).parents[1] / "ranker" / "data" / "memories.jsonl"
LONG = Path(__file__).parents[1] / "ranker" / "data" / "long.jsonl"
HELD_LONG = (2, 5, 8, 11)
_END = re.compile(r"(?<=[.!?])\s+")
_SHORT, _LONGEST = 12, 300
_CHANGE = re.compile(
    r"\b(?:now|since|any ?more|no longer|from now on|gave up|given up|stopp?e?d?|moved|quit"
    r"|cancel\w*|chang\w+|instead|again|wrong|correction|actually|used to|not .* but)\b",
    re.IGNORECASE,
)
_DATA: dict[str, Any] = json.loads((FOLDER / "frames.json").read_text(encoding="utf-8"))
VALUES: dict[str, list[str]] = _DATA["values"]
FRAMES: dict[str, list[str]] = _DATA["frames"]


class Pair(NamedTuple):
    old: str
    new: str
    label: str


class Attribute(NamedTuple):
    """``told``: the frames of a memory; ``said``: how a user says it; ``ended``: how it ends."""

    values: str
    told: list[str]
    said: list[str]
    ended: list[str]
    detail: list[str]
    is_single: bool


ATTRIBUTES = [Attribute(**one) for one in _DATA["attributes"].values()]


def _lower(text: str) -> str:
    return text if text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def _in_third_person(said: str) -> str:
    for mine, theirs in (
        ("I'm ", "User is "),
        ("I've ", "User has "),
        ("I don't", "User does not"),
    ):
        said = said.replace(mine, theirs)
    return said.replace("I ", "User ").replace("my ", "User's ")


def pairs_of(one: Attribute, rng: random.Random) -> Iterator[Pair]:
    around = {"p": rng.choice(VALUES["projects"]), "c": rng.choice(VALUES["cities"])}

    def filled(frames: list[str], value: str) -> str:
        return rng.choice(frames).format(v=value, **around)

    a, b = rng.sample(VALUES[one.values], 2)
    old = filled([*one.told, *one.told, *one.said], a)
    old = old[:1].upper() + old[1:]
    mine, theirs, lead = filled(one.said, a), filled(one.said, b), rng.choice(FRAMES["leads"])
    if_another = "replaced" if one.is_single else "other"
    yield Pair(old, f"{lead}{theirs}", if_another)
    yield Pair(old, filled(one.told, b), if_another)
    yield Pair(old, f"{lead}{mine}", "same")
    if one.detail:
        yield Pair(old, f"{mine}, {rng.choice(one.detail)}", "refined")
    if one.is_single:
        marked = rng.choice(FRAMES["marked"]).format(s=theirs, l=_lower(theirs))
        yield Pair(old, marked, "replaced")
        named = [frame for frame in one.said if "{p}" in frame]
        if named:
            elsewhere = rng.choice([name for name in VALUES["projects"] if name != around["p"]])
            about = rng.choice([frame for frame in one.told if "{p}" in frame])
            new = rng.choice(named).format(v=b, p=elsewhere, c=around["c"])
            yield Pair(about.format(v=a, **around), new, "other")
    if one.is_single or one.ended:
        yield Pair(old, rng.choice(FRAMES["changes"]).format(a=a, b=b), "replaced")
    if one.ended:
        ended = filled(one.ended, a)
        yield Pair(old, f"{lead}{ended}", "replaced")
        yield Pair(old, _in_third_person(ended), "replaced")
        yield Pair(old, filled(one.ended, b), "other")
    yield Pair(old, rng.choice(FRAMES["unreal"]).format(l=_lower(theirs)), "other")
    other = rng.choice([each for each in ATTRIBUTES if each is not one])
    value = rng.choice(VALUES[other.values])
    yield Pair(old, filled([*other.said, *other.told], value), "other")
    if other.ended:
        yield Pair(old, filled(other.ended, value), "other")


def special(rng: random.Random) -> Iterator[Pair]:
    """Pairs across attributes that look alike, and denials of a whole class."""
    for old, new, label in _DATA["special"]:
        texts = []
        for frame in (old, rng.choice(new.split(" / "))):
            names = [name for _, name, _, _ in Formatter().parse(frame) if name]
            texts.append(frame.format(**{name: rng.choice(VALUES[name]) for name in names}))
        yield Pair(*texts, label)


def plain_pairs(rounds: int, seed: int) -> list[Pair]:
    rng = random.Random(seed)
    found = [pair for _ in range(rounds) for one in ATTRIBUTES for pair in pairs_of(one, rng)]
    found += [pair for _ in range(rounds) for pair in special(rng)]
    return list(dict.fromkeys(found))


def written(*, is_held: bool) -> list[Pair]:
    """English ones, of statements as they are stored."""
    files = sorted(path for path in FOLDER.glob("pairs-*.jsonl") if (path.name == HELD) == is_held)
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return [Pair(**json.loads(line)) for line in lines]


def spoken() -> dict[str, list[tuple[Pair, bool]]]:
    """Messages in conversations, by language, and which of them are held back."""
    found = defaultdict(list)
    for path in sorted(FOLDER.glob("spoken-*.jsonl")):
        olds: dict[str, int] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            read = json.loads(line)
            number = olds.setdefault(read["old"], len(olds))
            pair = Pair(read["old"], read["new"], read["label"])
            found[read["lang"]].append((pair, number % EVERY == EVERY - 1))
    return found


def stories(*, is_held: bool) -> Iterator[list[tuple[int, str]]]:
    """What each speaker of a long conversation says: whole turns and their sentences, with the
    number of the turn.
    """
    for number, line in enumerate(LONG.read_text(encoding="utf-8").splitlines()):
        if (number in HELD_LONG) != is_held:
            continue
        by: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for place, (_, who, text) in enumerate(json.loads(line)["turns"]):
            said = [one for one in _END.split(text) if len(one) > _SHORT and one[-1] != "?"]
            by[who] += [(place, one) for one in dict.fromkeys([text, *said]) if len(one) < _LONGEST]
        yield from by.values()


def told() -> list[Pair]:
    """Of those stories, what tells of a change and is near to what was said before."""
    lines = (FOLDER / "told.jsonl").read_text(encoding="utf-8").splitlines()
    return [Pair(**json.loads(line)) for line in lines]


def tells_change(text: str) -> bool:
    return _CHANGE.search(text) is not None


def unrelated(pairs: list[Pair], chance: random.Random) -> list[Pair]:
    """Statements of different families, and memories of one person."""
    found = []
    for _ in range(len(pairs)):
        one, other = chance.choice(pairs), chance.choice(pairs)
        if one.old != other.old:
            found.append(Pair(one.old, other.new, "other"))
    for line in MEMORIES.read_text(encoding="utf-8").splitlines():
        memories = json.loads(line)["memories"]
        found += [Pair(*chance.sample(memories, 2), "other") for _ in range(50)]
    return found
