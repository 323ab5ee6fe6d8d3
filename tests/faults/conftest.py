"""Disks that can be full: one that anybody may make, and one that only root may."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import disks


@pytest.fixture(params=["limit", pytest.param("file system", marks=pytest.mark.matrix)])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[disks.Disk]:
    """A folder on a disk that a test can fill; every point is shown with the limit at least."""
    folder = tmp_path / "disk"
    with contextlib.ExitStack() as stack:
        if request.param == "limit":
            yield stack.enter_context(disks.limited_files(folder))
        else:
            yield stack.enter_context(_mounted(folder))


def _mounted(folder: Path) -> contextlib.AbstractContextManager[disks.SmallFileSystem]:
    if not disks.may_mount():
        pytest.skip("only root may mount a file system; the limit on files shows the same")
    return disks.small_file_system(folder)
