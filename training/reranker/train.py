"""python -m training.reranker.train LISTS JUDGED TOKENIZER ENCODER OUT SECONDS

On a GPU. What a large model judged of English questions and lines (JUDGED, by
``training.reranker.teacher``) holds of their translations in ``data/translated`` as well, whose
speakers, lines and questions are in the order of ``training/ranker/data``. The sentence encoder
learns it; what is translated goes where its English original was, everything else stays, and so
does the word table. The last translation of each language is held back.
"""

import gzip
import json
import math
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.multilingual.train import model
from transformers import BertModel

LIST, BATCH, RATE = 12, 256, 5e-5
OF_TRANSLATIONS = 0.4  # of a batch
IN_ENGLISH = 0.25  # of their questions
MORE = {"own": 3.0, "memories": 4.0, "friends": 3.0, "dialogue": 0.7, "small": 1.0}
FIRST, BETWEEN = 101, 102
SHARES = (0.0, 0.35, 0.5, 0.7, 1.0)  # of what the encoder has learned
WORDS = "embeddings.word_embeddings.weight"

TRANSLATED = Path(__file__).parent / "data" / "translated"
ENGLISH = Path(__file__).parents[1] / "ranker" / "data"

Rows = list[list[int]]


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


def _bare(line: str) -> tuple[str, str]:
    who, mark, said = line.partition(": ")
    return (said, who) if mark and len(who) < 20 else (line, "")


def _without(question: str, people: set[str]) -> str:
    """The question without the names of those who speak."""
    for name in people:
        question = re.sub(rf"\b{re.escape(name)}(?:'s)?\b ?", "", question)
    return question


class Translation(NamedTuple):
    """A conversation in another language: lines after their speakers, and bare; questions by
    theirs in English, whole, and without names.
    """

    name: str
    lines: Rows
    bare: Rows
    questions: dict[str, list[int]]
    unnamed: dict[str, list[int]]

    @classmethod
    def read(cls, row: dict[str, Any], tokenizer: Tokenizer) -> "Translation":
        kind, _, number = row["name"].rpartition("-")
        original = json.loads((ENGLISH / f"{kind}.jsonl").read_text().splitlines()[int(number)])
        spoken = [turn[1] for turn in original.get("turns", ())]
        names = dict(zip(dict.fromkeys(spoken), row["speakers"], strict=True))
        said = row["lines"]
        if spoken:
            said = [f"{names[who]}: {text}" for who, text in zip(spoken, said, strict=True)]

        def encoded(texts: list[str]) -> Rows:
            return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

        asked = [question["q"] for question in original["questions"]]
        unnamed = [_without(text, set(row["speakers"])) for text in row["questions"]]
        return cls(
            row["name"],
            encoded(said),
            encoded(row["lines"]),
            dict(zip(asked, encoded(row["questions"]), strict=True)),
            dict(zip(asked, encoded(unnamed), strict=True)),
        )


class Asked(NamedTuple):
    """A question of :class:`Judged` by its number, in English or about a translation."""

    number: int
    other: Translation | None = None


class Lessons:
    """What is learned from, and the translations that are held back."""

    def __init__(self, given: Judged, tokenizer: Tokenizer, seed: int) -> None:
        self.given = given
        self._chance = random.Random(seed)
        self._pools, self._weights = given.pools()
        self.of_name: dict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(given.asked):
            self.of_name[one[1]].append(number)
        self._translated: list[Asked] = []
        self.held: dict[str, Translation] = {}
        for path in sorted(TRANSLATED.glob("*.jsonl")):
            rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            *learned, self.held[path.stem] = (Translation.read(row, tokenizer) for row in rows)
            self._translated += [
                Asked(number, one) for one in learned for number in self.of_name[one.name]
            ]
        print(len(self._translated), {key: one.name for key, one in self.held.items()}, flush=True)

    def batch(self, size: int) -> list[Asked]:
        translated = round(size * OF_TRANSLATIONS)
        pools = self._chance.choices(self._pools, self._weights, k=size - translated)
        return [
            *(Asked(self._chance.choice(pool)) for pool in pools),
            *self._chance.choices(self._translated, k=translated),
        ]

    def held_questions(self) -> Iterator[tuple[str, list[Asked]]]:
        """Of each conversation that was held back, those that have an answer."""
        grouped = defaultdict(list)
        for number in self.given.held:
            kind, name, _, evidence, *_ = self.given.asked[number]
            if evidence:
                grouped[kind, name].append(Asked(number))
        for (kind, _), several in grouped.items():
            yield kind, several
        for language, other in self.held.items():
            asked = ((number, self.given.asked[number]) for number in self.of_name[other.name])
            yield (
                language,
                [
                    Asked(number, other)
                    for number, one in asked
                    if one[3] and one[2] in other.questions
                ],
            )

    def cosines(self, encoder: BertModel) -> Iterator[tuple[str, Asked, torch.Tensor]]:
        given = self.given
        for kind, several in self.held_questions():
            if not several:
                continue
            _, name, *_ = given.asked[several[0].number]
            other = several[0].other
            if other is None:
                lines = [given.bare[line] for line, _ in given.rows[name]]
                texts = [
                    given.unnamed[one.number] or given.questions[one.number] for one in several
                ]
            else:
                lines = other.bare
                texts = [other.unnamed[given.asked[one.number][2]] for one in several]
            near = vectors(encoder, [one[:62] for one in texts])
            near = (near @ vectors(encoder, [one[:126] for one in lines]).T).cpu()
            yield from ((kind, one, row) for one, row in zip(several, near, strict=True))


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


