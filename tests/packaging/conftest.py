"""What is released, built once, and the wheel installed where nothing of this checkout is."""

from pathlib import Path

import pytest

from tests.support.building import Distribution, built, new_venv, run


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    return built(tmp_path_factory)


@pytest.fixture(scope="session")
def installed(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel."""
    programs = new_venv(tmp_path_factory.mktemp("installed") / "venv")
    run(
        *(str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"),
        *("--disable-pip-version-check", "--force-reinstall", str(distribution.wheel)),
    )
    return programs
