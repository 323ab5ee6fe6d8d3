"""python -m training.reranker.teacher LISTS.json.gz PACK ENCODER TOKENIZER OUT: on a GPU.

Qwen2.5-1.5B (PACK, by ``training.gate.qwen``) learns from the written questions twice: to write
such questions about a line, and to judge whether a line answers a question. What it writes about
dialogues is judged by it as well, so that a question which asks for something else does no harm.
OUT gets the questions, for each its nearest lines by meaning and by words, and what was judged.
ENCODER are the weights of our sentence encoder in 16 bits.
"""

import gzip
import json
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.gate.qwen import load
from training.reranker.train import encoder_of, vectors
from transformers import BertModel

SECONDS = {"write_learn": 60, "write": 80, "judge_learn": 280, "judge": 220}
NEAR, SAID, LIST, LEARNED_LIST = 14, 8, 18, 12
MORE = {"own": 4, "memories": 4, "friends": 4, "dialogue": 0.25}
LINE_TOKENS, BEFORE_TOKENS = 100, 40
END = 151645


@dataclass
class Asked:
    kind: str
    conversation: str
    question: str
    evidence: list[int]
    places: list[int] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)


class Conversations:
    def __init__(self, path: Path) -> None:
        read = json.loads(gzip.decompress(path.read_bytes()))
        self.lines: list[str] = read["lines"]
        self.rows: dict[str, list[tuple[int, int]]] = read["conversations"]
        self.held = frozenset(read["held"])
        self.asked = [Asked(*one) for one in read["asked"]]

    def line(self, name: str, place: int) -> tuple[str, str]:
        line, before = self.rows[name][place]
        return self.lines[line], self.lines[before] if before >= 0 else ""


class Nearest:
    """The lines of a conversation that are near a question by meaning, or share rare words."""

    def __init__(self, given: Conversations, encoder: BertModel, tokenizer: Tokenizer) -> None:
        self._given, self._encoder, self._tokenizer = given, encoder, tokenizer
        self._tokens = [one.ids for one in self._encoded([_bare(text) for text in given.lines])]
        self._vectors = vectors(encoder, self._tokens)
        self._words = [frozenset(ids) for ids in self._tokens]
        seen = Counter(word for words in self._words for word in words)
        self._rare = {word: math.log(len(self._words) / count) for word, count in seen.items()}

    def _encoded(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts, add_special_tokens=False)

    def choose(self, asked: list[Asked]) -> None:
        tokens = [one.ids for one in self._encoded([one.question for one in asked])]
        of_questions = vectors(self._encoder, tokens)
        by_name: dict[str, list[int]] = {}
        for number, one in enumerate(asked):
            by_name.setdefault(one.conversation, []).append(number)
        for name, numbers in by_name.items():
            rows = [line for line, _ in self._given.rows[name]]
            near = of_questions[numbers] @ self._vectors[rows].T
            nearest = near.topk(min(NEAR, len(rows))).indices.tolist()
            for number, by_meaning in zip(numbers, nearest, strict=True):
                one = asked[number]
                said = self._said(frozenset(tokens[number]), rows)
                places = [*one.evidence, *by_meaning, *np.argsort(-said)[:SAID].tolist()]
                beside = [place + by for place in one.evidence for by in (1, -1)]
                places += [place for place in beside if 0 <= place < len(rows)]
                one.places = list(dict.fromkeys(places))[:LIST]

    def _said(self, asked: frozenset[int], rows: list[int]) -> np.ndarray:
        found = []
        for row in rows:
            words = self._words[row]
            shared = sum(self._rare.get(word, 0) for word in asked & words)
            found.append(shared / (8 + len(words)) ** 0.5)
        return np.array(found)


def _bare(line: str) -> str:
    who, mark, said = line.partition(": ")
    return said if mark and len(who) < 20 else line


