"""The command ``ricordo``: runs what was asked for, and turns errors into exit codes."""

import contextlib
import io
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import typer

from ricordo.cli.app import NAME, assemble
from ricordo.cli.exit_codes import INTERRUPTED, INVALID_INPUT, OK, UNEXPECTED, exit_code_of
from ricordo.cli.failures import report, report_as
from ricordo.cli.session import DEBUG_VARIABLE, is_debugging
from ricordo.errors import RicordoError

# typer gives a public name to this one usage error only; its parent stands for all of them.
_UsageError = cast(type[Exception], typer.BadParameter.__base__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Every error ends here, as a line on standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    as_json = "--json" in itertools.takewhile(lambda argument: argument != "--", given)
    _never_fail_to_encode(sys.stdout)
    try:
        code = assemble()(given, prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
    except RicordoError as error:
        report(error, as_json=as_json)
        return exit_code_of(error)
    except _UsageError as error:
        _report_usage(error, as_json=as_json)
        return INVALID_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the answer has seen enough
        _stop_writing()
        return UNEXPECTED
    except Exception as error:  # noqa: BLE001 - the last resort: people get a line, not a traceback
        return _report_unexpected(error, as_json=as_json)
    return code if isinstance(code, int) else OK


def _report_usage(error: Any, *, as_json: bool) -> None:
    path = NAME if error.ctx is None else error.ctx.command_path
    report_as("UsageError", error.format_message(), f"{path} --help", as_json=as_json)


def _report_unexpected(error: Exception, *, as_json: bool) -> int:
    if is_debugging():
        raise error
    name = type(error).__name__
    message = f"unexpected {name}: {error}; please report"
    report_as(name, message, f"{DEBUG_VARIABLE}=1 shows where it happened", as_json=as_json)
    if isinstance(error, OSError):
        _stop_writing()
    return UNEXPECTED


def _never_fail_to_encode(stream: object) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _stop_writing() -> None:
    """Leave nothing for Python to write at its end, which would fail again."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
