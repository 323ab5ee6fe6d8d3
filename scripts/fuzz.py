"""Fuzz what reads text from outside for as long as is asked: ``make fuzz MINUTES=30``.

Rounds of ``tests/fuzz`` are run one after the other, each with another seed, until the time is
over or something is found. A failing example is kept (``.hypothesis/fuzz``), and the next run
begins with it; a round is run again with ``--seed``.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run rounds; the exit code of the first that found something."""
    asked = _asked()
    until = time.time() + asked.minutes * 60
    rounds = 0
    while rounds == 0 or (time.time() < until and asked.seed is None):
        rounds += 1
        seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
        print(f"round {rounds}, seed {seed}", flush=True)
        code = _round(asked, seed, until)
        if code:
            print(f"found something with seed {seed}: make fuzz SEED={seed}")
            return code
    print(f"{rounds} rounds, nothing found")
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--examples", type=int, default=500, help="of each test, in each round")
    parser.add_argument("--seed", type=int, help="run the one round that has this seed")
    parser.add_argument("tests", nargs="*", default=["tests/fuzz"], help="files of tests/fuzz")
    return parser.parse_args()


def _round(asked: argparse.Namespace, seed: int, until: float) -> int:
    environment = {**os.environ, "RICORDO_FUZZ_EXAMPLES": str(asked.examples)}
    if asked.seed is None:
        environment["RICORDO_FUZZ_UNTIL"] = str(until)
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", f"--hypothesis-seed={seed}"]
    ran = subprocess.run([*command, *asked.tests], check=False, cwd=ROOT, env=environment)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
