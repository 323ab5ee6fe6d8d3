"""Options and arguments that several commands share.

Values are passed on as typed: the library checks them, so that errors are the same everywhere.
Nothing heavy is imported here, because ``--help`` loads this module.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ricordo import limits
from ricordo.clock import system_clock
from ricordo.errors import InvalidValue
from ricordo.model.vocabulary import MemoryType, Source, Status

# Names for completion are read with sqlite3 directly, because our libraries load slowly. A missing,
# old or unreadable file gives no names. Databases on a server are not queried while typing.

_MAX_NAMES: Final = 200
_PATIENCE_SECONDS: Final = 0.1

DEFAULT_USER: Final = "me"
STANDARD_STREAM: Final = "-"
_SEVERAL: Final = "may be given several times"
_MAX_EXPIRES_DAYS: Final = 36_500
_TIME: Final = "TIME"


class Named(StrEnum):
    """Kinds of names, and the column that each is in."""

    THEME = "SELECT slug FROM themes WHERE user_id = :user ORDER BY slug"
    THREAD = "SELECT thread_id FROM threads WHERE user_id = :user ORDER BY updated_at DESC"
    USER = "SELECT user_id FROM users WHERE :user = :user AND user_id <> '*' ORDER BY user_id"


def names_in_store(kind: Named, arguments: Sequence[str]) -> list[str]:
    """Names of a kind in the store (and of the user) that the command line refers to."""
    place = _file(arguments)
    if place is None or not place.is_file():
        return []
    user = _option(arguments, "--user", "-u") or os.environ.get("RICORDO_USER") or "me"
    if "--global" in arguments:
        user = "*"
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

    @property
    def name(self) -> str:
        return "everyone" if self.of_everyone else f"user {self.user!r}"


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


MemoryId = Annotated[int, typer.Argument(metavar="ID", help="Number of the memory.")]
MemoryIds = Annotated[list[int], typer.Argument(metavar="ID", help="Numbers of memories.")]
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Why; kept in the history.")]
Actor = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who does this, as history names them.")
]
Limit = Annotated[
    int, typer.Option(metavar="N", help=f"How many at most (1 to {limits.MAX_PAGE_ITEMS}).")
]
Cursor = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Where the page before said to go on.")
]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Of every user.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """All filters of the library, under their own names, combined with AND."""

    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS",
            help=f"{words(Status)}, or any; {_SEVERAL} (default: active).",
            autocompletion=completing(Status),
        ),
    ] = None
    theme: Annotated[
        list[str] | None,
        typer.Option(
            "--theme",
            "--category",
            metavar="NAME",
            help=f"Heading; {_SEVERAL}.",
            autocompletion=completing_names(Named.THEME),
        ),
    ] = None
    type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help=f"{words(MemoryType)}; {_SEVERAL}.",
            autocompletion=completing(MemoryType),
        ),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help=f"{words(Source)}; {_SEVERAL}.",
            autocompletion=completing(Source),
        ),
    ] = None
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help=f"Has this tag; {_SEVERAL}, for all of them."),
    ] = None
    key: Annotated[str | None, typer.Option(metavar="NAME", help="Has this key.")] = None
    source_context: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Was learnt exactly there.")
    ] = None
    contains: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Has this text in it, in any case, accents or not."),
    ] = None
    thread_id: Annotated[
        str | None,
        typer.Option(
            "--thread",
            metavar="ID",
            help="Conversation.",
            autocompletion=completing_names(Named.THREAD),
        ),
    ] = None
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Message.")] = None
    agent_id: Annotated[str | None, typer.Option("--agent", metavar="ID", help="Agent.")] = None
    run_id: Annotated[str | None, typer.Option("--run", metavar="ID", help="Run.")] = None
    actor_id: Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Actor.")] = None
    role: Annotated[str | None, typer.Option(metavar="NAME", help="Role.")] = None
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or only others.")
    ] = None
    importance_min: Annotated[
        int | None, typer.Option(metavar="N", help="At least this important (1 to 5).")
    ] = None
    importance_max: Annotated[
        int | None, typer.Option(metavar="N", help="At most this important (1 to 5).")
    ] = None
    confidence_min: Annotated[
        int | None, typer.Option(metavar="N", help="At least this sure (0 to 100).")
    ] = None
    created_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Noted at or after.")
    ] = None
    created_before: Annotated[str | None, typer.Option(metavar="TIME", help="Noted before.")] = None
    updated_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Changed at or after.")
    ] = None
    updated_before: Annotated[str | None, typer.Option(metavar="TIME", help="Changed before.")] = (
        None
    )
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="What was true at that time.")
    ] = None

    def given(self) -> dict[str, Any]:
        values = {field.name: _one_or_all(getattr(self, field.name)) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _one_or_all(value: Any) -> Any:
    """A single value by itself, because ``any`` is only a status when it is alone."""
    if not isinstance(value, list | tuple):
        return value
    if not value:
        return None
    return value[0] if len(value) == 1 else list(value)


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """All fields of a new memory except its content and the actor; times in ISO 8601."""

    theme: Annotated[
        str | None,
        typer.Option(
            "--theme",
            "--category",
            metavar="NAME",
            help="Heading to file it under (default: general).",
            autocompletion=completing_names(Named.THEME),
        ),
    ] = None
    type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help=f"One of: {words(MemoryType)}.",
            autocompletion=completing(MemoryType),
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of a fact: what has the same key is updated."),
    ] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Tag; may be given several times.")
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE", help=f"One of: {words(Source)}.", autocompletion=completing(Source)
        ),
    ] = None
    source_context: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Where it was learnt.")
    ] = None
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Message that said it.")] = (
        None
    )
    confidence: Annotated[
        int | None, typer.Option(metavar="N", help="How sure it is: 0 to 100.")
    ] = None
    importance: Annotated[
        int | None, typer.Option(metavar="N", help="How much it matters: 1 to 5.")
    ] = None
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Mark it as one to keep.")] = (
        None
    )
    valid_from: Annotated[
        str | None, typer.Option(metavar=_TIME, help="Since when it is true (default: now).")
    ] = None
    valid_to: Annotated[str | None, typer.Option(metavar=_TIME, help="Until when it is true.")] = (
        None
    )
    expires_at: Annotated[
        str | None, typer.Option(metavar=_TIME, help="When it shall be forgotten.")
    ] = None
    expires_days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            min=1,
            max=_MAX_EXPIRES_DAYS,
            help="In how many days it shall be forgotten.",
        ),
    ] = None
    created_at: Annotated[
        str | None, typer.Option(metavar=_TIME, help="When it was noted (default: now).")
    ] = None

    def given(self) -> dict[str, Any]:
        """The fields that were given, by the library's names. Raises InvalidValue."""
        values = {
            "theme": self.theme,
            "type": self.type,
            "key": self.key,
            "tags": self.tag or None,
            "source": self.source,
            "source_context": self.source_context,
            "message_id": self.message_id,
            "confidence": self.confidence,
            "importance": self.importance,
            "pinned": self.pin,
            "valid_from": self.valid_from,
            "valid_to": self.valid_to,
            "expires_at": self._end(),
            "created_at": self.created_at,
        }
        return {name: value for name, value in values.items() if value is not None}

    def _end(self) -> object:
        if self.expires_days is None:
            return self.expires_at
        if self.expires_at is not None:
            raise InvalidValue("expires_at", "give either --expires-at or --expires-days")
        return system_clock() + timedelta(days=self.expires_days)
