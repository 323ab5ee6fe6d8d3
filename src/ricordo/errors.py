"""Every error that ricordo raises on purpose.

RicordoError
├── InvalidInput            the caller sent something that is not allowed; nothing was written
│   ├── InvalidValue        one value is wrong: names the field and what is allowed
│   ├── UnknownField        a field, filter or setting that does not exist
│   ├── InvalidCursor       a paging cursor that this call did not give out
│   ├── ImportFailed        a file that cannot be read as what it should be
│   ├── InvalidBackup       a file that is no backup, or is damaged or changed
│   ├── InvalidPolicy       the policy file is not valid; the message names the line
│   ├── TargetRefused       an address that user settings may not point to
│   └── InvalidSignature    what came as a webhook was not signed with its secret
├── NotFound                no such thing for this user (other users' things included)
│   ├── MemoryNotFound
│   ├── ThemeNotFound
│   ├── ThreadNotFound
│   ├── UserNotFound
│   ├── JobNotFound
│   ├── ProposalNotFound
│   ├── CheckpointNotFound
│   ├── KeyNotFound
│   ├── GrantNotFound
│   ├── WebhookNotFound
│   └── GroupNotFound       none of that name, or this user is no member
├── Conflict                understood, but the present state does not allow it
│   ├── IllegalTransition   the life cycle has no such step
│   ├── NothingToUndo
│   ├── Occupied            the place (key or text) is taken by another active memory
│   ├── Changed             it is no longer as the caller last saw it
│   ├── StoreNotEmpty       a backup would replace what the store holds
│   ├── OtherProject        the conversation began in another project, or in none
│   ├── AlreadyDecided      the proposal was approved, rejected, or has expired
│   └── OfferRefused        the other user does not want this memory, or any of this sender
├── AccessDenied
│   ├── NotOwner            visible through a link, but not this user's to change
│   ├── ScopeWidened        a narrower scope tried to become another one
│   ├── CategoryNotAllowed  the agent may not read this category
│   ├── PermissionMissing   the key does not allow it
│   └── NotAuthenticated    no key, or one that is unknown, revoked or expired
├── StorageError            the database could not do it; the message says what to do
│   ├── StorageBusy         locked for longer than the busy timeout; try again
│   ├── StorageFull         no space left
│   ├── StorageReadOnly     the file or the role may not write
│   ├── StorageCorrupt      the file is damaged or not a ricordo database
│   ├── StorageUnavailable  cannot be opened or reached
│   │   └── DatabaseKeyMismatch  the key of the settings is not that of the file
│   ├── StorageClosed       used after close()
│   ├── DatabaseTooNew      written by a newer ricordo
│   ├── DatabaseTooOld      an upgrade is due, and this role may not do it
│   └── RoleNotConfined     the role of the database could read past its row-level security
├── FilesUnavailable        a file of the home folder cannot be read or written
├── EmbeddingError          the text could not be turned into a vector
│   ├── EmbedderUnavailable down, slow, overloaded or given up on for a while; try again
│   ├── EmbedderRefused     the endpoint said no: key, model, quota …
│   └── BadEmbedding        the answer is not usable: not JSON, wrong count or width, NaN …
└── LanguageModelError      the language model gave no usable answer
    ├── ModelUnavailable    down, slow or overloaded; try again
    ├── ModelRefused        the endpoint said no: key, model, quota …
    ├── BadAnswer           it answered, but not with what was asked for
    └── BudgetExhausted     the tokens of the day are used up; work goes on at ``until``

Each surface maps this tree to its own codes in one table (see ``cli/errors.py``).
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

_ADDRESS: Final = re.compile(r" \(https?://[^\s)]*\)")
_PASSWORD: Final = re.compile(r"(://[^\s/:@]*:)\S+@")
_MAX_SHOWN_NAMES: Final = 20
_MAX_SHOWN_NAME_CHARS: Final = 100


def _shortened(name: str) -> str:
    """A name that a caller made up, as far as it need be repeated."""
    return name if len(name) <= _MAX_SHOWN_NAME_CHARS else f"{name[: _MAX_SHOWN_NAME_CHARS - 1]}…"


def _again(
    kind: "type[RicordoError]", args: tuple[object, ...], state: dict[str, object]
) -> object:
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made


class RicordoError(Exception):
    """Base of all errors raised by ricordo."""

    def __reduce__(self) -> tuple[object, ...]:
        # To go to another process as it is: the message is made of other arguments.
        return _again, (type(self), self.args, self.__dict__)


class InvalidInput(RicordoError, ValueError):
    """The caller sent something that is not allowed; nothing was written."""


class InvalidValue(InvalidInput):
    """One value is wrong; ``field`` names it and the message says what is allowed."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


