"""python -m training.multilingual.train PAIRS ENGLISH BEFORE TOKENIZER TEACHER OUT [SECONDS START]

On a GPU. Sentences of 17 languages get the vector that the English encoder (TEACHER, with the
tokenizer BEFORE, whose pieces TOKENIZER begins with) gives to their English translation. PAIRS has
files LANGUAGE.tsv.gz (source, English, other); ENGLISH are texts whose vectors stay, a line each.
With START, what an earlier run has made, it goes on from there with half of the steps' size; words
that START did not know learn alone at first.
"""

import gzip
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

BATCH, ENGLISH_BATCH, TOKENS = 1536, 768, 96
SECONDS = 900.0
FROZEN = 0.08  # of the time only the new rows of the word table learn
RATE, NEW_RATE = 2e-4, 1.5e-3
TEMPERATURE = 0.05
HELD = 500  # pairs of each language to watch
FIRST, BETWEEN = 101, 102


def model(words: int) -> BertModel:
    return BertModel(
        BertConfig(
            vocab_size=words,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            max_position_embeddings=512,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            hidden_act="gelu_pytorch_tanh",
        ),
        add_pooling_layer=False,
    ).cuda()


class Table(nn.Module):
    """Rows of words that were known, and new ones, which learn faster."""

    def __init__(self, old: torch.Tensor, new: torch.Tensor) -> None:
        super().__init__()
        self.old, self.new = nn.Parameter(old), nn.Parameter(new)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return functional.embedding(ids, torch.cat([self.old, self.new]))


