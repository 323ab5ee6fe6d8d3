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

from ricordo.memory import Memory
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
    "/ui/who": "who",
    "/ui/projects": "projects",
    "/ui/projects/project": "project",
    "/ui/settings/programs": "programs",
    MISSING: "missing",
}
"""Pages that the documentation does not show; --every takes them, too."""
EMPTY: Final = ("memories", "themes", "conversations", "projects", "changes", "proposals", "graph")
_QUESTION: Final = "what do I drink in the morning?"
_COLOURS: Final = 256


@dataclass(frozen=True)
class Picture:
    """A page as it is to be shown."""

    name: str
    path: str
    prepare: Callable[[Page], None] = lambda _page: None


def pictures(life: Life, *, every: bool) -> Iterator[Picture]:
    """Those that the documentation shows, or ``every`` page, also of somebody who has nothing yet.

    Raises:
        SystemExit: there is a page that has no name here.
    """
    unnamed = set(known_pages()) - set(NAMES) - set(UNINTERESTING)
    if unnamed:
        raise SystemExit(f"say in {Path(__file__).name} what to call: {', '.join(unnamed)}")
    for route, name in NAMES.items():
        path = known_pages()[route].path(life)
        # The newest memory took the place of another, and so has the most to tell.
        yield Picture(name, f"/ui/memories/{life.items[-1]}" if name == "memory" else path)
    yield Picture("search", "/ui/memories", _search)
    if not every:
        return
    for route, name in UNINTERESTING.items():
        yield Picture(name, known_pages()[route].path(life))
    yield Picture("filters", "/ui/memories?ownership=own&sort=importance-desc")
    for user, name in (("nobody", "empty"), ("*", "global"), (life.user, "")):
        yield Picture(f"who-{name}" if name else "who-again", "/ui/who", _choose(user))
        for path in EMPTY if name else ():
            yield Picture(f"{name}-{path}", f"/ui/{path}")


def _choose(user: str) -> Callable[[Page], None]:
    def choose(page: Page) -> None:
        if user == "*":
            page.get_by_role("button", name="Global memories").click()
        else:
            page.get_by_label("User").fill(user)
            page.get_by_role("button", name="Show").click()
        page.wait_for_url("**/ui/memories")

    return choose


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
    parser.add_argument("--every", action="store_true", help="also pages that are not shown there")
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
        if given.every:
            _with_others(memory, life)
        chosen = pictures(life, every=given.every)
        wanted = [one for one in chosen if not given.only or one.name in given.only]
        with running(memory) as service, chromium() as browser:
            for scheme in SCHEMES:
                for screen, (width, height) in SCREENS.items():
                    browsing = Browsing(browser)
                    page = browsing(
                        f"{service.url}/ui/memories",
                        user=life.user if given.every else None,
                        width=width,
                        height=height,
                        scheme=scheme,
                    )
                    browsing.watch(page).expect(r"404 .*/ui/nowhere")
                    for one in wanted:
                        page.goto(service.url + one.path)
                        one.prepare(page)
                        name = f"{one.name}-{scheme}-{screen}.png"
                        (given.out / name).write_bytes(_small(page.screenshot()))
                    browsing.close()
    sys.stdout.write(f"{len(wanted) * len(SCHEMES) * len(SCREENS)} pictures in {given.out}\n")


def _with_others(memory: Memory, life: Life) -> None:
    """What other users, a group, a project and the operator add to a life."""
    ana, ben = memory.user(life.user), memory.user("ben")
    memory.create_group("orchestra", manager=life.user)
    memory.user(life.user, group="orchestra").add("Rehearsals are on Thursday at seven")
    memory.global_memories().add("The library closes at eight", theme="opening hours")
    ana.add("Tests run with make test", project_id="github.com/acme/shop", tags=["command"])
    ana.link(life.items[0], "ben")
    ben.approve(life.items[0])
    ben.add("The boat is in the second shed", tags=["boat"], pinned=True)
    (boat,) = ben.list(tags="boat")
    ben.link(boat.id, life.user)
    ana.approve(boat.id)


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
