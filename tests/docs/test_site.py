"""The documentation as a site: built strictly, with every page, and nothing from elsewhere.

Looked at is what was built, whoever built it: every address in the pages, and what a browser asks
for when it opens them from the disk.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.sync_api import expect

from tests.docs.markdown import DOCS, ROOT, blocks
from tests.web.browsing import chromium

pytestmark = pytest.mark.requirement("docs.site")

# What a browser fetches by itself when it shows a page, as opposed to what a reader may follow.
LOADED = {"link": "href", "image": "href", "use": "href", "object": "data"}
CSS_ADDRESS = re.compile(r"""@import\s+["']([^"']+)|url\(\s*["']?([^"')]+)""")


class Built(HTMLParser):
    """One page of the site: what it loads, and its images."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loads += filter(None, [given.get("src"), given.get(LOADED.get(tag, "src"))])
        for candidate in (given.get("srcset") or "").split(","):
            self.loads += candidate.split()[:1]
        self.loads += [one or other for one, other in CSS_ADDRESS.findall(given.get("style") or "")]
        if tag == "img":
            self.images.append(given)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy, so that nothing of it stays in the repository."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def in_navigation(entries: object) -> Iterator[str]:
    """The paths of a navigation, however deep."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        for entry in entries.values():
            yield from in_navigation(entry)
    elif isinstance(entries, list):
        for entry in entries:
            yield from in_navigation(entry)


def test_every_page_stands_once_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(re.sub(r"!!python\S+", "", text))
    listed = sorted(in_navigation(settings["nav"]))
    assert listed == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


@pytest.mark.slow
def test_every_page_is_built_and_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded: list[str] = []
    for page in DOCS.rglob("*.md"):
        at = page.relative_to(DOCS).with_suffix(".html")
        built = Built(site / (at.with_name("index.html") if at.name == "README.html" else at))
        assert built.loads, page
        loaded += built.loads
        for image in built.images:
            assert len(image.get("alt") or "") > 10, (page, image)
    for sheet in site.rglob("*.css"):
        found = CSS_ADDRESS.findall(sheet.read_text(encoding="utf-8"))
        loaded += [one or other for one, other in found]
    for source in loaded:
        address = urlsplit(source)
        assert not address.netloc, source
        assert address.scheme in ("", "data"), source


@pytest.mark.slow
def test_a_link_or_an_anchor_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(text.partition("\nnav:")[0], encoding="utf-8")
    page = tmp_path / "docs" / "index.md"
    for wrong, right in (("[a](no.md)", "[a](index.md)"), ("[a](#no)", "[a](#one)")):
        page.write_text(f"# One\n\n{wrong}\n", encoding="utf-8")
        assert build(tmp_path).returncode != 0, wrong
        page.write_text(f"# One\n\n{right}\n", encoding="utf-8")
        assert build(tmp_path).returncode == 0, right


@pytest.mark.browser
def test_the_site_is_read_and_searched_from_the_disk(site: Path) -> None:
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "concepts" / "recall.html").as_uri())
        expect(page.get_by_role("heading", name="Recall", level=1)).to_be_visible()
        broken = "[...document.images].filter(one => !one.naturalWidth).map(one => one.src)"
        assert page.evaluate(broken) == []
        page.keyboard.press("Control+k")
        page.keyboard.type("row-level security")
        best = page.get_by_role("option").first
        expect(best).to_have_attribute("href", re.compile("postgres.html.*#row-level-security"))
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.browser
def test_every_diagram_is_drawn_without_a_network(site: Path) -> None:
    drawn = 0
    requests: list[str] = []
    problems: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: problems.append(error.message))
        for path in DOCS.rglob("*.md"):
            diagrams = [block.text for block in blocks(path) if block.language == "mermaid"]
            if not diagrams:
                continue
            assert all("accTitle: " in one and "accDescr: " in one for one in diagrams), path
            page.goto((site / path.relative_to(DOCS).with_suffix(".html")).as_uri())
            expect(page.locator("div.mermaid")).to_have_count(len(diagrams))
            for diagram in diagrams:
                page.evaluate("text => mermaid.parse(text)", diagram)
            drawn += len(diagrams)
    assert drawn >= 9
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
