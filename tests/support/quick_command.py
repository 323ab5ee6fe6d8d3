"""The command ``ricordo`` without its start-up, for examples that call it dozens of times.

A server loads everything once. The stand-in that is found on the PATH hands it arguments, folder,
environment and streams; a process forked for it runs the command's own ``main`` with them. How the
installed command starts is tested elsewhere.
"""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
_STREAMS = 3
_LENGTH_BYTES = 8
_STAND_IN = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(asked).to_bytes({length_bytes}, "big")], [0, 1, 2])
server.sendall(asked)
answer = server.recv(1)
sys.exit(answer[0] if answer else 70)
"""


@contextlib.contextmanager
def stand_in(folder: Path) -> Iterator[Path]:
    """A folder with the stand-in, to be put first on the PATH."""
    address = str(folder / "commands")
    program = folder / "ricordo"
    text = _STAND_IN.format(python=sys.executable, address=address, length_bytes=_LENGTH_BYTES)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.quick_command", address],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield folder
        finally:
            server.kill()


def _serve(address: str) -> None:
    import alembic.command  # noqa: F401 - what many commands need and takes long to load
    import onnxruntime  # noqa: F401
    import rich.console
    import rich.table  # noqa: F401
    import tokenizers  # noqa: F401

    import ricordo.cli.main
    import ricordo.formation.extraction
    import ricordo.storage.postgres.backend
    import ricordo.wiring
    from tests.support.commandline import assembled_once

    assembled_once()
    ricordo.cli.main.assemble = assembled_once

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever is done goes without being asked
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            caller, _ = listening.accept()
            with caller:
                if os.fork() == 0:
                    listening.close()
                    _answer_and_end(caller)


def _answer_and_end(caller: socket.socket) -> NoReturn:
    """Whatever happens: libraries that wait for their threads have none after a fork."""
    code = 70
    try:
        code = _answer(caller)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _answer(caller: socket.socket) -> int:
    length, streams, _, _ = socket.recv_fds(caller, _LENGTH_BYTES, _STREAMS)
    remaining = int.from_bytes(length, "big")
    asked = b""
    while len(asked) < remaining:
        asked += caller.recv(remaining - len(asked))
    arguments, folder, environment = json.loads(asked)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code = _run(arguments)
    caller.sendall(bytes([code]))
    return code


def _run(arguments: list[str]) -> int:
    from ricordo.cli.main import main

    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.FileIO(number, "w", closefd=False), encoding="utf-8", write_through=True
        )
        for number in (1, 2)
    )
    sys.argv = ["ricordo", *arguments]
    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve(sys.argv[1])
