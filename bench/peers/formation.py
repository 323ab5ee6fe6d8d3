"""python -m bench peers-formation: what ricordo and its peers store of the same conversations."""

import argparse
import json
import os
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.options import Commands, add_json
from bench.peers import environments, forming, worker
from bench.peers.comparing import RICORDO, run_worker
from bench.peers.contract import Endpoint, Entry
from bench.peers.registry import PEERS
from ricordo.cli.bench import FORMATION_HEADINGS, MODEL_HEADINGS, formation_cells, progress_bars
from ricordo.cli.render import TableListing, answer, say
from ricordo.model.record import Record
from ricordo.providers.chat_model import Message, ModelChoice, estimated_tokens
from ricordo.providers.embedder import Embedder
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.testing import LoopbackServer, Response, error_response, json_response
from ricordo.text.tokens import estimate_tokens
from ricordo.transfer.exports import Progress
from ricordo.version import __version__
from ricordo_bench.figures import Machine, this_machine
from ricordo_bench.formation import (
    TYPES,
    Fact,
    FormationMeasures,
    Judgement,
    MeasuredSet,
    Outcome,
    Snippet,
    Stored,
    judge,
    measure_formation,
    measures,
    model_settings,
    read_labelled,
)

WITHOUT_A_MODEL = "ricordo, without a model"
FORMERS = tuple(entry for entry in PEERS if entry.former is not None)
_MODEL_SECONDS = 600
_NO_KEY = "unused"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationStanding(Record):
    """How one system did on every set. Without measures it did not run: ``reason`` says why."""

    system: str
    version: str | None
    measures: FormationMeasures | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationComparison(Record):
    """How all of them did with one model."""

    model: str
    machine: Machine
    standings: tuple[FormationStanding, ...]


