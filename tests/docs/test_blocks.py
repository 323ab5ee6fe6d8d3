"""No block of the documentation is only shown: it is run with its page, or held by a named test.

Blocks of ``python``, ``console`` and ``output`` are run by test_examples.py. Pages of the reference
are generated, and compared by test_complete.py; so is the report, whose blocks are the commands
that have measured it. Diagrams are drawn by test_site.py. Every other block stands in one of the
two tables below, by its page and its first line, and each entry of them by one block: what is added
to a page and run by nobody makes this fail.
"""

import re

import pytest

from tests.docs.markdown import DOCS, ROOT, RUN, Block, blocks, name_of, pages

pytestmark = pytest.mark.requirement("docs.blocks-run")

HELD = {
    "tests/newcomer/test_first_five_minutes.py::test_the_first_five_minutes": [
        ("README.md", "make serve")
    ],
    "tests/clients/test_typescript.py::test_the_programs_of_the_page_run": [
        ("docs/howto/typescript.md", "import ")
    ],
    "tests/clients/test_typescript.py::test_the_tarball_has_what_it_needs_and_nothing_else": [
        ("docs/howto/typescript.md", "npm install ricordo")
    ],
    "tests/docs/test_held_blocks.py::test_pip": [
        ("docs/quickstart.md", "pip install ricordo"),
        ("docs/howto/postgres.md", "pip install"),
        ("docs/howto/observability.md", "pip install"),
        ("docs/howto/encrypt.md", "pip install"),
        ("docs/howto/run-workers.md", "pip install"),
    ],
    "tests/docs/test_held_blocks.py::test_workers": [
        ("docs/howto/run-workers.md", "ricordo celery worker")
    ],
    "tests/docs/test_held_blocks.py::test_celerys_own": [
        ("docs/howto/run-workers.md", "celery -A")
    ],
    "tests/docs/test_held_blocks.py::test_claude_code": [
        ("docs/howto/mcp.md", "claude mcp add memory"),
        ("docs/howto/mcp.md", "claude mcp add --transport"),
    ],
    "tests/docs/test_held_blocks.py::test_settings_of_clients": [("docs/howto/mcp.md", "{")],
    "tests/docs/test_held_blocks.py::test_the_chat_of_the_page": [
        ("docs/howto/chat.md", "$ export RICORDO_MODEL_PROVIDER")
    ],
    "tests/docs/test_held_blocks.py::test_settings": [
        ("docs/howto/embeddings.md", "RICORDO_EMBEDDING_PROVIDER")
    ],
    "tests/docs/test_held_blocks.py::test_a_message_of_a_webhook": [
        ("docs/howto/webhooks.md", "{")
    ],
    "tests/docs/test_held_blocks.py::test_prometheus": [
        ("docs/howto/observability.md", "scrape_configs:"),
        ("docs/howto/observability.md", "groups:"),
    ],
    "tests/docs/test_held_blocks.py::test_a_line_of_the_log": [
        ("docs/howto/observability.md", '{"time"')
    ],
    "tests/deploy/test_backup.py::test_the_database_of_a_deployment": [
        ("docs/howto/deploy.md", "CREATE ROLE ricordo_owner"),
        ("docs/howto/deploy.md", "export OWNER_URL"),
        ("docs/howto/postgres.md", "ricordo database grant"),
    ],
    "tests/deploy/test_servers.py::test_the_environment_of_the_page_is_accepted": [
        ("docs/howto/deploy.md", "# /etc/ricordo/ricordo.env")
    ],
    "tests/deploy/test_systemd.py::test_units_fit_the_page": [
        ("docs/howto/deploy.md", "systemctl enable"),
    ],
    "tests/deploy/test_image.py::test_its_steps_make_what_serves_and_is_healthy": [
        ("docs/howto/deploy-containers.md", "docker build"),
    ],
    "tests/deploy/test_compose.py::test_it_comes_up_serves_works_and_ends": [
        ("docs/howto/deploy-containers.md", "sh deploy/secrets.sh"),
    ],
    "tests/deploy/test_kubernetes.py::test_the_pods_come_up_in_any_order_and_answer_their_probes": [
        ("docs/howto/deploy-containers.md", "kubectl apply"),
    ],
    "tests/coding_agents/test_installation.py::test_what_is_put_in_is_taken_back_to_the_byte": [
        ("docs/howto/coding-agents.md", "pip install"),
        ("docs/howto/coding-agents.md", "ricordo agents status"),
    ],
    "tests/coding_agents/test_rules.py::test_settings_are_read_from_the_file": [
        ("docs/howto/coding-agents.md", "user = ")
    ],
    "tests/docs/test_held_blocks.py::test_nginx": [("docs/howto/deploy.md", "# /etc/nginx")],
    "tests/docs/test_held_blocks.py::test_caddy": [("docs/howto/deploy.md", "# /etc/caddy")],
    "tests/docs/test_held_blocks.py::test_benches": [
        ("docs/howto/deploy.md", "python -m bench load"),
        ("docs/howto/measure.md", "python -m bench peers"),
    ],
    "tests/docs/test_held_blocks.py::test_make": [("docs/howto/measure.md", "make bench-all")],
    "tests/deploy/test_backup.py::test_a_schema_of_its_own": [
        ("docs/howto/postgres.md", "CREATE ROLE ricordo_owner")
    ],
    "tests/deploy/test_backup.py::test_what_was_dumped_comes_back": [
        ("docs/howto/deploy-backup.md", "export OWNER_URL"),
        ("docs/howto/deploy-backup.md", "export ADMIN_URL"),
    ],
    "tests/deploy/test_partitions.py::store_url": [
        ("docs/howto/deploy-shards.md", "BEGIN;"),
        ("docs/howto/deploy-shards.md", "ANALYZE;"),
    ],
    "tests/deploy/test_partitions.py::test_the_citus_statements_name_every_table": [
        ("docs/howto/deploy-shards.md", "CREATE EXTENSION citus")
    ],
}
"""Who runs, or at least really checks, which blocks that are not run with their page."""

