"""Options and arguments that several commands share, and the store that they name.

Values are passed on as typed: the library checks them, so that errors are the same everywhere.
Nothing heavy is imported here, because ``--help`` loads this module.
"""

import contextlib
import functools
import gc
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from ricordo.errors import InvalidValue, StorageUnavailable
from ricordo.frozen import dataclass
from ricordo.operations.operation import STORE_OPERATIONS, USER_OPERATIONS, Operation

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.storage.database import Database
    from ricordo.user_memory import UserMemory

# Names for completion are read with sqlite3 directly, because our libraries load slowly. A missing,
# old or unreadable file gives no names. Databases on a server are not queried while typing.

_MAX_NAMES: Final = 200
_PATIENCE_SECONDS: Final = 0.1

DEFAULT_USER: Final = "me"
STANDARD_STREAM: Final = "-"


class Named(StrEnum):
    """Kinds of names, and the column that each is in."""

    THEME = "SELECT slug FROM themes WHERE user_id = :user ORDER BY slug"
    THREAD = "SELECT thread_id FROM threads WHERE user_id = :user ORDER BY updated_at DESC"
    PROJECT = (
        "SELECT project_id FROM items WHERE user_id = :user AND project_id IS NOT NULL UNION"
        " SELECT project_id FROM threads WHERE user_id = :user AND project_id IS NOT NULL"
        " ORDER BY project_id"
    )
    USER = (
        "SELECT user_id FROM users WHERE :user = :user AND user_id NOT LIKE '*%' ORDER BY user_id"
    )


def names_in_store(kind: Named, arguments: Sequence[str]) -> list[str]:
    """Names of a kind in the store (and of the user) that the command line refers to."""
    place = _file(arguments)
    if place is None or not place.is_file():
        return []
    user = _option(arguments, "--user", "-u") or os.environ.get("RICORDO_USER") or "me"
    group = _option(arguments, "--group") or os.environ.get("RICORDO_GROUP")
    if "--global" in arguments or group:
        user = f"*{group or ''}"
    # Read-only: not even an empty file is created.
    uri = f"{place.absolute().as_uri()}?mode=ro"
    wanted = f"{kind.value} LIMIT {_MAX_NAMES}"
    with contextlib.suppress(sqlite3.Error):
        reading = sqlite3.connect(uri, uri=True, timeout=_PATIENCE_SECONDS)
        with contextlib.closing(reading):
            return [str(row[0]) for row in reading.execute(wanted, {"user": user})]
    return []


def completing_names(kind: Named) -> Callable[[list[str], str], list[str]]:
    """The completion function of an option or argument that takes such a name."""

    def matching(args: list[str], incomplete: str) -> list[str]:
        found = names_in_store(kind, args)
        return [name for name in found if name.startswith(incomplete) and name.isprintable()]

    return matching


def _file(arguments: Sequence[str]) -> Path | None:
    given = _option(arguments, "--db") or os.environ.get("RICORDO_URL")
    if given:
        path = given.removeprefix("sqlite:///")
        return None if "://" in path or path.startswith(":") else Path(path).expanduser()
    home = _option(arguments, "--home") or os.environ.get("RICORDO_HOME") or "~/.ricordo"
    return Path(home).expanduser() / "ricordo.db"


def _option(arguments: Sequence[str], *names: str) -> str | None:
    """The value of an option on a command line, in any spelling."""
    for position, argument in enumerate(arguments):
        if argument in names and position + 1 < len(arguments):
            return arguments[position + 1]
        name, equals, value = argument.partition("=")
        if equals and name in names:
            return value
    return None


def words(vocabulary: type[StrEnum]) -> str:
    """The vocabulary as a list for help texts."""
    return ", ".join(vocabulary)


def completing(vocabulary: type[StrEnum]) -> Callable[[str], list[str]]:
    """The completion function of an option that takes a word of a vocabulary."""

    def matching(incomplete: str) -> list[str]:
        return [word.value for word in vocabulary if word.startswith(incomplete)]

    return matching


AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