class Gateway(LoopbackServer):
    """Where every system finds the same vectors and the same model, whose use is counted."""

    def __init__(self, choice: ModelChoice, embedder: Embedder) -> None:
        super().__init__(model=choice.model)
        self.choice = choice
        self.used = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._embedder = embedder
        self._counting = threading.Lock()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.base_url, self.model, _NO_KEY, self._embedder.width or 0)

    def on_get(self, path: str) -> Response:
        if path == f"/v1{forming.USAGE}":
            return json_response(200, self.used)
        return super().on_get(path)

    def on_post(self, path: str, body: Any) -> Response:
        self.requests.clear()  # there are thousands
        if path == "/v1/embeddings":
            return self._vectors(body["input"])
        if path == "/v1/chat/completions":
            return self._asked(body)
        return error_response(404, "not found")

    def _vectors(self, given: str | list[str]) -> Response:
        vectors = self._embedder.embed([given] if isinstance(given, str) else given)
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors.tolist())
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        whole = {"object": "list", "data": data, "model": self.model, "usage": usage}
        return json_response(200, whole)

    def _asked(self, body: dict[str, Any]) -> Response:
        headers = {"Content-Type": "application/json"}
        if self.choice.api_key is not None:
            headers["Authorization"] = f"Bearer {self.choice.api_key}"
        request = urllib.request.Request(
            f"{self.choice.base_url}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=_MODEL_SECONDS) as answered:
                content: bytes = answered.read()
        except urllib.error.HTTPError as refusal:
            return Response(refusal.code, refusal.read())
        except OSError as problem:
            return error_response(502, f"the model cannot be reached: {problem}")
        self._count(body, content)
        return Response(200, content)

    def _count(self, body: dict[str, Any], content: bytes) -> None:
        """As the endpoint counts, otherwise as ricordo estimates, for everybody alike."""
        given = json.loads(content)
        usage = given.get("usage") or {}
        said = [Message("user", str(one.get("content") or "")) for one in body["messages"]]
        came = " ".join(str(one["message"].get("content") or "") for one in given["choices"])
        with self._counting:
            self.used["calls"] += 1
            self.used["prompt_tokens"] += usage.get("prompt_tokens") or estimated_tokens(said)
            self.used["completion_tokens"] += usage.get("completion_tokens") or estimate_tokens(
                came
            )


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "peers-formation", help="what others store of labelled conversations, with one model"
    )
    parser.add_argument(
        "--path", type=Path, required=True, action="append", help="a labelled file or folder"
    )
    parser.add_argument("--provider", help="of the model (default: as ricordo bench formation)")
    parser.add_argument("--model", required=True, help="who reads")
    parser.add_argument("--base-url", help="the endpoint of the model")
    parser.add_argument("--api-key", help="its key (default: RICORDO_MODEL_API_KEY)")
    names = [RICORDO, WITHOUT_A_MODEL, *(entry.package for entry in FORMERS)]
    parser.add_argument(
        "--only", action="append", choices=names, help="just this one; may be given several times"
    )
    parser.add_argument("--limit", type=int, help="only the first conversations of each file")
    parser.add_argument("--errors", action="store_true", help="also list what is wrong and missed")
    parser.add_argument(
        "--install",
        action="store_true",
        help="first put what is missing into environments of its own, in .venv-peers"
        f" (or where {environments.FOLDER_VARIABLE} says)",
    )
    parser.add_argument(
        "--seconds", type=float, default=7_200, help="for each peer and set (default 7200)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    os.environ["MEM0_TELEMETRY"] = "False"
    choice = _choice(given)
    sets = {str(path): read_labelled(path, given.limit) for path in given.path}
    wanted = given.only or [RICORDO, WITHOUT_A_MODEL, *(entry.package for entry in FORMERS)]
    entries = [entry for entry in FORMERS if entry.package in wanted]
    if given.install:
        environments.install(dict.fromkeys(entry.environment for entry in entries), say)
    machine = this_machine()
    embedder = LocalEmbedder()
    standings = []
    with Gateway(choice, embedder) as gateway, progress_bars(wanted=not given.as_json) as bar:
        for name in (RICORDO, WITHOUT_A_MODEL):
            if name in wanted:
                asked = gateway if name == RICORDO else None
                done = [itself(*one, embedder, asked, bar(name)) for one in sets.items()]
                found = measures(done, with_mistakes=given.errors)
                standings.append(
                    FormationStanding(system=name, version=__version__, measures=found)
                )
        for number, entry in enumerate(entries):
            bar(entry.package)(number, len(entries))
            standings.append(standing_of(entry, sets, gateway, given.seconds, given.errors))
    compared = FormationComparison(
        model=f"{choice.provider}:{choice.model}", machine=machine, standings=tuple(standings)
    )
    answer(given.as_json, compared, _table)
    if given.errors and not given.as_json:
        answer(given.as_json, compared, _mistake_table)


def _choice(given: argparse.Namespace) -> ModelChoice:
    key = given.api_key or os.environ.get("RICORDO_MODEL_API_KEY") or None
    named = model_settings(given.provider, given.model, given.base_url, None)
    return ModelChoice.parse(
        named["model_provider"] or "", model=given.model, base_url=given.base_url, api_key=key
    )


def itself(
    name: str,
    snippets: Sequence[Snippet],
    embedder: Embedder,
    gateway: Gateway | None,
    progress: Progress,
) -> MeasuredSet:
    """ricordo, judged as its peers are: by words alone."""
    settings = model_settings(None, None, None, None)
    if gateway is not None:
        choice = gateway.choice
        key = choice.api_key or _NO_KEY
        settings = model_settings(choice.provider, choice.model, gateway.base_url, key)
    done = measure_formation(name, snippets, progress, embedder=embedder, settings=settings)
    judged = tuple(
        replace(one, judgement=by_words(snippet, [kept.content for kept in one.stored]))
        for snippet, one in zip(snippets, done.outcomes, strict=True)
    )
    return replace(done, outcomes=judged)


def by_words(snippet: Snippet, contents: Sequence[str]) -> Judgement:
    """Not every system has types, or knows what is sensitive; so nobody is judged by them."""

    def unmarked(fact: Fact) -> Fact:
        return replace(fact, types=TYPES, explicit=False, sensitive=None)

    plain = replace(
        snippet,
        facts=tuple(map(unmarked, snippet.facts)),
        optional=tuple(map(unmarked, snippet.optional)),
    )
    return judge(plain, [Stored(content, None, False, None) for content in contents])


def standing_of(
    entry: Entry,
    sets: dict[str, tuple[Snippet, ...]],
    gateway: Gateway,
    seconds: float,
    errors: bool,
) -> FormationStanding:
    """A peer on every set, in processes of its own."""
    done: list[MeasuredSet] = []
    version = None
    for name, snippets in sets.items():
        with tempfile.TemporaryDirectory(prefix="ricordo-peer-", ignore_cleanup_errors=True) as at:
            folder = Path(at)
            write_task(folder, entry, snippets, gateway.endpoint)
            problem = run_worker(entry, folder, seconds, "bench.peers.forming")
            if problem is not None:
                return FormationStanding(system=entry.package, version=None, reason=problem)
            found = json.loads((folder / worker.FOUND).read_text(encoding="utf-8"))
        version = found["version"]
        outcomes = tuple(outcomes_of(snippets, found["conversations"]))
        done.append(MeasuredSet(name, gateway.choice.model, outcomes))
    return FormationStanding(
        system=entry.package, version=version, measures=measures(done, with_mistakes=errors)
    )


def write_task(folder: Path, entry: Entry, snippets: Sequence[Snippet], endpoint: Endpoint) -> None:
    conversations = [
        {"id": snippet.id, "messages": [asdict(turn) for turn in snippet.turns]}
        for snippet in snippets
    ]
    task = {
        "package": entry.package,
        "endpoint": asdict(endpoint),
        "conversations": conversations,
    }
    (folder / worker.TASK).write_text(json.dumps(task), encoding="utf-8")


def outcomes_of(
    snippets: Sequence[Snippet], conversations: Sequence[dict[str, Any]]
) -> Iterator[Outcome]:
    for snippet, given in zip(snippets, conversations, strict=True):
        one = forming.FormedConversation(**given)
        yield Outcome(
            by_words(snippet, one.stored),
            ms_per_turn=one.ms / len(snippet.turns),
            calls=one.calls,
            prompt_tokens=one.prompt_tokens,
            completion_tokens=one.completion_tokens,
            problem=one.problem,
        )


def _table(compared: FormationComparison) -> TableListing:
    rows = []
    for standing in compared.standings:
        if standing.measures is None:
            say(f"{standing.system}: {standing.reason}")
            continue
        rows += [
            [standing.system, standing.version or "", *formation_cells(row, asked=True)]
            for row in standing.measures.rows
        ]
    headings = ["System", "Version", *FORMATION_HEADINGS, *MODEL_HEADINGS]
    return TableListing(headings, rows, f"{compared.model}; {compared.machine.in_words}")


def _mistake_table(compared: FormationComparison) -> TableListing:
    rows = [
        [standing.system, one.kind, one.set_name, one.conversation, one.text]
        for standing in compared.standings
        if standing.measures is not None
        for one in standing.measures.mistakes or ()
    ]
    return TableListing(["System", "Mistake", "Set", "Conversation", "What"], rows)
