"""Look for known faults of the pinned dependencies: make audit

Asks pip-audit about every line of requirements/*.txt, which needs the internet. Exit codes: 0 where
all were looked up and none has a known fault, 1 where one has, 3 where some could not be looked up.
What was not looked at is never called sound.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SOUND, FAULTY, NOT_LOOKED = 0, 1, 3
ROOT = Path(__file__).parents[1]
SERVICES = ("pypi", "osv")  # the second is asked where the first does not answer for all
TIMEOUT_SECONDS = 15


@dataclass
class Looked:
    """What one service said of one file."""

    sound: int = 0
    skipped: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every package was looked up."""
        return self.problem is None and not self.skipped and self.sound + len(self.faults) > 0


def look(file: Path, service: str) -> Looked:
    """Have pip-audit look a file up."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(file), "--disable-pip"]
    command += ["--require-hashes", "--format", "json", "--progress-spinner", "off"]
    command += ["--vulnerability-service", service, "--timeout", str(TIMEOUT_SECONDS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return read(ran.stdout, ran.stderr)


def read(out: str, err: str) -> Looked:
    """What pip-audit has found, or why it has not looked."""
    try:
        rows = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = err.strip().splitlines()[-1:] or ["it said nothing"]
        return Looked(problem=last[0][:200])
    found = Looked()
    for row in rows:
        if "skip_reason" in row:
            found.skipped.append(row["name"])
        elif row["vulns"]:
            ids = ", ".join(one["id"] for one in row["vulns"])
            found.faults.append(f"{row['name']} {row['version']}: {ids}")
        else:
            found.sound += 1
    return found


def main(files: list[Path]) -> int:
    """Look every file up; the exit code."""
    code = SOUND
    for file in files:
        for service in SERVICES:
            found = look(file, service)
            if found.is_whole or found.faults:
                break
        for fault in found.faults:
            print(f"{file.name}: {fault}")
        if found.faults:
            code = FAULTY
        elif not found.is_whole:
            reason = found.problem or f"{len(found.skipped)} packages are not known to the service"
            print(f"{file.name}: NOT looked up: {reason}")
            code = code or NOT_LOOKED
        else:
            print(f"{file.name}: {found.sound} packages, no known fault")
    return code


if __name__ == "__main__":
    named = [Path(one) for one in sys.argv[1:]]
    sys.exit(main(named or sorted((ROOT / "requirements").glob("*.txt"))))
