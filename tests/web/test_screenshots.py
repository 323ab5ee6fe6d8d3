"""The pictures of the pages: the command makes them, and knows a name for every page."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from scripts.screenshots import NAMES, SCREENS, UNINTERESTING

from tests.docs.markdown import ROOT
from tests.web.addresses import known_pages

pytestmark = pytest.mark.requirement("page.screenshots")


def test_every_page_has_a_name() -> None:
    assert set(known_pages()) == {*NAMES, *UNINTERESTING}


@pytest.mark.browser
def test_pictures_are_made(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.screenshots", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "search"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in tmp_path.glob("*.png")) == [
        "search-dark-desktop.png",
        "search-dark-phone.png",
        "search-light-desktop.png",
        "search-light-phone.png",
    ]
    for file in tmp_path.glob("*.png"):
        with Image.open(file) as picture:
            assert picture.size == SCREENS[file.stem.rpartition("-")[2]]
            assert picture.getextrema() is not None
