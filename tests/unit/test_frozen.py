"""Classes of ``ricordo.frozen`` beside the same ones of the standard library."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from ricordo.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    name: str
    tags: list[str] = field(default_factory=list, compare=False)
    hidden: int = field(default=3, repr=False)
    size: int = field(default=0, kw_only=True)
    twice: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", self.size * 2)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    tags: list[str] = field(default_factory=list, compare=False)
    hidden: int = field(default=3, repr=False)
    size: int = field(default=0, kw_only=True)
    twice: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", self.size * 2)


@dataclass(frozen=True, kw_only=True)
class Longer(Ours):
    more: str = "m"


@dataclass(frozen=True)
class Unhashed:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashed)

    def __hash__(self) -> int:
        return 7


def test_made_shown_and_compared_as_by_the_standard_library() -> None:
    for args, given in [(("a",), {}), (("a", ["t"], 4), {"size": 2}), ((), {"name": "b"})]:
        ours, theirs = Ours(*args, **given), Theirs(*args, **given)
        assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
        assert hash(ours) == hash(theirs)
        assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        assert ours == Ours(*args, **given) != theirs
        assert dataclasses.replace(ours, name="c") == Ours(
            "c", ours.tags, ours.hidden, size=ours.size
        )
    assert Ours("a", ["x"]) == Ours("a", ["y"]) != Ours("a", hidden=4)
    assert Ours("a").tags is not Ours("a").tags
    assert Ours.__match_args__ == Theirs.__match_args__
    assert list(inspect.signature(Ours).parameters) == list(inspect.signature(Theirs).parameters)
    assert repr(Longer("a")) == "Longer(name='a', tags=[], size=0, twice=0, more='m')"
    assert hash(Unhashed("a")) == 7


@pytest.mark.parametrize("args", [(), ("a", [], 1, 2), ("a", [], 1, 2, 3)])
def test_wrong_arguments_are_refused(args: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Ours(*args)


@pytest.mark.parametrize("one", [Ours("a", size=1), Longer("a", more="n")])
def test_nothing_of_it_changes_and_copies_are_equal(one: Ours) -> None:
    with pytest.raises(FrozenInstanceError, match="'name'"):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="'name'"):
        del one.name
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
