"""The TypeScript client, built once and installed where nothing of this checkout is."""

from pathlib import Path

import pytest

from tests.support.node import install, packed


@pytest.fixture(scope="session")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory)


@pytest.fixture(scope="session")
def installed(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose programs find the package."""
    return install(tarball, tmp_path_factory.mktemp("programs"))
