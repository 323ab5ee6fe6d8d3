"""Several at once: one effect, and nobody waits in a transaction while a model works."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from ricordo import (
    Action,
    AlreadyDecided,
    Event,
    Memory,
    ProposalKind,
    ProposalNotFound,
    ProposalState,
)
from ricordo.formation.schedule import FORM_JOB
from ricordo.model.proposal import StoredProposal
from ricordo.providers.embedder import Vectors
from ricordo.storage.formation import insert_proposal
from ricordo.storage.tables import ITEM_IDS
from ricordo.testing import WordEmbedder
from ricordo.text.normalise import content_hash
from tests.formation.conftest import Talking, WithModel, at_once, extracted, judged
from tests.support import processes
from tests.support.endpoints import FaultyModel
from tests.support.scripted_model import read_tastes
from tests.support.sharing import share
from tests.support.soundness import problems_of

SHARED = ("jazz", "tea", "", "chess", "opera")


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
def interrupted(open_talking: Callable[..., Talking], interrupting: Interrupting) -> Talking:
    """A store of its own: vectors that another one has made before are made here once more."""
    return open_talking(embedder=interrupting)


@pytest.mark.smoke
@pytest.mark.both_databases
@pytest.mark.requirement("formation.races")
def test_many_who_form_one_conversation_have_one_effect(talking: Talking) -> None:
    talking.say("I love jazz", "I work as a nurse", "I live in Bekasi", "I work as a teacher")
    talking.clock.advance(minutes=1)
    calls: list[Callable[[], object]] = [lambda: talking.me.form("monday") for _ in range(2)]
    outcomes = at_once(*calls, talking.memory.run_jobs, talking.me.form)
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert talking.known == ["User loves jazz.", "User works as a teacher."]
    assert talking.proposed == ["User lives in Bekasi."]
    assert talking.me.counters().counts["formation_runs"] == 1
    assert [change.event for change in talking.me.changes()].count(Event.ADD) == 2
    assert {job.state for job in talking.memory.jobs() if job.kind == FORM_JOB} <= {"done"}
    assert problems_of(talking.memory) == []


@pytest.mark.requirement("formation.races")
def test_the_same_said_in_many_conversations_at_once_is_one_memory(talking: Talking) -> None:
    def say_and_form(number: int) -> object:
        said = ["I love jazz", "I prefer short answers", "I am allergic to peanuts"]
        messages = [{"role": "user", "content": text} for text in said]
        talking.me.observe(messages, thread=f"t-{number}")
        return talking.me.form(f"t-{number}")

    outcomes = at_once(*(partial(say_and_form, number) for number in range(3)))
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert sorted(talking.known) == ["User loves jazz.", "User prefers short answers."]
    assert talking.proposed == ["User is allergic to peanuts."]
    assert talking.me.proposals().items[0].signals == 3
    assert talking.me.form().turns == 0
    assert problems_of(talking.memory) == []


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
    assert problems_of(talking.memory) == []


@pytest.mark.requirement("formation.races")
@pytest.mark.slow
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
    assert problems_of(memory) == []


@pytest.mark.requirement("formation.races")
def test_a_slow_model_that_comes_second_changes_nothing(reader: Talking) -> None:
    """While the model reads a stretch, somebody else forms it."""
    reader.server.answer_with(read_tastes)
    overtaking = iter([reader.me])

    def overtake() -> None:
        for me in overtaking:
            me.form("monday")

    reader.server.before_answer = overtake
    report = reader.form("I love jazz")
    assert report.decisions == ()
    assert reader.known == ["User loves jazz."]
    assert reader.me.counters().counts["formation_runs"] == 1


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


@pytest.mark.both_databases
@pytest.mark.requirement("formation.consent")
def test_of_approving_and_rejecting_at_once_one_wins(talking: Talking) -> None:
    for number in range(3):
        one = talking.other(f"user-{number}")
        one.form("I live in Bekasi")
        (proposal,) = one.me.proposals()
        approve = partial(one.me.approve, proposal.id)
        outcomes = at_once(approve, approve, partial(one.me.reject, proposal.id))
        lost = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert [type(outcome) for outcome in lost] == [AlreadyDecided] * 2
        approved = outcomes[2] in lost
        assert one.known == (["User lives in Bekasi."] if approved else [])
        state = ProposalState.APPROVED if approved else ProposalState.REJECTED
        assert [decided.id for decided in one.me.proposals(state=state)] == [proposal.id]
        counts = one.me.counters().counts
        assert counts.get("proposals_approved", 0) + counts.get("proposals_rejected", 0) == 1
    assert problems_of(talking.memory) == []


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
@pytest.mark.parametrize("ending", ["reject", "erase"])
def test_a_proposal_that_ends_while_it_is_approved_is_not_stored(
    talking: Talking, interrupted: Talking, interrupting: Interrupting, ending: str
) -> None:
    talking.form("I live in Turin")
    (turin,) = talking.me.proposals()
    ends: dict[str, Callable[[], object]] = {
        "reject": lambda: talking.me.reject(turin.id),
        "erase": lambda: talking.memory.erase_user("ana"),
    }
    interrupting.before("User lives in Turin.", ends[ending])
    with pytest.raises((AlreadyDecided, ProposalNotFound), match=str(turin.id)):
        interrupted.me.approve(turin.id)
    assert talking.known == []
    assert ending == "reject" or talking.memory.users() == ()


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


class TransactionOpen(AssertionError):
    """Somebody was made to wait for a model."""


class WatchfulEmbedder(WordEmbedder):
    """Makes vectors only while no connection is in use."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Memory | None = None
        self.calls = 0

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if self.memory is not None:
            check(self.memory)
        self.calls += 1
        return super().embed(texts, deadline_seconds=deadline_seconds)