class Course:
    """Steps until the time is over."""

    def __init__(self, learner: nn.Module, seconds: float) -> None:
        self._seconds = seconds
        self._learned = [one for one in learner.parameters() if one.requires_grad]
        self._optimiser = torch.optim.AdamW(self._learned, lr=RATE, weight_decay=0.01)
        self._began, self._step = time.monotonic(), 0

    def goes_on(self) -> bool:
        self._done = (time.monotonic() - self._began) / self._seconds
        return self._done < 1

    def learn(self, loss: torch.Tensor) -> None:
        schedule(self._optimiser, RATE, self._done, self._step)
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._learned, 1.0)
        self._optimiser.step()
        self._step += 1
        if self._step % 200 == 0:
            print(int(self._done * self._seconds), self._step, round(loss.item(), 3), flush=True)


def train_encoder(
    encoder: BertModel, original: BertModel, lessons: Lessons, seconds: float
) -> None:
    """Nearer to what was judged to answer, and where the original has it, or its translation."""
    chance, given = random.Random(2), lessons.given
    encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    course, few = Course(encoder, seconds), LIST
    encoder.train()
    while course.goes_on():
        batch = [one for one in lessons.batch(BATCH) if max(given.asked[one.number][5]) > 0]
        numbers = [one.number for one in batch]
        lists = [chosen(given, number, chance) for number in numbers]
        judged, _ = told(given, numbers, lists)
        asked, lines, asked_before, lines_before = [], [], [], []
        for one, some in zip(batch, lists, strict=True):
            _, name, question, _, places, _ = given.asked[one.number]
            form = chance.choices(("bare", "named", "after"), (0.7, 0.15, 0.15))[0]
            named = form == "named" or chance.random() < 0.35
            english = (given.questions if named else given.unnamed)[one.number]
            in_english = one.other is None or chance.random() < IN_ENGLISH
            own = english
            if one.other is not None and not in_english:
                own = (one.other.questions if named else one.other.unnamed).get(question, english)
            asked.append(own[:62])
            asked_before.append(english[:62])
            for at in some:
                line, before = given.rows[name][places[at]]
                said = given.tokens[line] if form == "named" else given.bare[line]
                if form == "after" and before >= 0:
                    said = [*given.bare[before][:40], *said]
                lines_before.append(said[:110])
                if one.other is not None:
                    said = (one.other.lines if form == "named" else one.other.bare)[places[at]]
                    if form == "after" and before >= 0 and places[at]:
                        said = [*one.other.bare[places[at] - 1][:40], *said]
                lines.append(said[:110])
        drawn = chance.sample(range(len(lines)), min(len(lines), 768))
        with torch.autocast("cuda", torch.bfloat16):
            of_asked, of_lines = meant(encoder, asked), meant(encoder, lines)
            with torch.no_grad():
                target = meant(original, [lines_before[at] for at in drawn] + asked_before)
        pulled = torch.cat([of_lines[drawn], of_asked])
        stays = (2 - 2 * (pulled * target).sum(1)).mean()
        cosines = of_asked @ of_lines.T / 0.05
        own_lines = torch.arange(len(numbers), device="cuda")
        own_lines = own_lines[:, None] * few + torch.arange(few, device="cuda")
        near = functional.kl_div(
            cosines.gather(1, own_lines).log_softmax(1), judged.softmax(1), reduction="batchmean"
        )
        # the best of a list against all lines of other conversations, but for those as near to it
        best = own_lines.gather(1, judged.argmax(1, keepdim=True))
        alike = of_lines[best[:, 0]] @ of_lines.T > 0.72
        alike.scatter_(1, own_lines, True)
        alike.scatter_(1, best, False)
        among = cosines.masked_fill(alike, -1e4)
        course.learn(near + 0.5 * functional.cross_entropy(among, best[:, 0]) + stays)
    encoder.eval()


@torch.no_grad()
def found(encoder: BertModel, lessons: Lessons) -> dict[str, list[float]]:
    """Recall among the first 1 and 10 lines, by meaning alone."""
    rows = defaultdict(list)
    for kind, one, near in lessons.cosines(encoder):
        evidence = lessons.given.asked[one.number][3]
        order = near.argsort(descending=True).tolist()
        rows[kind].append(
            [len(set(order[:most]) & set(evidence)) / len(evidence) for most in (1, 10)]
        )
    return {kind: np.mean(several, 0).round(3).tolist() for kind, several in rows.items()}


def encoder_of(weights: dict[str, torch.Tensor]) -> BertModel:
    encoder = model(len(weights[WORDS])).eval()
    encoder.load_state_dict(weights, strict=False)
    return encoder


def main() -> None:
    lists, judged, vocabulary, source, out = map(Path, sys.argv[1:6])
    seconds = float(sys.argv[6])
    torch.manual_seed(1)
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    given = Judged(lists, judged, tokenizer)
    lessons = Lessons(given, tokenizer, seed=1)
    weights = {name: value.float() for name, value in load_file(str(source)).items()}
    original = encoder_of(weights)
    encoder = encoder_of(weights)
    train_encoder(encoder, original, lessons, seconds)
    old, new, mixed = original.state_dict(), encoder.state_dict(), encoder_of(weights)
    save_file(
        {name: one.half().contiguous().cpu() for name, one in new.items() if name != WORDS},
        str(out),
    )
    for share in SHARES:
        mixed.load_state_dict(
            {
                name: torch.lerp(old[name], one, share) if one.is_floating_point() else one
                for name, one in new.items()
            }
        )
        print("encoder", share, found(mixed, lessons), flush=True)


if __name__ == "__main__":
    main()
