"""Every example of the documentation is run, and what it prints is what the page says.

The blocks of a page run in order, in one folder, on one store. A ``python`` block runs here, and
an ``output`` block after it says what it printed. In a ``console`` block, lines after ``$`` (and
``>`` where they go on) run in bash, and the lines below them are what appears. ``…`` stands for
any text in a line and, alone, for any lines; times are not compared. A service that a page starts
runs until its end, on a free port; calls of port 8377 go there. Whatever else stands in a block is
held by a test of its own: see test_blocks.py.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import RUN, Block, blocks, name_of, pages
from tests.docs.reading import Reader, put_a_tokenizer
from tests.migration.test_first_release import old_file
from tests.support import postgres
from tests.support.quick_command import stand_in

DEAR = ("anthropic-memory.md", "openai-agents.md", "pydantic-ai.md", "search.md")
POSTGRES = re.compile(r"postgresql://[^\s\"'`]+")


def pages_with_examples() -> Iterator[Any]:
    """The README and what only calls Python are run by the fast tier, the other pages by all."""
    for page in pages():
        found = {one.language for one in blocks(page)} & set(RUN)
        if found:
            is_slow = "console" in found or page.name in DEAR
            mark = pytest.mark.smoke if page.name == "README.md" else pytest.mark.slow
            yield pytest.param(page, id=name_of(page), marks=mark if is_slow else ())


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which bash finds the command."""
    with stand_in(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


@pytest.mark.requirement("docs.true")
@pytest.mark.parametrize("page", list(pages_with_examples()))
def test_the_examples_of_a_page_run(
    page: Path,
    commands: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("RICORDO_UPKEEP")  # examples show what a reader will see
    monkeypatch.setenv("RICORDO_EMBEDDING_DEADLINE_SECONDS", "60")  # however busy the machine is
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):  # what a reader with a model has
        monkeypatch.setenv(name, "sk-of-the-reader")
    put_a_tokenizer(folder)
    if page.name == "upgrade.md":
        old_file(own_home, "ricordo.db")
    programs = (str(commands), str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(programs))  # for Python that calls it, too
    found = [one for one in blocks(page) if one.language in RUN]
    if any(POSTGRES.search(one.text) for one in found):
        url = request.getfixturevalue("postgres_url")
        owners = postgres.as_owner(url)

        def real(address: re.Match[str]) -> str:
            return owners if "//ricordo_owner" in address[0] else url

        found = [Block(one.language, POSTGRES.sub(real, one.text), one.line) for one in found]
    with Reader(page, commands) as reader:
        reader.follow(found)