SHOWN = {
    ("docs/architecture.md", "cli/"): "the layers as a picture",
}
"""What is neither a command nor code."""

ENTRIES = [*(entry for entries in HELD.values() for entry in entries), *SHOWN]
GENERATED = (DOCS / "reference", DOCS / "report")
DIAGRAM = "mermaid"
LANGUAGES = {*RUN, DIAGRAM, "sh", "ts", "sql", "json", "yaml", "ini", "nginx", "caddyfile", "text"}
BLOCKS = [
    (name_of(page), block)
    for page in pages()
    if not any(page.is_relative_to(folder) for folder in GENERATED)
    for block in blocks(page)
]


def entries_of(page: str, block: Block) -> list[tuple[str, str]]:
    return [
        (where, begins)
        for where, begins in ENTRIES
        if where == page and block.first_line.startswith(begins)
    ]


def test_every_block_is_run_or_held_by_a_test() -> None:
    shown = [(page, block) for page, block in BLOCKS if block.language not in (*RUN, DIAGRAM)]
    assert [
        f"{page}, line {block.line}: {block.first_line}"
        for page, block in shown
        if not entries_of(page, block)
    ] == []
    used = {entry for page, block in shown for entry in entries_of(page, block)}
    assert set(ENTRIES) - used == set()
    assert {block.language for _, block in BLOCKS} <= LANGUAGES


def test_every_test_that_is_named_is_there() -> None:
    for named in HELD:
        path, name = named.split("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), named


def test_no_block_is_overlooked() -> None:
    for page in pages():
        fences = re.findall(r"```", page.read_text(encoding="utf-8"))
        assert len(fences) == 2 * len(list(blocks(page))), f"{page}: indented, it would not be run"
