"""What the tests cost: seconds of processor time per folder, per kind, and of the dearest tests.

python scripts/census.py                         run the fast tier, then print
python scripts/census.py --tier all tests/web    everything of one folder
python scripts/census.py --read FILE             print an earlier census

The exit code is 1 when a test failed, or one of the fast tier takes more than it may.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.tiers import FAST_LIMIT_SECONDS, SLOW_FROM_SECONDS  # noqa: E402 - beside the scripts


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tier", default="fast", choices=["fast", "all"])
    options.add_argument("--read", type=Path, metavar="FILE")
    options.add_argument("--keep", type=Path, metavar="FILE", help="where the census is written")
    options.add_argument("--dearest", type=int, default=20, metavar="N")
    options.add_argument("--by", default="folder", choices=["folder", "file", "test"])
    options.add_argument("paths", nargs="*", default=["tests"])
    given = options.parse_args()
    failed = 0
    if given.read is None:
        given.read = given.keep or Path(tempfile.mkdtemp()) / "census.jsonl"
        failed = measure(given.read, given.tier, given.paths)
    tests = [json.loads(line) for line in given.read.read_text(encoding="utf-8").splitlines()]
    show(tests, given.by, given.dearest)
    show_points(tests)
    return failed or int(show_misplaced(tests))


def measure(path: Path, tier: str, paths: list[str]) -> int:
    busy, started = busy_seconds(), time.monotonic()
    command = ["-n", "auto", "--dist", "worksteal", "-q", "--tier", tier, "--census", str(path)]
    code = subprocess.call([sys.executable, "-m", "pytest", *command, *paths], cwd=ROOT)
    print(f"\n{(time.monotonic() - started) / 60:.1f} minutes;", end=" ")
    print(f"the machine worked {(busy_seconds() - busy) / 60:.1f} CPU-minutes, servers included")
    return code


def busy_seconds() -> float:
    """Processor time that this machine has spent, whoever asked for it; 0 where it does not say."""
    try:
        first = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    except OSError:
        return 0.0
    user, nice, system = (int(field) for field in first.split()[1:4])
    return (user + nice + system) / 100


def show(tests: list[dict[str, Any]], by: str, dearest: int) -> None:
    spent: Counter[str] = Counter()
    long: Counter[str] = Counter()
    count: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for test in tests:
        group = group_of(test["test"], by)
        seconds = test["cpu"] + test["shared"]
        count[group] += 1
        spent[group] += seconds
        if test["long"]:
            long[group] += seconds
        kinds["+".join(test["long"]) or "fast"] += seconds
    total = sum(spent.values())
    print(f"\n{len(tests)} tests, {total / 60:.1f} CPU-minutes")
    for kind, seconds in kinds.most_common():
        print(f"{seconds:9.1f} s  {kind}")
    print(f"\n{'all':>9}    {'fast':>9}    tests")
    for group, seconds in spent.most_common(None if by == "folder" else 4 * dearest):
        print(f"{seconds:9.1f} s  {seconds - long[group]:9.1f} s  {count[group]:6}  {group}")
    print("\nthe dearest tests")
    for test in sorted(tests, key=lambda one: -one["cpu"])[:dearest]:
        print(f"{test['cpu']:9.2f} s  {'+'.join(test['long']) or 'fast':8}  {test['test']}")


def show_points(tests: list[dict[str, Any]]) -> None:
    """How many points of the specification are held by each tier."""
    everywhere = {point for test in tests for point in test["holds"]}
    fast = {point for test in tests if not test["long"] for point in test["holds"]}
    print(f"\n{len(fast)} of {len(everywhere)} points are held by the fast tier; the others:")
    print(", ".join(sorted(everywhere - fast)) or "none")


def group_of(name: str, by: str) -> str:
    if by == "test":
        return name.partition("[")[0]
    file = name.partition("::")[0]
    return file if by == "file" else "/".join(file.split("/")[:2])


def show_misplaced(tests: list[dict[str, Any]]) -> bool:
    """Tests that are too dear for the fast tier; and slow ones that look as if they were not."""
    fast = [one for one in tests if not (one["long"] or one["smoke"])]
    slow = [one for one in tests if one["long"] == ["slow"]]
    # In a run of everything more examples are generated: then it says nothing of the fast tier.
    over = [one for one in fast if one["cpu"] > FAST_LIMIT_SECONDS and not slow]
    under = [one for one in slow if one["cpu"] + one["shared"] < SLOW_FROM_SECONDS]
    for misplaced, what in (
        (over, f"in the fast tier, and above {FAST_LIMIT_SECONDS} s"),
        (under, f"marked slow, and below {SLOW_FROM_SECONDS} s, unless a fixture takes the time"),
    ):
        if misplaced:
            print(f"\n{what}")
        for test in sorted(misplaced, key=lambda one: -one["cpu"]):
            print(f"{test['cpu']:9.2f} s  {test['test']}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
