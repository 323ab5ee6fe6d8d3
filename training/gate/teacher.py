"""A generator and a teacher, both Qwen2.5-1.5B trained on the written lines.

The generator writes more lines; the teacher labels the tokens of a message. It reads each message
twice, since a causal model sees only what came before a token.
"""

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from training.gate.lines import LABELS, Line, parse

EARLIER, ASKED, TEXT, AGAIN, END = 151646, 151648, 151644, 151650, 151645
CONTEXT_TOKENS, TEXT_TOKENS = 48, 220


def encoded(tokenizer: Any, lines: Sequence[Line]) -> list[tuple[list[int], list[int], list]]:
    """For each line: the tokens of its context, of its text, and the places of the latter."""
    texts = tokenizer.encode_batch([line.text for line in lines])
    earlier = tokenizer.encode_batch([line.earlier for line in lines])
    asked = tokenizer.encode_batch([line.asked for line in lines])
    found = []
    for text, before, question in zip(texts, earlier, asked, strict=True):
        context = []
        if before.ids:
            context += [EARLIER, *before.ids[-CONTEXT_TOKENS:]]
        if question.ids:
            context += [ASKED, *question.ids[-CONTEXT_TOKENS:]]
        found.append((context, text.ids[:TEXT_TOKENS], text.offsets[:TEXT_TOKENS]))
    return found


