"""The documentation as a site: built strictly, with every page, and nothing from elsewhere.

Looked at is what was built, whoever built it: every address in the pages, and what a browser asks
for when it opens them from the disk.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.docs.markdown import DOCS, ROOT, name_of
from tests.web.browsing import chromium

# What a browser fetches by itself when it shows a page, as opposed to what a reader may follow.
LOADED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "use": "href",
    "video": "src",
}
CSS_ADDRESS = re.compile(r"""@import\s+["']([^"']+)|url\(\s*["']?([^"')]+)""")
NOT_A_FILE = ("http", "https", "mailto", "data", "javascript")
PICTURES = sorted((DOCS / "images").glob("*.svg"))


@dataclass
class Built(HTMLParser):
    """One page of the site: what it loads, where it leads, and where one can lead to."""

    path: Path
    loads: list[str] = field(default_factory=list)
    leads_to: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    images: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and (target := given.get("href")):
            self.leads_to.append(target)
        if tag in LOADED and (source := given.get(LOADED[tag])):
            self.loads.append(source)
        for candidate in (given.get("srcset") or "").split(","):
            self.loads += candidate.split()[:1]
        if tag == "img":
            self.images.append(given)
        self.loads += [one or other for one, other in CSS_ADDRESS.findall(given.get("style") or "")]


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


@cache
def built(path: Path) -> Built:
    return Built(path)


def pages_of(site: Path) -> list[Built]:
    found = [built(path) for path in sorted(site.rglob("*.html"))]
    assert len(found) > len(list(DOCS.rglob("*.md")))  # each page, and one for what is missing
    return found


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


@pytest.mark.requirement("docs.site")
def test_every_page_stands_once_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(re.sub(r"!!python\S+", "", text))
    listed = sorted(in_navigation(settings["nav"]))
    assert listed == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


@pytest.mark.requirement("docs.site")
def test_every_page_is_built(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        at = page.relative_to(DOCS).with_suffix(".html")
        at = at.with_name("index.html") if at.name == "README.html" else at
        assert (site / at).is_file(), name_of(page)


@pytest.mark.requirement("docs.site")
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in pages_of(site):
        assert page.loads, page.path
        for source in page.loads:
            address = urlsplit(source)
            assert not address.netloc, (page.path, source)
            assert address.scheme in ("", "data"), (page.path, source)
    for sheet in site.rglob("*.css"):
        for one, other in CSS_ADDRESS.findall(sheet.read_text(encoding="utf-8")):
            address = urlsplit(one or other)
            assert not address.netloc, (sheet, one or other)
            assert address.scheme in ("", "data"), (sheet, one or other)


@pytest.mark.requirement("docs.site")
def test_links_anchors_and_files_are_there(site: Path) -> None:
    broken = [
        f"{page.path.relative_to(site)}: {address}"
        for page in pages_of(site)
        for address in (*page.leads_to, *page.loads)
        if page.path.name != "404.html" and leads_to_nothing(page, address, site)
    ]
    assert broken == []


def leads_to_nothing(page: Built, address: str, site: Path) -> bool:
    parts = urlsplit(address)
    if parts.scheme in NOT_A_FILE:
        return False
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    if not target.is_relative_to(site.resolve()) or not target.is_file():
        return True
    anchor = unquote(parts.fragment)
    return bool(anchor) and target.suffix == ".html" and anchor not in built(target).anchors


@pytest.mark.requirement("docs.site")
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


@pytest.mark.requirement("docs.site")
def test_pictures_are_shown_with_a_text_for_those_who_do_not_see_them(site: Path) -> None:
    shown = set()
    for page in pages_of(site):
        for image in page.images:
            assert len(image.get("alt") or "") > 10, (page.path, image)
            shown.add(Path(urlsplit(image["src"] or "").path).name)
    assert len(PICTURES) >= 9
    assert {picture.name for picture in PICTURES} <= shown


@pytest.mark.requirement("docs.site")
def test_the_pictures_are_up_to_date() -> None:
    script = [sys.executable, ROOT / "scripts" / "pictures.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.requirement("docs.site")
def test_the_site_is_read_and_searched_from_the_disk(site: Path) -> None:
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "concepts" / "recall.html").as_uri())
        expect(page.get_by_role("heading", name="Recall", level=1)).to_be_visible()
        assert pictures_that_failed(page) == []
        search_for(page, "row-level security")
        best = page.get_by_role("option").first
        expect(best).to_have_attribute("href", re.compile("postgres.html.*#row-level-security"))
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def pictures_that_failed(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.images].filter(one => !one.naturalWidth).map(one => one.src)"
    )
    return found


def search_for(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type(text)
