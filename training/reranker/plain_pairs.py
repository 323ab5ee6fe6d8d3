"""Plain pairs of statements, made from frames: what the written pairs have too few of.

Of an attribute with one value at a time another value ends the old one; of one with several it does
not. A denial ends the value that it names and no other.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Pair(NamedTuple):
    old: str
    new: str
    label: str


@dataclass(frozen=True)
class Attribute:
    """``told``: the frames of a memory; ``said``: how a user says it; ``ended``: how it ends."""

    values: tuple[str, ...]
    told: tuple[str, ...]
    said: tuple[str, ...]
    ended: tuple[str, ...] = ()
    detail: tuple[str, ...] = ()
    is_single: bool = True


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split(","))


CITIES = _values(
    "Rome, Turin, Lisbon, Oslo, Lyon, Leeds, Porto, Graz, Kyiv, Osaka, Nairobi, Quito, Boston,"
    "Denver, Bergen, Ghent, Seville, Pune, Hanoi, Perth, Cork, Malmö, Basel, Split, Tartu"
)
FIRMS = _values(
    "Acme, Globex, Initech, Siemens, Ikea, a bakery, the city hospital, a law firm, Shopify, a bank,"
    "Stripe, a small startup, the university, Bosch, a travel agency, Nestlé, Delta, Zalando"
)
JOBS = _values(
    "a nurse, a teacher, an accountant, a plumber, a data scientist, a chef, a bus driver, a lawyer,"
    "a product manager, an electrician, a librarian, a dentist, a translator, a welder, a barista"
)
NAMES = _values(
    "Dana, Priya, Tomasz, Aiko, Luca, Mei, Omar, Ingrid, Pavel, Zoe, Kwame, Elif, Bruno, Hana,"
    "Rosa, Idris, Nils, Farah, Joel, Vera, Tariq, Lena, Mateo, Sunita"
)
PETS = _values("Rex, Biscuit, Luna, Miso, Toffee, Pixel, Momo, Bruno, Nala, Simba, Olive, Ziggy")
DAYS = _values("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
DATES = tuple(
    f"{day} {month}"
    for day in (2, 3, 5, 9, 11, 14, 17, 19, 21, 24, 28, 30)
    for month in _values("January, March, April, May, June, August, September, October, November")
)
TIMES = _values("6:00, 6:30, 7:00, 7:15, 8:00, 9:30, 10:00, 10:45, 11:00, 14:00, 16:30, 18:00")
CARS = _values("a Volvo, a Tesla, a Fiat Panda, a Golf, a Corolla, a Dacia, a Mini, a Kia, a Polo")
PHONES = _values("an iPhone 12, a Pixel 7, a Galaxy S22, a Fairphone, an iPhone 15, a Nokia")
LAPTOPS = _values("a ThinkPad, a MacBook Air, a Dell XPS, a Framework, a Surface, a Chromebook")
EDITORS = _values("vim, VS Code, Emacs, PyCharm, Sublime, Zed, Neovim, Nano")
DATABASES = _values("Postgres, MySQL, MongoDB, SQLite, DynamoDB, MariaDB, Cassandra, Redis")
FRAMEWORKS = _values("React, Vue, Svelte, Angular, Django, Rails, Flask, FastAPI, Laravel, Spring")
PROJECTS = _values("Apollo, Kestrel, Orion, Falcon, Juniper, Atlas, Cobalt, Heron, Maple, Zephyr")
LANGUAGES = _values("Spanish, French, German, Japanese, Korean, Polish, Arabic, Dutch, Swedish")
FOODS = _values("mushrooms, olives, sushi, tofu, pasta, curry, oysters, cheese, dates, figs, ramen")
ALLERGIES = _values(
    "peanuts, shellfish, pollen, penicillin, eggs, cats, latex, gluten, kiwis, wasps"
)
HOBBIES = _values("climbing, chess, knitting, surfing, pottery, birdwatching, boxing, yoga, baking")
INSTRUMENTS = _values("cello, viola, piano, guitar, drums, flute, trumpet, violin, oboe, ukulele")
SERVICES = _values("Netflix, Spotify, Disney Plus, Audible, YouTube Premium, Strava, Duolingo Plus")
COLOURS = _values("blue, green, teal, red, yellow, purple, orange, black, white, turquoise")
DRINKS = _values("oolong, sencha, espresso, flat white, green tea, mint tea, cold brew, cocoa")
GYMS = _values("FitX, Gold's Gym, PureGym, the YMCA, a boxing club, Planet Fitness, BasicFit")
AMOUNTS = _values("800, 950, 1200, 1500, 1850, 2000, 2400, 3500")
COUNTS = _values("one, two, three, four, five, six, seven")
UNITS = _values("metric units, imperial units")
TONES = _values("formal, casual, brief, detailed, friendly, dry, playful")
DISHES = _values("roast beef, steak, bacon, chicken wings, burgers, lamb chops, salami")
SIGNS = _values("emojis, bullet points, tables, headings, exclamation marks, jokes, footnotes")
HOSTS = _values("AWS, Azure, Hetzner, Google Cloud, Heroku, Fly.io, a server in the basement")

WORK = Attribute(
    FIRMS,
    ("User works at {v}.", "User works for {v}.", "User has a job at {v}.", "Works at {v}"),
    (
        "I work at {v}",
        "I work for {v}",
        "I started at {v}",
        "my new job is at {v}",
        "I'm at {v} now",
    ),
    (
        "I no longer work at {v}",
        "I quit {v}",
        "I left {v}",
        "{v} let me go",
        "I don't work at {v} any more",
    ),
    ("in the legal department", "three days a week", "since 2019", "on the night shift"),
)
TITLE = Attribute(
    JOBS,
    ("User works as {v}.", "User is {v}.", "User's job: {v}."),
    ("I work as {v}", "I'm {v}", "I am {v} by trade", "I'm working as {v} these days"),
    (
        "I no longer work as {v}",
        "I'm not {v} any more",
        "I stopped working as {v}",
        "I retired, so no longer {v}",
    ),
    ("in a small town", "part time", "for ten years now"),
)
HOME = Attribute(
    CITIES,
    ("User lives in {v}.", "User's home is in {v}.", "Lives in {v}", "User moved to {v}."),
    (
        "I live in {v}",
        "I moved to {v}",
        "we live in {v} now",
        "home is {v} these days",
        "I'm based in {v}",
    ),
    (
        "I don't live in {v} any more",
        "I no longer live in {v}",
        "we left {v} for good",
        "moved away from {v}",
    ),
    ("in a flat near the station", "with two flatmates", "since last spring"),
)
VISITED = Attribute(
    CITIES,
    ("User visited {v}.", "User spent a holiday in {v}.", "User has been to {v}."),
    (
        "I visited {v}",
        "we spent a week in {v}",
        "I was in {v} for a conference",
        "just back from {v}",
    ),
    is_single=False,
)
MANAGER = Attribute(
    NAMES,
    ("User's manager is {v}.", "User reports to {v}.", "{v} is User's boss."),
    ("my manager is {v}", "I report to {v}", "my boss {v} wants it by noon", "{v} is my manager"),
    ("{v} is no longer my manager", "I don't report to {v} any more", "{v} isn't my boss now"),
)
FRIEND = Attribute(
    NAMES,
    ("User has a friend called {v}.", "User's colleague is {v}.", "User's neighbour is {v}."),
    ("I have a friend called {v}", "my colleague {v} is great", "met my friend {v} for lunch"),
    is_single=False,
)
PARTNER = Attribute(
    NAMES,
    (
        "User's wife is called {v}.",
        "User's husband is {v}.",
        "User's partner is {v}.",
        "User is dating {v}.",
    ),
    (
        "I'm together with {v}",
        "{v} and I are a couple",
        "I'm dating {v}",
        "my girlfriend {v} cooks well",
    ),
    (
        "{v} and I broke up",
        "I'm not with {v} any more",
        "we split up, {v} and me",
        "{v} and I divorced",
    ),
)
DOG = Attribute(
    PETS,
    ("User's dog is called {v}.", "User's dog's name is {v}."),
    ("my dog is called {v}", "my dog's name is {v}", "{v} is my dog's name"),
    ("{v} died, we have no dog now", "we gave {v} away", "I no longer have {v}"),
    ("he is a beagle of six years", "she hates the rain"),
)
PET = Attribute(
    PETS,
    (
        "User has a cat called {v}.",
        "User has a rabbit called {v}.",
        "User has a parrot called {v}.",
    ),
    ("we also have a cat called {v}", "we adopted a second dog, {v}", "got a hamster, {v}"),
    ("our cat {v} died", "we had to give {v} away", "{v} ran away and never came back"),
    is_single=False,
)
CAR = Attribute(
    CARS,
    ("User drives {v}.", "User's car is {v}.", "User owns {v}."),
    ("I drive {v}", "my car is {v}", "I bought {v}", "these days I drive {v}"),
    ("I sold it, {v} was too thirsty", "I no longer drive {v}", "I don't own {v} any more"),
    ("in red, from 2015",),
)
PHONE = Attribute(
    PHONES,
    ("User's phone is {v}.", "User has {v}.", "User uses {v}."),
    ("my phone is {v}", "I use {v} as my phone", "I switched to {v}", "got {v} now"),
    ("I don't use {v} any more",),
)
LAPTOP = Attribute(
    LAPTOPS,
    ("User's laptop is {v}.", "User works on {v}.", "User has {v} for work."),
    ("my laptop is {v}", "I work on {v}", "they gave me {v} at work", "I use {v} now"),
    ("I gave back {v}", "I no longer use {v}"),
)
EDITOR = Attribute(
    EDITORS,
    ("User's editor is {v}.", "User writes code in {v}.", "User uses {v} to code."),
    (
        "I code in {v}",
        "my editor is {v}",
        "I use {v} for everything now",
        "I write code in {v} these days",
    ),
    ("I stopped using {v}", "I no longer use {v}", "done with {v}"),
)
DATABASE = Attribute(
    DATABASES,
    ("Project {p} runs on {v}.", "We use {v} for project {p}.", "{p} stores its data in {v}."),
    (
        "{p} runs on {v}",
        "we use {v} for {p}",
        "the database of {p} is {v}",
        "we migrated {p} to {v}",
    ),
    ("{p} no longer uses {v}", "we moved {p} off {v}"),
)
FRAMEWORK = Attribute(
    FRAMEWORKS,
    (
        "The frontend of {p} is written in {v}.",
        "{p} is built with {v}.",
        "User builds {p} with {v}.",
    ),
    ("{p} is built with {v}", "we rewrote {p} in {v}", "for {p} we use {v}", "{p} uses {v} now"),
    ("we dropped {v} from {p}", "{p} is not in {v} any more"),
)
DEADLINE = Attribute(
    DATES,
    ("The deadline of {p} is {v}.", "{p} is due on {v}.", "User has to deliver {p} by {v}."),
    (
        "{p} is due on {v}",
        "the deadline of {p} is {v}",
        "we have to ship {p} by {v}",
        "{p} was moved to {v}",
    ),
    ("the {v} deadline of {p} is off", "{p} was cancelled"),
)
LEAD = Attribute(
    NAMES,
    ("{v} leads project {p}.", "The lead of {p} is {v}.", "Project {p} is led by {v}."),
    (
        "{v} leads {p}",
        "{v} took over {p}",
        "the lead of {p} is {v}",
        "{p} is in the hands of {v} now",
    ),
    ("{v} no longer leads {p}", "{v} left {p}"),
)
HOSTING = Attribute(
    HOSTS,
    ("{p} is hosted on {v}.", "We deploy {p} to {v}."),
    ("{p} is hosted on {v}", "we deploy {p} to {v}", "{p} runs on {v} now"),
    ("we left {v} with {p}", "{p} is not on {v} any more"),
)
MEETING = Attribute(
    DAYS,
    ("User's team meeting is on {v}.", "The weekly sync is on {v}.", "User's lesson is on {v}."),
    ("the meeting is on {v}", "my lesson is on {v}", "we meet on {v}", "the sync was moved to {v}"),
    ("no meeting on {v} any more", "the {v} meeting was cancelled for good"),
)
HOUR = Attribute(
    TIMES,
    ("User gets up at {v}.", "User's alarm is set to {v}.", "User wakes up at {v}."),
    ("I get up at {v}", "my alarm rings at {v}", "I wake up at {v} now"),
    ("I don't get up at {v} any more",),
)
FLIGHT = Attribute(
    DATES,
    ("User's flight is on {v}.", "User flies to {c} on {v}.", "User's trip to {c} begins on {v}."),
    (
        "my flight is on {v}",
        "I fly on {v}",
        "the flight to {c} is on {v}",
        "they rebooked me to {v}",
    ),
    ("the flight on {v} was cancelled", "I'm not flying on {v} after all"),
)
DENTIST = Attribute(
    DATES,
    ("User sees the dentist on {v}.", "User's appointment is on {v}."),
    ("my dentist appointment is on {v}", "the dentist moved me to {v}", "I see the dentist on {v}"),
    ("the appointment on {v} is off", "I cancelled the dentist on {v}"),
)
BIRTHDAY = Attribute(
    DATES,
    ("User's birthday is on {v}.", "User was born on {v}."),
    ("my birthday is on {v}", "I was born on {v}"),
)
CHILDREN = Attribute(
    COUNTS,
    ("User has {v} children.", "User has {v} kids."),
    ("I have {v} kids", "we have {v} children", "mother of {v} here"),
)
SPOKEN = Attribute(
    LANGUAGES,
    ("User speaks {v}.", "User is learning {v}."),
    ("I speak {v}", "I speak {v} too", "I'm learning {v}", "my {v} is quite good"),
    ("I gave up {v}", "I stopped learning {v}", "I no longer speak {v}"),
    is_single=False,
)
LIKED = Attribute(
    FOODS,
    ("User likes {v}.", "User loves {v}.", "User enjoys {v}."),
    ("I love {v}", "I like {v} a lot", "I'm into {v}", "I could eat {v} every day"),
    ("I don't like {v} any more", "I've gone off {v}", "I can't stand {v} now", "I hate {v}"),
    is_single=False,
)
DISLIKED = Attribute(
    FOODS,
    ("User hates {v}.", "User does not like {v}.", "User cannot stand {v}."),
    ("I hate {v}", "I don't like {v}", "I can't stand {v}", "no {v} for me please"),
    ("I like {v} now", "I love {v} these days", "turns out {v} is fine after all"),
    is_single=False,
)
ALLERGIC = Attribute(
    ALLERGIES,
    ("User is allergic to {v}.", "User has an allergy to {v}."),
    ("I'm allergic to {v}", "I have a {v} allergy", "I can't have {v}, allergy"),
    (
        "I'm not allergic to {v} after all",
        "the {v} allergy is gone",
        "I'm no longer allergic to {v}",
    ),
    is_single=False,
)
HOBBY = Attribute(
    HOBBIES,
    ("User does {v}.", "User's hobby is {v}.", "User enjoys {v}."),
    ("I do {v}", "I took up {v}", "I'm into {v}", "I also do {v}"),
    ("I quit {v}", "I stopped doing {v}", "I gave up {v}", "no more {v} for me"),
    is_single=False,
)
PLAYED = Attribute(
    INSTRUMENTS,
    ("User plays the {v}.", "User plays {v}."),
    ("I play the {v}", "I also play the {v}", "I've been playing the {v} for years"),
    ("I gave up the {v}", "I stopped playing the {v}", "I don't play the {v} any more"),
    is_single=False,
)
SUBSCRIBED = Attribute(
    SERVICES,
    ("User subscribes to {v}.", "User has {v}.", "User pays for {v}."),
    ("I subscribe to {v}", "I have {v}", "I signed up for {v}"),
    ("I cancelled {v}", "I no longer subscribe to {v}", "I don't have {v} any more"),
    is_single=False,
)
COLOUR = Attribute(
    COLOURS,
    ("User's favourite colour is {v}.", "Favourite colour: {v}."),
    ("my favourite colour is {v}", "{v} is my favourite colour", "I like {v} best of all colours"),
    ("{v} isn't my favourite colour any more",),
)
DRINK = Attribute(
    DRINKS,
    ("User's favourite drink is {v}.", "User usually orders {v}."),
    ("my favourite drink is {v}", "my usual is {v}", "I always order {v} now"),
    ("I don't drink {v} any more", "I'm off {v}"),
)
GYM = Attribute(
    GYMS,
    ("User trains at {v}.", "User's gym is {v}.", "User goes to {v}."),
    ("I train at {v}", "my gym is {v}", "I go to {v} now", "I joined {v}"),
    ("I left {v}", "I cancelled my membership at {v}", "I don't go to {v} any more"),
)
RENT = Attribute(
    AMOUNTS,
    ("User's rent is {v} euros.", "User pays {v} euros of rent.", "Rent: {v} euros."),
    ("my rent is {v} euros", "I pay {v} euros of rent", "the flat costs {v} euros a month"),
)
UNIT = Attribute(
    UNITS,
    ("Always answer in {v}.", "User wants {v}."),
    ("use {v} please", "from now on {v}", "give me {v}", "I want {v}"),
    ("forget about the {v}", "no {v} any more please"),
)
TONE = Attribute(
    TONES,
    ("Keep answers {v}.", "User wants {v} answers."),
    ("please be {v}", "keep your answers {v} from now on", "I want {v} answers"),
    ("you don't need to be {v} any more", "no need for {v} answers"),
)
UNWANTED = Attribute(
    SIGNS,
    ("Never use {v}.", "User does not want {v}.", "Do not use {v}."),
    ("no {v} please", "don't use {v}", "please leave out the {v}"),
    ("{v} are fine now", "you can use {v} again", "forget the rule about {v}"),
    is_single=False,
)
DIET = Attribute(
    _values("vegetarian, vegan, pescatarian, keto, gluten-free"),
    ("User is {v}.", "User's diet is {v}.", "User eats {v}."),
    ("I'm {v}", "I eat {v}", "I went {v}"),
    (
        "I'm not {v} any more",
        "I no longer eat {v}",
        "I stopped being {v}",
        "I eat everything again",
    ),
)
ATTRIBUTES = tuple(value for value in list(globals().values()) if isinstance(value, Attribute))

CHANGES = (
    "I switched from {a} to {b}", "we replaced {a} with {b}", "it's {b}, not {a}", "sorry, I meant {b}, not {a}",
    "actually {b}, not {a}", "correction: {b} instead of {a}", "not {a} any more, {b}", "{b} now, not {a}",
    "no, not {a}. It's {b}", "oops, typo: {b}, not {a}", "wait, {b}, I mixed it up with {a}",
    "rescheduled from {a} to {b}", "changed from {a} to {b}", "we went from {a} to {b}", "{b} has taken the place of {a}",
)  # fmt: skip
MARKED = (
    "{s} now", "as of today {l}", "update: {l}", "{s} instead", "actually, {l}", "correction: {l}", "{s} these days",
    "since last week {l}", "no wait, {l}", "sorry, {l}", "my mistake, {l}", "btw {l} now", "ok so {l} from now on",
)  # fmt: skip
LEADS = ("", "", "", "btw ", "hi! ", "fyi ", "also, ", "as I said, ", "so ", "you know, ", "well, ")
UNREAL = (
    "maybe {l} one day", "what if {l}?", "I dreamt that {l}", "should I say that {l}?", "in another life {l}",
    "I wish it were so that {l}", "hypothetically, {l}", "I'm thinking about it: {l}, perhaps next year",
)  # fmt: skip
OTHERS = (
    "my brother",
    "my sister",
    "a friend of mine",
    "my neighbour",
    "my colleague",
    "my mother",
    "my cousin",
)


def _frame(frame: str, value: str, around: dict[str, str]) -> str:
    return frame.format(v=value, **around)


def _lower(text: str) -> str:
    return text if text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def pairs_of(one: Attribute, rng: random.Random) -> Iterator[Pair]:
    around = {"p": rng.choice(PROJECTS), "c": rng.choice(CITIES)}
    a, b = rng.sample(one.values, 2)
    told = _frame(rng.choice((*one.told, *one.told, *one.said)), a, around)
    told = told[:1].upper() + told[1:]
    mine, theirs = (_frame(rng.choice(one.said), value, around) for value in (a, b))
    stored = _frame(rng.choice(one.told), b, around)
    lead = rng.choice(LEADS)
    yield Pair(told, f"{lead}{theirs}", "replaced" if one.is_single else "other")
    yield Pair(told, stored, "replaced" if one.is_single else "other")
    yield Pair(told, f"{lead}{mine}", "same")
    if one.detail:
        yield Pair(told, f"{mine}, {rng.choice(one.detail)}", "refined")
    if one.is_single:
        said = rng.choice(MARKED).format(s=theirs, l=_lower(theirs))
        yield Pair(told, said, "replaced")
        elsewhere = around | {"p": rng.choice([p for p in PROJECTS if p != around["p"]])}
        if "{p}" in "".join(one.told):
            new = _frame(rng.choice([f for f in one.said if "{p}" in f]), b, elsewhere)
            old = _frame(rng.choice([f for f in one.told if "{p}" in f]), a, around)
            yield Pair(old, new, "other")
    if one.is_single or one.ended:
        yield Pair(told, rng.choice(CHANGES).format(a=a, b=b), "replaced")
    if one.ended:
        ended = _frame(rng.choice(one.ended), a, around)
        yield Pair(told, f"{lead}{ended}", "replaced")
        said = (
            ended.replace("I'm ", "User is ")
            .replace("I've ", "User has ")
            .replace("I don't", "User does not")
        )
        yield Pair(told, said.replace("I ", "User ").replace("my ", "User's "), "replaced")
        not_this = _frame(rng.choice(one.ended), b, around)
        yield Pair(told, not_this, "other")
    yield Pair(told, rng.choice(UNREAL).format(l=_lower(theirs)), "other")
    other = rng.choice([each for each in ATTRIBUTES if each is not one])
    value = rng.choice(other.values)
    yield Pair(told, _frame(rng.choice((*other.said, *other.told)), value, around), "other")
    if other.ended:
        yield Pair(told, _frame(rng.choice(other.ended), value, around), "other")


def special(rng: random.Random) -> Iterator[Pair]:
    """Pairs across attributes that look alike, and denials of a whole class."""
    firm, job, city, dish = map(rng.choice, (FIRMS, JOBS, CITIES, DISHES))
    yield Pair(f"User works at {firm}.", f"User works as {job}.", "other")
    yield Pair(f"User works as {job}.", f"I work at {firm}", "other")
    yield Pair(f"User works at {firm}.", f"I live in {city}", "other")
    yield Pair(f"User lives in {city}.", f"I work in {rng.choice(CITIES)}", "other")
    yield Pair(
        f"User loves {dish}.",
        rng.choice(("I've given up meat", "I'm vegan now", "I stopped eating meat")),
        "replaced",
    )
    yield Pair(f"User loves {rng.choice(FOODS[:6])}.", "I've given up meat", "other")
    who, name = rng.choice(OTHERS), rng.choice(NAMES)
    yield Pair(f"User lives in {city}.", f"{who} moved to {rng.choice(CITIES)}", "other")
    yield Pair(f"User works at {firm}.", f"{who} works at {rng.choice(FIRMS)} now", "other")
    yield Pair(
        f"User's son is called {name}.", f"my daughter is called {rng.choice(NAMES)}", "other"
    )
    yield Pair(
        f"User's favourite colour is {rng.choice(COLOURS)}.",
        f"my favourite drink is {rng.choice(DRINKS)}",
        "other",
    )
    yield Pair(f"User drives {rng.choice(CARS)}.", f"{who} bought {rng.choice(CARS)}", "other")
    yield Pair(
        "User smokes.",
        rng.choice(("I quit smoking", "I don't smoke any more", "smoke-free since May")),
        "replaced",
    )
    yield Pair(
        f"User drinks {rng.choice(DRINKS)} every morning.",
        "no more caffeine for me, doctor's orders",
        "replaced",
    )
    yield Pair(
        f"User's dentist appointment is on {rng.choice(DATES)}.",
        f"my flight is on {rng.choice(DATES)}",
        "other",
    )
    yield Pair(
        f"User gets up at {rng.choice(TIMES)}.", f"my meeting is at {rng.choice(TIMES)}", "other"
    )
    yield Pair(
        "User takes metformin.",
        rng.choice(("I stopped taking metformin", "I'm off metformin", "no metformin any more")),
        "replaced",
    )
    yield Pair("User takes metformin.", "I also take vitamin D", "other")
    yield Pair(
        "User is single.",
        rng.choice((f"I'm dating {name}", "I got engaged", "I have a girlfriend now")),
        "replaced",
    )
    yield Pair(
        "User is married.",
        rng.choice(("I got divorced", "we signed the divorce papers")),
        "replaced",
    )
    yield Pair(
        "User is pregnant.",
        rng.choice(("the baby was born on Sunday", "our daughter arrived last night")),
        "replaced",
    )


def plain_pairs(rounds: int, seed: int) -> list[Pair]:
    rng = random.Random(seed)
    found = [pair for _ in range(rounds) for one in ATTRIBUTES for pair in pairs_of(one, rng)]
    found += [pair for _ in range(rounds) for pair in special(rng)]
    return list(dict.fromkeys(found))
