"""The audit of dependencies says what it has seen, and never more than that."""

import json
from pathlib import Path

import pytest
from scripts import audit

pytestmark = pytest.mark.requirement("security.dependency-audit")


def answer(*rows: dict[str, object]) -> str:
    return json.dumps({"dependencies": rows, "fixes": []})


SOUND = {"name": "a", "version": "1", "vulns": []}
FAULTY = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited"}


@pytest.mark.parametrize(
    ("out", "code", "said"),
    [
        (answer(SOUND), 0, "one.txt: 1 packages, no known fault"),
        (answer(SOUND, FAULTY), 1, "one.txt: b 2: PYSEC-1, CVE-2"),
        (answer(SOUND, UNKNOWN), 3, "one.txt: NOT looked up: 1 packages are not known"),
        (answer(FAULTY, UNKNOWN), 1, "one.txt: b 2"),
        (answer(), 3, "one.txt: NOT looked up"),
        ("", 3, "one.txt: NOT looked up: no route"),
        ("[]", 3, "one.txt: NOT looked up"),
    ],
)
def test_what_was_not_looked_up_is_not_called_sound(
    out: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit, "look", lambda _file, _service: audit.read(out, "x\nno route"))
    assert audit.main([Path("one.txt")]) == code
    assert said in capsys.readouterr().out


def test_every_service_and_every_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    services = {"pypi": answer(UNKNOWN), "osv": answer(SOUND)}
    monkeypatch.setattr(audit, "look", lambda _file, service: audit.read(services[service], ""))
    assert audit.main([Path("one.txt")]) == 0  # the second is asked where the first has no answer
    files = {"one.txt": answer(FAULTY), "two.txt": answer(SOUND), "three.txt": ""}
    monkeypatch.setattr(audit, "look", lambda file, _service: audit.read(files[file.name], ""))
    assert audit.main([Path("one.txt"), Path("three.txt"), Path("two.txt")]) == 1
    assert audit.main([Path("three.txt"), Path("two.txt")]) == 3


@pytest.mark.slow
def test_without_a_network_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real pip-audit, with nothing at the other end."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "one.txt"
    file.write_text(f"pyyaml==6.0.2 --hash=sha256:{'0' * 64}\n")
    assert audit.main([file]) == 3
    assert "one.txt: NOT looked up" in capsys.readouterr().out
