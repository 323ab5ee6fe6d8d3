"""Every example of the documentation is run, and what it prints is what the page says.

The blocks of a page run in order, in one folder, on one store. A ``python`` block runs here, and
an ``output`` block after it says what it printed. In a ``console`` block, lines after ``$`` (and
``>`` where they go on) run in bash, and the lines below them are what appears. ``…`` stands for
any text in a line and, alone, for any lines; times are not compared.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo import Memory
from tests.docs.markdown import Block, blocks, name_of, pages
from tests.support import postgres
from tests.support.quick_command import stand_in

RUN = ("python", "console", "output")
PAGES_WITH_EXAMPLES = [page for page in pages() if any(one.language in RUN for one in blocks(page))]
KNOWN_LANGUAGES = {*RUN, "text", "mermaid", "json", "sql"}
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00)?")
POSTGRES = re.compile(r"postgresql://[^\s\"'`]+")
DONE = "-- done --"


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which bash finds the command."""
    with stand_in(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


@pytest.mark.requirement("docs.true")
@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_run(
    page: Path,
    commands: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("RICORDO_UPKEEP")  # examples show what a reader will see
    programs = (str(commands), str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(programs))  # for Python that calls it, too
    found = [one for one in blocks(page) if one.language in RUN]
    if any(POSTGRES.search(one.text) for one in found):
        url = request.getfixturevalue("postgres_url")
        owners = postgres.as_owner(url)

        def real(address: re.Match[str]) -> str:
            return owners if "//ricordo_owner" in address[0] else url

        found = [Block(one.language, POSTGRES.sub(real, one.text), one.line) for one in found]
    namespace: dict[str, object] = {"__name__": "example"}
    printed: str | None = None
    try:
        for block in found:
            where = f"{name_of(page)}, line {block.line}"
            if block.language == "python":
                printed = run_python(page, block, namespace)
            elif block.language == "output":
                assert printed is not None, f"{where}: no python block right before it"
                assert_shown(where, block.text, printed)
                printed = None
            else:
                run_console(where, block)
    finally:
        for value in namespace.values():
            if isinstance(value, Memory):
                value.close()


@pytest.mark.requirement("docs.true")
@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_is_one_that_is_known(page: Path) -> None:
    found = list(blocks(page))
    assert {one.language for one in found} <= KNOWN_LANGUAGES
    fences = re.findall(r"```", page.read_text(encoding="utf-8"))
    assert len(fences) == 2 * len(found), "a block that is indented would not be run"


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> str:
    code = "\n" * (block.line - 1) + block.text
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(page), "exec"), namespace)
    return output.getvalue()


def run_console(where: str, block: Block) -> None:
    commands, expected = read_console(block)
    assert commands, f"{where}: a console block without a command"
    script = ["exec 2>&1", f"done_() {{ local code=$?; echo '{DONE}'; return $code; }}"]
    for command in commands:
        script += [command, "done_"]
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
    for command, said, actual in zip(commands, expected, shown, strict=False):
        assert_shown(f"{where}: {command}", said, actual)
    assert len(shown) == len(commands) + 1


def read_console(block: Block) -> tuple[list[str], list[str]]:
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
    return commands, expected


def assert_shown(where: str, expected: str, actual: str) -> None:
    pattern = ""
    for line in TIME.sub("TIME", expected).splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    lines = TIME.sub("TIME", actual).splitlines()
    plain = "".join(f"{line.rstrip()}\n" for line in lines)
    assert re.fullmatch(pattern, plain), f"{where}\n--- said\n{expected}--- shown\n{actual}"
