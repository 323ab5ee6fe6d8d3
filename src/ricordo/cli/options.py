"""Options and arguments that several commands share.

Values are passed on as typed: the library checks them, so that errors are the same everywhere.
Nothing heavy is imported here, because ``--help`` loads this module.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass

if TYPE_CHECKING:
    from ricordo.memory import Memory
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
        """The memory that the options name.

        Raises:
            InvalidValue: a name is not allowed, or there are two.
        """
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
