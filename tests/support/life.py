"""A small life of somebody: what a store looks like after a month of ordinary use.

For tests of pages, for screenshots and for a first look. Everything happens at times that a clock
of the caller's says, so that the same life looks the same every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ricordo.formation.schedule import FORM_JOB
from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.memory import Memory
from ricordo.model.activity import COMPLETION_TOKENS, MODEL_CALLS, PROMPT_TOKENS, TOKENS
from ricordo.storage.activity import tally
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory

USER: Final = "ana"
OTHER: Final = "ben"
ENDS_AT: Final = datetime(2026, 1, 30, 17, 30, tzinfo=UTC)
DAYS: Final = 30

_Fields = dict[str, Any]
# (day of the life, theme, content, further fields)
_MEMORIES: Final[Sequence[tuple[int, str, str, _Fields]]] = (
    (0, "home", "Lives in a flat on the third floor with a small balcony", {"type": "fact"}),
    (0, "home", "Waters the plants on the balcony every evening", {"tags": ["plants", "evening"]}),
    (1, "home", "Waters the plants in the kitchen every Sunday", {"tags": ["plants"]}),
    (2, "home", "The spare key is with the neighbour on the second floor", {"pinned": True}),
    (4, "home", "The heating was repaired in January", {"type": "episode"}),
    (9, "home", "Wants the flat to be quiet after ten in the evening", {"type": "preference"}),
    (15, "home", "The landlord answers letters, not calls", {"type": "fact"}),
    (0, "food", "Drinks green tea in the morning", {"type": "preference", "tags": ["tea"]}),
    (1, "food", "Drinks black tea in the afternoon", {"type": "preference", "tags": ["tea"]}),
    (3, "food", "Eats no meat", {"type": "preference", "key": "diet", "importance": 3}),
    (5, "food", "Bakes bread on Saturday with rye flour", {"tags": ["baking", "weekend"]}),
    (6, "food", "Bakes bread on holidays with wheat flour", {"tags": ["baking"]}),
    (11, "food", "Buys vegetables at the market by the river", {"tags": ["market", "weekend"]}),
    (17, "food", "Cooks lentil soup when it is cold outside", {}),
    (22, "food", "Keeps a list of recipes in the kitchen drawer", {}),
    (1, "work", "Works as a librarian at the city library", {"type": "fact", "importance": 3}),
    (2, "work", "Works from home on Friday", {"type": "fact", "tags": ["weekdays"]}),
    (3, "work", "Keep answers about work short and to the point", {"type": "instruction"}),
    (7, "work", "The reading group meets on the first Monday of the month", {"tags": ["books"]}),
    (8, "work", "The reading group prefers short novels", {"tags": ["books"]}),
    (10, "work", "The catalogue is moved to a new system in March", {"type": "episode"}),
    (
        14,
        "work",
        "To lend a book: scan the card, scan the book, say when it is due",
        {"type": "procedure"},
    ),
    (19, "work", "Prefers meetings before lunch", {"type": "preference"}),
    (24, "work", "The inventory takes place in the last week of the year", {}),
    (2, "travel", "Took the night train to the coast in spring", {"type": "episode"}),
    (3, "travel", "Took the morning train to the mountains in spring", {"type": "episode"}),
    (6, "travel", "Prefers window seats on trains", {"type": "preference", "tags": ["train"]}),
    (12, "travel", "Wants to see the northern lights one day", {"tags": ["wishes"]}),
    (18, "travel", "Packs light: one bag for a week", {"type": "preference"}),
    (26, "travel", "The passport is valid until 2031", {"key": "passport", "pinned": True}),
    (4, "music", "Plays the cello in an amateur orchestra", {"tags": ["cello", "evening"]}),
    (5, "music", "Practises the cello on Tuesday and Thursday", {"tags": ["cello", "weekdays"]}),
    (8, "music", "Likes string quartets", {"type": "preference"}),
    (13, "music", "The orchestra plays its summer concert in June", {"type": "episode"}),
    (21, "music", "Listens to music without words while reading", {"type": "preference"}),
    (5, "sport", "Swims twice a week before work", {"tags": ["swimming", "weekdays"]}),
    (6, "sport", "Swims once a week with a friend", {"tags": ["swimming"]}),
    (16, "sport", "Walks along the river on Sunday", {"tags": ["weekend"]}),
    (23, "sport", "Wants to swim two kilometres without a pause", {"tags": ["wishes"]}),
    (27, "sport", "The pool is closed this week", {"expires_in_days": 7}),
)
_THEMES: Final = {
    "home": ("Home", "The flat, its neighbours and what has to be done in it."),
    "food": ("Food and drink", "What is eaten and drunk, and what never is."),
    "work": ("Work", "The library and everything around it."),
    "travel": ("Travel", "Journeys that were made, and wishes."),
    "music": ("Music", "The orchestra, the cello and what is listened to."),
    "sport": ("Sport", "Swimming, mostly."),
}
# (day, thread, title, what was said by turns: the user first)
_CONVERSATIONS: Final[Sequence[tuple[int, str, str, Sequence[str]]]] = (
    (
        9,
        "garden",
        "Planning the balcony",
        (
            "I love tomatoes. Which of them grow on a balcony?",
            "Cherry tomatoes do well in pots. How much sun is there?",
            "Until noon. I like basil and mint, too. I am allergic to birch pollen.",
            "Then start with two pots and a deep saucer. Is the work too much?",
            "No. I have asthma, but I feel well outside.",
            "Good. Two pots, then.",
            "Remember that I buy soil at the market, never in the supermarket.",
            "I will remember that.",
        ),
    ),
    (
        25,
        "holidays",
        "A week by the sea",
        (
            "We go to the sea in July. I love small hotels.",
            "Shall I look for some by the coast?",
            "Yes. I am allergic to nuts, so breakfast has to be safe.",
            "I will only suggest places that say so.",
            "I live in Turin, so nothing further than a day by train.",
            "Understood: by train, within a day.",
        ),
    ),
    (
        28,
        "evening",
        "What to read next",
        (
            "I enjoy crime novels that play in winter.",
            "Long ones or short ones?",
            "Short ones. I have diabetes, and the doctor wants me to sleep early.",
            "Then something of two hundred pages.",
            "I love chess as well, so leave the Wednesday free. And I love tomatoes.",
        ),
    ),
)
_SEARCHES: Final = (
    "what do I drink in the morning",
    "plants on the balcony",
    "when does the reading group meet",
    "cello practice",
    "swimming before work",
    "seats on trains",
)


@dataclass
class Life:
    """What there is to look at, by the names of path parameters of pages and of the API."""

    user: str
    items: list[int] = field(default_factory=list)
    """Memories, the oldest first."""
    superseded: int = 0
    archived: int = 0
    forgotten: int = 0
    threads: list[str] = field(default_factory=list)
    themes: list[str] = field(default_factory=list)
    proposals: list[int] = field(default_factory=list)
    """Open ones."""
    key_ids: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    """What to sign in with, by the kind of key."""


def lived_in(memory: Memory, clock: ManualClock, user: str = USER) -> Life:
    """Fill a store whose clock this is; afterwards it is ``ENDS_AT``."""
    life = Life(user, threads=[one[1] for one in _CONVERSATIONS], themes=list(_THEMES))
    ana = memory.user(user)
    began = ENDS_AT - timedelta(days=DAYS - 1)
    for day in range(DAYS):
        clock.set(began + timedelta(days=day, hours=-8))
        _remember(ana, clock, day, life)
        _talk(ana, clock, day)
        _ask(ana, day)
        _spend(memory, user, day)
        if day % 7 == 3:
            _decide(ana)
            memory.run_jobs()
    clock.set(ENDS_AT - timedelta(hours=3))
    memory.run_jobs()
    _change(ana, life)
    life.proposals = [one.id for one in ana.proposals()]
    for slug, (name, description) in _THEMES.items():
        ana.describe_theme(slug, display_name=name, description=description)
    _make_keys(memory, user, life)
    _leave_jobs(memory, clock, ana)
    clock.set(ENDS_AT)
    return life


def _remember(ana: UserMemory, clock: ManualClock, day: int, life: Life) -> None:
    for on_day, theme, content, fields in _MEMORIES:
        if on_day != day:
            continue
        clock.advance(minutes=17)
        given = {"source": "user_explicit", **fields}
        days_left = given.pop("expires_in_days", None)
        if days_left is not None:
            given["expires_at"] = clock() + timedelta(days=days_left)
        life.items.append(ana.add(content, theme=theme, **given).id)


def _talk(ana: UserMemory, clock: ManualClock, day: int) -> None:
    for on_day, thread, title, said in _CONVERSATIONS:
        if on_day != day:
            continue
        for number, text in enumerate(said):
            clock.advance(minutes=2)
            role = "assistant" if number % 2 else "user"
            turn = {"role": role, "content": text, "at": clock(), "id": f"{thread}-{number}"}
            if role == "user":
                turn["actor"] = ana.scope.user_id
            ana.observe([turn], thread=thread, title=title)
        ana.form(thread)


def _ask(ana: UserMemory, day: int) -> None:
    first = day % len(_SEARCHES)
    for question in _SEARCHES[first : first + 1 + day % 3]:
        ana.search(question)
    if day % 4 == 0:
        ana.context(_SEARCHES[first])
        shown = [hit.id for hit in ana.search(_SEARCHES[first], limit=3).results]
        ana.feedback(shown, used=shown[:1])


def _spend(memory: Memory, user: str, day: int) -> None:
    """What a language model would have cost on that day: more on days with conversations."""
    calls = 2 + day * 7 % 5
    spent = {
        MODEL_CALLS: calls,
        PROMPT_TOKENS: calls * (900 + day * 37 % 300),
        COMPLETION_TOKENS: calls * (120 + day * 53 % 90),
    }
    spent[TOKENS] = spent[PROMPT_TOKENS] + spent[COMPLETION_TOKENS]
    with memory.database.write(user) as writing:
        tally(writing, spent)


def _change(ana: UserMemory, life: Life) -> None:
    """A replacement, a keyed update, and memories put aside, forgotten and found to be true."""
    known = {item.content: item.id for item in ana.list(limit=100)}
    life.superseded = known["Bakes bread on Saturday with rye flour"]
    newer = ana.add(
        "Bakes bread on Sunday with spelt flour",
        supersedes=life.superseded,
        reason="said so in the evening",
    )
    life.items.append(newer.id)
    ana.add("Eats no meat and no fish", key="diet", theme="food", source="user_explicit")
    life.archived = known["The heating was repaired in January"]
    ana.archive(life.archived, reason="long ago")
    life.forgotten = known["The landlord answers letters, not calls"]
    ana.forget(life.forgotten, reason="no longer true")
    ana.verify(known["Works as a librarian at the city library"])


def _decide(ana: UserMemory) -> None:
    """Say yes to the first that waits, and no to the second."""
    waiting = [one.id for one in ana.proposals()]
    for decide, proposal in zip((ana.approve, ana.reject), waiting, strict=False):
        decide(proposal, reason="asked in person")


def _make_keys(memory: Memory, user: str, life: Life) -> None:
    made = {
        "user": memory.create_key("phone", user=user),
        "agent": memory.create_key(
            "kitchen helper", user=user, agent="kitchen", categories=["food", "home"]
        ),
        "service": memory.create_key("assistant", expires_days=90),
        "admin": memory.create_key("admin", permissions=["read_all", "manage"]),
    }
    revoked = memory.create_key("old laptop", user=user)
    memory.revoke_key(revoked.key.id)
    life.key_ids = [*(one.key.id for one in made.values()), revoked.key.id]
    life.secrets = {kind: one.secret for kind, one in made.items()}


def _leave_jobs(memory: Memory, clock: ManualClock, ana: UserMemory) -> None:
    """A job that has failed for the last time, and one that waits."""
    ana.observe([{"role": "user", "content": "Good evening.", "at": clock()}], thread="evening")
    queue = memory.runner.queue
    for _ in range(MAX_JOB_ATTEMPTS):
        (job,) = memory.jobs(state="queued", kind=FORM_JOB)
        clock.set(max(clock(), job.run_at))
        claimed = queue.claim(frozenset({FORM_JOB}))
        assert claimed is not None
        queue.fail(claimed, "LanguageModelUnavailable: the model did not answer in 60 s")
    clock.set(ENDS_AT - timedelta(hours=1))  # the pauses between attempts differ each time
    ana.observe([{"role": "user", "content": "Thank you.", "at": clock()}], thread="garden")
