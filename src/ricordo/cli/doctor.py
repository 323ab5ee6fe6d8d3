"""``doctor``: check the installation."""

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import typer

from ricordo.cli import checks
from ricordo.cli.checks import (
    WHERE,
    CheckFinding,
    advice_for,
    failed,
    guarded,
    ok,
    problem,
    warning,
)
from ricordo.cli.database import schema_of
from ricordo.cli.errors import STORAGE_ERROR, message_of
from ricordo.cli.render import TableListing, answer, working
from ricordo.cli.store import Store, untouched_database
from ricordo.errors import DatabaseTooNew, InvalidInput, InvalidValue, RicordoError

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.settings import Settings
    from ricordo.storage.database import Database

_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(store: Store) -> None:
    """Check everything that ricordo depends on, and say what to do.

    Nothing is changed, and nothing that anybody said is shown. The exit code is 0 where there is
    no problem, also with warnings, and 6 otherwise.
    """
    from ricordo.cli.checks import State

    with working("Looking around", wanted=not store.as_json) as tell:
        findings = tuple(examine(store, tell))
    answer(store.as_json, findings, _table)
    if any(finding.state is State.PROBLEM for finding in findings):
        raise typer.Exit(STORAGE_ERROR)


def _table(findings: "Sequence[CheckFinding]") -> TableListing:
    rows = [
        [finding.state.value, finding.check, finding.found, finding.advice or ""]
        for finding in findings
    ]
    states = {finding.state.value for finding in findings}
    if "problem" in states:
        conclusion = "Something needs attention."
    else:
        conclusion = "It works, with warnings." if "warning" in states else "All is well."
    return TableListing(["", "Check", "Found", "What to do"], rows, conclusion, _COLOURS)


Tell = Callable[[str], None]


def examine(store: Store, tell: Tell = lambda _what: None) -> Iterator[CheckFinding]:
    """Run all checks. ``tell`` is called with the name of the next one."""
    from ricordo.wiring import read_settings

    yield checks.version()
    yield checks.python()
    yield checks.sqlite()
    yield checks.clock()
    try:
        named = checks.settings(os.environ, store.settings())
        settings = read_settings(os.environ, store.settings())
    except InvalidInput as error:
        yield _wrong_setting(error)
        return  # without valid settings there is no store to check
    made = yield from _models(store, named, tell)
    if settings.broker_url is not None:
        tell("Asking the broker")
        url = settings.broker_url.get_secret_value()
        yield from guarded("broker", lambda: checks.broker(url), "check RICORDO_BROKER_URL")
    try:
        with untouched_database(store) as database:
            yield from checks.files(settings, database)
            yield from _database(settings, database, made, tell)
    except RicordoError as error:
        yield problem("database", message_of(error), WHERE)


def _models(
    store: Store, named: CheckFinding, tell: Tell
) -> Generator[CheckFinding, None, checks.MadeVectors | None]:
    """Check the settings, the embedder and the model; returns what makes vectors."""
    made: list[checks.MadeVectors] = []

    def look(memory: "Memory") -> CheckFinding:
        finding, now = checks.embedder(memory)
        made.extend(() if now is None else (now,))
        return finding

    with contextlib.ExitStack() as at_the_end:
        try:
            # Some settings are only checked where they are used.
            memory = at_the_end.enter_context(checks.store_apart(store))
        except InvalidInput as error:
            yield _wrong_setting(error)
            return None
        except Exception as error:  # noqa: BLE001 - the other checks run whatever this raises
            yield named
            yield failed("embedder", error, "give TMPDIR a folder with room for files")
            return None
        yield named
        tell("Trying the embedder")
        yield from guarded("embedder", lambda: look(memory), "check RICORDO_EMBEDDING_…")
        tell("Asking the language model")
        yield from guarded("model", lambda: checks.language_model(memory), "check RICORDO_MODEL_…")
    return made[0] if made else None


def _wrong_setting(error: InvalidInput) -> CheckFinding:
    from ricordo.cli.errors import fix_of, fix_of_setting
    from ricordo.settings import Settings

    advice = fix_of(error)
    if advice is None and isinstance(error, InvalidValue):
        # What a setting configures may use another name for it.
        names = (error.field, f"embedding_{error.field}")
        advice = next((fix_of_setting(one) for one in names if one in Settings.model_fields), None)
    return problem("settings", message_of(error), advice or "correct what is named, or unset it")


def _database(
    settings: "Settings", database: "Database", made: checks.MadeVectors | None, tell: Tell
) -> Iterator[CheckFinding]:
    from ricordo.storage.migration import HEAD

    tell("Opening the database")
    try:
        schema = schema_of(database)
    except DatabaseTooNew as error:
        yield problem("database", message_of(error), "pip install --upgrade ricordo")
        return
    except RicordoError as error:
        yield problem("database", message_of(error), advice_for(error))
        return
    location = database.backend.location
    yield from guarded("search", lambda: checks.engine(database, schema))
    if schema is None:
        yield ok("database", f"{location} is made by the first: ricordo add")
        return
    yield ok("database", f"opened {location}")
    if schema != HEAD:
        yield warning("schema", f"{schema}, not {HEAD}", "ricordo migrate")
        return
    yield ok("schema", schema)
    for check, what, look in _database_checks(settings, database, made):
        tell(what)
        yield from guarded(check, look)


def _database_checks(
    settings: "Settings", database: "Database", made: checks.MadeVectors | None
) -> Iterator[tuple[str, str, Callable[[], CheckFinding]]]:
    """The checks that apply to a database of this version: name, progress text and function."""
    if database.backend.name == "postgresql":
        yield "isolation", "Checking isolation", lambda: checks.isolation(database)
    else:
        yield "encryption", "Looking at encryption", lambda: checks.encryption(database)
    yield "integrity", "Checking the file for damage", lambda: checks.integrity(database)
    yield "consistency", "Checking the history", lambda: checks.consistency(database)
    yield "times", "Checking times", lambda: checks.times(database)
    yield "terms", "Checking terms", lambda: checks.terms(database)
    yield "vectors", "Counting vectors", lambda: checks.vectors(database)
    if made is not None:
        now = made
        yield (
            "fingerprints",
            "Comparing vectors",
            lambda: checks.fingerprints(database, settings, now),
        )
    yield "jobs", "Counting jobs", lambda: checks.jobs(database)
    yield "workers", "Looking for workers", lambda: checks.abandoned(database)
    yield "webhooks", "Looking at webhooks", lambda: checks.webhooks(database)
    yield "service", "Looking at the service", lambda: checks.service(settings, database)
    yield "mirror", "Looking at files", lambda: checks.mirror(settings)
