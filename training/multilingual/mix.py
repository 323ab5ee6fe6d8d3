"""python -m training.multilingual.mix PAIRS MATCHED TEST OUT: what a run learns from.

PAIRS has files LANGUAGE.tsv.gz (source, English, other), MATCHED those of ``match``; the sentences
of ``data`` come with them. Pairs of which either side is a sentence of TEST (LANGUAGE.tsv: English,
other) are left out. Everyday ones count as often as ``OFTEN`` says: some languages have few.
"""

import gzip
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

OFTEN = {"th": 4, "ko": 3, "hi": 3, "vi": 3, "ar": 2, "id": 2, "es": 2, "fr": 2}
TALK = 4  # times that questions and lines of chats count, which few sources have
OUR_OWN, OUR_TALK, MATCHED = "our own", "our talk", "xpersona"
EVERYDAY = {OUR_OWN, MATCHED, "tatoeba", "tatoeba-pivot", "talpco", "formality", "stylekqc"}
EVERYDAY |= {"chat", "jhe", "xcopa", "xsid"}
DATA = Path(__file__).parent / "data"
_NO_LETTER = re.compile(r"[\W_]+")

Pair = tuple[str, str, str]


def bare(sentence: str) -> str:
    return _NO_LETTER.sub("", sentence.lower())


def our_own() -> Iterator[tuple[str, Pair]]:
    for path in sorted(DATA.glob("*.tsv")):
        head, *lines = path.read_text(encoding="utf-8").splitlines()
        source = OUR_TALK if path.stem in {"questions", "talk"} else OUR_OWN
        for line in lines:
            english, *others = line.split("\t")
            for language, other in zip(head.split("\t")[1:], others, strict=True):
                yield language, (source, english, other)


def gathered(pairs: Path, matched: Path) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = defaultdict(list)
    for path in sorted(pairs.glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                source, english, other = line.rstrip("\n").split("\t")
                found[path.name.split(".")[0]].append((source, english, other))
    for language, pair in our_own():
        found[language].append(pair)
    for path in sorted(matched.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            english, other = line.split("\t")
            found[path.stem].append((MATCHED, english, other))
    return found


def main() -> None:
    pairs, matched, test, out = map(Path, sys.argv[1:])
    for language, found in gathered(pairs, matched).items():
        lines = (test / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        tested = [{bare(row[side]) for row in rows} for side in (0, 1)]
        kept = [
            pair
            for pair in dict.fromkeys(found)
            if bare(pair[1]) not in tested[0] and bare(pair[2]) not in tested[1]
        ]
        often = dict.fromkeys(EVERYDAY, OFTEN.get(language, 1)) | {OUR_TALK: TALK}
        mixed = [pair for pair in kept for _ in range(often.get(pair[0], 1))]
        random.Random(1).shuffle(mixed)
        with gzip.open(out / f"{language}.tsv.gz", "wt", encoding="utf-8") as written:
            written.writelines("\t".join(pair) + "\n" for pair in mixed)
        print(language, len(found) - len(kept), "left out,", len(kept), "pairs,", len(mixed))


if __name__ == "__main__":
    main()
