"""python -m training.reranker.train LISTS ENCODER OUT teacher SEED | student: on a GPU.

Three teachers of six layers begin as our sentence encoder (ENCODER, its weights in 16 bits) and
learn, each from another seed, to tell the lines that answer from lines of the same conversation
that are near by meaning. A student of four layers learns the mean of their scores.
"""

import math
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional
from training.reranker.lists import KINDS, LINE_TOKENS, QUESTION_TOKENS
from transformers import BertConfig, BertModel

BEFORE_TOKENS, LIST, BATCH, DEEP = 20, 16, 128, 40
SECONDS = {"first": 240, "second": 60, "student": 330}
STUDENT = (0, 1, 3, 5)  # the layers it takes over
MORE = {"own": 6, "memories": 8, "friends": 5, "dialogue": 1, "small": 0.7}
DIALOGUES = 22_000
FIRST, BETWEEN = 101, 102


def config(layers: int) -> BertConfig:
    return BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=512,
    )


class Data:
    def __init__(self, path: Path) -> None:
        read = np.load(path / "lists.npz")
        given = {name: torch.tensor(read[name].astype(np.int64)).cuda() for name in read.files}
        self.lines, self.line_sizes = given["lines"], given["line_sizes"]
        self.questions, self.question_sizes = given["questions"], given["question_sizes"]
        self.rows, self.starts = given["rows"], read["starts"]
        self.asked, self.evidence = read["asked"], read["evidence"]


class CrossEncoder(nn.Module):
    """One number for a question and a line, with the line before it: how much rather it answers."""

    def __init__(self, data: Data, layers: int) -> None:
        super().__init__()
        self._data = [data]
        self.bert = BertModel(config(layers), add_pooling_layer=False)
        self.head = nn.Linear(384, 1)

    def forward(
        self, asked: torch.Tensor, line: torch.Tensor, before: torch.Tensor
    ) -> torch.Tensor:
        data = self._data[0]
        ones = torch.ones(len(asked), 1, dtype=torch.long, device=asked.device)
        has = (before >= 0)[:, None]
        some = before.clamp(min=0)

        def within(width: int, sizes: torch.Tensor) -> torch.Tensor:
            return torch.arange(width, device=asked.device) < sizes[:, None]

        parts = (
            (ones * FIRST, ones > 0),
            (data.questions[asked], within(QUESTION_TOKENS, data.question_sizes[asked])),
            (ones * BETWEEN, ones > 0),
            (
                data.lines[some][:, :BEFORE_TOKENS],
                within(BEFORE_TOKENS, data.line_sizes[some]) & has,
            ),
            (ones * BETWEEN, has),
            (data.lines[line], within(LINE_TOKENS, data.line_sizes[line])),
            (ones * BETWEEN, ones > 0),
        )
        ids, mask = (torch.cat(each, 1) for each in zip(*parts, strict=True))
        kinds = (torch.arange(ids.shape[1], device=ids.device) > QUESTION_TOKENS + 1).long()
        used = mask.any(0)
        ids, mask, kinds = ids[:, used], mask[:, used].long(), kinds[used].expand(len(asked), -1)
        states = self.bert(
            input_ids=ids,
            attention_mask=mask,
            token_type_ids=kinds,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
        )
        return self.head(states.last_hidden_state[:, 0])[:, 0]