class Qwen:
    def __init__(self, folder: Path, device: str) -> None:
        self.model, self.tokenizer = load(folder, device)
        self.model.config._attn_implementation = "eager"  # the fused kernels overflowed in training
        self.device = device
        self.first = {name: one.bfloat16().clone() for name, one in self.model.state_dict().items()}

    def ids(self, text: str, most: int = 200) -> list[int]:
        return self.tokenizer.encode(text).ids[:most]

    def fresh(self) -> Any:
        self.model.load_state_dict(self.first)
        self.model.config._attn_implementation = "eager"
        return self.model

    def padded(self, rows: list[list[int]], *, left: bool = False) -> torch.Tensor:
        width = max(map(len, rows))
        filled = [
            [END] * (width - len(row)) + row if left else row + [END] * (width - len(row))
            for row in rows
        ]
        return torch.tensor(filled, device=self.device)


class Steps:
    """AdamW until the time is over, with a warm-up and a cosine."""

    def __init__(self, parameters: Any, rate: float, seconds: float) -> None:
        self._optimiser = torch.optim.AdamW(
            parameters, lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self._rate, self._seconds, self._began, self.count = rate, seconds, time.monotonic(), 0

    def go_on(self) -> bool:
        return time.monotonic() - self._began < self._seconds

    def step(self, loss: torch.Tensor) -> None:
        done = min(1.0, (time.monotonic() - self._began) / self._seconds)
        for group in self._optimiser.param_groups:
            decay = max(0.03, 0.5 + 0.5 * float(np.cos(np.pi * done)))
            group["lr"] = self._rate * min(1, (self.count + 1) / 20) * decay
        loss.backward()
        parameters = [one for group in self._optimiser.param_groups for one in group["params"]]
        norm = nn.utils.clip_grad_norm_(parameters, 1.0)
        if torch.isfinite(norm):
            self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        self.count += 1
        if self.count % 50 == 1:
            print(self.count, round(loss.item(), 3), flush=True)


def _about(line: str, before: str) -> str:
    return f"{before}\n> {line}\nAsked later:"


def written(qwen: Qwen, given: Conversations, chance: random.Random) -> list[Asked]:
    """Questions about single lines, of a model that has read the written ones."""
    model = qwen.fresh()
    rows = []
    for one in given.asked:
        if one.kind == "dialogue" or one.conversation in given.held or len(one.evidence) != 1:
            continue
        line, before = given.line(one.conversation, one.evidence[0])
        asked = qwen.ids(_about(line, before))
        rows.append((asked, [*qwen.ids(f" {one.question}"), END]))
    steps = Steps(model.parameters(), 1e-5, SECONDS["write_learn"])
    model.train()
    while steps.go_on():
        some = chance.sample(rows, 64)
        ids = qwen.padded([[*asked, *said] for asked, said in some])
        target = torch.full_like(ids, -100)
        for row, (asked, said) in enumerate(some):
            target[row, len(asked) : len(asked) + len(said)] = torch.tensor(said)
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(input_ids=ids).logits[:, :-1]
            loss = functional.cross_entropy(
                logits.flatten(0, 1).float(), target[:, 1:].flatten(), ignore_index=-100
            )
        steps.step(loss)
    print("writer", steps.count, "steps of", len(rows), flush=True)
    model.eval()
    model.config._attn_implementation = "sdpa"
    wanted = [
        (name, place)
        for name, lines in given.rows.items()
        if name not in given.held
        for place in range(len(lines))
        if len(_bare(given.line(name, place)[0]).split()) >= 6
    ]
    ours = [one for one in wanted if not one[0].startswith("learn-")]
    others = [one for one in wanted if one[0].startswith("learn-")]
    chance.shuffle(ours)
    chance.shuffle(others)
    mixed = [one for pair in zip(ours, others, strict=False) for one in pair]
    wanted = mixed + others[len(ours) :]
    found, began = [], time.monotonic()
    for start in range(0, len(wanted), 2048):
        if time.monotonic() - began > SECONDS["write"]:
            break
        some = wanted[start : start + 2048]
        asked = drawn(qwen, [qwen.ids(_about(*given.line(*one))) for one in some])
        found += [
            Asked("small", name, question, [place])
            for (name, place), question in zip(some, asked, strict=True)
            if 3 <= len(question.split()) <= 24
        ]
    print("written", len(found), [one.question for one in found[:12]], flush=True)
    return found


@torch.no_grad()
def drawn(qwen: Qwen, prompts: list[list[int]]) -> list[str]:
    ids = qwen.padded(prompts, left=True)
    width = ids.shape[1]
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts])
    mask = mask.to(qwen.device)
    position, step, past = (mask.cumsum(1) - 1).clamp(min=0), ids, None
    said, done = [], torch.zeros(len(prompts), dtype=torch.bool, device=qwen.device)
    for _ in range(32):
        with torch.autocast("cuda", torch.bfloat16):
            answer = qwen.model(
                input_ids=step,
                attention_mask=mask,
                position_ids=position,
                past_key_values=past,
                use_cache=True,
                logits_to_keep=1,
            )
        past = answer.past_key_values
        best, which = answer.logits[:, -1].float().topk(40)
        step = which.gather(1, torch.multinomial((best / 0.9).softmax(1), 1))
        step[done] = END
        done |= step[:, 0] == END
        said.append(step)
        if done.all():
            break
        mask = torch.cat([mask, torch.ones_like(step)], 1)
        position = position[:, -1:] + 1
    rows = torch.cat(said, 1).tolist()
    return [
        qwen.tokenizer.decode(row[: row.index(END)]).strip() if END in row else "" for row in rows
    ]


