"""Break the rules that matter most, one at a time, and see whether the fast tests notice.

python scripts/mutants.py              all of them
python scripts/mutants.py consent undo only these rules

A copy of the package is changed, never the checkout. The tests named with a rule are run first, in
the fast tier; only where they see nothing, the whole fast tier is. The exit code is 1 when a mutant
lives.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ricordo"


@dataclass(frozen=True)
class Mutant:
    """``old`` stands once in the file, and becomes ``new``; ``tests`` should see it."""

    rule: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant(
        "audience",
        "storage/where.py",
        "sa.true() if self.viewer is None else items.c.user_id == self.viewer",
        "sa.true()",
        "tests/contract",
    ),
    Mutant(
        "audience",
        "storage/where.py",
        "return sa.and_(self._of_anybody_visible(), items.c.theme.in_(sorted(self.themes)))",
        "return self._of_anybody_visible()",
        "tests/contract",
    ),
    Mutant(
        "row-level security",
        "storage/postgres/isolation.py",
        'f"user_id = ANY ({ACTING}) OR {ALL}"',
        '"true"',
        "tests/isolation",
    ),
    Mutant(
        "row-level security",
        "storage/postgres/isolation.py",
        'rows = f"{_GRANTED} OR {ALL}"',
        'rows = f"{_GRANTED} OR {_OWN}"',
        "tests/isolation",
    ),
    Mutant(
        "lifecycle",
        "model/lifecycle.py",
        "Status.DELETED: frozenset({Status.ACTIVE})",
        "Status.DELETED: frozenset({Status.ACTIVE, Status.ARCHIVED})",
        "tests/unit tests/contract",
    ),
    Mutant(
        "lifecycle",
        "model/lifecycle.py",
        "if wanted not in LEGAL_STEPS[present]:",
        "if present is Status.DELETED and wanted not in LEGAL_STEPS[present]:",
        "tests/unit tests/contract",
    ),
    Mutant(
        "idempotency",
        "http/idempotency.py",
        "if before.request_hash != asked:",
        "if before.status is None:",
        "tests/http",
    ),
    Mutant(
        "idempotency",
        "http/idempotency.py",
        "return f\"{who}/{quote(caller.agent or '', safe='')}/{given}\"",
        'return f"{who}/{given}"',
        "tests/http",
    ),
    Mutant(
        "lease",
        "storage/jobs.py",
        "        jobs.c.lease_token == job.lease_token,\n",
        "",
        "tests/contract tests/upkeep tests/workers",
    ),
    Mutant(
        "lease",
        "storage/jobs.py",
        "sa.or_(jobs.c.lease_until <= _now, jobs.c.lease_until > _too_far)",
        "jobs.c.lease_until > _too_far",
        "tests/contract tests/upkeep tests/workers",
    ),
    Mutant(
        "consent",
        "formation/consent/consenting.py",
        "    if candidate.is_explicit:\n        return None\n    kind",
        "    if not candidate.is_explicit:\n        return None\n    kind",
        "tests/formation",
    ),
    Mutant(
        "consent",
        "formation/consent/consenting.py",
        "touched & policy.sensitive_fields",
        "touched - policy.sensitive_fields",
        "tests/formation",
    ),
    Mutant(
        "budget",
        "prompt/budget.py",
        "return self.price(text) <= self.left",
        "return self.price(text) <= self.left + 20",
        "tests/prompt",
    ),
    Mutant(
        "budget",
        "prompt/budget.py",
        "self.message + self.tools + self.request.reply_tokens + fixed",
        "self.message + self.tools + fixed",
        "tests/prompt",
    ),
    Mutant(
        "conflict table",
        "formation/comparing/resolving.py",
        "one.item.valid_from < candidate.passage.at",
        "one.item.valid_from != candidate.passage.at",
        "tests/formation tests/unit",
    ),
    Mutant(
        "conflict table",
        "formation/comparing/resolving.py",
        "if shared and reason == CONTRADICTION:",
        "if shared and reason == MORE_SPECIFIC:",
        "tests/formation tests/unit",
    ),
    Mutant(
        "erase",
        "storage/erasure.py",
        "        backend.search.drop_owner(connection, kind, user_id)\n",
        "        pass\n",
        "tests/contract tests/security",
    ),
    Mutant(
        "erase",
        "storage/erasure.py",
        "for table in OWNED_TABLES:",
        "for table in OWNED_TABLES[:-1]:",
        "tests/contract tests/security",
    ),
    Mutant(
        "undo",
        "memories/replacing.py",
        "        _withdraw(writing, scope, plan.withdrawn, plan.item.id)\n",
        "        pass\n",
        "tests/contract",
    ),
    Mutant(
        "undo",
        "memories/replacing.py",
        'update_item(writing, item, {**values, "updated_at": former.updated_at})',
        'update_item(writing, item, {"updated_at": former.updated_at})',
        "tests/contract tests/security",
    ),
    Mutant(
        "fusion",
        "recall/fusion.py",
        '"lexical": ranking.lexical_weight}',
        '"lexical": 0.0}',
        "tests/unit tests/contract",
    ),
    Mutant(
        "fusion",
        "recall/fusion.py",
        "return (scores - low) / (high - low)",
        "return (scores - low) / high",
        "tests/unit tests/contract",
    ),
    Mutant(
        "confidence",
        "recall/confidence.py",
        "return round(1 - (1 - by_meaning) * (1 - by_words), 4)",
        "return round(by_meaning, 4)",
        "tests/unit tests/contract",
    ),
    Mutant(
        "confidence",
        "recall/confidence.py",
        "(cosine - scale.even) * scale.slope",
        "(cosine - scale.even)",
        "tests/unit tests/contract",
    ),
    Mutant(
        "delta",
        "prompt/delta.py",
        "        if reached != seen:\n",
        "        if reached == seen:\n",
        "tests/prompt",
    ),
    Mutant(
        "delta",
        "prompt/delta.py",
        "return item is not None and item.theme in looking.themes",
        "return True",
        "tests/prompt",
    ),
    Mutant(
        "allowlist",
        "access/policy.py",
        "return listed & within",
        "return listed | within",
        "tests/unit tests/contract",
    ),
    Mutant(
        "allowlist",
        "access/policy.py",
        "refused = [slug for slug in asked if slug not in allowed]",
        "refused = [slug for slug in asked[:1] if slug not in allowed]",
        "tests/unit tests/contract",
    ),
    Mutant(
        "cursor",
        "model/page.py",
        "unpacked[:1] != [kind]",
        "not unpacked",
        "tests/unit tests/contract",
    ),
    Mutant(
        "cursor",
        "model/page.py",
        "if len(position) != len(types) or not all(map(_fits, position, types)):",
        "if len(position) != len(types):",
        "tests/unit tests/contract",
    ),
    Mutant(
        "redaction",
        "proxy/upstream.py",
        'body.replace(self._secret, b"[key]") if is_secret else body',
        "body",
        "tests/proxy tests/security tests/http",
    ),
    Mutant(
        "redaction",
        "errors.py",
        "return f\"{name}: {' '.join(error.__doc__.split())}\"",
        'return f"{name}: {error}"',
        "tests/observing tests/security tests/unit",
    ),
    Mutant(
        "redaction",
        "errors.py",
        'return _PASSWORD.sub(r"\\1***@", text)',
        "return text",
        "tests/security tests/unit tests/surfaces",
    ),
    Mutant(
        "ssrf",
        "embedding/targets.py",
        "    for address in addresses:\n",
        "    for address in addresses[:1]:\n",
        "tests/embedding",
    ),
    Mutant(
        "ssrf",
        "embedding/targets.py",
        '        (address.is_link_local, "link-local"),\n',
        "",
        "tests/embedding",
    ),
    Mutant(
        "ssrf",
        "embedding/targets.py",
        '        ("64:ff9b::/96", "NAT64"),\n',
        "",
        "tests/embedding",
    ),
    Mutant(
        "migration",
        "storage/migrations/upgrade.py",
        "        database.backend.secure(connection)\n        database.backend.prepare",
        "        database.backend.prepare",
        "tests/isolation tests/migration",
    ),
    Mutant(
        "migration",
        "storage/migrations/upgrade.py",
        "if found is not None and found not in CHAIN:",
        "if found is not None and not CHAIN:",
        "tests/contract tests/migration tests/faults",
    ),
    Mutant(
        "backup digest",
        "transfer/backup/checking.py",
        "        _compare(manifest.tables, sums_of(reading.connection), path)\n",
        "",
        "tests/backup",
    ),
    Mutant(
        "backup digest",
        "transfer/backup/digesting.py",
        "digest.update(_lines(waiting))\n    return",
        "digest.update(_lines(waiting[:1]))\n    return",
        "tests/backup",
    ),
    Mutant(
        "mirror merge",
        "files/mirror_merge.py",
        "elif (present.theme, present.digest) == (base_theme, said):",
        "elif present is not None:",
        "tests/files",
    ),
    Mutant(
        "mirror merge",
        "files/mirror_merge.py",
        "            self._add(line, theme, None)\n        else:\n            what",
        "            pass\n        else:\n            what",
        "tests/files",
    ),
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("rules", nargs="*", help="all of them where none is named")
    wanted = options.parse_args().rules
    chosen = [one for one in MUTANTS if not wanted or one.rule in wanted]
    alive = 0
    with tempfile.TemporaryDirectory(prefix="ricordo-mutants-") as folder:
        copy = Path(folder) / "ricordo"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        sound = failing(copy, sorted({path for one in chosen for path in one.tests.split()}))
        assert sound is None, f"{sound} fails without any mutant"
        for mutant in chosen:
            started = time.monotonic()
            caught = tried(copy, mutant)
            alive += caught is None
            took = time.monotonic() - started
            print(f"{mutant.rule:18} {took:5.0f} s  {caught or 'ALIVE: ' + mutant.old}", flush=True)
    print(f"{len(chosen)} mutants, {alive} alive")
    return 1 if alive else 0


def tried(copy: Path, mutant: Mutant) -> str | None:
    """Change the copy, run the tests, change it back; the first test that failed."""
    file = copy / mutant.file
    sound = file.read_text(encoding="utf-8")
    assert sound.count(mutant.old) == 1, f"{mutant.file} has no longer once: {mutant.old}"
    rewrite(file, sound.replace(mutant.old, mutant.new))
    try:
        return failing(copy, mutant.tests.split()) or failing(copy, ["tests"])
    finally:
        rewrite(file, sound)


def rewrite(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()


def failing(copy: Path, tests: list[str]) -> str | None:
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--tier",
        "fast",
        "-p",
        "no:cacheprovider",
    ]
    workers = ["-n", "auto", "--dist", "worksteal"]
    done = subprocess.run(
        [*command, *workers, *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else done.stdout[-300:]


if __name__ == "__main__":
    sys.exit(main())