def check(memory: Memory) -> None:
    in_use = memory.database.backend.connections_in_use()
    if in_use:
        raise TransactionOpen(f"{in_use} connections are in use")


@pytest.fixture
def embedder() -> WatchfulEmbedder:
    return WatchfulEmbedder()


@pytest.fixture
def watched(
    with_model: WithModel, model_server: FaultyModel, embedder: WatchfulEmbedder
) -> Iterator[Talking]:
    """A store whose embedder and model look for open transactions whenever they are asked."""
    talking = with_model(embedder=embedder, judge_min=0.1)
    embedder.memory = talking.memory
    model_server.before_answer = lambda: check(talking.memory)
    yield talking
    embedder.memory = None


@pytest.mark.requirement("formation.no-open-transaction")
def test_nothing_waits_in_a_transaction_from_observing_to_searching(
    watched: Talking, model_server: FaultyModel, embedder: WatchfulEmbedder
) -> None:
    with watched.memory.database.read_all(), pytest.raises(TransactionOpen):
        embedder.embed(["anything"])  # so that it would be noticed
    me = watched.me
    old = me.add("User paints small boats on weekends.", theme="life")
    me.add_many(["User is tall.", "User owns a red bicycle."])
    watched.clock.advance(days=1)

    # Read, judged and written, with a sensitive statement that becomes a proposal.
    model_server.answer(
        extracted(
            ("User paints large ships on weekdays.", "paint large ships on weekdays"),
            ("User has diabetes.", "have diabetes"),
        )
    )
    model_server.answer_with(lambda _body: judged(*["contradiction"] + ["different"] * 20))
    report = watched.form("i paint large ships on weekdays. and i have diabetes")
    assert report.count(Action.REPLACE) == 1
    assert report.count(Action.PROPOSE) == 1
    assert len(model_server.prompts) == 2

    (proposal,) = me.proposals()
    me.approve(proposal.id)
    assert me.proposals(state="approved").items[0].state is ProposalState.APPROVED

    model_server.answer("A portrait.")
    watched.clock.advance(minutes=1)
    assert watched.run_jobs() > 0
    summary = me.summary()
    assert summary is not None
    assert summary.content == "A portrait."

    calls = embedder.calls
    assert me.search("ships").results
    assert me.search_turns("ships").results
    assert me.query("helper", "ships")
    assert embedder.calls > calls
    me.add("User owns a blue bicycle.")
    me.undo(old.id)
    me.audit()
    assert embedder.calls > calls + 1


@pytest.mark.requirement("formation.no-open-transaction")
def test_a_store_that_never_rests_is_written_to_all_the_same(doubter: Talking) -> None:
    doubter.me.add("User paints small boats on weekends.")
    doubter.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    count = iter(range(100))
    doubter.server.before_answer = lambda: doubter.me.add(f"Something else {next(count)}.") and None
    doubter.server.answer(extracted((new, "paint large ships on weekdays")))
    doubter.server.answer_with(lambda _body: judged(*["different"] * 10))
    assert doubter.form("i paint large ships on weekdays").count(Action.ADD) == 1
    assert len(doubter.server.prompts) <= 6


@pytest.mark.requirement("formation.no-open-transaction")
def test_what_is_forgotten_while_the_model_judges_does_not_come_back(doubter: Talking) -> None:
    old = doubter.me.add("User paints small boats on weekends.")
    doubter.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    steps = iter([lambda: None, lambda: doubter.me.forget(old.id)])
    doubter.server.before_answer = lambda: next(steps, lambda: None)() and None
    doubter.server.answer(extracted((new, "paint large ships on weekdays")))
    doubter.server.answer_with(lambda _body: judged("contradiction"))
    report = doubter.form("i paint large ships on weekdays")
    assert report.count(Action.ADD) == 1
    assert doubter.known == [new]


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
    assert problems_of(talking.memory) == []


@pytest.mark.requirement("formation.isolation")
def test_a_shared_memory_contradicted_by_two_at_once_stays_its_owners(talking: Talking) -> None:
    owner = talking.memory.user("cleo")
    shared = owner.add("User loves jazz.", key="taste:jazz", theme="preferences")
    viewers = [talking.memory.user(name) for name in ("ana", "ben")]
    for viewer in viewers:
        share(owner, shared.id, viewer.scope.user_id)
        viewer.observe([{"role": "user", "content": "I hate jazz"}], thread="monday")
    talking.clock.advance(minutes=1)
    for viewer in viewers:
        said = {"role": "user", "content": "I hate jazz", "at": talking.clock()}
        viewer.observe([said], thread="monday")
    outcomes = at_once(*(partial(viewer.form, "monday") for viewer in viewers))
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    assert [item.content for item in owner.list()] == ["User loves jazz."]
    for viewer in viewers:
        assert [item.content for item in viewer.list()] == ["User hates jazz."]
    assert problems_of(talking.memory) == []
