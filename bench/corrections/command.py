"""python -m bench corrections: whether a fact is shown as current after its user corrected it."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from bench.corrections.conversations import corrections
from bench.corrections.measure import CLASSES, FAILURES, Outcome, outcomes
from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars

_COUNT: Final = 200
_ALL: Final = "all"
_NOT_PRINTED: Final = (_ALL, "way", "kind")
"""Too many for a table; they are in the JSON."""


def register(kinds: Commands) -> None:
    parser = kinds.add_parser(
        "corrections", help="whether an old fact is shown as current after it was corrected"
    )
    add_json(parser)
    parser.add_argument(
        "--count", type=int, default=_COUNT, help=f"how many corrections (default {_COUNT})"
    )
    parser.add_argument("--seed", type=int, default=1, help="decides which (default 1)")
    parser.add_argument("--errors", action="store_true", help="also list what is stale or both")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    found = []
    with progress_bars(wanted=not given.as_json) as bar:
        progress = bar("corrections")
        for outcome in outcomes(corrections(given.count, given.seed)):
            found.append(outcome)
            progress(len(found), given.count)
    rows = list(_rows(found))
    failed = [one for one in found if not set(FAILURES).isdisjoint(one.verdicts.values())]
    errors = [_error(one) for one in failed] if given.errors else []
    if given.as_json:
        print(json.dumps({"rows": rows, "errors": errors}, ensure_ascii=False))
        return
    _print_tables(rows)
    for error in errors:
        print()
        for name, told in error.items():
            print(f"{name}: {told}" if isinstance(told, str) else "\n    ".join([name, *told]))


def _groups(outcome: Outcome) -> dict[str, str]:
    """What a correction is counted under."""
    one = outcome.correction
    return {
        _ALL: "",
        "how": one.wording.how,
        "place": one.place,
        "language": one.language,
        "assistant": "repeats the value" if one.is_echoed else "does not repeat it",
        "stored": outcome.states,
        "way": one.wording.way,
        "kind": one.kind,
    }


def _rows(found: Iterable[Outcome]) -> Iterator[dict[str, Any]]:
    counted: dict[str, dict[tuple[str, str], Counter[str]]] = {}
    for outcome in found:
        for by, of in _groups(outcome).items():
            for path, verdict in outcome.verdicts.items():
                counted.setdefault(by, defaultdict(Counter))[of, path][verdict] += 1
    for by, groups in counted.items():
        for (of, path), verdicts in sorted(groups.items(), key=lambda entry: entry[0][0]):
            named = {"by": by, "of": of, "path": path, "corrections": verdicts.total()}
            yield named | {name: verdicts[name] for name in CLASSES}


def _print_tables(rows: Sequence[dict[str, Any]]) -> None:
    print(f"{'Path':14}{'Corrections':>12}" + "".join(f"{name.title():>9}" for name in CLASSES))
    whole = [row for row in rows if row["by"] == _ALL]
    for row in whole:
        counts = "".join(f"{row[name]:9}" for name in CLASSES)
        print(f"{row['path']:14}{row['corrections']:12}{counts}")
    print(f"\n{'Stale, both':51}" + "".join(f"{row['path']:>14}" for row in whole))
    shown = [row for row in rows if row["by"] not in _NOT_PRINTED]
    for first in range(0, len(shown), len(whole) or 1):
        group = shown[first : first + len(whole)]
        counts = "".join(f"{row['stale']:9}, {row['both']:3}" for row in group)
        print(f"{group[0]['by']:10}{group[0]['of']:35}{group[0]['corrections']:6}{counts}")


def _error(outcome: Outcome) -> dict[str, Any]:
    """One that failed, as texts and lists of texts."""
    one = outcome.correction
    groups = {by: of for by, of in _groups(outcome).items() if by != _ALL}
    failed = {path: verdict for path, verdict in outcome.verdicts.items() if verdict in FAILURES}
    return {
        "correction": f"{one.number}: {one.old} → {one.new or one.wording.how}",
        **groups,
        "conversation": list(one.transcript()),
        "question": one.question,
        "memories": [f"{status}: {text}" for status, text in outcome.memories],
        **{
            f"{path}, {verdict}": [line.text for line in outcome.shown[path]]
            for path, verdict in failed.items()
        },
    }
