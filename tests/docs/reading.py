"""A reader who follows a page: runs its blocks in order, in one folder, on one store."""

import contextlib
import io
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from ricordo import Memory
from tests.docs.lasting import Lasting, environment_without, name_of_lasting
from tests.docs.markdown import Block, name_of
from tests.docs.standing_in import StandIns

TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00)?")
DONE = "-- done --"
_SAID_PORT = "8377"
_SAID_ADDRESS = re.compile(rf"(?<=127\.0\.0\.1:){_SAID_PORT}|(?<=localhost:){_SAID_PORT}")
_KEY = "rk_…"
_REAL_KEY = re.compile(r"rk_[\w-]{20,}")
_IN_VENV = ".venv/bin/ricordo "  # where `make serve` puts the command


class Reader:
    """Runs the blocks of one page. Use it as a context manager: it stops what it has started."""

    def __init__(self, page: Path, commands: Path) -> None:
        self._page = page
        self._commands = str(commands)
        self._namespace: dict[str, object] = {"__name__": "example"}
        self._printed: str | None = None
        self._stand_ins = StandIns()
        self._service: Lasting | None = None
        self._port = ""
        self._shown_keys: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for value in self._namespace.values():
            if isinstance(value, Memory):
                value.close()
        self._stop_service()
        self._stand_ins.close()

    def follow(self, found: Iterable[Block]) -> None:
        for block in found:
            where = f"{name_of(self._page)}, line {block.line}"
            if block.language == "python":
                self._printed = self._run_python(block)
            elif block.language == "output":
                assert self._printed is not None, f"{where}: no python block right before it"
                assert_shown(where, block.text, self._printed)
                self._printed = None
            else:
                self._run_console(where, block)

    def _run_python(self, block: Block) -> str:
        code = "\n" * (block.line - 1) + self._reachable(block.text)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, str(self._page), "exec"), self._namespace)
        return output.getvalue()

    def _run_console(self, where: str, block: Block) -> None:
        told = list(read_console(block))
        assert told, f"{where}: a console block without a command"
        at_once: list[tuple[str, str]] = []
        for command, expected in told:
            if name_of_lasting(command.replace(_IN_VENV, "ricordo ")) is None:
                at_once.append((command, expected))
                continue
            self._run_commands(where, at_once)
            at_once = []
            exports = [one for one, _ in told if one.startswith("export ")]
            self._run_lasting(where, command.replace(_IN_VENV, "ricordo "), expected, exports)
        self._run_commands(where, at_once)

    def _run_commands(self, where: str, told: list[tuple[str, str]]) -> None:
        script = ["exec 2>&1", f"done_() {{ local code=$?; echo '{DONE}'; return $code; }}"]
        for command, _ in told:
            script += [self._stand_ins.in_place(self._reachable(command)), "done_"]
        environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",  # standard output and error in the order they were written
            "PYTHONIOENCODING": "utf-8",
        }
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
        shown = done.stdout.decode("utf-8").split(f"{DONE}\n")
        self._shown_keys += _REAL_KEY.findall(done.stdout.decode("utf-8"))
        for (command, expected), actual in zip(told, shown, strict=False):
            assert_shown(f"{where}: {command}", expected, actual)
        assert len(shown) == len(told) + 1

    def _run_lasting(self, where: str, command: str, expected: str, exports: list[str]) -> None:
        """Start it and see that it has begun. A service goes on; anything else is stopped again."""
        is_service = name_of_lasting(command) == "serve"
        if is_service:
            self._stop_service()  # as a reader has to, before another one can have its port
        running = Lasting(
            self._stand_ins.in_place(command),
            [self._stand_ins.in_place(one) for one in exports],
            environment_without(self._commands),
        )
        try:
            first = running.first_line()
            if is_service:
                self._service = running
                self._port = re.findall(r"127\.0\.0\.1:(\d+)", first)[0]
                first = first.replace(f":{self._port}", f":{_SAID_PORT}")
            if expected:
                assert_shown(f"{where}: {command}", expected, first)
        finally:
            if running is not self._service:
                code = running.stop()
                assert code == 0, f"{where}: {command} ended with {code}"

    def _reachable(self, text: str) -> str:
        """The same text with the service of this page at the usual port, and a key that holds."""
        if _SAID_ADDRESS.search(text):
            if self._service is None:
                self._run_lasting(name_of(self._page), "ricordo serve", "", [])
            text = _SAID_ADDRESS.sub(self._port, text)
        if _KEY in text:
            text = text.replace(_KEY, self._shown_keys[-1] if self._shown_keys else self._new_key())
        return text

    def _new_key(self) -> str:
        """For a page that takes it for granted that its reader has one."""
        made = subprocess.run(
            ["ricordo", "keys", "create", "page", "--user", "ana", "--json"],
            capture_output=True,
            check=True,
        )
        secret: str = json.loads(made.stdout)["secret"]
        return secret

    def _stop_service(self) -> None:
        if self._service is not None:
            code = self._service.stop()
            self._service = None
            assert code == 0, f"{name_of(self._page)}: the service ended with {code}"


def read_console(block: Block) -> Iterator[tuple[str, str]]:
    """The commands, and what each is said to show."""
    commands: list[str] = []
    expected: list[str] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            expected.append("")
        elif (line == ">" or line.startswith("> ")) and not expected[-1]:
            commands[-1] += f"\n{line[2:]}"
        else:
            expected[-1] += f"{line}\n"
    return zip(commands, expected, strict=True)


def assert_shown(where: str, expected: str, actual: str) -> None:
    """``…`` stands for any text in a line and, alone, for any lines; times are not compared."""
    pattern = ""
    for line in TIME.sub("TIME", expected).splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    lines = TIME.sub("TIME", actual).splitlines()
    plain = "".join(f"{line.rstrip()}\n" for line in lines)
    assert re.fullmatch(pattern, plain), f"{where}\n--- said\n{expected}--- shown\n{actual}"