class UnknownField(InvalidInput):
    """A field, filter or setting that does not exist; the message lists those that do."""

    def __init__(self, what: str, unknown: Iterable[str], allowed: Iterable[str]) -> None:
        self.unknown = sorted(unknown)
        self.allowed = sorted(allowed)
        # They come from outside: however many and long they are, the message stays one to be read.
        shown = self.unknown[:_MAX_SHOWN_NAMES]
        names = ", ".join(repr(_shortened(name)) for name in shown)
        super().__init__(f"unknown {what} {names}; allowed: {', '.join(self.allowed)}")


class InvalidCursor(InvalidInput):
    """A paging cursor that does not belong to this call."""


class ImportFailed(InvalidInput):
    """A file that cannot be imported; the message names the place. Nothing was written."""


class InvalidBackup(InvalidInput):
    """A file that is no backup, or one that is damaged or was changed. Nothing was restored."""


class InvalidPolicy(InvalidInput):
    """The policy file is not valid; the message names the line, where there is one."""

    def __init__(
        self, file: str, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        self.file = file
        self.problem = problem
        self.line = line
        self.column = column
        place = file if line is None else f"{file}, line {line}, column {column}"
        super().__init__(f"{place}: {problem}")


class TargetRefused(InvalidInput):
    """An address that a user's settings may not point to; the operator's may."""


class InvalidSignature(InvalidInput):
    """What came as a webhook was not signed with the secret, is too old, or was changed."""


class NotFound(RicordoError, LookupError):
    """No such thing for this user. Other users' things answer exactly the same."""


class MemoryNotFound(NotFound):
    """No memory with this id is visible to this user."""

    def __init__(self, reference: object) -> None:
        super().__init__(f"no memory {reference}")


class ThemeNotFound(NotFound):
    """This user has no theme of that name."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"no theme {slug!r}")


class ThreadNotFound(NotFound):
    """This user has no thread of that name."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"no thread {thread_id!r}")


class UserNotFound(NotFound):
    """Nothing is stored for this user."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"no user {user_id!r}")


class JobNotFound(NotFound):
    """No job with this id."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"no job {job_id}")


class ProposalNotFound(NotFound):
    """This user has no proposal with this id."""

    def __init__(self, proposal_id: int) -> None:
        super().__init__(f"no proposal {proposal_id}")


class CheckpointNotFound(NotFound):
    """No state is saved for this conversation."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"no checkpoint of thread {thread_id!r}")


class KeyNotFound(NotFound):
    """No API key with this id."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no key {key_id!r}")


class GrantNotFound(NotFound):
    """No grant with this id that this user gave a program."""

    def __init__(self, grant_id: str) -> None:
        super().__init__(f"no grant {grant_id!r}")


class WebhookNotFound(NotFound):
    """No webhook with this id of this user."""

    def __init__(self, webhook_id: str) -> None:
        super().__init__(f"no webhook {webhook_id!r}")


class GroupNotFound(NotFound):
    """No group of that name that this user is a member of; or no such member."""

    def __init__(self, group: str, member: str | None = None) -> None:
        super().__init__(
            f"no group {group!r}" if member is None else f"no member {member!r} in group {group!r}"
        )


class Conflict(RicordoError):
    """The request is understood, but the present state does not allow it."""


class IllegalTransition(Conflict):
    """The life cycle has no step from the present status to the wanted one."""


class NothingToUndo(Conflict):
    """The memory was neither superseded, merged nor updated."""


class Occupied(Conflict):
    """Another active memory already has this key or this text."""


class Changed(Conflict):
    """The memory was changed since the caller last read it; nothing was written."""

    def __init__(self, item_id: int) -> None:
        super().__init__(f"memory {item_id} was changed since; read it again, then decide")


class StoreNotEmpty(Conflict):
    """A backup is restored into an empty store, unless one asks for all to be replaced."""


