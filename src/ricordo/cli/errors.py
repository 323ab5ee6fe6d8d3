"""Errors on the command line: exit codes, messages, and how to fix each."""

import difflib
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, Final

from ricordo import errors
from ricordo.cli.render import say
from ricordo.cli.store import Named, names_in_store
from ricordo.errors import (
    AccessDenied,
    Conflict,
    EmbeddingError,
    FilesUnavailable,
    InvalidInput,
    LanguageModelError,
    NotFound,
    RicordoError,
    StorageError,
)

OK: Final = 0
UNEXPECTED: Final = 1
INVALID_INPUT: Final = 2
NOT_FOUND: Final = 3
CONFLICT: Final = 4
ACCESS_DENIED: Final = 5
STORAGE_ERROR: Final = 6
EMBEDDING_ERROR: Final = 7
MODEL_ERROR: Final = 8
FILES_ERROR: Final = 9
INTERRUPTED: Final = 130

EXIT_CODES: Final[dict[type[RicordoError], int]] = {
    InvalidInput: INVALID_INPUT,
    NotFound: NOT_FOUND,
    Conflict: CONFLICT,
    AccessDenied: ACCESS_DENIED,
    StorageError: STORAGE_ERROR,
    EmbeddingError: EMBEDDING_ERROR,
    LanguageModelError: MODEL_ERROR,
    FilesUnavailable: FILES_ERROR,
}

_PIP: Final = re.compile(r"pip install (?:'[^']+'|\S+)")
_OF_A_SETTING: Final = re.compile(r"setting (\w+)")
_MAX_NEAR: Final = 3
_NAMED: dict[type[errors.RicordoError], Named] = {
    errors.ThemeNotFound: Named.THEME,
    errors.ThreadNotFound: Named.THREAD,
    errors.UserNotFound: Named.USER,
}


def exit_code_of(error: BaseException) -> int:
    """The exit code of the nearest parent class in the table."""
    for kind in type(error).__mro__:
        if kind in EXIT_CODES:
            return EXIT_CODES[kind]
    return UNEXPECTED


_FIXES: Final[dict[type[errors.RicordoError], str]] = {
    errors.RicordoError: "ricordo doctor looks for what is wrong",
    errors.InvalidCursor: "leave out --cursor to start from the beginning",
    errors.ImportFailed: "fix what is named and run it again; nothing was written",
    errors.InvalidBackup: "use another backup; nothing was restored",
    errors.InvalidPolicy: "correct the file that RICORDO_POLICY_FILE names, or the variable",
    errors.TargetRefused: "name a public address; RICORDO_ALLOW_PRIVATE_EMBEDDING_TARGETS=true, for"
    " webhooks RICORDO_WEBHOOK_LOOPBACK=true, allows others to all users",
    errors.NotFound: "ricordo list shows what there is; -u says whose",
    errors.MemoryNotFound: "ricordo list --status any shows what there is; -u says whose",
    errors.ThemeNotFound: "ricordo themes shows what there is; -u says whose",
    errors.ThreadNotFound: "ricordo threads shows what there is; -u says whose",
    errors.UserNotFound: "ricordo users shows who is there",
    errors.JobNotFound: "ricordo jobs shows what there is",
    errors.ProposalNotFound: "ricordo proposals shows what is open; -u says whose",
    errors.CheckpointNotFound: "ricordo checkpoint shows what is saved; -u says whose",
    errors.KeyNotFound: "ricordo keys --all shows what there is",
    errors.WebhookNotFound: "ricordo webhooks shows what there is; -u says whose",
    errors.GroupNotFound: "ricordo groups shows in which one is; -u says who",
    errors.Conflict: "ricordo get ID or ricordo jobs shows how it stands now",
    errors.OfferRefused: "ricordo links ID shows who sees it and whom it is offered to",
    errors.OtherProject: "ricordo threads shows which there are in this project; -u says whose",
    errors.AlreadyDecided: "ricordo proposals --state any shows what became of it",
    errors.IllegalTransition: "ricordo history ID shows what happened to it",
    errors.NothingToUndo: "ricordo history ID shows what happened to it",
    errors.Occupied: "ricordo archive or forget the other one first",
    errors.Changed: "ricordo get ID shows it as it is now",
    errors.StoreNotEmpty: "--replace replaces all of it; --db names another store",
    errors.AccessDenied: "ask whoever it belongs to",
    errors.NotOwner: "ricordo unlink ID takes it out of your sight",
    errors.ScopeWidened: "leave out what names another agent, thread, run or project",
    errors.CategoryNotAllowed: "RICORDO_POLICY_FILE says which agent may read what",
    errors.PermissionMissing: "ricordo keys create NAME --permission … makes one that may",
    errors.NotAuthenticated: "ricordo keys shows which are good; keys create NAME makes one",
    errors.StorageError: "ricordo doctor examines it",
    errors.StorageBusy: "close the other program, or wait and try again",
    errors.StorageFull: "free some space; ricordo doctor shows how much there is",
    errors.StorageReadOnly: "ricordo doctor shows whose file it is; --db names another",
    errors.StorageCorrupt: "ricordo doctor examines it",
    errors.StorageUnavailable: "ricordo doctor examines it; --db names another database",
    errors.DatabaseKeyMismatch: "correct RICORDO_DATABASE_KEY; ricordo database --help converts",
    errors.StorageClosed: "run it again",
    errors.DatabaseTooNew: "pip install --upgrade ricordo",
    errors.DatabaseTooOld: "ricordo migrate, as the role that owns the tables",
    errors.RoleNotConfined: "ricordo database grant makes a role that is; connect as that one",
    errors.FilesUnavailable: "ricordo doctor shows whose files they are; RICORDO_FILES says where",
    errors.EmbeddingError: "ricordo embeddings test says what is wrong; ricordo doctor, too",
    errors.LanguageModelError: "ricordo model test says what is wrong; ricordo doctor, too",
    errors.BudgetExhausted: "wait, or allow more with RICORDO_MODEL_DAILY_TOKENS",
}