def token_labels(line: Line, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The label of each token: that of the span with its last character."""
    labels = []
    for _, end in offsets:
        place = max(end - 1, 0)
        labels.append(
            next((label for first, last, label in line.spans if first <= place < last), 0)
        )
    return labels


def batches(lengths: Sequence[int], tokens: int, seed: int | None) -> Iterator[list[int]]:
    """Places of lines of like length, as many as fit; in random order with a seed."""
    chance = random.Random(seed)
    order = sorted(range(len(lengths)), key=lambda n: lengths[n] + chance.random() * 4)
    found, current, longest = [], [], 0
    for place in order:
        longest = max(longest, lengths[place])
        if current and longest * (len(current) + 1) > tokens:
            found.append(current)
            current, longest = [], lengths[place]
        current.append(place)
    if current:
        found.append(current)
    if seed is not None:
        chance.shuffle(found)
    yield from found


def padded(rows: Sequence[Sequence[int]], fill: int, device: str) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


class _Schedule:
    """AdamW with a warm-up and a cosine."""

    def __init__(self, model: nn.Module, rate: float, steps: int) -> None:
        self.optimiser = torch.optim.AdamW(
            model.parameters(),
            lr=rate,
            betas=(0.9, 0.98),
            weight_decay=0.01,
            fused=torch.cuda.is_available(),
        )
        warm = max(1, steps // 20)
        self.rates = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser,
            lambda n: (
                min(1, (n + 1) / warm)
                * (0.5 + 0.5 * torch.cos(torch.tensor(torch.pi * min(1, n / steps))).item())
            ),
        )
        self.model = model
        self.left_out = 0

    def step(self, loss: torch.Tensor) -> None:
        """One step; a batch whose gradient overflows is left out."""
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if torch.isfinite(norm):
            self.optimiser.step()
        else:
            self.left_out += 1
            print("left out", self.left_out, loss.item(), flush=True)
            assert self.left_out < 40
        self.rates.step()
        self.optimiser.zero_grad(set_to_none=True)


def train_generator(
    model: Any, tokenizer: Any, lines: Sequence[Line], epochs: int, device: str
) -> None:
    """Let it write a line after its header."""
    rows = []
    for line in lines:
        header = tokenizer.encode(line.header()).ids
        said = tokenizer.encode(line.tagged()).ids[:200]
        rows.append(([*header, *said, END], len(header)))
    lengths = [len(row) for row, _ in rows]
    plan = [one for epoch in range(epochs) for one in batches(lengths, 8_000, epoch)]
    schedule = _Schedule(model, 2e-5, len(plan))
    model.train()
    for number, places in enumerate(plan):
        ids = padded([rows[n][0] for n in places], END, device)
        target = padded(
            [[-100] * rows[n][1] + rows[n][0][rows[n][1] :] for n in places], -100, device
        )
        mask = padded([[1] * len(rows[n][0]) for n in places], 0, device)
        with torch.autocast(device, torch.bfloat16):
            logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
            loss = F.cross_entropy(
                logits.flatten(0, 1).float(), target[:, 1:].flatten(), ignore_index=-100
            )
        schedule.step(loss)
        if number % 50 == 0:
            print("generator", number, len(plan), round(loss.item(), 3), flush=True)


@torch.no_grad()
def write_lines(
    model: Any,
    tokenizer: Any,
    lines: Sequence[Line],
    seconds: float,
    device: str,
    batch: int = 2048,
) -> list[Line]:
    """Sample lines until the time is over: the headers of other lines, every language as often."""
    model.eval()
    chance = random.Random(7)
    languages = sorted({line.language for line in lines})
    headers = [line.header().split(": ", 1)[1] for line in lines]
    found: set[Line] = set()
    tried = 0
    began = time.time()
    while time.time() - began < seconds:
        prompts = [
            tokenizer.encode(f"{chance.choice(languages)}: {chance.choice(headers)}").ids
            for _ in range(batch)
        ]
        names = [tokenizer.decode(ids).split(":")[0] for ids in prompts]
        width = max(map(len, prompts))
        ids = torch.tensor([[END] * (width - len(row)) + row for row in prompts], device=device)
        mask = torch.tensor(
            [[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=device
        )
        written, done, past = [], torch.zeros(batch, dtype=torch.bool, device=device), None
        position = (mask.cumsum(1) - 1).clamp(min=0)
        step = ids
        for _ in range(120):
            with torch.autocast(device, torch.bfloat16):
                answer = model(
                    input_ids=step,
                    attention_mask=mask,
                    position_ids=position,
                    past_key_values=past,
                    use_cache=True,
                    logits_to_keep=1,
                )
            past = answer.past_key_values
            best, which = answer.logits[:, -1].float().topk(300)
            drawn = which.gather(1, torch.multinomial((best / 0.95).softmax(1), 1))
            drawn[done] = END
            done |= drawn[:, 0] == END
            written.append(drawn)
            if done.float().mean() > 0.985:
                break
            step, mask = drawn, torch.cat([mask, torch.ones_like(drawn)], 1)
            position = position[:, -1:] + 1
        for language, row in zip(names, torch.cat(written, 1).tolist(), strict=True):
            tried += 1
            if END in row and (line := parse(language, tokenizer.decode(row[: row.index(END)]))):
                found.add(line)
    print("written", len(found), "of", tried, flush=True)
    return sorted(found, key=lambda line: (line.language, line.text))


class Teacher(nn.Module):
    """Labels for the tokens of the second reading."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body.model
        self.head = nn.Linear(body.config.hidden_size, len(LABELS))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        states = self.body(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head(states), states


def _rows(items: Sequence[tuple[list[int], list[int], list]]) -> list[tuple[list[int], int]]:
    """The tokens that the teacher reads, and where the second reading begins."""
    return [
        ([*context, TEXT, *text, AGAIN, *text], len(context) + len(text) + 2)
        for context, text, _ in items
    ]


def train_teacher(
    model: Any, tokenizer: Any, lines: Sequence[Line], epochs: int, device: str
) -> Teacher:
    model.config._attn_implementation = "eager"  # the fused kernels overflowed in training
    teacher = Teacher(model).to(device)
    items = encoded(tokenizer, lines)
    rows = _rows(items)
    labels = [token_labels(line, item[2]) for line, item in zip(lines, items, strict=True)]
    plan = [
        one
        for epoch in range(epochs)
        for one in batches([len(row) for row, _ in rows], 8_000, epoch)
    ]
    schedule = _Schedule(teacher, 1e-5, len(plan))
    teacher.train()
    for number, places in enumerate(plan):
        ids = padded([rows[n][0] for n in places], END, device)
        mask = padded([[1] * len(rows[n][0]) for n in places], 0, device)
        target = padded([[-100] * rows[n][1] + labels[n] for n in places], -100, device)
        with torch.autocast(device, torch.bfloat16):
            logits, _ = teacher(ids, mask)
            loss = F.cross_entropy(
                logits.flatten(0, 1).float(),
                target.flatten(),
                ignore_index=-100,
                label_smoothing=0.02,
            )
        schedule.step(loss)
        if number % 50 == 0:
            print("teacher", number, len(plan), round(loss.item(), 3), flush=True)
    return teacher


@torch.no_grad()
def taught(
    teacher: Teacher,
    tokenizer: Any,
    lines: Sequence[Line],
    ends: Sequence[Sequence[int]],
    device: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The label chances and the states of the tokens that end at these places, line after line."""
    teacher.eval()
    items = encoded(tokenizer, lines)
    rows = _rows(items)
    starts = [0]
    for one in ends:
        starts.append(starts[-1] + len(one))
    chances = torch.zeros(starts[-1], len(LABELS), dtype=torch.float16, device=device)
    states = torch.zeros(starts[-1], teacher.head.in_features, dtype=torch.float16, device=device)
    for places in batches([len(row) for row, _ in rows], 60_000, None):
        ids = padded([rows[n][0] for n in places], END, device)
        mask = padded([[1] * len(rows[n][0]) for n in places], 0, device)
        with torch.autocast(device, torch.bfloat16):
            logits, seen = teacher(ids, mask)
        where, to = [], []
        for row, n in enumerate(places):
            first = row * ids.shape[1] + rows[n][1]
            where += [
                first + place for place in _covering([end for _, end in items[n][2]], ends[n])
            ]
            to += range(starts[n], starts[n + 1])
        where_, to_ = torch.tensor(where, device=device), torch.tensor(to, device=device)
        chances[to_] = logits.flatten(0, 1)[where_].float().softmax(-1).half()
        states[to_] = seen.flatten(0, 1)[where_].half()
    return chances, states


def _covering(theirs: Sequence[int], ours: Sequence[int]) -> list[int]:
    """For each of our tokens, the teacher's that covers its last character."""
    places, at = [], 0
    for end in ours:
        while at < len(theirs) - 1 and theirs[at] < end:
            at += 1
        places.append(at)
    return places
