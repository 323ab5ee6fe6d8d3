"""The entry point of the ``ricordo`` command: run one command, turn errors into exit codes."""

import atexit
import codecs
import contextlib
import io
import itertools
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import typer

from ricordo.cli.app import NAME, assemble, topics
from ricordo.cli.commands import Group
from ricordo.cli.completion import VARIABLE, complete
from ricordo.cli.errors import (
    INTERRUPTED,
    INVALID_INPUT,
    OK,
    UNEXPECTED,
    exit_code_of,
    message_of,
    nearest,
    report,
    report_as,
    usage_problem,
)
from ricordo.cli.render import write_lines
from ricordo.cli.store import DEBUG_VARIABLE, is_debugging
from ricordo.errors import RicordoError, UnknownField

# typer exports only this usage error; its parent class covers all of them.
_UsageError = cast(type[Exception], typer.BadParameter.__base__)


def run() -> None:
    code = main()
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    if not all(one.daemon for one in others):
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):  # a failed command may have written something before
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Everything is closed and flushed. Tearing down the interpreter takes as long as a search.
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. Every error ends here, as a line on standard error."""
    asked = os.environ.get(VARIABLE)
    if asked:
        write_lines(filter(None, [complete(topics(), asked)]))
        return OK
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    as_json = "--json" in itertools.takewhile(lambda argument: argument != "--", given)
    _replace_unencodable(sys.stdout)
    _talk_utf8(sys.stdin)
    if sys.platform == "win32":
        _talk_utf8(sys.stdout)
    try:
        code = assemble()(given, prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
    except RicordoError as error:
        if _is_interruption(error):
            return INTERRUPTED
        report(error, given, _command_of(given), as_json=as_json)
        return exit_code_of(error)
    except _UsageError as error:
        _report_usage(error, as_json=as_json)
        return INVALID_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as ended:  # typer raises it too, when the reader of a pipe is gone
        _discard_output()
        return _code_of(ended)
    except BrokenPipeError:  # the reader of the pipe is gone
        _discard_output()
        return UNEXPECTED
    except Exception as error:  # noqa: BLE001 - the last resort: people get a line, not a traceback
        if _is_interruption(error):
            return INTERRUPTED
        return _report_unexpected(error, as_json=as_json)
    return code if isinstance(code, int) else OK


def _is_interruption(error: BaseException | None) -> bool:
    """True for an error caused only by Ctrl-C in the middle of something."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _code_of(ended: SystemExit) -> int:
    if ended.code is None:
        return OK
    return ended.code if isinstance(ended.code, int) else UNEXPECTED


def _command_of(given: Sequence[str]) -> str:
    named = {name: one for commands in topics().values() for name, one in commands.items()}
    if not given or given[0] not in named:
        return NAME
    command = named[given[0]]
    if isinstance(command, Group) and len(given) > 1 and given[1] in command.commands:
        return f"{NAME} {given[0]} {given[1]}"
    return f"{NAME} {given[0]}"


def _report_usage(error: Any, *, as_json: bool) -> None:
    path = NAME if error.ctx is None else error.ctx.command_path
    problem = usage_problem(error)
    if problem is None:
        report_as("UsageError", error.format_message(), f"{path} --help", as_json=as_json)
        return
    near = nearest(problem.unknown, problem.allowed) if isinstance(problem, UnknownField) else None
    fix = f"{path} --help" if near is None else f"{near} {path} --help"
    report_as(type(problem).__name__, message_of(problem), fix, as_json=as_json)


def _report_unexpected(error: Exception, *, as_json: bool) -> int:
    if is_debugging():
        raise error
    name = type(error).__name__
    message = f"unexpected {name}: {error}; please report"
    report_as(name, message, f"{DEBUG_VARIABLE}=1 shows where it happened", as_json=as_json)
    if isinstance(error, OSError):
        _discard_output()
    return UNEXPECTED


def _replace_unencodable(stream: object) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _talk_utf8(stream: object) -> None:
    """What comes through a pipe is UTF-8, also where that is not what the system writes."""
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return
    if codecs.lookup(stream.encoding).name != "utf-8":
        stream.reconfigure(encoding="utf-8")


def _discard_output() -> None:
    """Redirect standard output to nowhere, so that the flush at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
