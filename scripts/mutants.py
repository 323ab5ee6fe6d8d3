"""Break the rules that matter most, one at a time, and see whether the fast tests notice.

python scripts/mutants.py              all of them
python scripts/mutants.py consent undo   only these rules
python scripts/mutants.py --quick        only the tests that are named with each

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
        "tests/contract/test_isolation.py tests/contract/test_categories.py",
    ),
    Mutant(
        "audience",
        "storage/where.py",
        "return sa.and_(self._of_anybody_visible(), _one_of(items.c.theme, tuple(self.themes)))",
        "return self._of_anybody_visible()",
        "tests/contract/test_isolation.py tests/contract/test_categories.py",
    ),
    Mutant(
        "row-level security",
        "storage/postgres/security.py",
        'f"user_id = ANY ({ACTING}) OR {ALL}"',
        '"true"',
        "tests/isolation/test_row_security.py",
    ),
    Mutant(
        "row-level security",
        "storage/postgres/security.py",
        'rows = f"(user_id = ANY ({ACTING}) AND {_GRANTED}) OR {ALL}"',
        'rows = f"{_GRANTED} OR {_OWN}"',
        "tests/isolation/test_row_security.py",
    ),
    Mutant(
        "lifecycle",
        "model/item.py",
        "Status.DELETED: frozenset({Status.ACTIVE})",
        "Status.DELETED: frozenset({Status.ACTIVE, Status.ARCHIVED})",
        "tests/unit/test_model.py tests/contract/test_changing.py",
    ),
    Mutant(
        "lifecycle",
        "model/item.py",
        "if wanted not in LEGAL_STEPS[present]:",
        "if present is Status.DELETED and wanted not in LEGAL_STEPS[present]:",
        "tests/unit/test_model.py tests/contract/test_changing.py",
    ),
    Mutant(
        "idempotency",
        "http/idempotency.py",
        "if before.request_hash != request_hash:",
        "if before.status is None:",
        "tests/http/test_idempotency.py",
    ),
    Mutant(
        "idempotency",
        "http/idempotency.py",
        'return f"{who}/{acting}/{given}"',
        'return f"{who}/{given}"',
        "tests/http/test_idempotency.py",
    ),
    Mutant(
        "lease",
        "storage/jobs.py",
        "        jobs.c.lease_token == job.lease_token,\n",
        "",
        "tests/contract/test_jobs.py",
    ),
    Mutant(
        "lease",
        "storage/jobs.py",
        "sa.or_(jobs.c.lease_until <= _now, jobs.c.lease_until > _too_far)",
        "jobs.c.lease_until > _too_far",
        "tests/contract/test_jobs.py",
    ),
    Mutant(
        "consent",
        "formation/consent.py",
        "    if candidate.is_explicit or candidate.is_ending or candidate.is_about_work:\n"
        "        return None, ()\n",
        "    if not candidate.is_explicit:\n        return None, ()\n",
        "tests/formation/test_consent.py",
    ),
    Mutant(
        "consent",
        "formation/consent.py",
        "touched & policy.sensitive_fields",
        "touched - policy.sensitive_fields",
        "tests/formation/test_consent.py",
    ),
    Mutant(
        "budget",
        "prompt/budget.py",
        "return self.price(text) <= self.left",
        "return self.price(text) <= self.left + 20",
        "tests/prompt/test_budget.py",
    ),
    Mutant(
        "budget",
        "prompt/budget.py",
        "self.message + self.tools + self.request.reply_tokens + fixed",
        "self.message + self.tools + fixed",
        "tests/prompt/test_budget.py",
    ),
    Mutant(
        "conflict table",
        "formation/conflicts.py",
        "one.item.valid_from < candidate.passage.at",
        "one.item.valid_from != candidate.passage.at",
        "tests/formation/test_conflicts.py tests/formation/test_racing.py",
    ),
    Mutant(
        "conflict table",
        "formation/conflicts.py",
        "if shared and reason == CONTRADICTION:",
        "if shared and reason == MORE_SPECIFIC:",
        "tests/formation/test_conflicts.py tests/formation/test_racing.py",
    ),
    Mutant(
        "erase",
        "storage/users.py",
        "        backend.search.drop_owner(connection, kind, user_id)\n",
        "        pass\n",
        "tests/contract/test_ending.py",
    ),
    Mutant(
        "erase",
        "storage/users.py",
        "for table in OWNED_TABLES:",
        "for table in OWNED_TABLES[1:]:",
        "tests/contract/test_ending.py",
    ),
    Mutant(
        "undo",
        "memories/replacement.py",
        "        set_values(writing, replacement, archived, Event.ARCHIVE, scope.actor, why)\n",
        "        pass\n",
        "tests/contract/test_changing.py",
    ),
    Mutant(
        "undo",
        "memories/replacement.py",
        'update_item(writing, item, {**values, "updated_at": former.updated_at})',
        'update_item(writing, item, {"updated_at": former.updated_at})',
        "tests/contract/test_changing.py",
    ),
    Mutant(
        "fusion",
        "recall/ranking.py",
        '"lexical": ranking.lexical_weight}',
        '"lexical": 0.0}',
        "tests/unit/recall/test_ranking.py tests/contract/test_search.py",
    ),
    Mutant(
        "fusion",
        "recall/ranking.py",
        "return (scores - low) / (high - low)",
        "return (scores - low) / high",
        "tests/unit/recall/test_ranking.py tests/contract/test_search.py",
    ),
    Mutant(
        "confidence",
        "recall/ranking.py",
        "return round(1 - (1 - by_meaning) * (1 - by_words), 4)",
        "return round(by_meaning, 4)",
        "tests/unit/recall/test_ranking.py tests/contract/test_search.py",
    ),
    Mutant(
        "confidence",
        "recall/ranking.py",
        "(cosine - scale.even) * scale.slope",
        "(cosine - scale.even)",
        "tests/unit/recall/test_ranking.py tests/contract/test_search.py",
    ),
    Mutant(
        "delta",
        "prompt/delta.py",
        "        if reached != view:\n",
        "        if reached == view:\n",
        "tests/prompt/test_delta.py",
    ),
    Mutant(
        "delta",
        "prompt/delta.py",
        "return self.themes is None or (item is not None and item.theme in self.themes)",
        "return True",
        "tests/prompt/test_delta.py",
    ),
    Mutant(
        "allowlist",
        "access/policy.py",
        "return listed & within",
        "return listed | within",
        "tests/unit/access/test_policy.py tests/contract/test_categories.py",
    ),
    Mutant(
        "allowlist",
        "access/policy.py",
        "refused = [slug for slug in asked if slug not in allowed]",
        "refused = [slug for slug in asked[:1] if slug not in allowed]",
        "tests/unit/access/test_policy.py tests/contract/test_categories.py",
    ),
    Mutant(
        "cursor",
        "model/record.py",
        "unpacked[:1] != [kind]",
        "not unpacked",
        "tests/unit/test_model.py tests/contract/test_reading.py",
    ),
    Mutant(
        "cursor",
        "model/record.py",
        "if len(position) != len(types) or not all(map(_fits, position, types)):",
        "if len(position) != len(types):",
        "tests/unit/test_model.py tests/contract/test_reading.py",
    ),
    Mutant(
        "redaction",
        "providers/endpoint.py",
        'body.replace(secret, b"[key]") if is_secret else body',
        "body",
        "tests/proxy/test_passing.py tests/proxy/test_service.py tests/observing/test_log_lines.py",
    ),
    Mutant(
        "redaction",
        "errors.py",
        "return f\"{name}: {' '.join(error.__doc__.split())}\"",
        'return f"{name}: {error}"',
        "tests/proxy/test_passing.py tests/proxy/test_service.py tests/observing/test_log_lines.py",
    ),
    Mutant(
        "redaction",
        "errors.py",
        'return _PASSWORD.sub(r"\\1***@", text)',
        "return text",
        "tests/proxy/test_passing.py tests/proxy/test_service.py tests/observing/test_log_lines.py",
    ),
    Mutant(
        "ssrf",
        "providers/address_guard.py",
        "for address in addresses):",
        "for address in addresses[:1]):",
        "tests/embedding/test_targets.py",
    ),
    Mutant(
        "ssrf",
        "providers/address_guard.py",
        '        (address.is_link_local, "link-local"),\n',
        "",
        "tests/embedding/test_targets.py",
    ),
    Mutant(
        "ssrf",
        "providers/address_guard.py",
        '        ("64:ff9b::/96", "NAT64"),\n',
        "",
        "tests/embedding/test_targets.py",
    ),
    Mutant(
        "migration",
        "storage/migration.py",
        "        database.backend.secure(connection)\n        database.backend.prepare",
        "        database.backend.prepare",
        "tests/isolation tests/migration",
    ),
    Mutant(
        "migration",
        "storage/migration.py",
        "if found is not None and found not in CHAIN:",
        "if found is not None and not CHAIN:",
        "tests/isolation tests/migration",
    ),
    Mutant(
        "backup digest",
        "transfer/backup.py",
        "        if differing:\n",
        "        if False:\n",
        "tests/backup/test_damage.py",
    ),
    Mutant(
        "backup digest",
        "transfer/backup.py",
        "digest.update(_lines(waiting))\n    return",
        "digest.update(_lines(waiting[:1]))\n    return",
        "tests/backup/test_damage.py",
    ),
    Mutant(
        "mirror merge",
        "files/mirror_merge.py",
        "elif present is not None and side is Side.FILE:",
        "elif present is not None:",
        "tests/files/test_mirror.py tests/files/test_mirror_edits.py",
    ),
    Mutant(
        "mirror merge",
        "files/mirror_merge.py",
        "            self._add(line, theme, None)  # the text",
        "            pass  # the text",
        "tests/files/test_mirror.py tests/files/test_mirror_edits.py",
    ),
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("rules", nargs="*", help="all of them where none is named")
    options.add_argument("--quick", action="store_true", help="run the named tests only")
    given = options.parse_args()
    chosen = [one for one in MUTANTS if not given.rules or one.rule in given.rules]
    alive = 0
    with tempfile.TemporaryDirectory(prefix="ricordo-mutants-") as folder:
        copy = Path(folder) / "ricordo"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        sound = failing(copy, sorted({path for one in chosen for path in one.tests.split()}))
        assert sound is None, f"{sound} fails without any mutant"
        for mutant in chosen:
            started = time.monotonic()
            caught = tried(copy, mutant, quick=given.quick)
            alive += caught is None
            took = time.monotonic() - started
            print(f"{mutant.rule:18} {took:5.0f} s  {caught or 'ALIVE: ' + mutant.old}", flush=True)
    print(f"{len(chosen)} mutants, {alive} alive")
    return 1 if alive else 0


def tried(copy: Path, mutant: Mutant, *, quick: bool) -> str | None:
    """Change the copy, run the tests, change it back; the first test that failed."""
    file = copy / mutant.file
    sound = file.read_text(encoding="utf-8")
    assert sound.count(mutant.old) == 1, f"{mutant.file} has no longer once: {mutant.old}"
    rewrite(file, sound.replace(mutant.old, mutant.new))
    try:
        seen = failing(copy, mutant.tests.split())
        return seen if quick or seen is not None else failing(copy, ["tests"])
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
