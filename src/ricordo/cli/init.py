"""``init``: the home folder with its prompt files, the mirror and the database."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import DEFAULT_USER, Store
from ricordo.cli.render import answer
from ricordo.cli.session import file_of, is_made, open_store, untouched_database

if TYPE_CHECKING:
    from ricordo.model.reports import HomeReport

User = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        envvar="RICORDO_USER",
        help="For whom to make a USER.md and a mirror.",
        autocompletion=completing_names(Named.USER),
    ),
]


def init(*, user: User = DEFAULT_USER, store: Store) -> None:
    """Make the home folder: prompt files to begin with, the mirror and the database.

    Nothing that is there is changed, so it can be run again, and for more users.
    """
    report = _make(store, user)
    answer(store.as_json, report, _told)


def _make(store: Store, user: str) -> "HomeReport":
    from ricordo.errors import InvalidValue
    from ricordo.files.home import make_home
    from ricordo.model import checks
    from ricordo.model.reports import HomeReport
    from ricordo.wiring import files_folder, read_settings

    owner = checks.user_id(user)
    folder = files_folder(read_settings(os.environ, store.settings()))
    if folder is None:
        raise InvalidValue(
            "setting files",
            "is not set, and this database is not the one in the home folder:"
            " set RICORDO_FILES to the folder for its prompt files and mirrors",
        )
    with untouched_database(store) as database:
        location, file = database.backend.location, file_of(database)
        was_made = is_made(database)
    with open_store(store):
        made, present = make_home(folder, owner)
    databases: list[Path] = [] if file is None else [file]
    (present if was_made else made).extend(databases)
    return HomeReport(
        folder=str(folder.top),
        user=owner,
        database=location,
        made=tuple(map(str, made)),
        present=tuple(map(str, present)),
    )


def _told(report: "HomeReport") -> str:
    lines = [f"Made {path}" for path in report.made]
    lines += [f"There already: {path}" for path in report.present]
    lines += [
        "",
        "Next:",
        "- Say who the assistant is, how it works and who you are: edit SOUL.md, RULES.md, USER.md",
        "- Set a field of the profile: ricordo profile set city=Bekasi --explicit",
        '- Remember something: ricordo add "Prefers tea to coffee"',
        '- See what a model would be told: ricordo context "What do I like to drink?"',
    ]
    return "\n".join(lines)
