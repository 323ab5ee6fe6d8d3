"""What the user says ends, puts right or leaves alone what is known."""

import pytest

from ricordo.formation.statements import are_of_one_subject
from ricordo.model.vocabulary import Action, Status
from ricordo.recall import stance
from tests.formation.conftest import Talking
from tests.unit.tables import cases

pytestmark = pytest.mark.requirement("formation.resolve")

# What is known / what is said => what is known then.
ENDED = """
User drives a Volvo. / I sold the Volvo and drive a Tesla now.
    => I sold the Volvo and drive a Tesla now.
User drives a Volvo. / ok so I sold the Volvo and got a Skoda instead
    => User sold the Volvo and got a Skoda instead.
User is vegetarian. / I am not vegetarian any more. => User is not vegetarian any more.
User works at Acme. / I quit Acme last week, I start at Globex on Monday.
    => User quit Acme last week. | User starts at Globex on Monday.
User's team meeting is on Thursday. / The team meeting is on Friday.
    => The team meeting is on Friday.
We use React for the shop. / Sorry, I meant Vue, not React => We use Vue for the shop.
Ich esse Fleisch. / Ich esse kein Fleisch. => Ich esse kein Fleisch.
Our meeting is on Monday. / Not Monday any more, by the way: our meeting is on Tuesday now.
    => Our meeting is on Tuesday now.
User has a Polo, ten years old by now. / My car has changed, it's a Tesla now instead of a Polo.
    => My car has changed, it's a Tesla now instead of a Polo.
User's dog is called Bruno. / I told you the wrong thing about my dog's name: it's Pepper.
    => My dog's name: it's Pepper.
Tengo un Fiat. / Cambié el Fiat por un Volvo. => Cambié el Fiat por un Volvo.
Saya ke kantor naik ojek. / Saya ganti dari ojek ke KRL untuk ke kantor.
    => Pengguna ganti dari ojek ke KRL untuk ke kantor.
Our meeting is on Monday. / We moved the meeting from Monday to Friday.
    => We moved the meeting from Monday to Friday.
User drives a Volvo. / Earlier I said I drive a Volvo. That was wrong, I drive a Skoda.
    => User drives a Skoda.
User is vegan. / By the way: I'm not vegan any more. => User is not vegan any more.
Ich bin Veganer. / Übrigens: ich bin kein Veganer mehr. => Ich bin kein Veganer mehr.
User drinks coffee. / As of today I drink tea. => As of today User drinks tea.
Always give me emojis. / You can stop with the emojis. => You can stop with the emojis.
Call me Captain. / Please stop calling me Captain. => Please stop calling me Captain.
Always give me emojis. / No need for emojis any more. => No need for emojis any more.
Ich habe einen Hund namens Emma. / Sorry, ich meinte Bruno, nicht Emma.
    => Ich habe einen Hund namens Bruno.
"""
NEWLY_SENSITIVE = """
User works nights. / I no longer work nights, that ended when I got HIV.
User plays football. / I stopped playing football since I have epilepsy.
User drives to work. / I don't drive to work any more because of my depression.
"""
# What is said first / what is said later, which ends it or not.
TURN_ENDED = """
I use Bun for all my scripts. / I no longer use Bun for my scripts.
We stay at the Astoria in Oslo. / No, not the Astoria. It's the Bristol.
My laptop is a Chromebook. / I told you the wrong thing about my laptop: it's a ThinkPad.
Ich wohne in Basel. / Ich wohne nicht mehr in Basel.
My partner is called Mia. / My partner is called Nora these days, no longer Mia.
My team lead is Jonas. / By the way, Jonas is no longer my team lead.
My cat is called Miso. / Some news: my cat is not called Miso any more, she is Kopi now.
Fumo un paquete al día. / Ya no fumo.
We use React for the shop. / Did I say React? I meant Vue.
I smoke, a pack a week or so. / I don't smoke any more.
Tengo un Renault. / Ya no tengo el Renault. Ahora tengo un Fiat.
I booked the Harbour Inn for our trip. / We switched from the Harbour Inn to the Bristol.
I report to Jonas. / Mia took over from Jonas as my team lead.
I take my pills at 9 am. / My doctor moved the pills from 9 am to 7 am.
I've been with Acme for six years. / Scratch that, I work at Globex.
Mein Editor ist Vim. / Mein Editor ist nicht mehr Vim, sondern Emacs.
Mein Teamleiter heißt Jonas. / Mein Teamleiter heißt jetzt Mia.
Ich lebe in Basel. Was kann man hier tun? / Wir sind letzten Monat nach Graz gezogen.
I write code in Vim. / Earlier I said I write code in Vim. That was wrong, I write code in Zed.
"""
TURN_LEFT_ALONE = """
My brother drives a Corolla. / I no longer drive a Corolla.
I grow tomatoes on the balcony. / By the way, I no longer use Bun.
I use Bun for all my scripts. / Is it true that nobody uses Bun any more?
I have a cat. / I have a cold now.
My sister lives in Rome. / I live in Paris now.
I get up at 9 am. / My doctor moved the pills from 9 am to 7 am.
I was born in Bonn. / I moved from Bonn to Rome.
I use Bun. / I want to switch from Bun to Node.
I use Bun. / My brother switched from Bun to Node.
What rhymes with orange? / Scratch that, I work at Globex.
My sister lives in Rome. / A lot has changed since my sister lives in Rome.
I grow tomatoes on the balcony. / Something has changed: I work at Globex.
Our cat had four kittens. / It was a joy! Thirty dumplings gone, and my niece had nine of them.
My sister wants us to sign up for a race. / A day with nothing, yes! My sister would marry you.
"""
LEFT_ALONE = """
User drives a Volvo. / Is a Tesla worth it? => User drives a Volvo.
User drives a Volvo. / My brother drives a Tesla now.
    => User's brother drives a Tesla now. | User drives a Volvo.
User likes coffee. / I like tea too. => User likes tea too. | User likes coffee.
User eats sugar every day. / Stop me from eating sugar.
    => Stop me from eating sugar. | User eats sugar every day.
User's sister collects stamps. / You still have Waffle for my dog's name, I think.
    => User's sister collects stamps.
Ben works at Acme. / I left Acme. => Ben works at Acme.
Always answer in metric units. / From now on use British spelling.
    => From now on use British spelling. | Always answer in metric units.
"""


