"""What cannot be taken back is asked for first."""

import os
import pty
import subprocess
from collections.abc import Iterator

import pytest

from ricordo import Memory
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo


@pytest.fixture
def store(backend_url: str) -> Iterator[Memory]:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
        memory.user("ben").add("Has a cat")
        yield memory


def asked(typed: str, *arguments: str) -> tuple[int, str, str]:
    """Run the installed command with a person at the keyboard, who types this when asked."""
    keyboard, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(theirs)
        os.write(keyboard, typed.encode())
        out, err = running.communicate(timeout=60)
    os.close(keyboard)
    return running.returncode, out.decode(), err.decode()


@pytest.mark.requirement("cli.erase")
def test_erase_shows_the_receipt(store: Memory, backend_url: str) -> None:
    receipt = ricordo("erase", "ana", "--yes", "--json", "--db", backend_url).json
    assert set(receipt) == {"user_id", "erased_at", "removed", "scrubbed"}
    assert (receipt["user_id"], receipt["removed"]["items"]) == ("ana", 1)
    assert store.users() == ("ben",)
    said = ricordo("erase", "ben", "-y", "--db", backend_url).out
    assert said.startswith("Erased user 'ben' at ")
    assert "items 1" in said


@pytest.mark.requirement("cli.erase")
@pytest.mark.parametrize(
    "command",
    [["erase", "ana"], ["purge", "--now", "-u", "ana"], ["purge", "--now", "--all-users"]],
)
def test_nobody_there_to_be_asked(store: Memory, backend_url: str, command: list[str]) -> None:
    store.user("ana").forget(1)
    ran = ricordo(*command, "--db", backend_url, stdin="ana\npurge\n")
    assert (ran.code, ran.out, "--yes" in ran.err) == (2, "", True)
    assert ricordo(*command, "--db", backend_url, "--json").error["error"] == "InvalidInput"
    assert store.user("ana").get(1, include_deleted=True).content == "Prefers tea"


@pytest.mark.requirement("cli.erase")
def test_a_person_is_asked_for_the_name(store: Memory, backend_url: str) -> None:
    code, out, err = asked("yes\n", "erase", "ana", "--db", backend_url)
    assert (code, out) == (2, "")
    assert "This removes everything of user 'ana' for good.\nType ana to go on: " in err
    assert "nothing was done" in err
    assert store.users() == ("ana", "ben")
    code, out, _ = asked("ana\n", "erase", "ana", "--db", backend_url)
    assert (code, out.startswith("Erased user 'ana'")) == (0, True)
    assert store.users() == ("ben",)


@pytest.mark.requirement("cli.erase")
def test_end_of_input_is_a_no(store: Memory, backend_url: str) -> None:
    assert asked("\x04", "erase", "ana", "--db", backend_url)[0] == 2
    assert store.users() == ("ana", "ben")


@pytest.mark.requirement("cli.erase")
def test_purge_asks_only_before_its_time(store: Memory, backend_url: str) -> None:
    options = ("--db", backend_url, "-u", "ana")
    store.user("ana").forget(1)
    store.user("ben").forget(2)
    assert ricordo("purge", *options, "--json").json == {"purged": 0}
    assert ricordo("purge", "--all-users", *options).out == "Removed for good: 0.\n"
    assert asked("purge\n", "purge", "--now", *options)[:2] == (0, "Removed for good: 1.\n")
    purged = ricordo("purge", "--now", "--all-users", "--yes", "--json", *options)
    assert purged.json == {"purged": 1}


@pytest.mark.requirement("cli.erase")
def test_the_global_memories_can_be_erased(store: Memory, backend_url: str) -> None:
    store.global_memories().add("The office closes at six")
    assert ricordo("erase", "*", "--yes", "--db", backend_url).code == 0
    assert store.users() == ("ana", "ben")
