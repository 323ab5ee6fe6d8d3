"""What is in the wheel and in the source archive, and what they say of themselves."""

import email.parser
import re
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

import ricordo
from tests.support.building import ROOT, Distribution
from tests.support.frameworks import APART

SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEVER = re.compile(
    r"__pycache__|\.pyc$|(^|/)tests?/|\.db(-\w+)?$|\.hypothesis|\.venv|_cache/|^dist/"
)
LICENCES = {
    *("LICENSE", "NOTICE"),
    "src/ricordo/providers/ricordo_multi/LICENSE",
    "src/ricordo/web/static/htmx.LICENSE.txt",
}


def in_wheel(distribution: Distribution) -> dict[str, bytes]:
    with zipfile.ZipFile(distribution.wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
@pytest.mark.requirement("packaging.wheel")
def test_the_wheel_has_our_packages_and_nothing_else(distribution: Distribution) -> None:
    assert distribution.wheel.name == f"ricordo-{ricordo.__version__}-py3-none-any.whl"
    packed = {one for one in in_wheel(distribution) if ".dist-info/" not in one}
    there = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == there  # also: the archive that it was built from lacks nothing
    for pattern in (  # what is no code as well
        *(
            "ricordo/coding_agents/*.js",
            "ricordo_hook/py.typed",
            "ricordo/py.typed",
            "ricordo/providers/ricordo_multi/*.onnx",
            "ricordo/web/static/*.js",
        ),
        *("ricordo/formation/prompts/*.md", "ricordo/web/templates/*.html"),
    ):
        assert any(PurePosixPath(one).match(pattern) for one in packed), pattern
    assert [one for one in packed if NEVER.search(one)] == []


@pytest.mark.slow
@pytest.mark.requirement("packaging.wheel")
def test_the_wheel_says_what_it_is(distribution: Distribution) -> None:
    files = in_wheel(distribution)
    (folder,) = {name.split("/")[0] for name in files if ".dist-info/" in name}
    said = email.parser.Parser().parsestr(files[f"{folder}/METADATA"].decode("utf-8"))
    assert said["Name"] == "ricordo"
    assert said["Version"] == ricordo.__version__
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "Apache-2.0"
    assert set(said.get_all("License-File") or ()) == LICENCES
    assert {f"{folder}/licenses/{one}" for one in LICENCES} <= set(files)
    entry_points = files[f"{folder}/entry_points.txt"].decode().split()
    commands = ["ricordo", "=", "ricordo.cli.main:run", "ricordo-hook", "=", "ricordo_hook:main"]
    assert entry_points == ["[console_scripts]", *commands]
    assert set(said.get_all("Provides-Extra") or ()) == set(PROJECT["optional-dependencies"])
    assert said["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert str(said.get_payload()).strip() == readme.strip()
    classifiers = said.get_all("Classifier") or []
    assert "Typing :: Typed" in classifiers
    assert not any(one.startswith("License ::") for one in classifiers)  # the expression says it


@pytest.mark.requirement("packaging.wheel")
def test_the_version_is_a_release_that_the_changelog_tells_of() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", ricordo.__version__)
    told = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", told, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(re.escape(ricordo.__version__) + r" \(\d{4}-\d\d-\d\d\)", headings[1])


@pytest.mark.slow
@pytest.mark.requirement("packaging.sdist")
def test_the_source_archive_is_all_that_the_two_commands_need(
    distribution: Distribution, tmp_path: Path
) -> None:
    source = distribution.unpack(tmp_path)
    for name in (
        *("Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "NOTICE"),
        *("requirements/base.txt", "requirements/dev.txt", "scripts/check_python.py"),
        *("scripts/services.sh", "tests/conftest.py", "bench/__main__.py", "docs/index.md"),
        *("examples/README.md", "src/ricordo/py.typed"),
    ):
        assert (source / name).is_file(), name
    with tarfile.open(distribution.sdist) as archive:
        names = [one.removeprefix(f"{source.name}/") for one in archive.getnames()]
    left_behind = re.compile(r"__pycache__|\.pyc$|\.db(-\w+)?$|\.hypothesis|\.venv|_cache/|^dist/")
    assert [one for one in names if left_behind.search(one)] == []


@pytest.mark.requirement("packaging.extras")
def test_an_extra_brings_what_the_tests_run_with() -> None:
    """Its packages are there in versions that it allows, so it can be resolved."""
    extras = PROJECT["optional-dependencies"]
    for extra, line in ((extra, line) for extra, lines in extras.items() for line in lines):
        wanted = Requirement(line)
        if wanted.name == "ricordo":
            everything = set(extras) - {"all", "dev", *APART}
            assert wanted.extras == (everything if extra == "all" else {"all"})
        elif extra in APART:
            assert wanted in _listed("frameworks")
        elif wanted.marker is None or wanted.marker.evaluate():
            assert wanted.specifier.contains(version(wanted.name), prereleases=True), line


def _listed(name: str) -> set[Requirement]:
    lines = (ROOT / "requirements" / f"{name}.in").read_text("utf-8").splitlines()
    return {Requirement(line) for line in lines if line and not line.startswith("#")}


@pytest.mark.requirement("packaging.extras")
def test_what_is_pinned_is_what_is_asked_for() -> None:
    """requirements/*.in, from which versions are chosen, ask for what the package does."""
    listed = _listed("base") | _listed("dev") | _listed("frameworks")
    building = {Requirement("editables"), Requirement("hatchling>=1.26")}
    asked = {Requirement(line) for line in PROJECT["dependencies"]} | {
        Requirement(line) for lines in PROJECT["optional-dependencies"].values() for line in lines
    }
    assert listed - building == {one for one in asked if one.name != "ricordo"}


@pytest.mark.requirement("packaging.extras")
def test_what_is_served_is_what_was_tested() -> None:
    """`make serve` installs the versions that `make test` tests (run `make lock`)."""
    pinned = re.compile(r"^(\S+==[^;\\]+?(?: ; [^\\]+?)?) \\?$", re.MULTILINE)
    base, dev = (
        [
            one
            for one in map(Requirement, pinned.findall((ROOT / "requirements" / name).read_text()))
            if one.marker is None or one.marker.evaluate()
        ]
        for name in ("base.txt", "dev.txt")
    )
    assert base
    tested = {(one.name, str(one.specifier)) for one in dev}
    assert {(one.name, str(one.specifier)) for one in base} <= tested