@dataclass(frozen=True, kw_only=True)
class Place:
    db: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database: a file, sqlite:///PATH or postgresql://…"
            " (default: RICORDO_URL, or ricordo.db in the home folder).",
        ),
    ] = None
    home: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Home folder (default: RICORDO_HOME, or ~/.ricordo)."),
    ] = None

    def settings(self) -> dict[str, Any]:
        given = {"url": self.db, "home": self.home}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Store(Place):
    """A store and the output format: options of commands about the whole store."""

    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class UserOption:
    user: Annotated[
        str,
        typer.Option(
            "--user",
            "-u",
            metavar="NAME",
            envvar="RICORDO_USER",
            help="Whose memories.",
            autocompletion=completing_names(Named.USER),
        ),
    ] = DEFAULT_USER
    of_everyone: Annotated[
        bool,
        typer.Option(
            "--global",
            help="Instead of a user's: the memories that every user with few of their own sees.",
        ),
    ] = False

    project: Annotated[
        str,
        typer.Option(
            metavar="PROJECT",
            envvar="RICORDO_PROJECT",
            help="Within this project: without what is in other ones; what is written is of it.",
            autocompletion=completing_names(Named.PROJECT),
        ),
    ] = ""

    of_group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            envvar="RICORDO_GROUP",
            help="Instead of a user's own: what their group shares, as far as their role goes.",
        ),
    ] = None

    @property
    def name(self) -> str:
        if self.of_everyone:
            return "everyone"
        return f"user {self.user!r}" if self.of_group is None else f"group {self.of_group!r}"

    def memory_in(self, store: "Memory") -> "UserMemory":
        """The memory that the options name. Raises InvalidValue: a name is not allowed, or there
        are two."""
        if self.of_everyone and self.of_group:
            raise InvalidValue("--global", "is not of a group: give either of them")
        whole = (
            store.global_memories()
            if self.of_everyone
            else store.user(self.user, group=self.of_group or None)
        )
        return whole.narrow(project=self.project or None)


@dataclass(frozen=True, kw_only=True)
class Owner(UserOption, Store):
    """Options of commands about one user."""


@dataclass(frozen=True, kw_only=True)
class Acting:
    """Who acts: recorded with what is written, and in its history."""

    agent: Annotated[str | None, typer.Option(metavar="ID", help="Agent that acts.")] = None
    thread: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Conversation.", autocompletion=completing_names(Named.THREAD)
        ),
    ] = None
    run: Annotated[str | None, typer.Option(metavar="ID", help="Run of the agent.")] = None
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who acts, as history names them.")
    ] = None
    role: Annotated[
        str | None, typer.Option(metavar="NAME", help="Role of who said it, e.g. user.")
    ] = None


Actor = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who does this, as history names them.")
]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Of every user.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

DEBUG_VARIABLE: Final = "RICORDO_DEBUG"
CACHE_VARIABLE: Final = "RICORDO_INDEX_CACHE_MB"
_OBJECTS_BETWEEN_COLLECTIONS: Final = 300_000  # as many as loading everything makes
_SILENCE: Final = logging.NullHandler()
_NOBODY_ELSE: Final = Acting()
_NOBODYS: Final[Mapping[str, Any]] = {
    "user": None,
    "group": None,
    "everyone": False,
    "narrowed": [],
}


def is_debugging() -> bool:
    """True where debug output is enabled."""
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


@contextlib.contextmanager
def open_store(store: Store) -> Iterator["Memory"]:
    """The store: that of a running service where there is one for it, else opened here."""
    from ricordo.http.local_calls import socket_path

    path = socket_path(store.db, store.home, os.environ)
    with contextlib.ExitStack() as opened:
        if path is not None and path.exists():
            yield cast("Memory", _Served(path, lambda: opened.enter_context(_open_here(store))))
        else:
            yield opened.enter_context(_open_here(store))


