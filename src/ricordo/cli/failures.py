"""Telling people and programs what went wrong."""

import json
import sys
from typing import Final

from ricordo import errors
from ricordo.cli.render import say

_HINTS: Final[dict[type[errors.RicordoError], str]] = {
    errors.InvalidCursor: "leave out --cursor to start from the beginning",
    errors.MemoryNotFound: "ricordo list --status any shows what there is; -u says whose",
    errors.ThemeNotFound: "ricordo themes shows what there is; -u says whose",
    errors.ThreadNotFound: "ricordo threads shows what there is; -u says whose",
    errors.UserNotFound: "ricordo users shows who is there",
    errors.JobNotFound: "ricordo jobs shows what there is",
    errors.ProposalNotFound: "ricordo proposals shows what is open; -u says whose",
    errors.AlreadyDecided: "ricordo proposals --state any shows what became of it",
    errors.LanguageModelError: "ricordo model test says what is wrong; ricordo doctor, too",
    errors.IllegalTransition: "ricordo history ID shows what happened to it",
    errors.NothingToUndo: "ricordo history ID shows what happened to it",
    errors.Occupied: "ricordo archive or forget the other one first",
    errors.Changed: "ricordo get ID shows it as it is now",
    errors.NotOwner: "ricordo unlink ID takes it out of your sight",
    errors.StorageBusy: "close the other program, or wait and try again",
    errors.StorageReadOnly: "ricordo doctor shows whose file it is; --db names another",
    errors.StorageCorrupt: "ricordo doctor examines it",
    errors.StorageUnavailable: "ricordo doctor examines it; --db names another database",
    errors.DatabaseTooNew: "pip install --upgrade ricordo",
    errors.CategoryNotAllowed: "RICORDO_POLICY_FILE says which agent may read what",
    errors.EmbeddingError: "ricordo embeddings test says what is wrong; ricordo doctor, too",
}


def report(error: errors.RicordoError, *, as_json: bool) -> None:
    """Say on standard error what the library refused or could not do."""
    hint = next((_HINTS[kind] for kind in type(error).__mro__ if kind in _HINTS), None)
    report_as(type(error).__name__, str(error), hint, as_json=as_json)


def report_as(name: str, message: str, hint: str | None, *, as_json: bool) -> None:
    """Say on standard error what went wrong: one JSON object, or lines for people."""
    if as_json:
        sys.stderr.write(f"{json.dumps({'error': name, 'message': message})}\n")
        return
    say(f"error: {message}")
    if hint is not None:
        say(f"hint: {hint}")
