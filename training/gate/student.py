"""The student: a small encoder with a part of Qwen's vocabulary, which learns from the teacher."""

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from training.gate.lines import LABELS, Line
from training.gate.qwen import tokenizer as bpe
from training.gate.teacher import batches, padded

PAD, EARLIER, ASKED, TEXT = range(4)
SPECIAL = ("<pad>", "<earlier>", "<asked>", "<text>")
CONTEXT_TOKENS, TEXT_TOKENS, POSITIONS = 40, 160, 256
SIZES = {"tokens": 44_000, "narrow": 192, "wide": 384, "inner": 1152, "layers": 8, "heads": 6}


def smaller_vocabulary(folder: Path, full: Any, lines: Sequence[Line], size: int) -> dict[str, Any]:
    """The tokens that the lines use, with those they are merged from; then the most common others.

    Returns the new vocabulary, its merges and, for each new token, its number in the full one.
    """
    known = json.loads((folder / "tokens.json").read_text())
    place = {token: number for number, token in enumerate(known["tokens"])}
    parts = {left + right: (left, right) for left, right in reversed(known["merges"])}
    counted: Counter[str] = Counter()
    for start in range(0, len(lines), 4096):
        some = lines[start : start + 4096]
        for text in full.encode_batch(
            [f"{line.text}\n{line.asked}\n{line.earlier}" for line in some]
        ):
            counted.update(text.tokens)
    kept: dict[str, None] = {}

    def keep(token: str) -> None:
        if token in kept:
            return
        for part in parts.get(token, ()):
            keep(part)
        kept[token] = None

    for token in known["tokens"][:256]:
        keep(token)
    for token, _ in counted.most_common():
        if len(kept) >= size - len(SPECIAL) - 8:
            break
        keep(token)
    for token in known["tokens"]:
        if len(kept) >= size - len(SPECIAL) - 8:
            break
        if token in parts and token.lstrip("Ġ").isalpha():
            keep(token)
    ordered = sorted(kept, key=place.__getitem__)
    vocab = {token: number for number, token in enumerate((*SPECIAL, *ordered))}
    merges = [[a, b] for a, b in known["merges"] if a + b in kept and a in kept and b in kept]
    return {"vocab": vocab, "merges": merges, "places": [place[token] for token in ordered]}


class Student(nn.Module):
    def __init__(
        self, tokens: int, narrow: int, wide: int, inner: int, layers: int, heads: int
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, narrow)
        self.widen = nn.Linear(narrow, wide)
        self.position = nn.Parameter(torch.randn(POSITIONS, wide) * 0.02)
        self.begin = nn.LayerNorm(wide)
        self.layers = nn.ModuleList(Layer(wide, inner, heads) for _ in range(layers))
        self.head = nn.Linear(wide, len(LABELS))
        self.to_teacher = nn.Linear(wide, 1536)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        states = self.begin(self.widen(self.embed(ids)) + self.position[: ids.shape[1]])
        bias = (1.0 - mask.to(states.dtype))[:, None, None, :] * -10000.0
        for layer in self.layers:
            states = layer(states, bias)
        return self.head(states), states


