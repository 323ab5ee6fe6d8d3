"""python -m training.reranker.reader given LISTS JUDGED TOKENIZER ENCODER.onnx OUT.npz
python -m training.reranker.reader train GIVEN.npz WEIGHTS.safetensors OUT.safetensors SECONDS RATE

The cross-encoder that reads a question with a line learns what a large model judged (JUDGED, by
``training.reranker.teacher``): of English questions and lines, and of their translations; and what
must be known for the requests of ``data/requests.jsonl``. ``given`` writes them as arrays, with the
rows of the word table that they need. ``train``, on a GPU, starts with the layers of the encoder,
or with a reader (``training.reranker.weights``); its batches are put together there.
"""

import json
import math
import random
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.reranker.export import (
    BETWEEN,
    FIRST,
    OF_HEAD,
    QUESTION_TOKENS,
    WIDTH,
    tables,
)
from training.reranker.lists import stores
from training.reranker.train import TRANSLATED, Judged, Translation

MOST_LINES, LIST, BATCH = 18, 14, 256  # judged lines; how many of them, of how many questions
LINE_TOKENS, BEFORE_TOKENS = 64, 20
MOST_TOKENS = 128
WARM, DROPPED = 200, 0.1
KINDS = ("own", "memories", "friends", "dialogue", "small", "translated", "requests")
MORE = (3.0, 4.0, 3.0, 0.7, 1.0)  # a question of English is drawn more often
OF_TRANSLATIONS, OF_REQUESTS, IN_ENGLISH, HIDDEN = 0.28, 0.2, 0.25, 0.2
NEEDED, HELPFUL, NEITHER = 3.0, -0.5, -6.0
PARTS = 4  # of a batch, by length
HEADS_KEPT, UNITS = 6, (1088, 1024, 832, 640, 512, 512)  # of 12, and of 1,536 in each layer
PRUNED_BY, PRUNED_PAIRS = 4, 512
DENSE = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
Tokens = list[int]


class Given:
    """Each text once, and for each question which lines were judged, and how."""

    def __init__(self) -> None:
        self.texts: dict[tuple[int, ...], int] = {}
        self.columns: dict[str, list] = {
            name: [] for name in ("asked", "english", "line", "before", "judged", "right", "kind")
        }

    def text(self, tokens: Tokens | None) -> int:
        if tokens is None:
            return -1
        return self.texts.setdefault(tuple(tokens[:LINE_TOKENS]), len(self.texts))

    def add(self, kind: str, asked: Tokens, english: Tokens, rows: list[tuple]) -> None:
        """``rows``: each line, the one before it, what was judged, and whether it is right."""
        rows = [rows[place % len(rows)] for place in range(MOST_LINES)]
        lines, before, judged, right = zip(*rows, strict=True)
        row = (
            *(self.text(asked), self.text(english)),
            *([self.text(one) for one in texts] for texts in (lines, before)),
            *(judged, right, KINDS.index(kind)),
        )
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)


def given(lists: Path, judged: Path, vocabulary: Path, encoder: Path, out: Path) -> None:
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    source, made = Judged(lists, judged, tokenizer), Given()
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(source.asked):
        numbers.setdefault(one[1], []).append(number)

    def rows(number: int, other: Translation | None) -> list[tuple]:
        _, name, _, evidence, places, scores = source.asked[number]
        found = []
        for place, score in zip(places, scores, strict=True):
            line, before = source.rows[name][place]
            if other is None:
                said, earlier = source.tokens[line], source.tokens[before] if before >= 0 else None
            else:
                said = other.lines[place]
                earlier = other.lines[place - 1] if before >= 0 and place else None
            found.append((said, earlier, score, float(place in evidence)))
        return found

    for number in source.learned:
        asked = source.questions[number]
        made.add(source.asked[number][0], asked, asked, rows(number, None))
    for path in sorted(TRANSLATED.glob("*.jsonl")):
        *learned, _held = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for other in (Translation.read(row, tokenizer) for row in learned):
            for number in numbers.get(other.name, ()):
                english = source.questions[number]
                asked = other.questions.get(source.asked[number][2], english)
                made.add("translated", asked, english, rows(number, other))
    of_requests(made, tokenizer)
    save(made, encoder, out)


