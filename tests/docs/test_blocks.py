"""No block of the documentation is only shown: it is run with its page, or held by a named test.

Blocks of ``python``, ``console`` and ``output`` are run by test_examples.py. Pages of the reference
are generated, and compared by test_reference.py; so is the report, whose blocks are the commands
that have measured it. Every other block stands in one of the two tables below, by its page and its
first line, and each entry of them by one block: what is added to a page and run by nobody makes
this fail.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, ROOT, RUN, Block, blocks, name_of, pages

HELD = {
    ("README.md", "make serve"): (
        "tests/newcomer/test_first_five_minutes.py::test_the_first_five_minutes"
    ),
    ("docs/quickstart.md", "pip install ricordo"): "tests/docs/test_commands.py::test_pip",
    ("docs/howto/postgres.md", "pip install"): "tests/docs/test_commands.py::test_pip",
    ("docs/howto/observability.md", "pip install"): "tests/docs/test_commands.py::test_pip",
    ("docs/howto/encrypt.md", "pip install"): "tests/docs/test_commands.py::test_pip",
    ("docs/howto/run-workers.md", "pip install"): "tests/docs/test_commands.py::test_pip",
    ("docs/howto/run-workers.md", "ricordo celery worker"): (
        "tests/docs/test_commands.py::test_workers"  # started for real in tests/workers
    ),
    ("docs/howto/run-workers.md", "celery -A"): "tests/docs/test_commands.py::test_celerys_own",
    ("docs/howto/mcp.md", "claude mcp add memory"): "tests/docs/test_clients.py::test_claude_code",
    ("docs/howto/mcp.md", "claude mcp add --transport"): (
        "tests/docs/test_clients.py::test_claude_code"
    ),
    ("docs/howto/mcp.md", "{"): "tests/docs/test_clients.py::test_settings_of_clients",
    ("docs/howto/chat.md", "$ export RICORDO_MODEL_PROVIDER"): (
        "tests/docs/test_terminal.py::test_the_chat_of_the_page"
    ),
    ("docs/howto/embeddings.md", "RICORDO_EMBEDDING_PROVIDER"): (
        "tests/docs/test_configurations.py::test_settings"
    ),
    ("docs/howto/observability.md", "scrape_configs:"): (
        "tests/docs/test_configurations.py::test_prometheus"
    ),
    ("docs/howto/observability.md", "groups:"): (
        "tests/docs/test_configurations.py::test_prometheus"
    ),
    ("docs/howto/observability.md", '{"time"'): (
        "tests/docs/test_configurations.py::test_a_line_of_the_log"
    ),
    ("docs/howto/deploy.md", "CREATE ROLE ricordo_owner"): (
        "tests/deploy/test_database.py::test_the_database_of_a_deployment"
    ),
    ("docs/howto/deploy.md", "export OWNER_URL"): (
        "tests/deploy/test_database.py::test_the_database_of_a_deployment"
    ),
    ("docs/howto/deploy.md", "# /etc/ricordo/ricordo.env"): (
        "tests/deploy/test_servers.py::test_the_environment_of_the_page_is_accepted"
    ),
    ("docs/howto/deploy.md", "# /etc/systemd/system/ricordo@.service"): (
        "tests/docs/test_configurations.py::test_systemd"
    ),
    ("docs/howto/deploy.md", "# /etc/systemd/system/ricordo-worker.service"): (
        "tests/docs/test_configurations.py::test_systemd"
    ),
    ("docs/howto/deploy.md", "systemctl enable"): "tests/docs/test_configurations.py::test_systemd",
    ("docs/howto/deploy.md", "# /etc/nginx"): "tests/docs/test_configurations.py::test_nginx",
    ("docs/howto/deploy.md", "# /etc/caddy"): "tests/docs/test_configurations.py::test_caddy",
    ("docs/howto/deploy.md", "python -m bench load"): "tests/docs/test_commands.py::test_benches",
    ("docs/howto/measure.md", "python -m bench peers"): "tests/docs/test_commands.py::test_benches",
    ("docs/howto/measure.md", "make bench-all"): "tests/docs/test_commands.py::test_make",
    ("docs/howto/postgres.md", "ricordo database grant"): (
        "tests/deploy/test_database.py::test_the_database_of_a_deployment"
    ),
    ("docs/howto/postgres.md", "CREATE ROLE ricordo_owner"): (
        "tests/deploy/test_database.py::test_a_schema_of_its_own"
    ),
    ("docs/howto/deploy-backup.md", "export OWNER_URL"): (
        "tests/deploy/test_backup.py::test_what_was_dumped_comes_back"
    ),
    ("docs/howto/deploy-backup.md", "export ADMIN_URL"): (
        "tests/deploy/test_backup.py::test_what_was_dumped_comes_back"
    ),
    ("docs/howto/deploy-shards.md", "BEGIN;"): "tests/deploy/test_partitions.py::store_url",
    ("docs/howto/deploy-shards.md", "ANALYZE;"): "tests/deploy/test_partitions.py::store_url",
    ("docs/howto/deploy-shards.md", "CREATE EXTENSION citus"): (
        # Citus is an extension of the server that no wheel has: the statements are read, not run.
        "tests/deploy/test_partitions.py::test_the_citus_statements_name_every_table"
    ),
}
"""Blocks that are not run with their page, and who runs them, or at least really checks them."""

SHOWN = {
    ("docs/architecture.md", "cli/"): "the layers as a picture",
}
"""What is neither a command nor code."""

GENERATED = (DOCS / "reference", DOCS / "report")
LANGUAGES = {*RUN, "sh", "sql", "json", "yaml", "ini", "nginx", "caddyfile", "text"}
BLOCKS = [
    (name_of(page), block)
    for page in pages()
    if not any(page.is_relative_to(folder) for folder in GENERATED)
    for block in blocks(page)
]


def entries_of(page: str, block: Block) -> list[tuple[str, str]]:
    return [
        (where, begins)
        for where, begins in [*HELD, *SHOWN]
        if where == page and block.first_line.startswith(begins)
    ]


@pytest.mark.requirement("docs.blocks-run")
def test_every_block_is_run_or_held_by_a_test() -> None:
    unheld = [
        f"{page}, line {block.line}: {block.first_line}"
        for page, block in BLOCKS
        if block.language not in RUN and not entries_of(page, block)
    ]
    assert unheld == []


@pytest.mark.requirement("docs.blocks-run")
def test_every_entry_is_about_a_block() -> None:
    used = {
        entry
        for page, block in BLOCKS
        if block.language not in RUN
        for entry in entries_of(page, block)
    }
    assert {*HELD, *SHOWN} - used == set()


@pytest.mark.requirement("docs.blocks-run")
def test_every_test_that_is_named_is_there() -> None:
    for named in set(HELD.values()):
        path, name = named.split("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined, named


@pytest.mark.requirement("docs.blocks-run")
def test_every_block_is_of_a_known_kind() -> None:
    assert {block.language for _, block in BLOCKS} <= LANGUAGES


@pytest.mark.requirement("docs.blocks-run")
@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_block_is_overlooked(page: Path) -> None:
    found = list(blocks(page))
    fences = re.findall(r"```", page.read_text(encoding="utf-8"))
    assert len(fences) == 2 * len(found), "a block that is indented would not be run"
