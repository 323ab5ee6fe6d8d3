"""The options and arguments that several commands share.

Values are passed on as they were typed: the library checks them, so that the same mistake gets
the same answer everywhere. Nothing heavy is imported here, because ``--help`` reads this too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ricordo import limits
from ricordo.cli.names import Named, completing_names

DEFAULT_USER: Final = "me"
STANDARD_STREAM: Final = "-"


def words(vocabulary: type[StrEnum]) -> str:
    """The words of a vocabulary, for a help text."""
    return ", ".join(vocabulary)


def completing(vocabulary: type[StrEnum]) -> Callable[[str], list[str]]:
    """What the shell offers for an option that takes a word of a vocabulary."""

    def matching(incomplete: str) -> list[str]:
        return [word.value for word in vocabulary if word.startswith(incomplete)]

    return matching


AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the memories are kept."""

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
        """What was given of the settings that the library opens a store with."""
        given = {"url": self.db, "home": self.home}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Store(Place):
    """A store, and how to answer. For commands about the whole store."""

    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Whose:
    """Whose memories a command is about."""

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
        """Whose memories, in a sentence."""
        return "everyone" if self.of_everyone else f"user {self.user!r}"


@dataclass(frozen=True, kw_only=True)
class Owner(Whose, Store):
    """A store, and whose memories in it. For commands about one user."""


@dataclass(frozen=True, kw_only=True)
class Acting:
    """On whose behalf something is written: stamped on it, and named in its history."""

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