def of_requests(made: Given, tokenizer: Tokenizer) -> None:
    """Each request twice, with what it needs and half of the other lines of its store."""
    chance = random.Random(3)

    def encoded(texts: list[str]) -> list[Tokens]:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    for store in stores()[0]:
        lines = encoded(store["lines"])
        if store["kind"] == "messages":
            lines = encoded([f"user: {line}" for line in store["lines"]])
        for request, asked in zip(
            store["requests"], encoded([one["q"] for one in store["requests"]]), strict=True
        ):
            known = dict.fromkeys(request["also"], HELPFUL) | dict.fromkeys(request["e"], NEEDED)
            others = [place for place in range(len(lines)) if place not in known]
            chance.shuffle(others)
            for half in (others[::2], others[1::2]):
                places = [*known, *half][:MOST_LINES]
                rows = [
                    (lines[one], None, known.get(one, NEITHER), float(one in request["e"]))
                    for one in places
                ]
                made.add("requests", asked, asked, rows)


def save(made: Given, encoder: Path, out: Path) -> None:
    used = np.array(sorted({token for text in made.texts for token in text} | {FIRST, BETWEEN}))
    tokens = np.full((len(made.texts), LINE_TOKENS), -1, np.int32)
    for place, text in enumerate(made.texts):
        tokens[place, : len(text)] = np.searchsorted(used, text)
    words, scales = map(numpy_helper.to_array, tables(onnx.load(encoder).graph))
    marks = np.searchsorted(used, (FIRST, BETWEEN))
    kinds = {"judged": np.float16, "right": np.float16}
    columns = {
        name: np.array(value, kinds.get(name, np.int32)) for name, value in made.columns.items()
    }
    table = {"words": words[used], "scales": scales[used]}
    np.savez_compressed(out, tokens=tokens, marks=marks, **table, **columns)


class Layer(nn.Module):
    def __init__(self, weights: dict[str, torch.Tensor], name: str) -> None:
        super().__init__()
        self.parts = nn.ParameterDict(
            {
                f"{part}.{kind}".replace(".", "-"): weights[f"{name}.{part}.{kind}"].clone()
                for part in (*DENSE, *NORMS)
                for kind in ("weight", "bias")
            }
        )

    def of(self, part: str) -> tuple[torch.Tensor, torch.Tensor]:
        weight, bias = (
            self.parts[f"{part}.{kind}".replace(".", "-")] for kind in ("weight", "bias")
        )
        return weight, bias

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        pairs, longest, _ = x.shape
        dropped = DROPPED if self.training else 0.0
        query, key, value = (
            functional.linear(x, *self.of(part)).view(pairs, longest, -1, OF_HEAD).transpose(1, 2)
            for part in DENSE[:3]
        )
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropped
        )
        seen = seen.transpose(1, 2).flatten(2)
        self.heard = seen
        x = self.added(x, functional.linear(seen, *self.of(DENSE[3])), NORMS[0], dropped)
        self.wide = functional.relu(functional.linear(x, *self.of(DENSE[4])))
        return self.added(x, functional.linear(self.wide, *self.of(DENSE[5])), NORMS[1], dropped)

    def added(
        self, x: torch.Tensor, change: torch.Tensor, norm: str, dropped: float
    ) -> torch.Tensor:
        together = x + functional.dropout(change, dropped)
        return functional.layer_norm(together, (WIDTH,), *self.of(norm), 1e-12)


