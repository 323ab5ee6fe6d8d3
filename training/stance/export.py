"""python -m training.stance.export LEARNED FOLDER: the graph that compares two statements.

FOLDER has the sentence encoder, whose word table both read, and receives
``ricordo-multi-stance.onnx``. How large activations get is measured with the pairs in ``data``.
"""

import sys
from pathlib import Path

from tokenizers import Tokenizer
from training.reranker.export import GELU, export, pair
from training.stance.pairs import NEW_TOKENS, OLD_TOKENS, spoken, written

MADE = "ricordo-multi-stance.onnx"
MOST_TOKENS = OLD_TOKENS + NEW_TOKENS + 3
MEASURED = 600


def main() -> None:
    learned, folder = map(Path, sys.argv[1:])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pairs = [one for told in spoken().values() for one, is_held in told if is_held]
    pairs = [*pairs, *written(is_held=True)][:MEASURED]
    given = [pair(tokenizer, (one.old, OLD_TOKENS), (one.new, NEW_TOKENS)) for one in pairs]
    exact, close = export(learned, folder, "stance", MADE, MOST_TOKENS, given, GELU)
    print("same", (exact.argmax(1) == close.argmax(1)).mean())


if __name__ == "__main__":
    main()
