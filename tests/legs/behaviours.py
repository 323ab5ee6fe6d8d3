"""The manifest of behaviours: what every leg must do, in words of its own that belong to none.

A behaviour is a sentence and the steps that show it. A step does an operation for a user and says
what comes of it: what is given back, in the few fields that every leg has, or the error. ``Ref``
stands for the id of a memory that an earlier step of the same behaviour has added.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ref:
    """The id of what the step of this name has added."""

    name: str


@dataclass(frozen=True)
class Refused:
    """An error: its kind, and what it says; None where the surface itself checks the shape of
    what it is sent, and says so in its own words."""

    kind: str
    message: str | None


@dataclass(frozen=True)
class Step:
    """One operation of one user, and what comes of it."""

    operation: str
    arguments: Mapping[str, Any]
    gives: Any
    named: str | None = None
    user: str = "ana"


@dataclass(frozen=True)
class Behaviour:
    """What every leg does."""

    id: str
    says: str
    steps: tuple[Step, ...]


def do(
    operation: str, gives: Any, *, named: str | None = None, user: str = "ana", **arguments: Any
) -> Step:
    return Step(operation, arguments, gives, named, user)


def new(name: str) -> dict[str, Any]:
    return {"id": Ref(name), "status": "active", "duplicate": False, "updated": False}


def hit(name: str, theme: str, content: str, kind: str = "fact") -> dict[str, Any]:
    return {"id": Ref(name), "theme": theme, "type": kind, "content": content}


def whole(shown: dict[str, Any], status: str = "active", *tags: str) -> dict[str, Any]:
    return {**shown, "tags": list(tags), "status": status, "key": None}


def none(name: str) -> Refused:
    return Refused("MemoryNotFound", f"no memory {name}")


TEA = hit("tea", "hot-drinks", "Drinks green tea ☕", "preference")
NO_TYPE = (
    "type: 'idea' is not one of: preference, fact, instruction, summary, insight, episode,"
    " procedure, other"
)
CAR = hit("car", "cars", "Drives a blue car")
TEXT = '彼女は"お茶"が好き\nмного чая 🍵 --json'


BEHAVIOURS = (
    Behaviour(
        "kept",
        "What is added comes back whole, under its theme in any spelling.",
        (
            do(
                "add",
                new("tea"),
                named="tea",
                content="  Drinks green tea ☕ ",
                theme="Hot Drinks",
                type="preference",
                tags=["drink", "daily"],
            ),
            do("get", whole(TEA, "active", "drink", "daily"), id=Ref("tea")),
            do("search", [TEA], query="green tea", theme="hot drinks"),
        ),
    ),
    Behaviour(
        "general",
        "What has no theme is filed under general.",
        (
            do("add", new("cat"), named="cat", content="Has a cat", user="gil"),
            do("themes", {"general": 1}, user="gil"),
        ),
    ),
    Behaviour(
        "duplicate",
        "The same text in the same theme is not kept twice.",
        (
            do("add", new("chess"), named="chess", content="Plays chess", theme="games"),
            do("add", {**new("chess"), "duplicate": True}, content="Plays chess", theme="games"),
            do("list", [hit("chess", "games", "Plays chess")], theme="games"),
        ),
    ),
    Behaviour(
        "keyed",
        "What has a key is replaced by what has the same key, and forgotten by it.",
        (
            do("add", new("home"), named="home", content="Parks in bay 7", key="h", theme="k"),
            do(
                "add",
                {**new("home"), "updated": True},
                content="Parks in bay 9",
                key="h",
                theme="k",
            ),
            do("list", [hit("home", "k", "Parks in bay 9")], theme="k"),
            do("forget", [Ref("home")], key="h", theme="k"),
            do("list", [], theme="k"),
            do("get", none("{home}"), id=Ref("home")),
        ),
    ),
    Behaviour(
        "newest",
        "A search for * gives the newest first, as many as are asked for.",
        (
            do("add", new("one"), named="one", content="First note", theme="row"),
            do("add", new("two"), named="two", content="Second note", theme="row"),
            do("search", [hit("two", "row", "Second note")], query="*", theme="row", limit=1),
        ),
    ),
    Behaviour(
        "archived",
        "What is archived is found only where it is asked for.",
        (
            do("add", new("car"), named="car", content="Drives a blue car", theme="cars"),
            do("archive", {"id": Ref("car"), "status": "archived"}, id=Ref("car"), reason="sold"),
            do("search", [], query="car", theme="cars"),
            do("search", [CAR], query="car", theme="cars", status="any"),
            do("get", whole(CAR, "archived"), id=Ref("car")),
        ),
    ),
    Behaviour(
        "query",
        "A question gets bullets of its categories.",
        (
            do("add", new("boat"), named="boat", content="Sails a small boat", theme="sea"),
            do(
                "query",
                [{"id": Ref("boat"), "category": "sea", "text": "[sea] Sails a small boat"}],
                query="what does she sail?",
                categories=["sea"],
                top_k=1,
            ),
        ),
    ),
    Behaviour(
        "profile",
        "A field that is sensitive waits for consent.",
        (do("profile", {"city": "proposed"}, fields={"city": "Lisbon"}, user="eva"),),
    ),
    Behaviour(
        "tongues",
        "Text in any script, with quotes and line breaks, comes back as it was.",
        (
            do("add", new("text"), named="text", content=TEXT, theme="текст"),
            do("get", whole(hit("text", "текст", TEXT)), id=Ref("text")),
        ),
    ),
    Behaviour(
        "own",
        "What is another user's answers like what does not exist, and stays as it was.",
        (
            do("add", new("owl"), named="owl", content="Saw an owl", theme="birds", user="ben"),
            *(do(asked, none("{owl}"), id=Ref("owl")) for asked in ("get", "archive", "forget")),
            *(do(one, none("999999"), id=999_999) for one in ("get", "archive", "forget")),
            do("forget", none("with key 'nothing'"), key="nothing"),
            do("search", [], query="owl", theme="birds"),
            do("query", [], query="owl", categories=["birds"]),
            do("search", [hit("owl", "birds", "Saw an owl")], query="owl", user="ben"),
        ),
    ),
    Behaviour(
        "refused",
        "A value that is not allowed is refused with what is, and nothing is kept.",
        (
            do(
                "add",
                Refused(
                    "InvalidValue", "content: must not be empty; allowed: 1 to 8000 characters"
                ),
                content="   ",
                theme="no",
            ),
            do("add", Refused("InvalidValue", None), content="x" * 8_001, theme="no"),
            do("add", Refused("InvalidValue", NO_TYPE), content="x", type="idea", theme="no"),
            do("search", Refused("InvalidValue", None), query="tea", limit=51),
            do("query", Refused("InvalidValue", None), query="tea", top_k=0),
            do("list", [], theme="no"),
        ),
    ),
)