class Reader(nn.Module):
    """One number for a question and a line: how much rather it answers."""

    def __init__(self, weights: dict[str, torch.Tensor], table: torch.Tensor) -> None:
        super().__init__()
        self.table = table
        places, kinds = (
            f"embeddings.{one}_embeddings.weight" for one in ("position", "token_type")
        )
        self.places = nn.Parameter(weights[places][:MOST_TOKENS].clone())
        self.kinds = nn.Parameter(weights[kinds].clone())
        self.head = nn.Linear(WIDTH, 1)
        if "head.weight" in weights:
            for kind in ("weight", "bias"):
                getattr(self.head, kind).data = weights[f"head.{kind}"].clone()
        else:
            self.kinds.data[1] = self.kinds.data[0] + 0.02 * torch.randn_like(self.kinds[0])
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        for kind in ("weight", "bias"):
            getattr(self.norm, kind).data = weights[f"embeddings.LayerNorm.{kind}"].clone()
        layers = sum(name.endswith("self.query.weight") for name in weights)
        names = (f"encoder.layer.{number}" for number in range(layers))
        self.layers = nn.ModuleList(Layer(weights, name) for name in names)

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.table[ids] + self.places[: ids.shape[1]] + self.kinds[kinds])
        x = functional.dropout(x, DROPPED, self.training)
        with torch.autocast(x.device.type, torch.bfloat16):
            for layer in self.layers:
                x = layer(x, mask[:, None, None, :])
        return self.head(x[:, 0].float())[:, 0]

    def named(self) -> dict[str, torch.Tensor]:
        """As the encoder calls its weights, and ``training.reranker.export``."""
        found = {
            "embeddings.position_embeddings.weight": self.places,
            "embeddings.token_type_embeddings.weight": self.kinds,
            "embeddings.LayerNorm.weight": self.norm.weight,
            "embeddings.LayerNorm.bias": self.norm.bias,
            "head.weight": self.head.weight,
            "head.bias": self.head.bias,
        }
        for number, layer in enumerate(self.layers):
            for name, value in layer.parts.items():
                found[f"encoder.layer.{number}.{name.replace('-', '.')}"] = value
        return found


