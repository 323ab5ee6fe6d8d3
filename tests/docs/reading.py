"""A reader who follows a page: runs its blocks in order, in one folder, on one store.

What a page starts and leaves running is stopped at its end; endpoints that it names have stand-ins.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self

from ricordo import Memory
from ricordo.testing import ModelServer
from tests.docs.markdown import Block, name_of
from tests.support.waiting import wait_until

ANSWER = "Green tea, as always."
_PATIENCE_SECONDS = 120.0
DONE = "-- done --"
_SAID_PORT = "8377"
_KEY = "rk_…"
_IN_VENV = ".venv/bin/ricordo "  # where `make serve` puts the command
_OPENAI = re.compile(r"https://api\.openai\.com/v1|http://127\.0\.0\.1:(?:8080|11434)/v1")
_ANTHROPIC = re.compile(r"https://api\.anthropic\.com")


def _answered(body: dict[str, Any]) -> dict[str, Any] | str:
    """What is said to anybody; whoever asks for something structured gets what a test asks for."""
    return {"hour": 9, "destination": "the coast"} if "response_format" in body else ANSWER


def put_a_tokenizer(folder: Path) -> None:
    """The file of a model that a page counts tokens with."""
    shipped = resources.files("ricordo.providers").joinpath("ricordo_multi", "tokenizer.json")
    (folder / "tokenizer.json").write_bytes(shipped.read_bytes())


class StandIns(contextlib.ExitStack):
    """Scripted endpoints on loopback, each started when a page first names what it stands for."""

    def __init__(self) -> None:
        super().__init__()
        self._addresses: dict[str, str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def in_place(self, command: str) -> str:
        """The command, with addresses that answer."""
        command = _OPENAI.sub(lambda _: self._openai(), command)
        return _ANTHROPIC.sub(lambda _: self._anthropic(), command)

    def _openai(self) -> str:
        if "openai" not in self._addresses:
            server = self.enter_context(ModelServer())
            server.answer_with(_answered)
            self._addresses["openai"] = server.base_url
        return self._addresses["openai"]

    def _anthropic(self) -> str:
        if "anthropic" not in self._addresses:
            server = self.enter_context(ModelServer())
            server.answer_with(_answered)
            self._addresses["anthropic"] = server.root
        return self._addresses["anthropic"]


_LASTING = re.compile(r"^(?:[A-Z_]+=\S+ )*ricordo (?P<name>serve|worker)\b")


def name_of_lasting(command: str) -> str | None:
    """Which of the commands that do not end by themselves this is; ``None`` for all others."""
    found = _LASTING.match(command)
    return None if found is None else found["name"]


class Lasting:
    """A command that runs until it is stopped."""

    def __init__(self, command: str, before: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it, after what has to be said in the same shell before (its ``export`` lines)."""
        self.command = command
        script = "\n".join([*before, f"exec env {command}"])
        self._process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.said: list[str] = []
        self._log: list[str] = []
        # Read all the time: a pipe that is full would stop the command.
        self._reading = [
            threading.Thread(target=lines.extend, args=(pipe,))
            for lines, pipe in (
                (self.said, self._process.stdout),
                (self._log, self._process.stderr),
            )
        ]
        for thread in self._reading:
            thread.start()

    def first_line(self) -> str:
        """What it says when it has begun."""
        wait_until(lambda: self.said or self._process.poll() is not None, _PATIENCE_SECONDS)
        assert self.said, f"{self.command} ended:\n{''.join(self._log)}"
        return self.said[0]

    def stop(self) -> int:
        """Ask it to end, as Ctrl-C does, and wait until it has; its exit code."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_SECONDS)
        self._process.kill()
        self._process.wait()
        for thread in self._reading:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return self._process.returncode


def environment_without(stand_in_folder: str) -> dict[str, str]:
    """This environment with the installed command first: it gets signals, a stand-in does not."""
    path = os.environ["PATH"].split(os.pathsep)
    return {
        **os.environ,
        "PATH": os.pathsep.join(one for one in path if one != stand_in_folder),
        "RICORDO_PORT": "0",  # any free one; whoever names the usual one is sent there
    }


TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00)?")
_SAID_ADDRESS = re.compile(rf"(?<=127\.0\.0\.1:){_SAID_PORT}|(?<=localhost:){_SAID_PORT}")
_REAL_KEY = re.compile(r"rk_[\w-]{20,}")


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
