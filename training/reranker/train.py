"""python -m training.reranker.train reranker|encoder LISTS JUDGED TOKENIZER ORIGINAL START OUT

On a GPU. A cross-encoder of four layers, or our sentence encoder, goes on learning from what a
large model judged (JUDGED, by ``training.reranker.teacher``). The cross-encoder begins as START,
which ``training.reranker.export`` reads from a graph, and keeps its embeddings: another stack of
layers uses them as well. The encoder begins as START and stays near ORIGINAL.
"""

import gzip
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

QUESTION_TOKENS, LINE_TOKENS, BEFORE_TOKENS = 32, 64, 20
LIST, BATCH, LAYERS = 14, 128, 4
SECONDS = {"reranker": 250, "encoder": 250}
MORE = {"own": 3.0, "memories": 4.0, "friends": 3.0, "dialogue": 0.7, "small": 1.0}
FIRST, BETWEEN = 101, 102
SHARES = (0.0, 0.5, 0.65, 0.8, 1.0)  # of what the encoder has learned


def config(layers: int) -> BertConfig:
    return BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=512,
    )


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, rows))
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)], mask[place, : len(row)] = row, 1
    return torch.from_numpy(ids).cuda(), torch.from_numpy(mask).cuda()


def meant(encoder: BertModel, tokens: list[list[int]]) -> torch.Tensor:
    """Vectors as the product makes them."""
    ids, mask = padded([[FIRST, *one, BETWEEN] for one in tokens])
    states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    return functional.normalize((states * mask[..., None]).sum(1), dim=1)


@torch.no_grad()
def vectors(encoder: BertModel, tokens: list[list[int]]) -> torch.Tensor:
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
    found = torch.zeros(len(tokens), 384, device="cuda")
    for start in range(0, len(order), 4096):
        some = order[start : start + 4096]
        with torch.autocast("cuda", torch.bfloat16):
            found[some] = meant(encoder, [tokens[place] for place in some])
    return found


