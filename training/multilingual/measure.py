"""python -m training.multilingual.measure TEST TOKENIZER WEIGHTS [TOKENIZER WEIGHTS ...]

How often the nearest of all English sentences is the translation: TEST has files LANGUAGE.tsv
(English, other). On a GPU.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from training.multilingual.train import Texts, meant, model


def top_1(path: Path, tokenizer: Tokenizer, encoder) -> float:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    places = np.arange(len(rows))
    english, other = (Texts(tokenizer, [row[side] for row in rows]) for side in (0, 1))
    with torch.no_grad():
        near = meant(encoder, *other.batch(places)) @ meant(encoder, *english.batch(places)).T
    return float((near.argmax(1).cpu() == torch.arange(len(rows))).float().mean())


def main() -> None:
    test, *given = sys.argv[1:]
    for tokenizer_file, weights_file in zip(given[::2], given[1::2], strict=True):
        tokenizer = Tokenizer.from_file(tokenizer_file)
        tokenizer.no_truncation()
        weights = {name: value.float() for name, value in load_file(weights_file).items()}
        encoder = model(len(weights["embeddings.word_embeddings.weight"]))
        encoder.load_state_dict(weights, strict=False)
        encoder.eval()
        found = {
            path.stem: top_1(path, tokenizer, encoder) for path in sorted(Path(test).glob("*.tsv"))
        }
        print(weights_file, f"mean {np.mean(list(found.values())):.3f}")
        print({language: round(share, 3) for language, share in found.items()}, flush=True)


if __name__ == "__main__":
    main()