class Layer(nn.Module):
    def __init__(self, wide: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.joint = nn.Linear(wide, 3 * wide)
        self.out = nn.Linear(wide, wide)
        self.first, self.second = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.up, self.down = nn.Linear(wide, inner), nn.Linear(inner, wide)
        self.drop = nn.Dropout(0.1)

    def forward(self, states: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        rows, length, wide = states.shape
        joint = self.joint(states).view(rows, length, 3, self.heads, wide // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        weights = query @ key.transpose(-1, -2) / math.sqrt(wide // self.heads) + bias
        seen = (weights.softmax(-1) @ value).transpose(1, 2).reshape(rows, length, wide)
        states = self.first(states + self.drop(self.out(seen)))
        return self.second(states + self.drop(self.down(F.gelu(self.up(states)))))


def started(embeddings: torch.Tensor, places: Sequence[int], sizes: dict[str, int]) -> Student:
    """A student whose embeddings are the main directions of Qwen's."""
    student = Student(**sizes)
    rows = embeddings[torch.tensor(places)].float()
    rows = rows - rows.mean(0)
    _, _, directions = torch.pca_lowrank(rows, q=sizes["narrow"], niter=4)
    narrow = rows @ directions
    narrow = narrow / narrow.std(0)
    with torch.no_grad():
        student.embed.weight.mul_(0.02)
        student.embed.weight[len(SPECIAL) : len(SPECIAL) + len(places)] = narrow * 0.3
    return student


def encoded(tokenizer: Any, lines: Sequence[Line]) -> list[tuple[list[int], int, list]]:
    """For each line: its tokens, where the text begins in them, and the places of its tokens."""
    found = []
    texts = tokenizer.encode_batch([line.text for line in lines])
    earlier = tokenizer.encode_batch([line.earlier for line in lines])
    asked = tokenizer.encode_batch([line.asked for line in lines])
    for text, before, question in zip(texts, earlier, asked, strict=True):
        ids = []
        if before.ids:
            ids += [EARLIER, *before.ids[-CONTEXT_TOKENS:]]
        if question.ids:
            ids += [ASKED, *question.ids[-CONTEXT_TOKENS:]]
        ids.append(TEXT)
        found.append(([*ids, *text.ids[:TEXT_TOKENS]], len(ids), text.offsets[:TEXT_TOKENS]))
    return found


class Texts:
    """Encoded lines on the device, from which batches are cut without a loop."""

    def __init__(
        self, items: Sequence[tuple[list[int], int, list]], starts: Sequence[int], device: str
    ) -> None:
        def held(values: Iterable[int]) -> torch.Tensor:
            return torch.tensor(list(values), device=device)

        self.ids = held(token for ids, _, _ in items for token in (*ids, PAD))
        lengths = [len(ids) for ids, _, _ in items]
        self.lengths = held(lengths)
        self.first = held(accumulate((length + 1 for length in lengths[:-1]), initial=0))
        self.text = held(item[1] for item in items)
        self.starts = held(starts[:-1])

    def batch(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The padded tokens, which of them are the message's, and their places in the labels."""
        lengths = self.lengths[places][:, None]
        column = torch.arange(int(lengths.max()), device=places.device)[None]
        inside = column < lengths
        ids = self.ids[(self.first[places][:, None] + column).clamp(max=len(self.ids) - 1)]
        said = inside & (column >= self.text[places][:, None])
        wanted = self.starts[places][:, None] + column - self.text[places][:, None]
        return torch.where(inside, ids, PAD), said, wanted[said]


def train_student(
    student: Student,
    items: Sequence[tuple[list[int], int, list]],
    starts: Sequence[int],
    chances: torch.Tensor,
    states: torch.Tensor | None,
    places: Sequence[int],
    seconds: float,
    device: str,
    rate: float = 8e-4,
) -> None:
    """Towards these labels and, if given, the teacher's states, for so long.

    The lines are those at ``places``; ``starts`` says where the tokens of a line begin in
    ``chances`` and ``states``.
    """
    student.to(device).train()
    texts = Texts(items, starts, device)
    lengths = [len(items[n][0]) for n in places]
    where = torch.tensor(places, device=device)
    optimiser = torch.optim.AdamW(
        student.parameters(),
        lr=rate,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        fused=torch.cuda.is_available(),
    )
    began, share, epoch, steps = time.time(), 0.0, 0, 0
    while share < 1:
        for chosen in batches(lengths, 16_000, epoch):
            share = (time.time() - began) / seconds
            if share >= 1:
                break
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1, (steps + 1) / 300) * (1 + math.cos(math.pi * share)) / 2
            ids, said, to = texts.batch(where[torch.tensor(chosen, device=device)])
            with torch.autocast(device, torch.bfloat16):
                logits, seen = student(ids, (ids != PAD).long())
                seen = student.to_teacher(seen[said])
            loss = -(chances[to].float() * logits[said].float().log_softmax(-1)).sum(-1).mean()
            if states is not None:
                near = F.cosine_similarity(seen.float(), states[to].float(), dim=-1)
                loss = loss + 1 - near.mean()
            loss.backward()
            nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            steps += 1
            if steps % 1000 == 0:
                print(f"student {steps}, {share:.2f}, {loss.item():.3f}", flush=True)
        epoch += 1
    print("epochs", epoch, "steps", steps, flush=True)


@torch.no_grad()
def labelled(
    student: Student, items: Sequence[tuple[list[int], int, list]], device: str
) -> list[torch.Tensor]:
    student.eval()
    found: list[torch.Tensor | None] = [None] * len(items)
    for places in batches([len(ids) for ids, _, _ in items], 60_000, None):
        ids = padded([items[n][0] for n in places], PAD, device)
        mask = padded([[1] * len(items[n][0]) for n in places], 0, device)
        chances = student(ids, mask)[0].float().softmax(-1)
        for row, n in enumerate(places):
            found[n] = chances[row, items[n][1] : items[n][1] + len(items[n][2])].cpu()
    return found  # type: ignore[return-value]


def make_tokenizer(vocabulary: dict[str, Any]) -> Any:
    return bpe(vocabulary["vocab"], [tuple(merge) for merge in vocabulary["merges"]])
