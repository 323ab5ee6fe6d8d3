"""python -m training.reranker.every_language LISTS JUDGED TOKENIZER ENCODER OUT [SECONDS]

On a GPU. A cross-encoder in the languages of the sentence encoder: four of its layers, over its own
word table, which does not learn. It learns what a large model judged of English questions and lines
(JUDGED), and the same of conversations in ``data/translated``, whose speakers, lines and questions
are in the order of ``training/ranker/data``. The last one of each language is held back.
"""

import json
import random
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.multilingual.train import model
from training.reranker.train import (
    BATCH,
    BEFORE_TOKENS,
    BETWEEN,
    FIRST,
    LINE_TOKENS,
    LIST,
    QUESTION_TOKENS,
    Judged,
    chosen,
    padded,
    schedule,
    told,
    vectors,
)

SECONDS, RATE = 270.0, 2e-4
KEPT = (0, 1, 3, 5)
OF_TRANSLATIONS = 0.4  # of a batch
IN_ENGLISH = 0.25  # of their questions

TRANSLATED = Path(__file__).parent / "data" / "translated"
ENGLISH = Path(__file__).parents[1] / "ranker" / "data"

Rows = list[list[int]]


class Translation(NamedTuple):
    """A conversation in another language: lines as they are read, and bare; questions by theirs in
    English.
    """

    name: str
    lines: Rows
    bare: Rows
    questions: dict[str, list[int]]


class Reader(nn.Module):
    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        table = weights["embeddings.word_embeddings.weight"]
        scale = table.abs().max(1, keepdim=True).values / 127  # as the shipped graph has it
        table = (table / scale).round() * scale
        self.bert = model(len(table))
        self.bert.load_state_dict({**weights, "embeddings.word_embeddings.weight": table}, False)
        layers = self.bert.encoder.layer
        self.bert.encoder.layer = nn.ModuleList(layers[number] for number in KEPT)
        kinds = self.bert.embeddings.token_type_embeddings.weight.data
        kinds[1] = kinds[0] + 0.02 * torch.randn_like(kinds[0])
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.head = nn.Linear(384, 1).cuda()

    def forward(self, pairs: list[tuple[list[int], list[int]]]) -> torch.Tensor:
        ids, mask = padded([[*one, *other] for one, other in pairs])
        sizes = torch.tensor([len(one) for one, _ in pairs], device=ids.device)
        kinds = (torch.arange(ids.shape[1], device=ids.device) >= sizes[:, None]).long() * mask
        with torch.autocast("cuda", torch.bfloat16):
            states = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds)
        return self.head(states.last_hidden_state[:, 0].float())[:, 0]


def read(row: dict[str, Any], tokenizer: Tokenizer) -> Translation:
    kind, _, number = row["name"].rpartition("-")
    original = json.loads((ENGLISH / f"{kind}.jsonl").read_text().splitlines()[int(number)])
    spoken = [turn[1] for turn in original.get("turns", ())]
    names = dict(zip(dict.fromkeys(spoken), row["speakers"], strict=True))
    said = row["lines"]
    if spoken:
        said = [f"{names[who]}: {text}" for who, text in zip(spoken, said, strict=True)]

    def encoded(texts: list[str]) -> Rows:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    asked = (question["q"] for question in original["questions"])
    questions = dict(zip(asked, encoded(row["questions"]), strict=True))
    return Translation(row["name"], encoded(said), encoded(row["lines"]), questions)


def pair(
    given: Judged, number: int, place: int, one: Translation, *, in_english: bool, hides: bool
):
    _, name, question, *_ = given.asked[number]
    tokens = one.questions.get(question)
    if tokens is None or in_english:
        tokens = given.questions[number]
    _, before = given.rows[name][place]
    earlier = one.lines[place - 1][:BEFORE_TOKENS] if before >= 0 and place and not hides else []
    said = [*earlier, *[BETWEEN][: len(earlier)], *one.lines[place][:LINE_TOKENS], BETWEEN]
    return [FIRST, *tokens[:QUESTION_TOKENS], BETWEEN], said