class Judge(nn.Module):
    """How much rather a line answers a question than not: what "yes" has over "no"."""

    def __init__(self, qwen: Qwen, given: Conversations) -> None:
        super().__init__()
        model = qwen.fresh()
        self.body = model.model
        yes, no = (qwen.ids(word)[0] for word in (" yes", " no"))
        words = model.get_input_embeddings().weight
        self.head = nn.Parameter((words[yes] - words[no]).detach().clone())
        self.bias = nn.Parameter(torch.zeros(1, device=qwen.device))
        self._qwen, self._given = [qwen], given
        self._known: dict[str, list[int]] = {}

    def _ids(self, text: str, most: int) -> list[int]:
        if text not in self._known:
            self._known[text] = self._qwen[0].ids(text, most)
        return self._known[text]

    def row(self, one: Asked, place: int) -> list[int]:
        line, before = self._given.line(one.conversation, place)
        parts = [self._ids(f"Question: {one.question}", 60)]
        if before:
            parts.append(self._ids(f"\nBefore, {before}", BEFORE_TOKENS))
        parts.append(self._ids(f"\nLine, {line}", LINE_TOKENS))
        parts.append(self._ids("\nDoes the line answer the question? Answer:", 20))
        return [each for part in parts for each in part]

    def forward(self, rows: list[list[int]]) -> torch.Tensor:
        ids = self._qwen[0].padded(rows)
        last = torch.tensor([len(row) - 1 for row in rows], device=ids.device)
        states = self.body(input_ids=ids).last_hidden_state
        chosen = states[torch.arange(len(rows), device=ids.device), last].float()
        return chosen @ self.head.float() + self.bias.float()