class Lessons:
    """What was judged, where the reader is, and batches of it."""

    def __init__(self, path: Path, device: str) -> None:
        read = dict(np.load(path))
        words = read["words"].astype(np.float32) * read["scales"].reshape(len(read["words"]), -1)
        self.table = torch.from_numpy(words).to(device)
        self.first, self.between = read["marks"].tolist()
        for name in ("tokens", "asked", "english", "line", "before", "kind"):
            setattr(self, name, torch.from_numpy(read[name].astype(np.int64)).to(device))
        for name in ("judged", "right"):
            setattr(self, name, torch.from_numpy(read[name].astype(np.float32)).to(device))
        more = torch.tensor([*MORE, 0.0, 0.0], device=device)[self.kind]
        self.weights = (1 - OF_TRANSLATIONS - OF_REQUESTS) * more / more.sum()
        for kind, share in (("translated", OF_TRANSLATIONS), ("requests", OF_REQUESTS)):
            others = (self.kind == KINDS.index(kind)).float()
            self.weights += share * others / others.sum()

    def batch(self) -> tuple[torch.Tensor, ...]:
        """Questions, and of each the four best lines and some others."""
        chosen = torch.multinomial(self.weights, BATCH, replacement=True)
        order = self.judged[chosen].argsort(1, descending=True)
        drawn = torch.rand(BATCH, MOST_LINES - 4, device=order.device).argsort(1)[:, : LIST - 4]
        some = torch.cat([order[:, :4], order[:, 4:].gather(1, drawn)], 1)
        in_english = torch.rand(BATCH, device=order.device) < IN_ENGLISH
        asked = torch.where(in_english, self.english[chosen], self.asked[chosen])
        hides = torch.rand(BATCH, 1, device=order.device) < HIDDEN
        before = torch.where(hides, -1, self.before[chosen].gather(1, some))
        texts = (asked[:, None].expand(-1, LIST), self.line[chosen].gather(1, some), before)
        told = (self.judged[chosen].gather(1, some), self.right[chosen].gather(1, some))
        written = (self.kind[chosen] != KINDS.index("small")).float()
        return (*(one.reshape(-1) for one in texts), *told, written)

    def pairs(
        self, asked: torch.Tensor, line: torch.Tensor, before: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """The tokens of each pair without gaps, which text they are of, and which are there."""
        count = len(asked)

        def mark(value: int) -> torch.Tensor:
            return torch.full((count, 1), value, device=asked.device)

        follows = (before >= 0)[:, None]
        earlier = torch.where(follows, self.tokens[before.clamp(min=0)][:, :BEFORE_TOKENS], -1)
        between = torch.where(follows, mark(self.between), -1)
        one = [mark(self.first), self.tokens[asked][:, :QUESTION_TOKENS], mark(self.between)]
        other = [earlier, between, self.tokens[line], mark(self.between)]
        ids = torch.cat([*one, *other], 1)
        kinds = torch.zeros_like(ids)
        kinds[:, QUESTION_TOKENS + 2 :] = 1
        mask = ids >= 0
        order = (~mask).long().argsort(dim=1, stable=True)[:, : int(mask.sum(1).max())]
        return tuple(each.gather(1, order) for each in (ids.clamp(min=0), kinds, mask))

    def read(self, reader: Reader, *texts: torch.Tensor) -> torch.Tensor:
        ids, kinds, mask = self.pairs(*texts)
        sizes = mask.sum(1)
        order, found = sizes.argsort(), []
        for some in order.chunk(PARTS):
            longest = int(sizes[some[-1]])
            found.append(reader(*(each[some, :longest] for each in (ids, kinds, mask))))
        return torch.cat(found)[order.argsort()]


@torch.no_grad()
def prune(source: Path, start: Path, out: Path) -> None:
    """Half of each layer goes: the heads, and the units between, that say least."""
    torch.manual_seed(0)
    lessons = Lessons(source, "cpu")
    weights = {name: one.float() for name, one in load_file(start).items()}
    reader = Reader(weights, lessons.table).eval()
    sizes = {name: torch.zeros(()) for name in weights}
    for _ in range(PRUNED_BY):
        reader(*(one[:PRUNED_PAIRS] for one in lessons.pairs(*lessons.batch()[:3])))
        for number, layer in enumerate(reader.layers):
            for part, given in ((DENSE[3], layer.heard), (DENSE[5], layer.wide)):
                name = f"encoder.layer.{number}.{part}.weight"
                sizes[name] = sizes[name] + given.float().square().mean((0, 1))
    for number, units in enumerate(UNITS):
        name = f"encoder.layer.{number}"
        outward, wide = f"{name}.{DENSE[3]}.weight", f"{name}.{DENSE[5]}.weight"
        worth = sizes[outward] * weights[outward].square().sum(0)
        heads = worth.view(-1, OF_HEAD).sum(1).topk(HEADS_KEPT).indices.sort().values
        seen = torch.arange(len(worth)).view(-1, OF_HEAD)[heads].flatten()
        said = (sizes[wide] * weights[wide].square().sum(0)).topk(units).indices.sort().values
        for part, kept in ((DENSE[0], seen), (DENSE[1], seen), (DENSE[2], seen), (DENSE[4], said)):
            for kind in ("weight", "bias"):
                weights[f"{name}.{part}.{kind}"] = weights[f"{name}.{part}.{kind}"][kept]
        for one, kept in ((outward, seen), (wide, said)):
            weights[one] = weights[one][:, kept]
    save_file({name: one.half().contiguous() for name, one in weights.items()}, str(out))


def train(source: Path, start: Path, out: Path, seconds: float, rate: float) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    lessons = Lessons(source, device)
    weights = {name: one.float().to(device) for name, one in load_file(start).items()}
    reader = Reader(weights, lessons.table).to(device).train()
    optimiser = torch.optim.AdamW(reader.parameters(), lr=rate, weight_decay=0.01)
    mean = {name: one.detach().clone() for name, one in reader.named().items()}
    began, step, done = time.monotonic(), 0, 0.0
    while done < 1:
        *texts, judged, right, written = lessons.batch()
        scores = lessons.read(reader, *texts).view(-1, LIST)
        near = functional.kl_div(
            (scores / 2).log_softmax(1), (judged / 2).softmax(1), reduction="batchmean"
        )
        loss = 2 * near + 0.1 * functional.mse_loss(scores, judged.clamp(-12, 12))
        each = functional.binary_cross_entropy_with_logits(scores, right, reduction="none")
        loss = loss + 0.2 * (each.mean(1) * written).mean()
        for group in optimiser.param_groups:
            decay = max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
            group["lr"] = rate * min(1, (step + 1) / WARM) * decay
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 10 == 0:
            share = min(0.99, step / (step + 100))
            with torch.no_grad():
                for name, one in reader.named().items():
                    mean[name].lerp_(one, 1 - share)
        if step % 100 == 1:
            print(int(done * seconds), step, round(loss.item(), 3), flush=True)
        done = (time.monotonic() - began) / seconds
    save_file({name: one.half().cpu().contiguous() for name, one in mean.items()}, str(out))


def main() -> None:
    action, *paths = sys.argv[1:]
    if action == "given":
        given(*map(Path, paths))
    elif action == "prune":
        prune(*map(Path, paths))
    else:
        train(*map(Path, paths[:3]), *map(float, paths[3:]))


if __name__ == "__main__":
    main()
