"""python -m bench work: what is remembered of sessions of coding agents, and what should be."""

import argparse
import json
from typing import Any

from bench.options import Commands, add_json
from bench.work.measure import Measured, measure
from bench.work.sessions import SETS, read_sessions


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("work", help="what is remembered of sessions of coding agents")
    add_json(parser)
    parser.add_argument("--set", choices=SETS, help="only this one")
    parser.add_argument("--errors", action="store_true", help="also list what is wrong and missed")
    parser.add_argument("--show", action="store_true", help="also list all that is remembered")
    parser.add_argument("--model", metavar="NAME", help="a language model that reads as well")
    parser.add_argument("--base-url", metavar="URL", help="where it answers, as OpenAI does")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    chosen = [given.set] if given.set else list(SETS)
    settings: dict[str, Any] = {}
    if given.model:
        settings = {
            "model_provider": "custom_http",
            "model_name": given.model,
            "model_base_url": given.base_url,
            "model_daily_tokens": 100_000_000,
        }
    found = {name: measure(read_sessions(SETS[name]), **settings) for name in chosen}
    if given.as_json:
        print(json.dumps({name: _plain(one) for name, one in found.items()}, ensure_ascii=False))
        return
    for name, one in found.items():
        print(f"{name:12} {'Recall':>14} {'Precision':>16}")
        for kind, tally in one.kinds.items():
            known = f"{tally.found}/{tally.expected}"
            right = f"{tally.right}/{tally.stored}"
            print(f"{kind:12} {tally.recall:6.3f} {known:>7} {tally.precision:8.3f} {right:>7}")
        print(f"over, and still current: {len(one.outdated)} of {one.over}")
        print(f"never to be remembered, and was: {len(one.never)} of {one.forbidden}")
        print(
            f"needed by first prompts: {one.needed}; in the brief {one.in_brief}, shown for the"
            f" prompt {one.in_prompt}, in either {one.in_either}"
        )
        print(
            f"shown for prompts: {one.shown}, of which needed {one.shown_needed};"
            f" tokens of a brief: {max(one.tokens, default=0)} at most\n"
        )
        for title in ("missed", "wrong", "outdated", "never", "not_shown") if given.errors else ():
            for line in getattr(one, title):
                print(f"{title}: {line}")
        for line in one.stored if given.show else ():
            print(line)


def _plain(one: Measured) -> dict[str, Any]:
    return {
        "kinds": {
            kind: {
                "recall": round(tally.recall, 4),
                "precision": round(tally.precision, 4),
                "expected": tally.expected,
                "stored": tally.stored,
            }
            for kind, tally in one.kinds.items()
        },
        "outdated": len(one.outdated),
        "over": one.over,
        "never": len(one.never),
        "forbidden": one.forbidden,
        "needed": one.needed,
        "in_brief": one.in_brief,
        "in_prompt": one.in_prompt,
        "in_either": one.in_either,
        "shown": one.shown,
        "shown_needed": one.shown_needed,
        "brief_tokens": one.tokens,
    }
