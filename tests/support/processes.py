"""Programs that tests run as processes of their own: python -m tests.support.processes NAME …"""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from ricordo.memory import Memory
from ricordo.wiring import open_memory

ROOT = Path(__file__).parents[2]
_PRELOADED = ["tests.support.processes", "ricordo.wiring", "ricordo.formation.extraction"]
_COMMANDS = frozenset({"execute", "executemany", "commit"})


def _open(url: str, **settings: Any) -> Memory:
    """The store without vectors, which take their time: these programs are about writing."""
    return open_memory(url, run_jobs=False, embedding_provider="none", **settings)


def start(name: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start one of the programs below; its standard output is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.processes", name, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


def killed_writer(url: str, first: int, lines: int, *, threads: int = 1) -> list[list[str]]:
    """Start a writer, kill it after it has acknowledged so many writes; all it acknowledged.

    With several threads each of them only adds, so that they share commits.

    The writer is forked from a server that has everything loaded, so that fifty of them are quick.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    reader, writer = os.pipe()
    given = (context.reducer.DupFd(writer), url, first, threads, dict(os.environ))
    process = context.Process(target=_write_into, args=given)
    process.start()
    os.close(writer)
    with os.fdopen(reader) as pipe:
        seen = [pipe.readline() for _ in range(lines)]
        process.kill()
        seen += pipe.readlines()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    return [line.split() for line in seen if line.endswith("\n")]


def killed_former(url: str, thread: str, at_command: int) -> bool:
    """Form a conversation in a process that dies as it gives the database its nth command.

    False when there were fewer, so that it has come to its end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    given = (url, thread, at_command, dict(os.environ))
    process = context.Process(target=_form_until, args=given)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def killed_drain(home: Path, at_command: int) -> bool:
    """Store what hooks noted in a process that dies as it gives the database its nth command.

    False when there were fewer, so that it has come to its end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_drain_until, args=(home, at_command, dict(os.environ)))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def killed_opening(url: str, at: str) -> None:
    """Open a store in a process that dies as it gives the database a statement with these words;
    with "commit", when all steps of a migration are done and nothing is committed yet."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_open_until, args=(url, at, dict(os.environ)))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def _open_until(url: str, at: str, environment: dict[str, str]) -> None:
    _take_over(environment)
    import sqlalchemy as sa

    from ricordo.storage.postgres.backend import PostgresBackend
    from ricordo.storage.sqlite.backend import SqliteBackend

    def die(*_given: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if at in statement:
            die()

    sa.event.listen(sa.Engine, "before_cursor_execute", watch)
    if at == "commit":
        for backend in (SqliteBackend, PostgresBackend):  # what an upgrade does last
            backend.prepare_planner = die  # type: ignore[method-assign]
    _open(url).close()


def _drain_until(home: Path, at_command: int, environment: dict[str, str]) -> None:
    _take_over({**environment, "RICORDO_EMBEDDING_PROVIDER": "none"})
    from ricordo.coding_agents.resident import Resident

    one = Resident(home, run_jobs=False)
    one.memory()
    die_at(at_command)
    one.work_off()
    sys.setprofile(None)
    one.close()


def die_at(at_command: int) -> None:
    """Let this process die as it gives the database its nth command from now on."""
    left = at_command

    def watch(frame: FrameType, event: str, called: Any) -> None:
        """Called by the interpreter at every call of a function, just before it runs."""
        nonlocal left
        if event == "c_call":  # of the driver of SQLite
            is_command = getattr(called, "__name__", "") in _COMMANDS
        else:
            code = frame.f_code
            in_driver = f"{os.sep}psycopg{os.sep}" in code.co_filename
            is_command = event == "call" and in_driver and code.co_name in _COMMANDS
        left -= is_command
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def _take_over(environment: dict[str, str]) -> None:
    """What is forked from a server has the environment of whoever started that server."""
    os.environ.clear()
    os.environ.update(environment)


def _form_until(url: str, thread: str, at_command: int, environment: dict[str, str]) -> None:
    _take_over(environment)
    with _open(url) as memory:
        die_at(at_command)
        memory.user("ana").form(thread)
        sys.setprofile(None)


def _write_into(pipe: Any, url: str, first: int, threads: int, environment: dict[str, str]) -> None:
    _take_over(environment)
    os.dup2(pipe.detach(), 1)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    if threads == 1:
        write_until_killed(url, str(first))
    else:
        add_until_killed(url, first, threads)


def add_own(url: str, worker: str, number_of: str) -> None:
    """Add texts of one's own, one by one, for one user that all workers share."""
    with _open(url) as memory:
        user = memory.user("ana", actor=f"worker-{worker}")
        for number in range(int(number_of)):
            user.add(f"Worker {worker} says {number}")


def add_same(url: str, worker: str, number_of: str) -> None:
    """Add the same texts as every other worker."""
    with _open(url) as memory:
        user = memory.user("ana", actor=f"worker-{worker}")
        for number in range(int(number_of)):
            user.add(f"Everybody says {number}")
            user.add(f"Value {number}", key=f"key-{number}")


def add_until_killed(url: str, first: int, threads: int) -> None:
    """Add for ever, in several threads at once; print what was acknowledged, after it was."""

    def work(worker: int) -> None:
        user = memory.user("ana")
        for number in count(first + worker, threads):
            added = user.add(f"Statement {number}")
            os.write(1, f"added {added.id} {number}\n".encode())

    with _open(url) as memory, ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


def write_until_killed(url: str, first: str) -> None:
    """Do writes of every kind for ever; print what was acknowledged, after it was."""
    with _open(url) as memory:
        user = memory.user("ana")
        number = int(first)
        while True:
            added = user.add(f"Statement {number}")
            print(f"added {added.id} {number}")
            user.add(f"Value {number}", key="changing")
            print(f"valued {number}")
            if number % 3 == 0:
                user.archive(added.id)
                print(f"archived {added.id}")
            if number % 5 == 0:
                batch = user.add_many([f"Batch {number} part {part}" for part in range(20)])
                print(f"batch {batch[0].id} {batch[-1].id}")
            if number % 7 == 0:
                user.add(f"Replacement {number}", supersedes=user.add(f"Old {number}").id)
                print(f"replaced {number}")
            number += 1


def open_new(url: str) -> None:
    """Open a database that may not exist yet."""
    with _open(url) as memory:
        print(memory.user("ana").revision())


def form_when_told(url: str) -> None:
    """Form all conversations when a line comes in."""
    with _open(url) as memory:
        print("ready")
        sys.stdin.readline()
        memory.user("ana").form()


def form_with_model(url: str, base_url: str) -> None:
    """Form all conversations as a model at that address reads them."""
    with _open(url, **_model_at(base_url)) as memory:
        memory.user("ana").form()


def run_jobs_with_model(url: str, base_url: str) -> None:
    """Run the jobs that are due, with a model at that address."""
    with _open(url, **_model_at(base_url)) as memory:
        memory.run_jobs()


def _model_at(base_url: str) -> dict[str, str]:
    return {
        "model_provider": "custom_http",
        "model_name": "scripted",
        "model_base_url": base_url,
    }


def hold_lock(path: str) -> None:
    """Lock a SQLite file for writing until standard input closes."""
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("locked")
    sys.stdin.read()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
