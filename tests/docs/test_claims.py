"""Every claim of the README is held by points of the specification, and every link leads somewhere.

A claim is a bullet of the introduction, by its words in bold, or a row of the table of what it
does, by its first cell.
"""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, anchors, links, name_of, pages

pytestmark = pytest.mark.requirement("docs.claims")

CLAIMS = {
    "It works with nothing.": ["embeddings.local", "recall.search", "formation.rules"],
    "Nothing is lost.": ["storage.kill", "jobs.in-transaction", "items.history", "service.crash"],
    "Nothing leaks.": [
        "access.isolation",
        "recall.isolation",
        "items.get",
        "access.row-level-security",
    ],
    "It explains itself.": ["items.history", "recall.explain", "memories.source_turn"],
    "It stays clean.": [
        *("formation.passages", "formation.consent", "items.supersede", "upkeep.consolidate"),
        "erasure.no-trace",
    ],
    "Memories": [
        *("items.key", "items.duplicate", "items.validity", "items.undo", "sharing.link"),
        "ratings.undo",
    ],
    "Search": [
        *("recall.search", "recall.text", "recall.typo", "recall.explain", "embeddings.faults"),
        "embeddings.local",
    ],
    "Conversations": ["recall.turns", "items.threads", "conversations.flat-tokens"],
    "Formation": [
        *("formation.observe-form", "formation.evidence", "formation.rules", "formation.consent"),
    ],
    "Prompts": ["prompt.budget", "prompt.profile", "files.mirror-edits"],
    "Projects": [
        *("projects.bound", "projects.same", "projects.formed", "page.projects"),
        *("recall.query", "access.categories"),
    ],
    "Upkeep": ["upkeep.consolidate", "upkeep.forget", "jobs.celery"],
    "State": ["checkpoints.states", "checkpoints.langgraph", "checkpoints.store"],
    "Service": [
        *("http.complete", "access.keys", "observability.metrics", "observability.no-content"),
        *("webhooks.deliver", "webhooks.signed", "observability.traces", "deploy.servers"),
    ],
    "Tools": [
        *("tools.sets", "tools.schemas", "mcp.stdio", "integrations.langchain"),
        *("integrations.langgraph-tools", "integrations.openai-agents", "integrations.pydantic-ai"),
        *("clients.ai-sdk", "integrations.frameworks"),
    ],
    "Web page": ["page.memories", "page.narrow", "page.no_script", "page.csp"],
    "Backups": ["backup.online", "backup.verified", "backup.restore", "security.encryption"],
    "Import": [
        *("transfer.mem0", "transfer.chatgpt", "transfer.claude", "transfer.systems"),
        *("transfer.keyvalue", "transfer.markdown", "transfer.lines", "transfer.folders"),
    ],
}


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return readme().split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]


def claimed() -> list[str]:
    introduction = readme().split("\n## ", 1)[0]
    rows = re.findall(r"^\| \[([^]]+)\]\(", section("## What it does"), re.MULTILINE)
    return re.findall(r"^- \*\*(.+?)\*\*", introduction, re.MULTILINE) + rows


def test_every_claim_is_held() -> None:
    assert claimed() == list(CLAIMS)
    manifest = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text(encoding="utf-8"))
    held = {point["id"] for point in manifest["point"] if "planned" not in point}
    assert {claim: set(points) - held for claim, points in CLAIMS.items()} == {
        claim: set() for claim in CLAIMS
    }


def test_the_figures_name_a_command_that_there_is() -> None:
    assert "`make bench-all`" in section("## Measured")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"`?make ([a-z-]+)", readme())) <= set(targets)


@pytest.mark.requirement("docs.true")
def test_links_and_anchors_resolve() -> None:
    broken = [
        f"{name_of(page)}: {link}"
        for page in pages()
        for link in links(page)
        if not link.startswith(("http://", "https://", "mailto:")) and leads_to_nothing(page, link)
    ]
    assert broken == []


def leads_to_nothing(page: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return True
    return bool(anchor) and anchor not in anchors(target)