def learn(judge: Judge, given: Conversations, chance: random.Random) -> None:
    pools: dict[str, list[Asked]] = {}
    for one in given.asked:
        if one.places and one.conversation not in given.held:
            pools.setdefault(one.kind, []).append(one)
    kinds = list(pools)
    weights = [MORE[kind] * len(pools[kind]) for kind in kinds]
    print({kind: len(pool) for kind, pool in pools.items()}, flush=True)
    steps = Steps(judge.parameters(), 1e-5, SECONDS["judge_learn"])
    judge.train()
    while steps.go_on():
        some = [chance.choice(pools[kind]) for kind in chance.choices(kinds, weights, k=24)]
        rows, right = [], []
        for one in some:
            answers = chance.sample(one.evidence, min(3, len(one.evidence)))
            wrong = [place for place in one.places if place not in one.evidence]
            if one.kind == "dialogue":  # the line that asks is no wrong answer to learn from
                wrong = [place for place in wrong if place + 1 not in one.evidence]
            few = LEARNED_LIST - len(answers)
            nearest = wrong[: few // 2]
            rest = chance.sample(wrong[few // 2 :], min(few - len(nearest), len(wrong[few // 2 :])))
            chosen = [*answers, *nearest, *rest]
            chosen += chance.choices(chosen, k=LEARNED_LIST - len(chosen))
            rows += [judge.row(one, place) for place in chosen]
            right.append([float(place in one.evidence) for place in chosen])
        marks = torch.tensor(right, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            scores = judge(rows).view(-1, LEARNED_LIST)
        steps.step(loss_of(scores, marks))
    print("judge", steps.count, "steps", flush=True)


def loss_of(scores: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """That each line is told right from wrong, and a right one is above the wrong ones."""
    loss = functional.binary_cross_entropy_with_logits(scores, right)
    among, marks = scores[right.any(1)], right[right.any(1)]
    best = among.masked_fill(marks == 0, -1e4).logsumexp(1)
    return loss + 0.5 * (among.logsumexp(1) - best).mean()


@torch.no_grad()
def judge_all(judge: Judge, asked: list[Asked], seconds: float) -> list[Asked]:
    began, done = time.monotonic(), []
    for start in range(0, len(asked), 1500):
        if time.monotonic() - began > seconds:
            break
        part = asked[start : start + 1500]
        pairs = [(one, place) for one in part for place in one.places]
        rows = [judge.row(one, place) for one, place in pairs]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        said = np.zeros(len(rows))
        at = 0
        while at < len(order):
            width = len(rows[order[min(at + 600, len(order) - 1)]])
            some = order[at : at + max(8, 60_000 // width)]
            with torch.autocast("cuda", torch.bfloat16):
                said[some] = judge([rows[number] for number in some]).cpu().numpy()
            at += len(some)
        at = 0
        for one in part:
            one.judged = said[at : at + len(one.places)].round(3).tolist()
            at += len(one.places)
        done += part
    print("judged", len(done), "of", len(asked), round(time.monotonic() - began), "s", flush=True)
    return done


def first(asked: list[Asked]) -> dict[str, float]:
    """How often an answer is judged best, of those which have one among their lines."""
    found: dict[str, list[bool]] = {}
    for one in asked:
        if one.evidence:
            best = one.places[int(np.argmax(one.judged))]
            found.setdefault(one.kind, []).append(best in one.evidence)
    return {kind: round(float(np.mean(rows)), 3) for kind, rows in found.items()}


def main() -> None:
    source, pack, weights, vocabulary, out = map(Path, sys.argv[1:])
    chance = random.Random(3)
    torch.manual_seed(3)
    given = Conversations(source)
    encoder = encoder_of({name: one.float() for name, one in load_file(weights).items()})
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    nearest = Nearest(given, encoder, tokenizer)
    dialogues = [one for one in given.asked if one.kind == "dialogue"]
    keep = {id(one) for one in chance.sample(dialogues, min(16_000, len(dialogues)))}
    given.asked = [one for one in given.asked if one.kind != "dialogue" or id(one) in keep]
    qwen = Qwen(pack, "cuda")
    print("loaded", flush=True)
    more = written(qwen, given, chance)
    nearest.choose(given.asked + more)
    print("chosen", flush=True)
    judge = Judge(qwen, given)
    learn(judge, given, chance)
    judge.eval()
    qwen.model.config._attn_implementation = "sdpa"
    held = [one for one in given.asked if one.conversation in given.held]
    print("held back, answer judged best", first(judge_all(judge, held, 60)), flush=True)
    rest = [one for one in given.asked if one.conversation not in given.held]
    first_rest = [one for one in rest if one.kind != "dialogue"]
    mixed = [one for one in rest if one.kind == "dialogue"][:8_000] + more
    chance.shuffle(mixed)
    done = judge_all(judge, first_rest + mixed, SECONDS["judge"])
    print("learned from", first(done), flush=True)
    rows = [
        (one.kind, one.conversation, one.question, one.evidence, one.places, one.judged)
        for one in held + done
    ]
    out.write_bytes(gzip.compress(json.dumps(rows).encode()))


if __name__ == "__main__":
    main()
