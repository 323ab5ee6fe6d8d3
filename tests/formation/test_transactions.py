"""While a model or an embedder works, no transaction is open."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import pytest

from ricordo import Action, Memory, ModelUnavailable, ProposalState
from ricordo.embedding.contract import Vectors
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from ricordo.testing.model_server import ModelServer
from tests.formation.conftest import Talking
from tests.formation.test_conflicts import extracted, judged

WithModel = Callable[..., Talking]


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
    with_model: WithModel, model_server: ModelServer, embedder: WatchfulEmbedder
) -> Iterator[Talking]:
    """A store whose embedder and model look for open transactions whenever they are asked."""
    talking = with_model(embedder=embedder, judge_min=0.1)
    embedder.memory = talking.memory
    model_server.before_answer = lambda: check(talking.memory)
    yield talking
    embedder.memory = None


@pytest.mark.requirement("formation.no-open-transaction")
def test_the_embedder_finds_a_transaction_that_is_open(
    watched: Talking, embedder: WatchfulEmbedder
) -> None:
    with watched.memory.database.read_all(), pytest.raises(TransactionOpen):
        embedder.embed(["anything"])
    with watched.memory.database.write("ana"), pytest.raises(TransactionOpen):
        embedder.embed(["anything"])
    embedder.embed(["anything"])


@pytest.mark.requirement("formation.no-open-transaction")
def test_the_model_finds_a_transaction_that_is_open(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    def form_in_a_transaction() -> None:
        with ModelServer() as server:
            memory = open_store(
                backend_url,
                model_provider="custom_http",
                model_name="scripted",
                model_base_url=server.base_url,
                model_deadline_seconds=5,
            )
            talking = Talking(memory, clock)
            server.before_answer = lambda: check(memory)
            talking.say("i enjoy plums")
            # What the server found it raises itself when it is left.
            with memory.database.read_all(), contextlib.suppress(ModelUnavailable):
                talking.me.form("monday")

    with pytest.raises(TransactionOpen):
        form_in_a_transaction()


@pytest.mark.requirement("formation.no-open-transaction")
def test_nothing_waits_in_a_transaction_from_observing_to_searching(
    watched: Talking, model_server: ModelServer, embedder: WatchfulEmbedder
) -> None:
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
    report = watched.form("i paint large ships on weekdays, and i have diabetes")
    assert report.count(Action.REPLACE) == 1
    assert report.count(Action.PROPOSE) == 1
    assert len(model_server.asked) == 2

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
def test_jobs_hold_no_transaction_either(
    watched: Talking, model_server: ModelServer, embedder: WatchfulEmbedder
) -> None:
    model_server.answer(extracted(("User enjoys plums.", "enjoy plums")))
    model_server.answer("A portrait.")
    watched.say("i enjoy plums")
    watched.clock.advance(hours=1)
    watched.run_jobs()
    assert watched.known == ["User enjoys plums."]
    assert len(model_server.asked) == 2
    assert embedder.calls > 0
    assert not [job for job in watched.memory.jobs(limit=100) if job.last_error]


@pytest.mark.requirement("formation.no-open-transaction")
def test_what_changes_while_the_model_judges_is_looked_at_again(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(judge_min=0.1)
    talking.me.add("User paints small boats on weekends.")
    talking.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    changes = iter([lambda: None, lambda: talking.me.add(new)])

    def meddle() -> None:
        next(changes, lambda: None)()

    model_server.before_answer = meddle
    model_server.answer(extracted((new, "paint large ships on weekdays")))
    model_server.answer_with(lambda _body: judged(*["different"] * 10))
    report = talking.form("i paint large ships on weekdays")
    assert report.count(Action.IGNORE) == 1  # somebody else was faster
    assert talking.known.count(new) == 1


@pytest.mark.requirement("formation.no-open-transaction")
def test_a_store_that_never_rests_is_written_to_all_the_same(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(judge_min=0.1)
    talking.me.add("User paints small boats on weekends.")
    talking.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    count = iter(range(100))
    model_server.before_answer = lambda: talking.me.add(f"Something else {next(count)}.") and None
    model_server.answer(extracted((new, "paint large ships on weekdays")))
    model_server.answer_with(lambda _body: judged(*["different"] * 10))
    assert talking.form("i paint large ships on weekdays").count(Action.ADD) == 1
    assert len(model_server.asked) <= 6


@pytest.mark.requirement("formation.no-open-transaction")
def test_what_is_forgotten_while_the_model_judges_does_not_come_back(
    with_model: WithModel, model_server: ModelServer
) -> None:
    talking = with_model(judge_min=0.1)
    old = talking.me.add("User paints small boats on weekends.")
    talking.clock.advance(days=1)
    new = "User paints large ships on weekdays."
    steps = iter([lambda: None, lambda: talking.me.forget(old.id)])
    model_server.before_answer = lambda: next(steps, lambda: None)() and None
    model_server.answer(extracted((new, "paint large ships on weekdays")))
    model_server.answer_with(lambda _body: judged("contradiction"))
    report = talking.form("i paint large ships on weekdays")
    assert report.count(Action.ADD) == 1
    assert talking.known == [new]
