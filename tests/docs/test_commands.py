"""Commands of the documentation that fetch packages or run for hours: understood, not run."""

import argparse
import re
import shlex
import tomllib

import pytest
from bench.peers import command as peers
from packaging.requirements import Requirement

from bench import load
from tests.docs.markdown import DOCS, ROOT, blocks, pages
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("docs.blocks-run")

HOW_TO = DOCS / "howto"


def lines_with(begin: str) -> list[list[str]]:
    """The commands of all pages that begin so, in words, without what a comment says of them."""
    return [
        shlex.split(line, comments=True)
        for page in pages()
        for block in blocks(page)
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith(begin)
    ]


def test_pip() -> None:
    """What is to be installed has a name that is understood, and extras that there are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    inline = re.findall(
        r"`pip install '?(ricordo[^'`]*)'?`",
        "".join(page.read_text(encoding="utf-8") for page in pages()),
    )
    fenced = [words[2:] for words in lines_with("pip install")]
    assert fenced
    assert all(len(words) == 1 for words in fenced)
    for said in (*inline, *(words[0] for words in fenced)):
        wanted = Requirement(said)
        assert wanted.name == "ricordo", said
        assert wanted.extras <= extras, said


def test_workers() -> None:
    """Every option is understood; what is missing is only the broker."""
    commands = lines_with("ricordo celery")
    assert len(commands) == 6
    for words in commands:
        ran = ricordo(*words[1:])
        assert "broker_url" in ran.err, (words, ran)
        assert "is not set" in ran.err, (words, ran)


def test_celerys_own() -> None:
    commands = lines_with("celery -A")
    assert [words[-1] for words in commands] == ["worker", "beat"]
    for words in commands:
        assert words[:3] == [
            "celery",
            "-A",
            "ricordo.workers.celery_app",
        ]  # as tests/workers starts it


def test_benches() -> None:
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers()
    load.register(kinds)
    peers.register(kinds)
    commands = lines_with("python -m bench")
    assert {words[3] for words in commands} == {"load", "peers"}
    for words in commands:
        parser.parse_args(words[3:])


def test_make() -> None:
    """The Makefile has every target and uses every variable that is set."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = lines_with("make ")
    assert commands
    for words in commands:
        for word in words[1:]:
            name, is_variable, _ = word.partition("=")
            wanted = rf"\$\({name}\)" if is_variable else rf"(?m)^{name}:"
            assert re.search(wanted, makefile), word
