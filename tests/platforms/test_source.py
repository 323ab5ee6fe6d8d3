"""The whole source, read for calls that only some systems have: each is guarded, or named here."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import elsewhere

pytestmark = pytest.mark.requirement("platforms.guarded")
SOURCE = Path(__file__).parents[2] / "src"
MODULES = {*elsewhere.MODULES, "crypt", "nis", "posix", "spwd", "ossaudiodev", "msvcrt", "winreg"}
NAMES = {
    "os": {
        *elsewhere.OF_OS,
        *("fchmod", "fchdir", "fdatasync", "getgroups", "getloadavg", "getpgid", "getpriority"),
        *("lchown", "lockf", "mkfifo", "mknod", "openpty", "pidfd_open", "posix_fadvise"),
        *("posix_fallocate", "pread", "preadv", "pwrite", "pwritev", "sched_setaffinity"),
        *("sched_yield", "sendfile", "setgid", "setpgid", "setpriority", "setuid", "splice"),
        *("statvfs", "tcgetpgrp", "ttyname", "wait3", "wait4", "waitid", "memfd_create"),
        *("O_DSYNC", "O_SYNC", "O_NOCTTY", "O_PATH", "O_TMPFILE", "WNOHANG", "O_BINARY"),
    },
    "signal": {*elsewhere.OF_SIGNAL, "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGWINCH", "pause"},
    "socket": {
        *elsewhere.OF_SOCKET,
        *("MSG_DONTWAIT", "MSG_NOSIGNAL", "SCM_RIGHTS", "TCP_KEEPIDLE", "SO_EXCLUSIVEADDRUSE"),
        *("recv_fds", "send_fds", "AF_VSOCK", "AF_NETLINK"),
    },
    "time": {"clock_gettime", "clock_gettime_ns", "tzset", "pthread_getcpuclockid"},
    "select": {"poll", "epoll", "kqueue"},
    "asyncio": {"add_signal_handler", "open_unix_connection", "start_unix_server"},
}
METHODS = {
    "add_signal_handler",
    "add_reader",
    "add_writer",
    "create_unix_server",
    "set_inheritable",
}
"""Of an event loop, mostly: no loop of Windows has all of them."""

KEYWORDS = {"preexec_fn", "pass_fds", "dir_fd", "src_dir_fd", "start_new_session"}
PLACES = re.compile(r"^/(proc|dev|sys|etc|tmp|var|usr|run)(/|$)")
STRFTIME = re.compile(r"%[-_^#EO][A-Za-z]|%[PGsklhrRTDeFzZ+]")
GUARDS = {"hasattr", "getattr"}

WITHOUT_FORK = "the only way in is check_may_share, which refuses several workers where no fork is"
WITHOUT_SOCKETS = "there is a path for them only where socket_path has found such sockets"
ALLOWED = {
    ("ricordo/http/local_calls.py", "socket.AF_UNIX"): WITHOUT_SOCKETS,
    ("ricordo/http/local_calls.py", "os.getuid"): WITHOUT_SOCKETS,
    ("ricordo/http/supervisor.py", "os.fork"): WITHOUT_FORK,
    ("ricordo/http/supervisor.py", "signal.pthread_sigmask"): WITHOUT_FORK,
    ("ricordo_hook/__init__.py", "os.setsid"): "after a fork, which was asked for",
    ("ricordo_bench/speed.py", "/proc"): "a bench, which measures what it says it measures",
}
"""What is not guarded where it stands, and why that is right."""


@dataclass(frozen=True)
class Use:
    file: str
    what: str
    line: int
    guarded: bool


def guards_of(node: ast.AST) -> set[str]:
    """Names that a condition or a function asks for before it uses them."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in GUARDS:
            found |= {arg.value for arg in one.args if isinstance(arg, ast.Constant)}
        if isinstance(one, ast.Attribute) and one.attr in ("platform", "name"):
            is_system = isinstance(one.value, ast.Name) and one.value.id in ("sys", "os")
            found |= {"*"} if is_system else set()
        if isinstance(one, ast.Name) and one.id in ("REPLACES_OPEN_FILES", "SHARES_PORTS"):
            found.add("*")
    return found


