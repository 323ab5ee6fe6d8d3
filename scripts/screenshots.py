"""Retake docs/screenshots: every page, light and dark, on a desk and a phone.

A throw-away store is filled with a small life, always the same and always at the same times, and
served; what differs from run to run is how long searches took, and the ids of keys.
"""

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from PIL import Image
from playwright.sync_api import Page
from tests.support.life import Life, lived_in
from tests.support.service import running
from tests.web.addresses import MISSING, known_pages
from tests.web.browsing import Browsing, chromium

from ricordo.testing import ManualClock
from ricordo.wiring import open_memory

FOLDER: Final = Path(__file__).parents[1] / "docs" / "screenshots"
SCREENS: Final = {"desktop": (1280, 800), "phone": (390, 844)}
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
NAMES: Final = {
    "/ui/memories": "memories",
    "/ui/memories/{id}": "memory",
    "/ui/themes": "themes",
    "/ui/conversations": "conversations",
    "/ui/conversations/thread": "conversation",
    "/ui/changes": "changes",
    "/ui/proposals": "proposals",
    "/ui/graph": "graph",
    "/ui/activity": "activity",
    "/ui/settings": "settings",
    "/ui/settings/keys": "keys",
    "/ui/settings/keys/{id}": "key",
}
"""What the pictures of each page are called."""
UNINTERESTING: Final = {
    "/ui/who",
    "/ui/projects",
    "/ui/projects/project",
    "/ui/settings/programs",
    MISSING,
}
_QUESTION: Final = "what do I drink in the morning?"
_COLOURS: Final = 256


@dataclass(frozen=True)
class Picture:
    """A page as it is to be shown."""

    name: str
    path: str
    prepare: Callable[[Page], None] = lambda _page: None


def pictures(life: Life) -> Iterator[Picture]:
    """All of them.

    Raises:
        SystemExit: there is a page that has no name here.
    """
    unnamed = set(known_pages()) - set(NAMES) - UNINTERESTING
    if unnamed:
        raise SystemExit(f"say in {Path(__file__).name} what to call: {', '.join(unnamed)}")
    for route, name in NAMES.items():
        path = known_pages()[route].path(life)
        # The newest memory took the place of another, and so has the most to tell.
        yield Picture(name, f"/ui/memories/{life.items[-1]}" if name == "memory" else path)
    yield Picture("search", "/ui/memories", _search)


def _search(page: Page) -> None:
    page.get_by_role("searchbox").fill(_QUESTION)
    page.keyboard.press("Enter")
    why = page.locator("#found details.why summary").first
    why.wait_for()
    why.click()


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write to")
    parser.add_argument("--only", action="append", help="the name of a page; may be repeated")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory(prefix="ricordo-screenshots-") as home,
        open_memory(
            Path(home) / "ricordo.db",
            home=home,
            clock=clock,
            port=0,
            run_jobs=False,
            upkeep=False,
            link_min=0.3,  # so few memories say little that is alike, and the graph would be bare
        ) as memory,
    ):
        life = lived_in(memory, clock)
        wanted = [one for one in pictures(life) if not given.only or one.name in given.only]
        with running(memory) as service, chromium() as browser:
            for scheme in SCHEMES:
                for screen, (width, height) in SCREENS.items():
                    browsing = Browsing(browser)
                    page = browsing(
                        f"{service.url}/ui/memories", width=width, height=height, scheme=scheme
                    )
                    for one in wanted:
                        page.goto(service.url + one.path)
                        one.prepare(page)
                        name = f"{one.name}-{scheme}-{screen}.png"
                        (given.out / name).write_bytes(_small(page.screenshot()))
                    browsing.close()
    sys.stdout.write(f"{len(wanted) * len(SCHEMES) * len(SCREENS)} pictures in {given.out}\n")


def _small(png: bytes) -> bytes:
    """The same picture with as many colours as a page needs, which takes a third of the bytes."""
    reduced = (
        Image.open(io.BytesIO(png)).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    )
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
