"""What is in the wheel and in the source archive, and what they say of themselves."""

import email.message
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

SOURCE = ROOT / "src" / "ricordo"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEVER = re.compile(
    r"__pycache__|\.pyc$|(^|/)tests?/|\.db(-\w+)?$|\.hypothesis|\.venv|_cache/|^dist/"
)
LICENCES = {
    *("LICENSE", "NOTICE"),
    "src/ricordo/embedding/ricordo_minilm/LICENSE",
    "src/ricordo/web/static/htmx.LICENSE.txt",
}


def in_wheel(distribution: Distribution) -> set[str]:
    with zipfile.ZipFile(distribution.wheel) as archive:
        return set(archive.namelist())


def metadata_of(distribution: Distribution) -> email.message.Message:
    with zipfile.ZipFile(distribution.wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return email.parser.Parser().parsestr(archive.read(name).decode("utf-8"))


@pytest.mark.requirement("packaging.wheel")
def test_the_wheel_has_the_package_and_nothing_else(distribution: Distribution) -> None:
    assert distribution.wheel.name == f"ricordo-{ricordo.__version__}-py3-none-any.whl"
    packed = {one for one in in_wheel(distribution) if ".dist-info/" not in one}
    there = {
        f"ricordo/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == there  # also: the archive that it was built from lacks nothing
    assert [one for one in packed if NEVER.search(one)] == []


@pytest.mark.requirement("packaging.wheel")
@pytest.mark.parametrize(
    "pattern",
    [
        "ricordo/py.typed",
        "ricordo/__main__.py",
        "ricordo/embedding/ricordo_minilm/*.onnx",
        "ricordo/embedding/ricordo_minilm/tokenizer.json",
        "ricordo/formation/prompts/*.md",
        "ricordo/web/templates/*.html",
        "ricordo/web/static/*.css",
        "ricordo/web/static/*.js",
        "ricordo/storage/migrations/versions/*.py",
    ],
)
def test_the_wheel_has_what_is_no_code_as_well(distribution: Distribution, pattern: str) -> None:
    assert [one for one in in_wheel(distribution) if PurePosixPath(one).match(pattern)]


@pytest.mark.requirement("packaging.wheel")
def test_the_wheel_says_what_it_is(distribution: Distribution) -> None:
    said = metadata_of(distribution)
    assert said["Name"] == "ricordo"
    assert said["Version"] == ricordo.__version__
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "Apache-2.0"
    assert set(said.get_all("License-File") or ()) == LICENCES
    (folder,) = {one.split("/")[0] for one in in_wheel(distribution) if ".dist-info/" in one}
    assert {f"{folder}/licenses/{one}" for one in LICENCES} <= in_wheel(distribution)
    assert set(said.get_all("Provides-Extra") or ()) == set(PROJECT["optional-dependencies"])
    assert said["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert str(said.get_payload()).strip() == readme.strip()
    classifiers = said.get_all("Classifier") or []
    assert "Typing :: Typed" in classifiers
    assert not any(one.startswith("License ::") for one in classifiers)  # the expression says it


@pytest.mark.requirement("packaging.wheel")
def test_the_command_has_the_name_of_the_package(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("entry_points.txt")]
        assert archive.read(name).decode().split() == [
            *("[console_scripts]", "ricordo", "=", "ricordo.cli.main:run"),
        ]


@pytest.mark.requirement("packaging.wheel")
def test_the_version_is_a_release_that_the_changelog_tells_of() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", ricordo.__version__)
    told = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", told, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(re.escape(ricordo.__version__) + r" \(\d{4}-\d\d-\d\d\)", headings[1])


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
@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_an_extra_brings_what_the_tests_run_with(extra: str) -> None:
    """Its packages are there in versions that it allows, so it can be resolved."""
    for line in PROJECT["optional-dependencies"][extra]:
        wanted = Requirement(line)
        if wanted.name == "ricordo":
            assert wanted.extras == set(PROJECT["optional-dependencies"]) - {extra}
        elif wanted.marker is None or wanted.marker.evaluate():
            assert wanted.specifier.contains(version(wanted.name), prereleases=True), line


@pytest.mark.requirement("packaging.extras")
def test_what_is_pinned_is_what_is_asked_for() -> None:
    """requirements/*.in, from which versions are chosen, ask for what the package does."""
    listed = {
        Requirement(line)
        for name in ("base", "dev")
        for line in (ROOT / "requirements" / f"{name}.in").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    }
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
        set(pinned.findall((ROOT / "requirements" / f"{name}.txt").read_text("utf-8")))
        for name in ("base", "dev")
    )
    assert base
    here = [Requirement(one) for one in base]
    tested = {Requirement(one) for one in dev}
    for one in here:
        if one.marker is None or one.marker.evaluate():
            versions = {
                str(other.specifier)
                for other in tested
                if other.name == one.name and (other.marker is None or other.marker.evaluate())
            }
            assert versions == {str(one.specifier)}, one.name
