"""What people say about themselves in several lines: none of it is pasted, all of it is theirs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

STATEMENTS: Final = (
    ("I live in Bekasi.", "Bekasi"),
    ("I work as a nurse.", "nurse"),
    ("I'm vegetarian.", "vegetarian"),
    ("My wife is called Cleo.", "Cleo"),
    ("I have a dog called Rex.", "Rex"),
    ("I love hiking.", "hiking"),
    ("I prefer tea over coffee.", "tea"),
    ("I'm allergic to peanuts.", "peanut"),
    ("My birthday is on 4 May.", "May"),
    ("I work at Bosch.", "Bosch"),
    ("From now on answer in short sentences.", "short"),
    ("Remember that my locker is number 42.", "42"),
    ("Saya tinggal di Bandung.", "Bandung"),
    ("Saya suka kopi pahit.", "kopi"),
)
"""Statements, and a word by which each is known again."""

FRAMES: Final = (
    "{}",
    "Hi!\n\n{}",
    "Good morning, quick introduction.\n\n{}",
    "Here is something about me:\n\n{}",
    "A bit about me:\n{}",
    "Some context:\n\n{}",
    "I had a long day today.\n\n{}\n\nThat is all.",
    "{}\n\nWhat should I cook tonight?",
    "{}\nAny ideas for the weekend?",
    "{}\n\nCan you help me plan next week?",
    "Help me plan a trip to Japan.\n\n{}",
    "I need some advice about my week.\n\n{}\n\nThanks!",
    "Let me tell you more about myself.\n\n{}\n\nI hope that helps.",
    "You asked about my routine.\n\n{}",
    "We talked about this yesterday.\n\n{}",
    "{} My neighbour is loud.\n\nThe weather has been terrible here.\n\nHow are you?",
    "ok so\n{}",
    "Thanks, that was great!\n\n{}",
    "Two things:\n\n{}",
    "My situation:\n\n{}",
    "How do I get a visa for Japan?\n\n{}",
    "What would you recommend for dinner?\n{}",
    "Here's my background:\n{}",
    "Saya mau cerita sedikit.\n\n{}",
)


@dataclass(frozen=True, slots=True)
class OwnMessage:
    """A message, and the words that must be known of it afterwards."""

    message: str
    words: tuple[str, ...]


def own_messages() -> list[OwnMessage]:
    """Every statement in every frame, and neighbouring ones together."""
    found = [
        OwnMessage(frame.format(text), (word,))
        for frame, (text, word) in itertools.product(FRAMES, STATEMENTS)
    ]
    for frame, number in itertools.product(FRAMES, range(0, 10, 2)):
        (one, first), (two, second) = STATEMENTS[number], STATEMENTS[number + 1]
        found.append(OwnMessage(frame.format(f"{one} {two}"), (first, second)))
        found.append(OwnMessage(frame.format(f"{one}\n\n{two}"), (first, second)))
    return found
