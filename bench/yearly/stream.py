"""What one user says and asks in the course of time, made up; the same for the same seed.

Statements are of invented words, so that two of them are about the same only where they are meant
to be: a light rewording of an earlier one, or a change of an earlier favourite.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ricordo_bench.stores import TOPIC_NAMES

_FACTS_A_DAY: Final = 0.4
_REWORDINGS_A_DAY: Final = 0.2
_FAVOURITES_A_DAY: Final = 0.05
_UPDATES_A_DAY: Final = 0.05
_SEARCHES_A_DAY: Final = 0.2
_TOPICS: Final = 5
_TOPIC_WORDS: Final = 40
_PINNED_SHARE: Final = 0.02
_EXPLICIT_SHARE: Final = 0.1
_RECENT: Final = 60  # statements that are reworded, changed or asked for
_IMPORTANCES: Final = (1, 2, 3, 4)
_IMPORTANCE_WEIGHTS: Final = (35, 50, 10, 5)
_VERBS: Final = ("kept", "stored", "mended", "washed", "painted", "grown", "sorted", "counted")
_DAYS: Final = ("mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays")
_FILLERS: Final = ("usually", "mostly", "often", "normally")
_SYLLABLES: Final = tuple(f"{onset}{vowel}" for onset in "bdfgklmnprstvz" for vowel in "aeiou")


class Kind(StrEnum):
    """What a user does."""

    FACT = "fact"
    REWORDING = "rewording"
    FAVOURITE = "favourite"
    UPDATE = "update"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a user says or asks. ``minute`` is when, counted from midnight."""

    kind: Kind
    minute: int
    text: str
    theme: str
    importance: int = 2
    is_pinned: bool = False
    is_explicit: bool = False


class Stream:
    """One user's days, one after the other."""

    def __init__(self, user: str) -> None:
        self._random = random.Random(f"year of {user}")
        self._topics = self._random.sample(TOPIC_NAMES, _TOPICS)
        self._words = {topic: [self._word() for _ in range(_TOPIC_WORDS)] for topic in self._topics}
        self._said: list[Action] = []
        self._favourites: list[tuple[str, str]] = []

    def day(self) -> list[Action]:
        """What happens on the next day, in order."""
        done = sorted(self._events(), key=lambda action: action.minute)
        self._said += [one for one in done if one.kind is not Kind.SEARCH]
        del self._said[:-_RECENT]
        return done

    def _events(self) -> Iterator[Action]:
        for _ in range(self._times(_FACTS_A_DAY)):
            yield self._stated(Kind.FACT, *self._fact())
        for _ in range(self._times(_FAVOURITES_A_DAY)):
            yield self._stated(Kind.FAVOURITE, *self._favourite(None))
        if self._favourites and self._happens(_UPDATES_A_DAY):
            known = self._random.choice(self._favourites)
            yield self._stated(Kind.UPDATE, *self._favourite(known))
        facts = [one for one in self._said if one.kind is Kind.FACT]
        if facts and self._happens(_REWORDINGS_A_DAY):
            earlier = self._random.choice(facts)
            yield self._stated(Kind.REWORDING, self._reworded(earlier.text), earlier.theme)
        if self._said and self._happens(_SEARCHES_A_DAY):
            earlier = self._random.choice(self._said)
            asked = " ".join(self._random.sample(earlier.text.split(), 5))
            yield Action(Kind.SEARCH, self._minute(), asked, earlier.theme)

    def _stated(self, kind: Kind, text: str, theme: str) -> Action:
        (importance,) = self._random.choices(_IMPORTANCES, _IMPORTANCE_WEIGHTS)
        return Action(
            kind,
            self._minute(),
            text,
            theme,
            importance,
            is_pinned=kind is Kind.FACT and self._happens(_PINNED_SHARE),
            is_explicit=self._happens(_EXPLICIT_SHARE),
        )

    def _fact(self) -> tuple[str, str]:
        topic = self._random.choice(self._topics)
        one, two, three, four = self._random.sample(self._words[topic], 4)
        verb, day = self._random.choice(_VERBS), self._random.choice(_DAYS)
        new = self._word()
        return (
            f"On {day} the {one} {two} of the {new} is {verb} beside the {three} {four}",
            topic,
        )

    def _reworded(self, text: str) -> str:
        """The same with its parts in another order, or one more word that says nothing."""
        words = text.split()
        if words[0] == "On" and self._happens(0.5):
            moved = [*words[2:], "on", words[1]]
            return " ".join([moved[0].capitalize(), *moved[1:]])
        place = words.index("is") + 1
        return " ".join([*words[:place], self._random.choice(_FILLERS), *words[place:]])

    def _favourite(self, known: tuple[str, str] | None) -> tuple[str, str]:
        """A favourite of something, or another one of the same."""
        if known is None:
            topic = self._random.choice(self._topics)
            known = (f"{self._word()} {self._random.choice(self._words[topic])}", topic)
            self._favourites.append(known)
        about, topic = known
        return f"The user's favourite {about} is {self._word()} {self._word()}", topic

    def _times(self, a_day: float) -> int:
        """Zero, one or two times, so many on average."""
        return sum(self._happens(a_day / 2) for _ in range(2))

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def _minute(self) -> int:
        return self._random.randrange(24 * 60)

    def _word(self) -> str:
        return "".join(self._random.choice(_SYLLABLES) for _ in range(self._random.choice((3, 4))))
