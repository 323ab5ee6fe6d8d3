"""What the deployment pages tell operators to run, taken out of the pages themselves."""

from pathlib import Path

from tests.docs.markdown import DOCS, blocks

DEPLOY = DOCS / "howto" / "deploy.md"
POSTGRES = DOCS / "howto" / "postgres.md"
BACKUP = DOCS / "howto" / "deploy-backup.md"
SHARDS = DOCS / "howto" / "deploy-shards.md"


def statements(page: Path, under: str) -> list[str]:
    """The SQL blocks below a heading of a page, up to the next heading like it."""
    return _below(page, under, "sql")


def commands(page: Path, under: str) -> list[str]:
    """The blocks of shell commands below a heading of a page, up to the next heading like it."""
    return _below(page, under, "sh")


def _below(page: Path, heading: str, language: str) -> list[str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(heading)
    level = heading.split(" ", 1)[0] + " "
    ends = (n for n, line in enumerate(lines) if n > first and line.startswith(level))
    last = next(ends, len(lines))
    found = [
        one.text for one in blocks(page) if first < one.line <= last and one.language == language
    ]
    assert found, f"{page.name}: no {language} block below {heading!r}"
    return found