class Reader:
    """Walks one file, with what its place has been asked for."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.uses: list[Use] = []

    def read(self, node: ast.AST, known: frozenset[str], caught: bool) -> None:
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.FunctionDef):
            # A guard holds in its function: "if not hasattr(os, …): return" comes before the rest.
            known |= guards_of(node.test if not isinstance(node, ast.FunctionDef) else node)
        if isinstance(node, ast.Try):
            handled = {name for one in node.handlers for name in self._names(one.type)}
            tolerant = caught or bool(handled & {"ImportError", "AttributeError", "OSError"})
            for inner in node.body:
                self.read(inner, known, tolerant)
            for inner in (*node.handlers, *node.orelse, *node.finalbody):
                self.read(inner, known, caught or isinstance(inner, ast.ExceptHandler))
            return
        for what in self._used(node):
            name = what.rpartition(".")[2]
            is_asked = name in known or "*" in known
            line = getattr(node, "lineno", 0)
            self.uses.append(Use(self.file, what, line, caught or is_asked))
        for inner in ast.iter_child_nodes(node):
            self.read(inner, known, caught)

    @staticmethod
    def _names(handled: ast.expr | None) -> Iterator[str]:
        for one in ast.walk(handled) if handled is not None else ():
            if isinstance(one, ast.Name):
                yield one.id

    @staticmethod
    def _used(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if node.module in MODULES:
                yield str(node.module)
            rare = NAMES.get(str(node.module), set())
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name in rare)
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in NAMES.get(owner, set()):
                yield f"{owner}.{node.attr}"
            elif node.attr in METHODS:
                yield f"loop.{node.attr}"
        elif isinstance(node, ast.keyword) and node.arg in KEYWORDS:
            yield f"{node.arg}="
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            place = PLACES.match(node.value)
            if place:
                yield f"/{place[1]}"


LOOKED_FOR = re.compile(
    "|".join(
        [
            *(rf"\b{owner}\.({'|'.join(names)})\b" for owner, names in NAMES.items()),
            rf"\b(import|from) ({'|'.join(MODULES)})\b",
            rf"\bfrom ({'|'.join(NAMES)}) import",
            rf"\b({'|'.join([*METHODS, *KEYWORDS])})\b",
            r"[\"']/(proc|dev|sys|etc|tmp|var|usr|run)\b",
        ]
    )
)


def parsed(pattern: "re.Pattern[str]") -> Iterator[tuple[str, ast.Module]]:
    """The files in which it is found at all; to read every one takes ten times as long."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if pattern.search(text):
            yield path.relative_to(SOURCE).as_posix(), ast.parse(text)


@functools.cache
def uses() -> list[Use]:
    found = []
    for name, module in parsed(LOOKED_FOR):
        reader = Reader(name)
        reader.read(module, frozenset(), False)
        found += reader.uses
    return found


def test_what_only_some_systems_have_is_asked_for_first() -> None:
    bare = [use for use in uses() if not use.guarded and (use.file, use.what) not in ALLOWED]
    assert [f"{use.file}:{use.line}: {use.what}" for use in bare] == []


def test_nothing_is_allowed_that_is_not_there() -> None:
    there = {(use.file, use.what) for use in uses() if not use.guarded}
    assert set(ALLOWED) - there == set()


def test_the_reader_sees_what_it_looks_for() -> None:
    """A file with one of each, unguarded and guarded."""
    text = """
import fcntl, os, signal, socket
def bare(loop):
    os.fork(); signal.SIGHUP; socket.AF_UNIX; os.setsid()
    loop.add_signal_handler(1, None)
    open("/proc/self/stat"); run(preexec_fn=None)
def asked():
    if not hasattr(os, "fork"):
        return
    os.fork()
def tried():
    try:
        import resource
    except ImportError:
        return
"""
    reader = Reader("one.py")
    reader.read(ast.parse(text), frozenset(), False)
    assert {use.what for use in reader.uses if not use.guarded} == {
        *("fcntl", "os.fork", "os.setsid", "signal.SIGHUP", "socket.AF_UNIX"),
        *("loop.add_signal_handler", "/proc", "preexec_fn="),
    }
    assert {use.what for use in reader.uses if use.guarded} == {"os.fork", "resource"}


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for file, module in parsed(re.compile(rf"\b{name}\(")):
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                called = node.func
                found = called.attr if isinstance(called, ast.Attribute) else ""
                found = called.id if isinstance(called, ast.Name) else found
                if found == name:
                    yield f"{file}:{node.lineno}", node


def is_binary(call: ast.Call, place: int) -> bool:
    named = [one.value for one in call.keywords if one.arg == "mode"]
    modes = [*call.args[place : place + 1], *named]
    return any(isinstance(one, ast.Constant) and "b" in str(one.value) for one in modes)


def has_encoding(call: ast.Call, positional: bool) -> bool:
    return any(one.arg in ("encoding", None) for one in call.keywords) or (
        positional and bool(call.args)
    )


NO_FILES = {  # methods that are called open as well
    ("ricordo/access/policy_file.py", "AccessPolicy"): "a policy without restrictions",
    ("ricordo/index/embedders.py", "self.secrets"): "what is sealed",
    ("ricordo/jobs/webhooks.py", "self._box"): "what is sealed",
    ("ricordo/user_memory/webhooks.py", "box"): "what is sealed",
    ("ricordo/transfer/foreign_files.py", "archive"): "bytes of a file in an archive",
}


def test_text_has_an_encoding_everywhere() -> None:
    """Without one Windows reads and writes the code page of the country."""
    missing, unused = [], set(NO_FILES)
    for name in ("open", "read_text", "write_text", "fdopen"):
        for where, call in calls(name):
            owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            place = (where.split(":")[0], owner)
            mode_at = 0 if name == "open" and owner else 1
            if name == "open" and (owner in ("os", "ricordo") or place in NO_FILES):
                unused.discard(place)
            elif not is_binary(call, mode_at) and not has_encoding(call, name == "read_text"):
                missing.append(f"{where}: {owner}.{name}")
    assert missing == []
    assert unused == set()


def test_dates_are_written_with_what_every_system_knows() -> None:
    odd = [
        where
        for where, call in calls("strftime")
        for one in call.args
        if isinstance(one, ast.Constant) and STRFTIME.search(str(one.value))
    ]
    assert odd == []