def train(
    reader: Reader, given: Judged, learned: list[tuple[int, Translation]], seconds: float
) -> None:
    chance, began, step = random.Random(1), time.monotonic(), 0
    parameters = [one for one in reader.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)
    pools, weights = given.pools()
    other = round(BATCH * OF_TRANSLATIONS)
    reader.train()
    while (done := (time.monotonic() - began) / seconds) < 1:
        numbers = [chance.choice(pool) for pool in chance.choices(pools, weights, k=BATCH - other)]
        picked = [(number, None) for number in numbers] + chance.choices(learned, k=other)
        numbers = [number for number, _ in picked]
        lists = [chosen(given, number, chance) for number in numbers]
        pairs = []
        for (number, one), some in zip(picked, lists, strict=True):
            hides, in_english = chance.random() < 0.2, chance.random() < IN_ENGLISH
            for at in some:
                place = given.asked[number][4][at]
                if one is None:
                    pairs.append(given.pair(number, place, hides=hides))
                else:
                    pairs.append(
                        pair(given, number, place, one, in_english=in_english, hides=hides)
                    )
        judged, right = told(given, numbers, lists)
        schedule(optimiser, RATE, done, step)
        scores = reader(pairs).view(-1, LIST)
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
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        if step % 100 == 0:
            print(int(time.monotonic() - began), step, round(loss.item(), 3), flush=True)
    reader.eval()


@torch.no_grad()
def first(reader: Reader, encoder, questions: Rows, lines: Rows, pairs_of, evidence) -> list[float]:
    """Evidence first among the twenty nearest: by meaning, and with what was read."""
    near = vectors(encoder, [one[:62] for one in questions])
    near = (near @ vectors(encoder, [one[:126] for one in lines]).T).cpu()
    found = []
    for number, row in enumerate(near):
        order = row.argsort(descending=True)[:20].tolist()
        said = reader([pairs_of(number, place) for place in order]).float().cpu()
        best = order[int((said + 12 * row[order]).argmax())]
        found.append([order[0] in evidence[number], best in evidence[number]])
    return found


def main() -> None:
    lists, judged, vocabulary, source, out = map(Path, sys.argv[1:6])
    seconds = float(sys.argv[6]) if sys.argv[6:] else SECONDS
    torch.manual_seed(1)
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    given = Judged(lists, judged, tokenizer)
    weights = {name: value.float() for name, value in load_file(str(source)).items()}
    encoder = model(len(weights["embeddings.word_embeddings.weight"])).eval()
    encoder.load_state_dict(weights, strict=False)
    print("read", flush=True)
    of_name: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(given.asked):
        of_name[one[1]].append(number)
    learned, held = [], {}
    for path in sorted(TRANSLATED.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        *others, held[path.stem] = (read(json.loads(line), tokenizer) for line in lines)
        learned += [(number, one) for one in others for number in of_name[one.name]]
    print(len(learned), "questions", {key: one.name for key, one in held.items()}, flush=True)
    reader = Reader(weights)
    train(reader, given, learned, seconds)
    made = {
        name.removeprefix("bert."): value.half().cpu().contiguous()
        for name, value in reader.state_dict().items()
        if name != "bert.embeddings.word_embeddings.weight"
    }
    save_file(made, str(out))
    kinds: dict[str, list[int]] = defaultdict(list)
    for number in given.held:
        if given.asked[number][3]:
            kinds[given.asked[number][0]].append(number)
    for kind, numbers in kinds.items():
        by_name = defaultdict(list)
        for number in numbers:
            by_name[given.asked[number][1]].append(number)
        found = []
        for name, some in by_name.items():
            lines = [given.bare[line] for line, _ in given.rows[name]]
            asked = [given.unnamed[number] or given.questions[number] for number in some]
            found += first(
                reader, encoder, asked, lines,
                lambda at, place, some=some: given.pair(some[at], place, hides=False),
                [given.asked[number][3] for number in some],
            )  # fmt: skip
        print(kind, len(found), torch.tensor(found).float().mean(0).tolist(), flush=True)
    for language, one in held.items():
        some = [
            number
            for number in of_name[one.name]
            if given.asked[number][3] and given.asked[number][2] in one.questions
        ]
        asked = [one.questions[given.asked[number][2]] for number in some]
        found = first(
            reader, encoder, asked, one.bare,
            lambda at, place, some=some, one=one: pair(
                given, some[at], place, one, in_english=False, hides=False
            ),
            [given.asked[number][3] for number in some],
        )  # fmt: skip
        print(
            language, one.name, len(found), torch.tensor(found).float().mean(0).tolist(), flush=True
        )


if __name__ == "__main__":
    main()