class Texts:
    """Token numbers of many texts in one array."""

    def __init__(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        found = tokenizer.encode_batch(texts, add_special_tokens=False)
        rows = [one.ids[: TOKENS - 2] for one in found]
        self.lengths = np.array([len(row) for row in rows])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.ids = np.fromiter((one for row in rows for one in row), np.int32, self.starts[-1])

    def batch(self, places: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = self.lengths[places]
        width = int(lengths.max())
        at = np.arange(width)
        inside = at < lengths[:, None]
        ids = np.zeros((len(places), width + 2), np.int64)
        ids[:, 0] = FIRST
        ids[:, 1:-1][inside] = self.ids[(self.starts[places][:, None] + at)[inside]]
        ids[np.arange(len(places)), lengths + 1] = BETWEEN
        mask = np.arange(width + 2) < lengths[:, None] + 2
        return torch.from_numpy(ids).cuda(), torch.from_numpy(mask.astype(np.int64)).cuda()

    def batches(self, size: int, first: int, chance: np.random.Generator) -> Iterator[np.ndarray]:
        """Places at random, those of about the same length together."""
        while True:
            places = chance.integers(first, len(self.lengths), size * 16)
            places = places[np.argsort(self.lengths[places], kind="stable")].reshape(16, size)
            yield from places[chance.permutation(16)]


def meant(encoder: BertModel, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cuda", torch.bfloat16):
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
    return functional.normalize((states.float() * mask[..., None]).sum(1), dim=1)


def read_pairs(path: Path) -> tuple[list[str], list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    random.Random(5).shuffle(rows)
    return [row[1] for row in rows], [row[2] for row in rows]


def watched(
    encoder: BertModel, teacher: BertModel, pairs: dict[str, tuple[Texts, Texts]]
) -> dict[str, float]:
    """How often the translation is the nearest of those that were held back."""
    places, found = np.arange(HELD), {}
    with torch.no_grad():
        for language, (english, other) in pairs.items():
            wanted = meant(teacher, *english.batch(places))
            nearest = (meant(encoder, *other.batch(places)) @ wanted.T).argmax(1).cpu()
            found[language] = float((nearest == torch.arange(HELD)).float().mean())
    return found


def train(
    encoder: BertModel,
    teacher: BertModel,
    pairs: dict[str, tuple[Texts, Texts]],
    plain: tuple[Texts, Texts],
    seconds: float,
    *,
    goes_on: bool,
    has_new_words: bool,
) -> None:
    chance = np.random.default_rng(3)
    names = list(pairs)
    sizes = np.array([len(pairs[name][0].lengths) - HELD for name in names], float)
    shares = sizes**0.5 / (sizes**0.5).sum()
    new = encoder.embeddings.word_embeddings.new
    known = [value for value in encoder.parameters() if value is not new]
    optimiser = torch.optim.AdamW(
        [{"params": [new], "of": NEW_RATE}, {"params": known, "of": RATE}],
        betas=(0.9, 0.98), weight_decay=0.0,
    )  # fmt: skip
    drawn = {name: pairs[name][1].batches(BATCH, HELD, chance) for name in names}
    drawn_plain = plain[1].batches(ENGLISH_BATCH, 0, chance)
    started, step = time.monotonic(), 0
    while (done := (time.monotonic() - started) / seconds) < 1:
        warm = min(1.0, (step + 1) / 200)
        for group in optimiser.param_groups:
            group["lr"] = group["of"] * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
            group["lr"] /= 1 + goes_on
        is_frozen = done < FROZEN and has_new_words
        if is_frozen:
            optimiser.param_groups[1]["lr"] = 0.0
        losses = []
        language = names[int(chance.choice(len(names), p=shares))]
        english, other = pairs[language]
        places, same = next(drawn[language]), next(drawn_plain)
        with torch.no_grad():
            wanted = meant(teacher, *english.batch(places))
            kept = meant(teacher, *plain[0].batch(same))
        got = meant(encoder, *other.batch(places))
        near = got @ wanted.T / TEMPERATURE
        near.masked_fill_((wanted @ wanted.T > 0.95) & ~torch.eye(BATCH, dtype=bool).cuda(), -1e4)
        right = torch.arange(BATCH).cuda()
        losses.append(30 * (1 - (got * wanted).sum(1)).mean())
        losses.append(functional.cross_entropy(near, right) / 2)
        losses.append(functional.cross_entropy(near.T, right) / 2)
        if not is_frozen:
            stays = meant(encoder, *plain[1].batch(same))
            losses.append(100 * (1 - (stays * kept).sum(1)).mean())
        optimiser.zero_grad(set_to_none=True)
        sum(losses).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 5.0)
        optimiser.step()
        step += 1
        if step % 500 == 0:
            shown = [round(float(loss), 3) for loss in losses]
            print(int(time.monotonic() - started), step, language, shown, flush=True)
        if step % 4000 == 0:
            print({k: round(v, 3) for k, v in watched(encoder, teacher, pairs).items()}, flush=True)


def main() -> None:
    folder, english, *files, out = map(Path, sys.argv[1:7])
    seconds = float(sys.argv[7]) if len(sys.argv) > 7 else SECONDS
    before, tokenizer = (Tokenizer.from_file(str(file)) for file in files[:2])
    before.no_truncation(), tokenizer.no_truncation()
    teacher_file = files[2]
    weights = {name: value.float() for name, value in load_file(str(teacher_file)).items()}
    teacher = model(len(weights["embeddings.word_embeddings.weight"]))
    print(teacher.load_state_dict(weights, strict=False), flush=True)
    teacher.eval()
    old = weights["embeddings.word_embeddings.weight"]
    chance = torch.Generator().manual_seed(1)
    drawn = torch.randn(tokenizer.get_vocab_size() - len(old), old.shape[1], generator=chance)
    new = old.mean(0) + 0.5 * old.std(0) * drawn
    start, known = Path(sys.argv[8]) if len(sys.argv) > 8 else None, new[:0]
    if start is not None:
        weights = {name: value.float() for name, value in load_file(str(start)).items()}
        table = weights.pop("embeddings.word_embeddings.weight")
        old, known = table[: len(old)], table[len(old) :]
        new[: len(known)] = known
    encoder = model(len(old))
    encoder.load_state_dict(weights, strict=False)
    encoder.embeddings.word_embeddings = Table(old, new).cuda()
    pairs = {}
    for path in sorted(folder.glob("*.tsv.gz")):
        said, others = read_pairs(path)
        pairs[path.name.split(".")[0]] = (Texts(before, said), Texts(tokenizer, others))
        print(path.name, len(said), flush=True)
    lines = [*dict.fromkeys(english.read_text(encoding="utf-8").splitlines())]
    plain = Texts(before, lines), Texts(tokenizer, lines)
    print(len(lines), "English texts", flush=True)
    has_new_words = len(known) < len(new)
    train(
        encoder, teacher, pairs, plain, seconds,
        goes_on=start is not None, has_new_words=has_new_words,
    )  # fmt: skip
    print({k: round(v, 3) for k, v in watched(encoder, teacher, pairs).items()}, flush=True)
    with torch.no_grad():
        places = np.arange(min(4000, len(lines)))
        both = meant(encoder, *plain[1].batch(places)), meant(teacher, *plain[0].batch(places))
        alike = (both[0] * both[1]).sum(1)
        print("English stays:", float(alike.mean()), float(alike.quantile(0.01)), flush=True)
    made = {name: value.half().contiguous() for name, value in encoder.state_dict().items()}
    parts = [made.pop(f"embeddings.word_embeddings.{one}") for one in ("old", "new")]
    save_file({**made, "embeddings.word_embeddings.weight": torch.cat(parts)}, str(out))


if __name__ == "__main__":
    main()
