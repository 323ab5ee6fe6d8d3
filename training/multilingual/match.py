"""python -m training.multilingual.match XPERSONA OUT: which dialogues are translations of which.

XPERSONA is the folder ``dataset`` of the repository HLTCHKUST/Xpersona, whose people's translations
are in another order than the English dialogues. The vectors of the installed ricordo find them
again; OUT receives LANGUAGE.tsv (English, other).
"""

import json
import sys
from pathlib import Path

import numpy as np

from ricordo.providers.local_embedder import LocalEmbedder

LANGUAGES = {"Id": "id", "It": "it", "Ko": "ko", "Jp": "ja", "Zh": "zh", "Fr": "fr"}
AHEAD = 0.03  # of the next
AT_ONCE = 32


def dialogues(folder: Path, name: str) -> list[dict]:
    return [
        one
        for part in ("test", "valid")
        for one in json.loads((folder / name.format(part)).read_text(encoding="utf-8"))
    ]


def said(dialogue: dict) -> list[str]:
    return [line for exchange in dialogue["dialogue"] for line in exchange]


def vectors(embedder: LocalEmbedder, given: list[dict]) -> np.ndarray:
    begins = [" ".join([*said(one)[:4], *one["persona"][:2]]) for one in given]
    return np.concatenate(
        [embedder.embed(begins[at : at + AT_ONCE]) for at in range(0, len(begins), AT_ONCE)]
    )


def plain(line: str) -> str:
    for sign in ",.?!":
        line = line.replace(f" {sign}", sign)
    return " ".join(line.split())


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    embedder = LocalEmbedder()
    english = dialogues(folder, "En_persona_{}.json")
    known = vectors(embedder, english)
    for code, language in LANGUAGES.items():
        others = dialogues(folder, f"{code}_persona_split_{{}}_human_annotated.json")
        near = vectors(embedder, others) @ known.T
        pairs: list[tuple[str, str]] = []
        for other, row in zip(others, near, strict=True):
            second, first = np.argsort(row)[-2:]
            same = english[first]
            is_alike = len(said(same)) == len(said(other))
            is_alike = is_alike and len(same["persona"]) == len(other["persona"])
            if is_alike and row[first] - row[second] > AHEAD:
                pairs += zip(said(same), said(other), strict=True)
                pairs += zip(same["persona"], other["persona"], strict=True)
        lines = [f"{plain(one)}\t{plain(two)}" for one, two in pairs if two.strip()]
        (out / f"{language}.tsv").write_text("\n".join(lines), encoding="utf-8")
        print(language, len(others), len(lines), flush=True)


if __name__ == "__main__":
    main()