@pytest.mark.parametrize("table", [ENDED, LEFT_ALONE], ids=["ended", "left alone"])
def test_a_statement_ends_what_it_contradicts(talking: Talking, table: str) -> None:
    for number, (given, expected) in enumerate(cases(table)):
        known, said = given.split(" / ")
        other = talking.other(f"user-{number}")
        other.me.add(known)
        talking.clock.advance(days=1)
        other.form(said)
        assert sorted(other.known) == sorted(expected.split(" | ")), said


def test_the_end_of_what_is_sensitive_needs_no_consent(talking: Talking) -> None:
    old = talking.me.add("User is allergic to peanuts.").id
    talking.clock.advance(days=1)
    report = talking.form("Turns out I am no longer allergic to peanuts.")
    assert [one.action for one in report.decisions] == [Action.REPLACE]
    assert talking.me.get(old).status is Status.SUPERSEDED
    assert talking.me.proposals().items == ()


@pytest.mark.parametrize("case", NEWLY_SENSITIVE.strip().splitlines())
def test_what_is_newly_sensitive_in_an_ending_needs_consent(talking: Talking, case: str) -> None:
    """What it ends is over at once: it must not be shown while the new statement waits."""
    known, said = case.split(" / ")
    old = talking.me.add(known).id
    talking.clock.advance(days=1)
    talking.form(said)
    assert talking.known == []
    assert len(talking.proposed) == 1
    assert talking.me.get(old).status is Status.SUPERSEDED
    assert talking.me.lineage(old).successor is None
    talking.me.undo(old)
    assert talking.known == [known]


def test_a_corrected_memory_keeps_its_key(talking: Talking) -> None:
    talking.me.add("User works at Acme.", key="employer")
    talking.clock.advance(days=1)
    talking.form("Sorry, I meant Globex, not Acme")
    [found] = talking.me.list().items
    assert (found.content, found.key) == ("User works at Globex.", "employer")


# What is known / words that may be somebody else's.
UNSURE = """
User's account is 111. / The bank: sorry, it's 222, not 111.
User drives a Corolla. / The new owner wrote this: I no longer drive a Corolla, I drive a Tesla now.
"""


@pytest.mark.parametrize("case", UNSURE.strip().splitlines())
def test_words_that_may_be_somebody_elses_end_nothing(talking: Talking, case: str) -> None:
    known, said = case.split(" / ")
    talking.me.add(known)
    talking.clock.advance(days=1)
    talking.form(said)
    assert known in talking.known


def test_what_ends_nothing_is_not_kept(talking: Talking) -> None:
    report = talking.form("I no longer work as a nurse.")
    assert talking.known == []
    assert [one.action for one in report.decisions] == [Action.IGNORE]