class OtherProject(Conflict):
    """A conversation is of the project that it began in, and goes on there."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"thread {thread_id!r} began in another project, or in none: a conversation stays where"
            " it began; take another thread"
        )


class AlreadyDecided(Conflict):
    """The proposal was approved or rejected before, or its time has passed."""


class OfferRefused(Conflict):
    """The other user has turned this memory down, blocks its owner, or has too much that waits."""


class AccessDenied(RicordoError):
    """The caller may see this but not do it."""


class NotOwner(AccessDenied):
    """The memory belongs to another user; a viewer can only unlink it for itself."""


class ScopeWidened(AccessDenied):
    """A scope can be narrowed, never changed to another user, agent, thread, run, actor, role or
    project."""


class CategoryNotAllowed(AccessDenied):
    """The agent may not read this category; the message lists what it may. Nothing was read."""

    def __init__(self, agent: str, refused: Iterable[str], allowed: Iterable[str]) -> None:
        self.agent = agent
        self.refused = sorted(refused)
        self.allowed = sorted(allowed)
        names = ", ".join(repr(name) for name in self.refused) or "any"
        super().__init__(
            f"agent {agent!r} may not read {names};"
            f" categories allowed: {', '.join(self.allowed) or 'none'}"
        )


class PermissionMissing(AccessDenied):
    """The key is good, but not for this; the message says what it lacks."""


class NotAuthenticated(AccessDenied):
    """No key was given, or one that does not exist, was revoked or has expired."""


class StorageError(RicordoError):
    """The database could not do it. Nothing of the failed write is stored."""


class StorageBusy(StorageError):
    """The database stayed locked for longer than the busy timeout; try again."""


class StorageFull(StorageError):
    """No space is left for the database."""


class StorageReadOnly(StorageError):
    """The database may not be written."""


class StorageCorrupt(StorageError):
    """The file is damaged, or is not a ricordo database."""


class StorageUnavailable(StorageError):
    """The database cannot be opened or reached."""


class DatabaseKeyMismatch(StorageUnavailable):
    """The file is encrypted with another key, or is and should not be, or is not and should be."""


class StorageClosed(StorageError):
    """This Memory was closed."""


class DatabaseTooNew(StorageError):
    """The database was written by a newer version of ricordo; upgrade the package."""


class DatabaseTooOld(StorageError):
    """The schema must be upgraded first, by the role that owns its tables."""


class RoleNotConfined(StorageError):
    """The role could read every user's rows, whatever row-level security says."""


class FilesUnavailable(RicordoError):
    """A file of the home folder cannot be read or written; the message names it and says why."""


class EmbeddingError(RicordoError):
    """The text could not be turned into a vector."""


class EmbedderUnavailable(EmbeddingError):
    """The embedder is down, slow, overloaded, or given up on for a while; try again later."""


class EmbedderRefused(EmbeddingError):
    """The embedder said no (key, model, quota, setup); trying again does not help."""


class BadEmbedding(EmbeddingError):
    """The embedder answered with something that is not one usable vector per text."""


class LanguageModelError(RicordoError):
    """The language model gave no usable answer."""


class ModelUnavailable(LanguageModelError):
    """The language model is down, slow or overloaded; try again later."""


class ModelRefused(LanguageModelError):
    """The language model's endpoint said no (key, model, quota); trying again does not help."""


class BadAnswer(LanguageModelError):
    """The language model answered, but not in the shape that was asked for."""


class BudgetExhausted(LanguageModelError):
    """The tokens that a user's work may take in a day do not suffice; ``until`` says when to
    go on."""

    def __init__(self, spent: int, wanted: int, allowed: int, until: datetime) -> None:
        self.until = until
        super().__init__(
            f"{spent} of {allowed} tokens of the day are used, {wanted} more are needed:"
            f" work goes on at {until.isoformat()}"
        )


_FIT_FOR_A_LOG: Final = (StorageError, FilesUnavailable, BudgetExhausted)
"""Errors whose messages are our own words. Others may quote a value, or what an endpoint said,
which may repeat what it was sent."""


def in_log(error: BaseException) -> str:
    """An error for the log: never with anything that somebody said or stored."""
    name = type(error).__name__
    if isinstance(error, _FIT_FOR_A_LOG):
        return f"{name}: {error}"
    if isinstance(error, OSError) and type(error).__module__ == OSError.__module__:
        return f"{name}: {error.strerror or 'no reason given'}"
    if isinstance(error, RicordoError) and error.__doc__:
        return f"{name}: {' '.join(error.__doc__.split())}"
    return name


def needs_extra(what: str, extra: str) -> str:
    """The message where packages of an extra are not installed."""
    return f"{what} needs the {extra} extra: pip install 'ricordo[{extra}]'"


def without_password(text: str) -> str:
    """A text without the passwords of the addresses in it."""
    return _PASSWORD.sub(r"\1***@", text)


def told_outside(error: RicordoError, location: str) -> str:
    """What an error says to who uses a store but does not run it.

    Words that name the operator's database, files or language model, and may quote a driver, are
    left out: ``location`` is where the store is.
    """
    if isinstance(error, InvalidPolicy):
        return "the policy file of the service is not valid"
    if isinstance(error, StorageError) and str(error).startswith(location):
        return " ".join((type(error).__doc__ or "").split())
    if isinstance(error, LanguageModelError):  # always one of the operator's
        return _ADDRESS.sub("", str(error))
    return str(error)