class Judged:
    """The questions with their lines, as tokens."""

    def __init__(self, lists: Path, judged: Path, tokenizer: Tokenizer) -> None:
        given = json.loads(gzip.decompress(lists.read_bytes()))
        asked = json.loads(gzip.decompress(judged.read_bytes()))
        self.lines, self.rows = given["lines"], given["conversations"]
        held = set(given["held"])
        self.tokens = self._encoded(tokenizer, self.lines)
        bare, names = zip(*map(_bare, self.lines), strict=True)
        self.bare = self._encoded(tokenizer, list(bare))
        self.names = list(names)
        self.questions = self._encoded(tokenizer, [one[2] for one in asked])
        unnamed = [_without(one[2], self._people(one[1])) for one in asked]
        self.unnamed = self._encoded(tokenizer, unnamed)
        self.asked = asked
        self.learned = [number for number, one in enumerate(asked) if one[1] not in held]
        self.held = [number for number, one in enumerate(asked) if one[1] in held]

    @staticmethod
    def _encoded(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    def _people(self, name: str) -> set[str]:
        return {self.names[line] for line, _ in self.rows[name]} - {""}

    def pools(self) -> tuple[list[list[int]], list[float]]:
        by_kind: dict[str, list[int]] = {}
        for number in self.learned:
            by_kind.setdefault(self.asked[number][0], []).append(number)
        print({kind: len(pool) for kind, pool in by_kind.items()}, flush=True)
        return list(by_kind.values()), [MORE[kind] * len(by_kind[kind]) for kind in by_kind]

    def pair(self, number: int, place: int, *, hides: bool) -> tuple[list[int], list[int]]:
        line, before = self.rows[self.asked[number][1]][place]
        asked = [FIRST, *self.questions[number][:QUESTION_TOKENS], BETWEEN]
        earlier = self.tokens[before][:BEFORE_TOKENS] if before >= 0 and not hides else []
        said = [*earlier, *[BETWEEN][: len(earlier)], *self.tokens[line][:LINE_TOKENS], BETWEEN]
        return asked, said


def _bare(line: str) -> tuple[str, str]:
    who, mark, said = line.partition(": ")
    return (said, who) if mark and len(who) < 20 else (line, "")


def _without(question: str, people: set[str]) -> str:
    """The question without the names of those who speak."""
    for name in people:
        question = re.sub(rf"\b{re.escape(name)}(?:'s)?\b ?", "", question)
    return question


class CrossEncoder(nn.Module):
    """One number for a question and a line, with the line before it: how much rather it answers."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.bert = BertModel(config(layers), add_pooling_layer=False)
        self.head = nn.Linear(384, 1)

    def forward(self, pairs: list[tuple[list[int], list[int]]]) -> torch.Tensor:
        ids, mask = padded([[*one, *other] for one, other in pairs])
        sizes = torch.tensor([len(one) for one, _ in pairs], device=ids.device)
        kinds = (torch.arange(ids.shape[1], device=ids.device) >= sizes[:, None]).long() * mask
        states = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds)
        return self.head(states.last_hidden_state[:, 0])[:, 0]


def shipped(path: Path) -> CrossEncoder:
    model = CrossEncoder(LAYERS)
    state = model.state_dict()
    for name, value in np.load(path).items():
        own = name if name.startswith("head.") else f"bert.{name}"
        if own in state:
            one = torch.from_numpy(value.astype(np.float32))
            state[own][: len(one)] = one
    model.load_state_dict(state)
    return model.cuda()


def chosen(given: Judged, number: int, chance: random.Random) -> list[int]:
    """Positions of some lines among the judged ones: the best, and others."""
    judged = given.asked[number][5]
    order = sorted(range(len(judged)), key=lambda at: -judged[at])
    some = order[:4] + chance.sample(order[4:], min(LIST - 4, len(order[4:])))
    return (some * LIST)[:LIST]


def told(given: Judged, numbers: list[int], lists: list[list[int]]) -> tuple[torch.Tensor, ...]:
    judged, right = [], []
    for number, some in zip(numbers, lists, strict=True):
        _, _, _, evidence, places, scores = given.asked[number]
        judged.append([scores[at] for at in some])
        right.append([float(places[at] in evidence) for at in some])
    return torch.tensor(judged).cuda(), torch.tensor(right).cuda()


def schedule(optimiser: torch.optim.Optimizer, rate: float, done: float, step: int) -> None:
    for group in optimiser.param_groups:
        decay = max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
        group["lr"] = rate * min(1, (step + 1) / 80) * decay


def train_reranker(model: CrossEncoder, given: Judged, seconds: float) -> None:
    chance, began, step, rate = random.Random(1), time.monotonic(), 0, 1.5e-4
    model.bert.embeddings.requires_grad_(False)
    learned = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=rate, weight_decay=0.01)
    pools, weights = given.pools()
    model.train()
    while (done := (time.monotonic() - began) / seconds) < 1:
        numbers = [chance.choice(pool) for pool in chance.choices(pools, weights, k=BATCH)]
        lists = [chosen(given, number, chance) for number in numbers]
        pairs = []
        for number, some in zip(numbers, lists, strict=True):
            hides = chance.random() < 0.2
            places = given.asked[number][4]
            pairs += [given.pair(number, places[at], hides=hides) for at in some]
        judged, right = told(given, numbers, lists)
        schedule(optimiser, rate, done, step)
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(pairs).float().view(-1, LIST)
        near = functional.kl_div(
            (scores / 2).log_softmax(1), (judged / 2).softmax(1), reduction="batchmean"
        )
        loss = 2 * near + 0.1 * functional.mse_loss(scores, judged.clamp(-12, 12))
        written = torch.tensor([given.asked[one][0] != "small" for one in numbers]).cuda()
        loss = loss + 0.2 * functional.binary_cross_entropy_with_logits(
            scores[written], right[written]
        )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            print(step, round(loss.item(), 3), flush=True)
    model.eval()


def nearness(encoder: BertModel, given: Judged) -> Iterator[tuple[int, torch.Tensor]]:
    """Questions that were held back and have an answer, each with its cosines to all lines."""
    by_name: dict[str, list[int]] = {}
    for number in given.held:
        if given.asked[number][3]:
            by_name.setdefault(given.asked[number][1], []).append(number)
    for name, numbers in by_name.items():
        lines = vectors(encoder, [given.bare[line][:126] for line, _ in given.rows[name]])
        texts = [given.unnamed[number] or given.questions[number] for number in numbers]
        yield from zip(numbers, (vectors(encoder, texts) @ lines.T).cpu(), strict=True)


@torch.no_grad()
def ranked(model: CrossEncoder, given: Judged, encoder: BertModel) -> dict[str, list[float]]:
    """How often evidence is first of the twenty nearest: by meaning, both, and by the judge."""
    found: dict[str, list] = {}
    for number, near in nearness(encoder, given):
        kind, _, _, evidence, places, judged = given.asked[number]
        order = near.argsort(descending=True)[:20].tolist()
        pairs = [given.pair(number, place, hides=False) for place in order]
        with torch.autocast("cuda", torch.bfloat16):
            said = model(pairs).float().cpu()
        best = order[int((said + 12 * near[order]).argmax())]
        alone = order[int(said.argmax())]
        told_ = places[int(np.argmax(judged))]
        row = [order[0] in evidence, best in evidence, alone in evidence, told_ in evidence]
        found.setdefault(kind, []).append(row)
    return {kind: np.mean(rows, 0).round(3).tolist() for kind, rows in found.items()}


def train_encoder(encoder: BertModel, original: BertModel, given: Judged, seconds: float) -> None:
    """Nearer to what was judged to answer, and not far from what the original says."""
    chance, began, step, rate = random.Random(2), time.monotonic(), 0, 5e-5
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=rate, weight_decay=0.01)
    pools, weights = given.pools()
    encoder.train()
    few, most = 12, 256
    while (done := (time.monotonic() - began) / seconds) < 1:
        numbers = [chance.choice(pool) for pool in chance.choices(pools, weights, k=most)]
        numbers = [one for one in numbers if max(given.asked[one][5]) > 0]
        lists = [chosen(given, number, chance)[:few] for number in numbers]
        judged, _ = told(given, numbers, lists)
        asked, lines = [], []
        for number, some in zip(numbers, lists, strict=True):
            form = chance.choices(("bare", "named", "after"), (0.7, 0.15, 0.15))[0]
            named = form == "named" or chance.random() < 0.35
            asked.append((given.questions if named else given.unnamed)[number][:62])
            for at in some:
                line, before = given.rows[given.asked[number][1]][given.asked[number][4][at]]
                said = given.tokens[line] if form == "named" else given.bare[line]
                if form == "after" and before >= 0:
                    said = [*given.bare[before][:40], *said]
                lines.append(said[:110])
        with torch.autocast("cuda", torch.bfloat16):
            of_asked, of_lines = meant(encoder, asked), meant(encoder, lines)
            with torch.no_grad():
                pulled = chance.sample(lines, 256) + asked
                target = meant(original, pulled)
            stays = (2 - 2 * (meant(encoder, pulled) * target).sum(1)).mean()
        cosines = of_asked @ of_lines.T / 0.05
        own = torch.arange(len(numbers), device="cuda")
        own = own[:, None] * few + torch.arange(few, device="cuda")
        near = functional.kl_div(
            cosines.gather(1, own).log_softmax(1), judged.softmax(1), reduction="batchmean"
        )
        # the best of a list against all lines of other conversations, but for those as near to it
        best = own.gather(1, judged.argmax(1, keepdim=True))
        alike = of_lines[best[:, 0]] @ of_lines.T > 0.72
        alike.scatter_(1, own, True)
        alike.scatter_(1, best, False)
        among = cosines.masked_fill(alike, -1e4)
        loss = near + 0.5 * functional.cross_entropy(among, best[:, 0]) + 0.5 * stays
        schedule(optimiser, rate, done, step)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            print(step, round(loss.item(), 3), flush=True)
    encoder.eval()


@torch.no_grad()
def found(encoder: BertModel, given: Judged) -> dict[str, list[float]]:
    """Recall among the first 1, 10 and 20 lines, by meaning alone."""
    rows: dict[str, list] = {}
    for number, near in nearness(encoder, given):
        kind, evidence = given.asked[number][0], given.asked[number][3]
        order = near.argsort(descending=True).tolist()
        rows.setdefault(kind, []).append(
            [len(set(order[:most]) & set(evidence)) / len(evidence) for most in (1, 10, 20)]
        )
    return {kind: np.mean(one, 0).round(3).tolist() for kind, one in rows.items()}


def encoder_of(path: Path) -> BertModel:
    state: dict[str, Any] = {name: one.float() for name, one in load_file(path).items()}
    encoder = BertModel(config(6), add_pooling_layer=False)
    encoder.load_state_dict(state, strict=False)
    return encoder.cuda().eval()


def main() -> None:
    action = sys.argv[1]
    lists, judged, vocabulary, original, start, out = map(Path, sys.argv[2:])
    torch.manual_seed(1)
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    given = Judged(lists, judged, tokenizer)
    first = encoder_of(original)
    if action == "reranker":
        model = shipped(start)
        print("before", ranked(model.eval(), given, first), flush=True)
        train_reranker(model, given, SECONDS[action])
        print("now", ranked(model, given, first), flush=True)
        learned = {name: one for name, one in model.state_dict().items() if "embed" not in name}
        torch.save({name: one.half().cpu() for name, one in learned.items()}, out)
        return
    encoder = encoder_of(start)
    train_encoder(encoder, first, given, SECONDS[action])
    old, new = first.state_dict(), encoder.state_dict()
    mixed = encoder_of(start)
    for share in SHARES:
        state = {
            name: torch.lerp(old[name], one, share) if one.is_floating_point() else one
            for name, one in new.items()
        }
        mixed.load_state_dict(state)
        print("encoder", share, found(mixed, given), flush=True)
    save_file({name: one.half().contiguous().cpu() for name, one in new.items()}, str(out))


if __name__ == "__main__":
    main()
