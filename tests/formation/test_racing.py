"""Several at once: the same conversation, the same statement, the same proposal."""

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import pytest

from ricordo import Action, AlreadyDecided, Event, Memory, ProposalKind, ProposalState, UserMemory
from ricordo.embedding.contract import Vectors
from ricordo.formation.scheduling import FORM_JOB
from ricordo.model.proposal import StoredProposal
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.proposals import insert_proposal
from ricordo.storage.tables import ITEM_IDS
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from ricordo.testing.model_server import ModelServer
from ricordo.text.normalise import content_hash
from tests.formation.conftest import Talking
from tests.support import processes
from tests.support.scripted_model import read_tastes

Result = TypeVar("Result")
SHARED = ("jazz", "tea", "", "chess", "opera")


def at_once(*calls: Callable[[], Result]) -> list[Result | Exception]:
    """Make calls at the same time, each in a thread; what each returned or raised."""
    barrier = threading.Barrier(len(calls))
    outcomes: list[Any] = [None] * len(calls)

    def make(place: int) -> None:
        barrier.wait()
        try:
            outcomes[place] = calls[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=make, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def sound(memory: Memory) -> bool:
    with memory.database.read_all() as view:
        problems = find_inconsistencies(view.connection)
    return problems + memory.database.backend.check() == []


class Interrupting(WordEmbedder):
    """Makes vectors of words; before it makes that of a chosen text it does something else, once.

    Formation and approval make the vectors of what they will write when they have decided and not
    yet written: whatever happens then has come in between.
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._first: Callable[[], object] | None = None

    def before(self, text: str, first: Callable[[], object]) -> None:
        self._text, self._first = text, first

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if self._first is not None and self._text in texts:
            first, self._first = self._first, None
            first()
        return super().embed(texts, deadline_seconds=deadline_seconds)

    @property
    def has_interrupted(self) -> bool:
        return self._first is None


@pytest.fixture
def interrupting() -> Interrupting:
    return Interrupting()


@pytest.fixture
def interrupted(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    interrupting: Interrupting,
) -> Talking:
    """A store of its own: vectors that another one has made before are made here once more."""
    return Talking(open_store(backend_url, embedder=interrupting), clock)


# -- forming --------------------------------------------------------------------------------------


@pytest.mark.requirement("formation.races")
def test_many_who_form_one_conversation_have_one_effect(talking: Talking) -> None:
    talking.say("I love jazz", "I work as a nurse", "I live in Bekasi", "I work as a teacher")
    talking.clock.advance(minutes=1)
    calls: list[Callable[[], object]] = [lambda: talking.me.form("monday") for _ in range(5)]
    outcomes = at_once(*calls, talking.memory.run_jobs, talking.me.form)
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert talking.known == ["User loves jazz.", "User works as a teacher."]
    assert talking.proposed == ["User lives in Bekasi."]
    assert talking.me.counters().counts["formation_runs"] == 1
    assert [change.event for change in talking.me.changes()].count(Event.ADD) == 2
    assert {job.state for job in talking.memory.jobs() if job.kind == FORM_JOB} <= {"done"}
    assert sound(talking.memory)


@pytest.mark.requirement("formation.races")
def test_the_same_said_in_many_conversations_at_once_is_one_memory(talking: Talking) -> None:
    def say_and_form(number: int) -> object:
        said = ["I love jazz", "I prefer short answers", "I am allergic to peanuts"]
        messages = [{"role": "user", "content": text} for text in said]
        talking.me.observe(messages, thread=f"t-{number}")
        return talking.me.form(f"t-{number}")

    outcomes = at_once(*(partial(say_and_form, number) for number in range(8)))
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert sorted(talking.known) == ["User loves jazz.", "User prefers short answers."]
    assert talking.proposed == ["User is allergic to peanuts."]
    assert talking.me.proposals().items[0].signals == 8
    assert talking.me.form().turns == 0
    assert sound(talking.memory)


@pytest.mark.requirement("formation.isolation")
def test_users_who_form_at_once_never_mix(talking: Talking) -> None:
    foods = {f"user-{number}": f"{name}s" for number, name in enumerate(("pear", "plum", "fig"))}

    def live(name: str) -> object:
        me = talking.memory.user(name)
        for number in range(5):
            said = f"I love {foods[name] if number == 2 else SHARED[number]}"
            me.observe([{"role": "user", "content": said}], thread="monday")
            me.form("monday")
        return None

    assert at_once(*(partial(live, name) for name in foods)) == [None] * 3
    for name, food in foods.items():
        contents = [item.content for item in talking.memory.user(name).list()]
        assert len(contents) == 5
        assert sum(food in content for content in contents) == 1
        others = [other for other in foods.values() if other != food]
        assert not any(other in content for content in contents for other in others)
        assert {item.user_id for item in talking.memory.user(name).list()} == {name}
    assert sound(talking.memory)


@pytest.mark.requirement("formation.races")
def test_processes_that_form_one_conversation_have_one_effect(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    ana = memory.user("ana")
    said = ["I love jazz", "I live in Bekasi", "I work as a nurse", "I prefer short answers"]
    ana.observe([{"role": "user", "content": text} for text in said], thread="monday")
    ana.observe([{"role": "user", "content": said[3]}], thread="tuesday")
    running = [processes.start("form_when_told", backend_url) for _ in range(3)]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
    assert sorted(item.content for item in ana.list()) == [
        "User loves jazz.",
        "User prefers short answers.",
        "User works as a nurse.",
    ]
    assert [one.content for one in ana.proposals()] == ["User lives in Bekasi."]
    assert ana.counters().counts["formation_runs"] == 2
    assert sound(memory)


@pytest.mark.requirement("formation.races")
def test_a_slow_model_that_comes_second_changes_nothing(
    with_model: Callable[..., Talking], model_server: ModelServer
) -> None:
    """While the model reads a stretch, somebody else forms it."""
    talking = with_model()
    model_server.answer_with(read_tastes)
    overtaking = iter([talking.me])

    def overtake() -> None:
        for me in overtaking:
            me.form("monday")

    model_server.before_answer = overtake
    report = talking.form("I love jazz")
    assert report.decisions == ()
    assert talking.known == ["User loves jazz."]
    assert talking.me.counters().counts["formation_runs"] == 1


@pytest.mark.requirement("formation.resolve")
def test_formation_decides_again_when_memories_change_before_it_writes(
    interrupted: Talking, interrupting: Interrupting
) -> None:
    interrupted.form("I work as a nurse")
    (nurse,) = interrupted.me.list()
    interrupted.say("I work as a teacher")
    interrupting.before("User works as a teacher.", lambda: interrupted.me.forget(nurse.id))
    report = interrupted.me.form("monday")
    assert interrupting.has_interrupted
    assert [decision.action for decision in report.decisions] == [Action.ADD]
    assert interrupted.known == ["User works as a teacher."]


@pytest.mark.requirement("formation.resolve")
def test_an_older_statement_does_not_take_the_place_of_one_that_was_faster(
    interrupted: Talking, interrupting: Interrupting
) -> None:
    interrupted.form("I work as a nurse", thread="first")
    interrupted.say("I work as a teacher", thread="older")
    interrupted.say("I work as a pilot", thread="newer")
    interrupting.before("User works as a teacher.", lambda: interrupted.me.form("newer"))
    report = interrupted.me.form("older")
    assert interrupting.has_interrupted
    assert [decision.reason for decision in report.decisions] == ["older than what is known"]
    assert interrupted.known == ["User works as a pilot."]


@pytest.mark.requirement("formation.races")
def test_a_store_that_changes_all_the_time_is_formed_all_the_same(
    interrupted: Talking, interrupting: Interrupting
) -> None:
    """Every decision is overtaken by another write; at some point it is written nevertheless."""
    counting = itertools.count()

    def write_more() -> None:
        interrupted.me.add(f"Note {next(counting)}")
        interrupting.before("User loves jazz.", write_more)

    interrupting.before("User loves jazz.", write_more)
    interrupted.form("I love jazz")
    assert interrupted.me.list(contains="jazz").items[0].content == "User loves jazz."
    assert len(interrupted.me.list(contains="jazz")) == 1


# -- deciding -------------------------------------------------------------------------------------


@pytest.mark.requirement("formation.consent")
def test_of_approving_and_rejecting_at_once_one_wins(talking: Talking) -> None:
    for city in ("Bekasi", "Turin", "Lisbon", "Quito", "Oslo"):
        talking.form(f"I live in {city}")
        (proposal,) = talking.me.proposals()
        outcomes = at_once(
            partial(talking.me.approve, proposal.id), partial(talking.me.reject, proposal.id)
        )
        (lost,) = [one for one in outcomes if isinstance(one, Exception)]
        assert isinstance(lost, AlreadyDecided)
        stored = [item for item in talking.me.list() if city in item.content]
        assert len(stored) == (lost is outcomes[1])
        state = ProposalState.APPROVED if lost is outcomes[1] else ProposalState.REJECTED
        decided = [one for one in talking.me.proposals(state=state) if one.id == proposal.id]
        assert len(decided) == 1
    counts = talking.me.counters().counts
    assert counts.get("proposals_approved", 0) + counts.get("proposals_rejected", 0) == 5
    assert sound(talking.memory)


@pytest.mark.requirement("formation.consent")
def test_approving_many_times_at_once_stores_one_memory(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    outcomes = at_once(*[lambda: talking.me.approve(proposal.id)] * 6)
    lost = [one for one in outcomes if isinstance(one, Exception)]
    assert [type(one) for one in lost] == [AlreadyDecided] * 5
    assert talking.known == ["User lives in Bekasi."]
    assert [change.event for change in talking.me.changes()].count(Event.ADD) == 1
    assert talking.me.counters().counts["proposals_approved"] == 1


@pytest.mark.requirement("formation.consent")
def test_what_is_approved_while_something_newer_is_stored_does_not_take_its_place(
    talking: Talking, interrupted: Talking, interrupting: Interrupting
) -> None:
    talking.form("Remember that I live in Bekasi.", thread="first")
    talking.form("I live in Turin", thread="second")
    (turin,) = talking.me.proposals()
    interrupting.before(
        "User lives in Turin.",
        lambda: talking.form("Remember that I live in Lisbon.", thread="third"),
    )
    with pytest.raises(AlreadyDecided):
        interrupted.me.approve(turin.id)
    assert interrupting.has_interrupted
    assert talking.known == ["User lives in Lisbon."]
    assert talking.me.proposals(state="expired").items[0].id == turin.id


@pytest.mark.requirement("formation.consent")
def test_what_is_approved_while_what_it_replaces_is_forgotten_is_stored(
    talking: Talking, interrupted: Talking, interrupting: Interrupting
) -> None:
    talking.form("Remember that I live in Bekasi.", thread="first")
    (bekasi,) = talking.me.list()
    talking.form("I live in Turin", thread="second")
    (turin,) = talking.me.proposals()
    interrupting.before("User lives in Turin.", lambda: talking.me.forget(bekasi.id))
    added = interrupted.me.approve(turin.id)
    assert interrupting.has_interrupted
    assert added.is_new
    assert talking.known == ["User lives in Turin."]


@pytest.mark.requirement("formation.consent")
def test_a_proposal_that_is_rejected_while_it_is_approved_is_not_stored(
    talking: Talking, interrupted: Talking, interrupting: Interrupting
) -> None:
    talking.form("I live in Turin")
    (turin,) = talking.me.proposals()
    interrupting.before("User lives in Turin.", lambda: talking.me.reject(turin.id))
    with pytest.raises(AlreadyDecided, match="rejected"):
        interrupted.me.approve(turin.id)
    assert talking.known == []


@pytest.mark.requirement("formation.consent")
def test_a_user_erased_while_a_proposal_is_approved_does_not_come_back(
    talking: Talking, interrupted: Talking, interrupting: Interrupting
) -> None:
    talking.form("I live in Turin")
    (turin,) = talking.me.proposals()
    interrupting.before("User lives in Turin.", lambda: talking.memory.erase_user("ana"))
    with pytest.raises(Exception, match=str(turin.id)):
        interrupted.me.approve(turin.id)
    assert talking.memory.users() == ()


def propose(talking: Talking, city: str) -> int:
    """Keep a proposal beside whatever else is open."""
    content = f"User lives in {city}."
    draft = {
        "content": content,
        "theme": "profile",
        "type": "fact",
        "key": "home_city",
        "source": "conversation",
        "source_context": f"I live in {city}",
        "valid_from": talking.clock().isoformat(),
    }
    with talking.memory.database.write("ana") as writing:
        (number,) = writing.take_ids(ITEM_IDS, 1)
        proposal = StoredProposal(
            id=number,
            kind=ProposalKind.CONSENT,
            state=ProposalState.OPEN,
            fields=("city",),
            content_hash=content_hash(content),
            draft=draft,
            quote=draft["source_context"],
            signals=(1,),
            thread_id=None,
            created_at=writing.now,
            expires_at=writing.now.replace(year=2030),
        )
        insert_proposal(writing, proposal)
    return number


@pytest.mark.requirement("formation.consent")
def test_two_approvals_for_one_key_leave_the_newer_answer(talking: Talking) -> None:
    for round_number in range(3):
        older = propose(talking, f"Bekasi {round_number}")
        talking.clock.advance(minutes=1)
        newer = propose(talking, f"Turin {round_number}")
        talking.clock.advance(minutes=1)
        outcomes = at_once(partial(talking.me.approve, older), partial(talking.me.approve, newer))
        assert not isinstance(outcomes[1], Exception)
        assert not isinstance(outcomes[0], Exception) or isinstance(outcomes[0], AlreadyDecided)
        (home,) = talking.me.list(key="home_city")
        assert home.content == f"User lives in Turin {round_number}."
    assert sound(talking.memory)


@pytest.mark.requirement("formation.consent")
def test_approving_and_saying_it_again_at_once_store_one_memory(talking: Talking) -> None:
    talking.form("I prefer short answers", thread="first")
    (waiting,) = talking.me.proposals()
    talking.say("I prefer short answers", thread="second")
    outcomes = at_once(lambda: talking.me.approve(waiting.id), lambda: talking.me.form("second"))
    lost = [one for one in outcomes if isinstance(one, Exception)]
    assert all(isinstance(one, AlreadyDecided) for one in lost)
    assert not isinstance(outcomes[1], Exception)
    assert talking.known == ["User prefers short answers."]
    assert talking.proposed == []


@pytest.mark.requirement("formation.races")
def test_lapsing_and_approving_at_once_agree(talking: Talking) -> None:
    talking.form("I live in Bekasi")
    (proposal,) = talking.me.proposals()
    talking.clock.advance(days=7)
    outcomes = at_once(talking.memory.run_jobs, lambda: talking.me.approve(proposal.id))
    assert isinstance(outcomes[1], AlreadyDecided)
    assert talking.known == []
    assert [one.state for one in talking.me.proposals(state="expired")] == ["expired"]


def contents(me: UserMemory) -> list[str]:
    return [item.content for item in me.list()]


@pytest.mark.requirement("formation.isolation")
def test_a_shared_memory_contradicted_by_two_at_once_stays_its_owners(talking: Talking) -> None:
    owner = talking.memory.user("cleo")
    shared = owner.add("User loves jazz.", key="taste:jazz", theme="preferences")
    viewers = [talking.memory.user(name) for name in ("ana", "ben")]
    for viewer in viewers:
        owner.link(shared.id, viewer.scope.user_id)
        viewer.observe([{"role": "user", "content": "I hate jazz"}], thread="monday")
    talking.clock.advance(minutes=1)
    for viewer in viewers:
        said = {"role": "user", "content": "I hate jazz", "at": talking.clock()}
        viewer.observe([said], thread="monday")
    outcomes = at_once(*(partial(viewer.form, "monday") for viewer in viewers))
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert contents(owner) == ["User loves jazz."]
    for viewer in viewers:
        assert contents(viewer) == ["User hates jazz."]
    assert sound(talking.memory)