class _Served:
    """The memory of a store, or of a user in it, that a running service has open.

    What the service cannot do for another process is done here, in the store itself.
    """

    def __init__(
        self,
        path: Path,
        open_here: Callable[[], Any],
        operations: Mapping[str, Operation[..., Any]] = STORE_OPERATIONS,
        whose: Mapping[str, Any] = _NOBODYS,
    ) -> None:
        self._path = path
        self._open_here = functools.cache(open_here)
        self._operations = operations
        self._whose = whose

    def user(self, name: str, *, group: str | None) -> "_Served":
        return self._of({"user": name, "group": group}, lambda it: it.user(name, group=group))

    def global_memories(self) -> "_Served":
        return self._of({"everyone": True}, lambda it: it.global_memories())

    def narrow(self, **given: str | None) -> "_Served":
        narrowed = [*self._whose["narrowed"], given]
        return self._of({"narrowed": narrowed}, lambda it: it.narrow(**given))

    def _of(self, whose: Mapping[str, Any], here: Callable[[Any], Any]) -> "_Served":
        open_here = self._open_here
        found = {**self._whose, **whose}
        return _Served(self._path, lambda: here(open_here()), USER_OPERATIONS, found)

    def __getattr__(self, name: str) -> Any:
        from ricordo.http.local_calls import call, is_callable_elsewhere

        operation = self._operations.get(name)
        if operation is None or not is_callable_elsewhere(operation):
            return getattr(self._open_here(), name)

        def run(*args: Any, **kwargs: Any) -> Any:
            given = operation.by_name(args, kwargs)
            request = {**self._whose, "operation": name, "given": given}
            try:
                return call(self._path, request)
            except (OSError, TypeError):  # it is gone, or a value is not plain
                return getattr(self._open_here(), name)(*args, **kwargs)

        return run


@contextlib.contextmanager
def _open_here(store: Store) -> Iterator["Memory"]:
    """Open the store, created or migrated where needed, without background threads.

    Search uses the database directly unless an index cache size is set: a command searches once,
    and loading the whole index would take longer. Raises InvalidInput: a setting has a value that
    is not allowed; StorageError: the database cannot be opened.
    """
    _lighten()
    from ricordo.wiring import open_memory

    if not is_debugging():  # standard error is for errors, in a format that programs may rely on
        for name in ("ricordo", "sqlalchemy"):
            logging.getLogger(name).addHandler(_SILENCE)
    in_database = {} if os.environ.get(CACHE_VARIABLE) else {"index_cache_mb": 0}
    with open_memory(**{**in_database, **store.settings(), "run_jobs": False}) as memory:
        yield memory


def _lighten() -> None:
    """Spare a process that runs one command what pays in long ones; before the store is loaded."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # Threads that multiply matrices wait by spinning: for one search that doubles what it computes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Of every package that is installed a file would be read, to see whether it extends pydantic.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


@contextlib.contextmanager
def open_user(owner: Owner, acting: Acting = _NOBODY_ELSE) -> Iterator["UserMemory"]:
    """Open the store for the user and actor that the options name. Raises InvalidInput: a setting
    or a name is not allowed; StorageError: the database cannot be opened."""
    with open_store(owner) as memory:
        yield owner.memory_in(memory).narrow(
            agent=acting.agent,
            thread=acting.thread,
            run=acting.run,
            actor=acting.actor,
            role=acting.role,
        )


@contextlib.contextmanager
def untouched_database(store: Store) -> Iterator["Database"]:
    """The database without creating or migrating it, as long as nothing is read from it. Raises
    InvalidInput: a setting has a value that is not allowed; StorageUnavailable: the PostgreSQL
    driver is not installed."""
    from ricordo.wiring import open_database, read_settings

    database, clean_up = open_database(read_settings(os.environ, store.settings()))
    try:
        yield database
    finally:
        database.backend.close()
        clean_up()


def file_of(database: "Database") -> Path | None:
    """The file of a SQLite database; None for a server."""
    backend = database.backend
    return Path(backend.location) if backend.name == "sqlite" else None


def is_made(database: "Database") -> bool:
    """False for a database file that is missing or empty. Raises StorageUnavailable."""
    file = file_of(database)
    try:
        return file is None or (file.exists() and file.stat().st_size > 0)
    except OSError as error:
        raise StorageUnavailable(f"{file}: {error.strerror}") from None