@torch.no_grad()
def vectors(encoder: BertModel, ids: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    found = []
    for start in range(0, len(ids), 2048):
        some, lengths = ids[start : start + 2048], sizes[start : start + 2048]
        width = int(lengths.max()) + 2
        rows = torch.zeros(len(some), width, dtype=torch.long, device=ids.device)
        rows[:, 1 : width - 1] = some[:, : width - 2]
        rows[:, 0] = FIRST
        rows[torch.arange(len(some)), lengths + 1] = BETWEEN
        mask = torch.arange(width, device=ids.device) < (lengths + 2)[:, None]
        with torch.autocast("cuda", torch.bfloat16):
            states = encoder(input_ids=rows * mask, attention_mask=mask.long()).last_hidden_state
        found.append(functional.normalize((states.float() * mask[..., None]).sum(1), dim=1))
    return torch.cat(found)


def mined(data: Data, encoder: BertModel) -> tuple[list[tuple], list[tuple]]:
    """For each question its evidence and lines that are wrong; those to learn from, those held."""
    of_lines = vectors(encoder, data.lines, data.line_sizes)
    of_questions = vectors(encoder, data.questions, data.question_sizes)
    ends = np.cumsum(data.asked[:, 4])
    learned, held, dialogues = [], [], 0
    for (kind, number, of, is_held, count), end in zip(data.asked, ends, strict=True):
        name, evidence = KINDS[kind], data.evidence[end - count : end].tolist()
        low, high = data.starts[of], data.starts[of + 1]
        own = of_lines[data.rows[low:high, 0]]
        near = (own @ of_questions[number]).cpu().numpy()
        order = np.argsort(-near)[:DEEP].tolist()
        beside = [
            place + by for place in evidence for by in (-1, 1) if 0 <= place + by < high - low
        ]
        wrong = [place for place in dict.fromkeys([*order, *beside]) if place not in evidence]
        if name in ("dialogue", "small"):
            right = evidence[0]
            alike = (own @ own[right]).cpu().numpy()
            if name == "small":
                if (near > near[right]).sum() >= 15:  # the question is a bad one
                    continue
                wrong = [place for place in wrong if alike[place] < 0.72]
            else:
                dialogues += 1
                if dialogues > DIALOGUES:
                    continue
                asked = (
                    (own @ own[right - 1]).cpu().numpy()
                )  # asked again elsewhere, it is answered there
                around = range(max(0, right - 12), min(high - low, right + 13))
                wrong = [
                    place
                    for place in dict.fromkeys([*around, *order])
                    if place not in (right, right - 1)
                    and alike[place] < 0.6
                    and asked[place] < 0.75
                    and not (place and asked[place - 1] > 0.75)
                ]
        if len(wrong) >= 8:
            entry = (name, int(number), int(low), evidence, wrong, near)
            (held if is_held else learned).append(entry)
    return learned, held


def batch(data: Data, entries: list[tuple], chance: random.Random) -> tuple[torch.Tensor, ...]:
    asked, lines, hidden, right = [], [], [], []
    for name, number, low, evidence, wrong, _ in entries:
        some = chance.sample(evidence, min(len(evidence), 4))
        few = LIST - len(some)
        nearest, rest = wrong[: max(4, few // 2)], wrong[max(4, few // 2) :]
        others = chance.sample(nearest, min(len(nearest), few // 2))
        others += chance.sample(rest, min(len(rest), few - few // 2))
        others = (others + chance.choices(wrong, k=few))[:few]
        asked += [number] * LIST
        lines += [low + place for place in some + others]
        right += [1.0] * len(some) + [0.0] * few
        hidden += [name == "dialogue" or chance.random() < 0.25] * LIST
    rows = data.rows[torch.tensor(lines, device="cuda")]
    before = torch.where(torch.tensor(hidden, device="cuda"), -1, rows[:, 1])
    return (
        torch.tensor(asked, device="cuda"),
        rows[:, 0],
        before,
        torch.tensor(right, device="cuda").view(-1, LIST),
    )


def trained(
    model: nn.Module,
    data: Data,
    learned: list[tuple],
    seconds: float,
    rate: float,
    seed: int,
    teachers: list[nn.Module] | None = None,
) -> None:
    chance, started, step = random.Random(seed), time.monotonic(), 0
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    by_kind: dict[str, list] = {}
    for entry in learned:
        by_kind.setdefault(entry[0], []).append(entry)
    kinds = list(by_kind)
    weights = [MORE[kind] * len(by_kind[kind]) for kind in kinds]
    model.train()
    while (done := (time.monotonic() - started) / seconds) < 1:
        some = [chance.choice(by_kind[kind]) for kind in chance.choices(kinds, weights, k=BATCH)]
        *given, right = batch(data, some, chance)
        for group in optimiser.param_groups:
            decay = max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
            group["lr"] = rate * min(1, (step + 1) / 80) * decay
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(*given).float().view(-1, LIST)
        loss = functional.binary_cross_entropy_with_logits(scores, right)
        answered = right.any(1)
        among = scores[answered]
        best = among.masked_fill(right[answered] == 0, -1e4).logsumexp(1)
        loss = loss + (among.logsumexp(1) - best).mean()
        if teachers:
            with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
                told = torch.stack([one(*given).float() for one in teachers]).mean(0).view(-1, LIST)
            near = functional.kl_div(scores.log_softmax(1), told.softmax(1), reduction="batchmean")
            loss = 0.3 * loss + near + 0.1 * functional.mse_loss(scores, told)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1


@torch.no_grad()
def tested(model: nn.Module, data: Data, held: list[tuple]) -> dict[str, tuple[float, float]]:
    """How often evidence is first of the twenty nearest: by meaning, and by both."""
    model.eval()
    found: dict[str, list] = {}
    for name, number, low, evidence, _, near in held:
        if not evidence:
            continue
        order = np.argsort(-near)[:20]
        rows = data.rows[torch.tensor(order + low, device="cuda")]
        asked = torch.full((len(order),), number, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(asked, rows[:, 0], rows[:, 1]).float().cpu().numpy()
        best = order[int(np.argmax(scores + 12 * near[order]))]
        found.setdefault(name, []).append((order[0] in evidence, best in evidence))
    return {name: tuple(np.mean(rows, 0).round(3)) for name, rows in found.items()}


def main() -> None:
    lists, source, out = map(Path, sys.argv[1:4])
    out.mkdir(exist_ok=True)
    data = Data(lists)
    state = {name.removeprefix("bert."): one.float() for name, one in load_file(source).items()}
    encoder = BertModel(config(6), add_pooling_layer=False)
    encoder.load_state_dict(state, strict=False)
    learned, held = mined(data, encoder.cuda().eval())
    if sys.argv[4] == "teacher":
        seed = int(sys.argv[5])
        torch.manual_seed(seed)
        model = CrossEncoder(data, 6)
        model.bert.load_state_dict(state, strict=False)
        model.cuda()
        trained(model, data, learned, SECONDS["first"], 1e-4, seed)
        written = [one for one in learned if one[0] in ("own", "memories", "friends")]
        trained(model, data, written, SECONDS["second"], 2e-5, seed + 10)
        name = f"teacher{seed}"
    else:
        teachers = []
        for path in sorted(out.glob("teacher*.pt")):
            teacher = CrossEncoder(data, 6).cuda().eval()
            teacher.load_state_dict({key: one.float() for key, one in torch.load(path).items()})
            teachers.append(teacher)
        model, first = CrossEncoder(data, len(STUDENT)), teachers[0]
        model.bert.embeddings.load_state_dict(first.bert.embeddings.state_dict())
        for place, layer in enumerate(STUDENT):
            taken = first.bert.encoder.layer[layer].state_dict()
            model.bert.encoder.layer[place].load_state_dict(taken)
        model.head.load_state_dict(first.head.state_dict())
        model.cuda()
        trained(model, data, learned, SECONDS["student"], 2e-4, 1, teachers)
        name = "student"
    print(name, tested(model, data, held))
    torch.save(
        {key: one.half().cpu() for key, one in model.state_dict().items()}, out / f"{name}.pt"
    )


if __name__ == "__main__":
    main()