def test_what_ends_something_said_just_before_is_kept_in_its_place(talking: Talking) -> None:
    talking.say("I love olives")
    talking.form("I don't like olives anymore")
    (kept,) = talking.me.list()
    assert (kept.content, kept.theme) == ("User does not like olives anymore.", "preferences")


def test_what_ends_something_that_would_have_waited_is_not_kept(talking: Talking) -> None:
    talking.say("I am allergic to peanuts")
    talking.form("I am not allergic to peanuts anymore")
    assert talking.known == []


@pytest.mark.requirement("recall.superseded_turns")
@pytest.mark.parametrize("table", [TURN_ENDED, TURN_LEFT_ALONE], ids=["ended", "left alone"])
def test_an_earlier_turn_is_marked_where_its_statement_ends(talking: Talking, table: str) -> None:
    for number, line in enumerate(table.strip().splitlines()):
        first, later = line.split(" / ")
        other = talking.other(f"user-{number}")
        other.form(first)
        talking.clock.advance(days=1)
        other.form(later)
        marked = [
            hit.content_snippet
            for hit in other.me.search_turns(first, threshold=0)
            if hit.superseded
        ]
        assert marked == ([first] if table is TURN_ENDED else []), line


@pytest.mark.requirement("recall.superseded_turns")
def test_an_answer_that_repeats_an_ended_statement_is_marked_too(talking: Talking) -> None:
    talking.say("I use Bun for all my scripts.")
    talking.say("Bun, okay.", role="assistant")
    talking.form("I no longer use Bun for my scripts.")
    ended = [turn.content for turn in talking.me.turns("monday") if turn.ended_at is not None]
    assert ended == ["I use Bun for all my scripts.", "Bun, okay."]
    (hit, *_) = talking.me.search_turns("What do I run my scripts with?", role="assistant")
    assert [one.since for one in hit.superseded] == [talking.clock()]


@pytest.mark.requirement("recall.superseded_turns")
def test_an_answer_to_what_a_replaced_memory_came_from_is_marked_too(talking: Talking) -> None:
    talking.say("Saya suka banget jus alpukat.")
    talking.say("Baik, jus alpukat ya.", role="assistant")
    talking.me.form("monday")
    talking.clock.advance(days=1)
    talking.form("Saya sudah bosan jus alpukat, sekarang lebih suka wedang jahe.")
    (hit, *_) = talking.me.search_turns("Saya suka minum apa?", role="assistant", threshold=0)
    assert [one.since for one in hit.superseded] == [talking.clock()]


def test_of_several_things_that_a_turn_says_only_one_ends(talking: Talking) -> None:
    talking.form("I work at Acme. I love jazz music.")
    talking.clock.advance(days=1)
    talking.form("I told you the wrong thing about Acme: I do not work at Acme.")
    assert "User loves jazz music." in talking.known


@pytest.mark.requirement("recall.superseded_turns")
def test_a_turn_holds_again_when_its_memory_does(talking: Talking) -> None:
    talking.form("My laptop is a Chromebook.")
    (old,) = talking.me.list()
    talking.clock.advance(days=1)
    talking.form("I told you the wrong thing about my laptop: it's a ThinkPad.")
    talking.me.undo(old.id)
    (first, *_) = talking.me.search_turns("My laptop is a Chromebook.")
    assert first.superseded == ()


def test_without_the_model_words_decide(talking: Talking, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no model")

    monkeypatch.setattr(stance.Comparer, "stances", broken)
    talking.me.add("User drives a Volvo.")
    talking.me.add("User loves jazz.")
    talking.clock.advance(days=1)
    talking.form("I hate jazz.")
    assert sorted(talking.known) == ["User drives a Volvo.", "User hates jazz."]


def test_another_thing_of_the_same_kind_is_something_new(talking: Talking) -> None:
    talking.me.add("User loves salmon.")
    talking.form("I love trout.")
    talking.form("I really like salmon.")
    assert sorted(talking.known) == ["User loves salmon.", "User loves trout."]


def test_whose_statement_it_is() -> None:
    assert are_of_one_subject("User works at Acme.", "I left Acme")
    assert not are_of_one_subject("Ben works at Acme.", "I left Acme")
    assert are_of_one_subject("Ben works at Acme.", "Ben left Acme")
    assert not are_of_one_subject("My brother drives a Corolla.", "I sold the Corolla")
    assert are_of_one_subject("User's brother drives a Corolla.", "He sold the Corolla")
    assert are_of_one_subject("My partner Mia and I cook a lot.", "I broke up with Mia")
    assert are_of_one_subject("My laptop is a Chromebook.", "It's a ThinkPad")