def fix_of(error: errors.RicordoError, command: str | None = None) -> str | None:
    """How to fix an error that the ``command`` raised; None without a command to name."""
    install = _PIP.search(str(error))
    if install is not None:
        return install[0]
    if isinstance(error, errors.InvalidInput):
        named = _fix_of_value(error)
        if named is not None:
            return named
        if type(error) not in _FIXES:
            return None if command is None else f"{command} --help shows what it takes"
    return next(_FIXES[kind] for kind in type(error).__mro__ if kind in _FIXES)


def _fix_of_value(error: errors.InvalidInput) -> str | None:
    if isinstance(error, errors.UnknownField):
        return nearest(error.unknown, error.allowed)
    if isinstance(error, errors.InvalidValue):
        setting = _OF_A_SETTING.fullmatch(error.field)
        return None if setting is None else fix_of_setting(setting[1])
    return None


def nearest(words: Sequence[str], known: Sequence[str]) -> str | None:
    """The known word most similar to one of the words; None where none is close."""
    found: dict[str, None] = {}
    for word in words:
        if word not in known:
            found |= dict.fromkeys(difflib.get_close_matches(word, known, _MAX_NEAR))
    return f"did you mean {' or '.join(map(repr, found))}?" if found else None


def fix_of_setting(name: str) -> str:
    from ricordo.settings import Settings

    variable = f"RICORDO_{name.upper()}"
    described = Settings.model_json_schema()["properties"].get(name, {})
    takes = "one of " + ", ".join(described["enum"]) if "enum" in described else ""
    if not takes and "maximum" in described:
        least = described.get("minimum", described.get("exclusiveMinimum"))
        takes = f"{least} to {described['maximum']}"
    allowed = f" (it takes {takes})" if takes else ""
    if variable not in os.environ:
        # Without limits the variable is required; with them the value came from an option.
        return f"give it {takes}, here or in {variable}" if takes else f"set {variable}"
    return f"correct {variable}{allowed}, or unset it"


def usage_problem(error: Any) -> errors.UnknownField | errors.InvalidValue | None:
    """The error of the library that says the same as one of click, where there is one."""
    kind = type(error).__name__
    if kind == "NoSuchOption" and error.ctx is not None:
        known = [
            spelling.removeprefix("--")
            for option in error.ctx.command.params
            for spelling in (*option.opts, *option.secondary_opts)
            if spelling.startswith("--")
        ]
        return errors.UnknownField("argument", [error.option_name.lstrip("-")], known)
    if kind == "MissingParameter" and error.param is not None:
        return errors.InvalidValue(error.param.name, "is missing")
    return None


def report(
    error: errors.RicordoError, arguments: Sequence[str], command: str, *, as_json: bool
) -> None:
    fix = fix_of(error, command)
    kind = _NAMED.get(type(error))
    if kind is not None:
        meant = nearest(arguments, names_in_store(kind, arguments))
        fix = fix if meant is None else f"{meant} {fix}"
    report_as(type(error).__name__, message_of(error), fix, as_json=as_json)


def message_of(error: Exception) -> str:
    """The error's message on one line, without the password of a URL in it."""
    return errors.without_password(" ".join(str(error).split()))


def report_as(name: str, message: str, fix: str | None, *, as_json: bool) -> None:
    """Print an error to standard error: one JSON object, or lines for people."""
    if as_json:
        document = {"error": name, "message": message}
        if fix is not None:
            document["fix"] = fix
        sys.stderr.write(f"{json.dumps(document)}\n")
        return
    say(f"error: {message}")
    if fix is not None:
        say(f"hint: {fix}")
