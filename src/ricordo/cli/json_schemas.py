"""The JSON that every command prints with ``--json``."""

import enum
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from datetime import date, datetime
from typing import (
    Any,
    Final,
    Literal,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ricordo.cli import json_answers
from ricordo.cli.app import topics
from ricordo.cli.checks import CheckFinding
from ricordo.cli.commands import by_words
from ricordo.cli.derived import answer_name, operation_of
from ricordo.model.activity import Job
from ricordo.model.context import Context, RecalledMemory, TokenSplit
from ricordo.model.group import Group, Membership
from ricordo.model.item import Added, Item
from ricordo.model.proposal import Proposed
from ricordo.model.reports import (
    BackupReport,
    FormationReport,
    HomeReport,
    MirrorReport,
    RestoreReport,
)
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.thread import Observed, Window
from ricordo.operations.operation import Operation
from ricordo.workers.configuration import BrokerStatus
from ricordo_bench.answers import AnswerReport
from ricordo_bench.figures import FigureReport
from ricordo_bench.formation import FormationMeasures
from ricordo_bench.recall import RecallReport, Rung

# The reference and its JSON Schema are generated from this, and tests check real output against it.
# It imports every record, so no command imports it.

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_LEFT_OUT: Final = {Job: ("lease_token",)}
"""Fields of a record that are not in its JSON."""
_OPTIONAL: Final = {Item: ("embedding",)}
"""Fields that are in a record's JSON only where they were looked up."""
_COMPUTED: Final[Mapping[type, Mapping[str, Any]]] = {TokenSplit: {"total": int}}
"""Properties that are in a record's JSON."""


class ObservedAndFormed(TypedDict):
    """What was recorded, and what was formed from it."""

    thread_id: str
    recorded: int
    known: int
    formed: FormationReport


class Exchange(TypedDict):
    """What became of one message of a chat: what was sent, and what came back."""

    thread: str
    message: str
    answer: str | None
    error: str | None
    stopped: bool
    messages: list[dict[str, str]]
    memories: list[RecalledMemory]
    tokens: TokenSplit | None


class VectorsMade(TypedDict):
    """A change of where vectors are made, and how far the new ones have come."""

    provider: str
    model: str | None
    to_rebuild: int
    applied: bool
    made: int
    ready: int
    pending: int
    error: int
    problem: str | None


class VectorsAsked(TypedDict):
    """How many vectors were asked for, and how far they have come."""

    provider: str
    model: str | None
    put_back: int
    made: int
    ready: int
    pending: int
    error: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What a command prints to standard output with ``--json``.

    ``types`` are the kinds of output by when each is printed; the usual one has an empty key.
    ``on_lines``: any number of them, one per line. Without types there is no JSON, and ``instead``
    says what there is.
    """

    types: Mapping[str, Any]
    on_lines: bool = False
    instead: str | None = None


def _one(usual: Any, **others: Any) -> JsonAnswer:
    return JsonAnswer(
        {"": usual, **{name.replace("_", " "): kind for name, kind in others.items()}}
    )


def _lines(**types: Any) -> JsonAnswer:
    return JsonAnswer({name.replace("_", " "): kind for name, kind in types.items()}, on_lines=True)


_UNUSUAL: Final[Mapping[str, JsonAnswer]] = {
    "add": JsonAnswer(
        {
            "": Added,
            "if it waits for consent": Proposed,
            "with `--batch`": tuple[Added, ...],
        }
    ),
    "get": JsonAnswer({"": Item, "for several": tuple[Item, ...]}),
    "purge": _one(json_answers.Purged),
    "agents install": _one(json_answers.AgentInstallation),
    "agents uninstall": _one(json_answers.AgentInstallation),
    "agents status": _one(json_answers.AgentStates),
    "agents off": _one(json_answers.ProjectTurned),
    "agents on": _one(json_answers.ProjectTurned),
    "agents drain": _one(json_answers.EventsStored),
    "agents mcp": JsonAnswer({}, instead="It speaks the Model Context Protocol, as `mcp` does."),
    "unlink": _one(json_answers.Unlinked),
    "groups list": JsonAnswer(
        {"": tuple[Membership, ...], "with `--all-users`": tuple[Group, ...]}
    ),
    "groups remove": _one(json_answers.RemovedMember),
    "senders unblock": _one(json_answers.Unblocked),
    "observe": JsonAnswer({"": Observed, "with `--form`": ObservedAndFormed}),
    "chat": JsonAnswer(
        {
            "for a message": Exchange,
            "for `/memories`": tuple[RecalledMemory, ...],
            "for `/prompt`": Context,
            "for `/window`": Window,
            "for `/forget`": tuple[Item, ...],
            "for `/help`": json_answers.ChatHelp,
            "for what went wrong": json_answers.ChatComplaint,
        },
        on_lines=True,
    ),
    "checkpoint delete": _one(json_answers.DeletedCheckpoint),
    "tools list": JsonAnswer(
        {"": tuple[json_answers.ShownTool, ...], "with `--form`": tuple[dict[str, Any], ...]}
    ),
    "tools call": _one(dict[str, Any]),
    "tools guide": _one(json_answers.ToolGuide),
    "init": _one(HomeReport),
    "mirror watch": _lines(whenever_something_was_done=MirrorReport),
    "export": JsonAnswer(
        {"to a file": json_answers.Exported},
        instead="To standard output it writes the export itself, which is JSON Lines with and"
        " without `--json`: [its format](../howto/import-export.md).",
    ),
    "serve": _lines(
        for_the_first_key_on_a_terminal=CreatedKey,
        for_the_first_key_elsewhere=json_answers.KeyFile,
        when_it_listens=json_answers.Serving,
        when_it_stopped=json_answers.ServingEnded,
    ),
    "mcp": JsonAnswer({}, instead="It speaks the Model Context Protocol, which is JSON-RPC."),
    "jobs run": _one(json_answers.JobsRun),
    "jobs retry": _one(json_answers.JobRetried),
    "jobs cancel": _one(json_answers.JobCancelled),
    "keys check": _one(ApiKey),
    "worker": _lines(when_it_begins=json_answers.Working, when_it_stopped=json_answers.WorkEnded),
    "celery worker": JsonAnswer(
        {}, instead="It writes its log until stopped, and has no `--json`."
    ),
    "celery beat": JsonAnswer({}, instead="It writes its log until stopped, and has no `--json`."),
    "celery status": _one(BrokerStatus),
    "embeddings set": _one(VectorsMade),
    "embeddings rebuild": _one(VectorsMade),
    "embeddings backfill": _one(VectorsAsked),
    "backup check": _one(BackupReport),
    "backup restore": _one(RestoreReport),
    "reindex": _one(json_answers.Reindexed),
    "migrate": _one(json_answers.Migrated),
    "database encrypt": _one(json_answers.ConvertedDatabase),
    "database decrypt": _one(json_answers.ConvertedDatabase),
    "database rekey": _one(json_answers.ConvertedDatabase),
    "database grant": JsonAnswer(
        {"": json_answers.GrantedRole, "with `--print`": json_answers.PrintedGrant}
    ),
    "doctor": _one(tuple[CheckFinding, ...]),
    "bench recall": JsonAnswer({"": RecallReport, "with `--ladder`": tuple[Rung, ...]}),
    "bench answers": _one(AnswerReport),
    "bench formation": _one(FormationMeasures),
    "bench speed": _one(FigureReport),
    "completion": JsonAnswer(
        {"": json_answers.CompletionScript, "with `--install`": json_answers.CompletionInstalled}
    ),
    "version": _one(json_answers.Versions),
}
"""Commands that answer something else than the result of their operation."""


def _usual(operation: Operation[..., Any] | None) -> JsonAnswer:
    if operation is None:
        raise TypeError("a command without an operation must say what it answers")
    name = answer_name(operation)
    if name is None:
        return _one(operation.result)
    about = {"__doc__": operation.summary}
    return _one(make_dataclass(name.title(), [(name, int)], namespace=about))


ANSWERS: Final[Mapping[str, JsonAnswer]] = {
    words: _UNUSUAL[words] if words in _UNUSUAL else _usual(operation_of(command))
    for words, command in by_words(topics()).items()
}

Schema = dict[str, Any]
_PLAIN: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Any: {},
    object: {},
}


def document() -> Schema:
    """One JSON Schema for all commands, each under ``commands`` by its name."""
    shapes = Shapes()
    commands = {name: answer_schema(answer, shapes) for name, answer in ANSWERS.items()}
    return {
        "$schema": DIALECT,
        "title": "What the commands of ricordo answer with --json",
        "commands": commands,
        "error": ERROR,
        "$defs": dict(sorted(shapes.definitions.items())),
    }


ERROR: Final[Schema] = {
    "type": "object",
    "description": "What standard error carries with --json when a command fails.",
    "properties": {
        "error": {"type": "string", "description": "Name of the error, or UsageError."},
        "message": {"type": "string", "description": "What is wrong, in one sentence."},
        "fix": {"type": "string", "description": "What to do about it, where that is known."},
    },
    "required": ["error", "message"],
    "additionalProperties": False,
}


def answer_schema(answer: JsonAnswer, shapes: "Shapes") -> Schema:
    kinds = [shapes.schema(kind) for kind in answer.types.values()]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


class Shapes:
    """Schemas of types; named ones go into ``definitions``."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._origins: dict[str, Any] = {}

    def schema(self, kind: Any, bound: Mapping[Any, Any] = types.MappingProxyType({})) -> Schema:
        """The schema of a type; ``bound`` maps type variables to types. Raises TypeError."""
        if isinstance(kind, TypeVar):
            return self.schema(bound[kind])
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"type": "string", "enum": [member.value for member in kind]}
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(one, bound) for one in arguments]}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (tuple, list, Sequence):
            return {"type": "array", "items": self.schema(arguments[0], bound)}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.schema(arguments[1], bound)}
        if is_dataclass(origin or kind) or is_typeddict(kind):
            return self._named(kind, bound)
        raise TypeError(f"no JSON Schema for {kind!r}")

    def _named(self, kind: Any, bound: Mapping[Any, Any]) -> Schema:
        """A reference to the definition of a record type; each parametrisation has its own."""
        origin = get_origin(kind) or kind
        parts = [bound.get(one, one) for one in get_args(kind)]
        name = name_of(origin, parts)
        if self._origins.setdefault(name, origin) is not origin:
            raise TypeError(f"{name} is the name of two types: {origin}, {self._origins[name]}")
        if name not in self.definitions:
            self.definitions[name] = {}  # it may refer to itself
            inner = dict(zip(getattr(origin, "__parameters__", ()), parts, strict=True))
            properties = {
                field: self.schema(hint, inner) for field, hint in fields_of(origin).items()
            }
            self.definitions[name] = {
                "type": "object",
                "description": " ".join((origin.__doc__ or "").replace("``", "`").split()),
                "properties": properties,
                "required": [name for name in properties if name not in _OPTIONAL.get(origin, ())],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}


def name_of(origin: Any, parts: Sequence[Any] = ()) -> str:
    """The name of a type: ``Page[Item]`` becomes ``ItemPage``."""
    return "".join([*(str(one.__name__) for one in parts), str(origin.__name__)])


def fields_of(kind: Any) -> dict[str, Any]:
    """The fields of a record as they appear in JSON, with their types."""
    hints = get_type_hints(kind)
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else list(hints)
    shown = {name: hints[name] for name in names if name not in _LEFT_OUT.get(kind, ())}
    return {**shown, **_COMPUTED.get(kind, {})}
