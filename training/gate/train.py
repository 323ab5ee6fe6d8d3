"""python -m training.gate.train STAGE FOLDER: the whole recipe, stage by stage.

``generate`` SECONDS writes ``written.txt``; ``learn`` SECONDS writes ``student.pt``; ``refine``
SECONDS writes ``refined.pt``. FOLDER has ``pack/`` (see ``qwen.py``), ``data/`` (the written lines)
and ``raw.jsonl`` (see ``raw.py``).
"""

import json
import random
import sys
import time
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import torch
from training.gate import qwen, student, teacher
from training.gate.lines import KEPT, LABELS, Line, bare, parse, read, varied

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HELD_BACK = 0.06
_KEPT = torch.tensor([LABELS[n] in KEPT for n in range(len(LABELS))])


def divided(lines: list[Line]) -> tuple[list[Line], list[Line]]:
    """Lines to train on, and lines to check with."""
    lines = sorted(set(lines), key=lambda line: (line.language, line.text))
    random.Random(3).shuffle(lines)
    count = int(len(lines) * HELD_BACK)
    return lines[count:], lines[:count]


def generate(folder: Path, seconds: float) -> None:
    lines, _ = divided(read(folder / "data"))
    print(len(lines), "lines", flush=True)
    model, tokenizer = qwen.load(folder / "pack", DEVICE)
    print("loaded", flush=True)
    teacher.train_generator(model, tokenizer, lines, 2, DEVICE)
    model.to(torch.bfloat16 if DEVICE == "cuda" else torch.float32)
    written = teacher.write_lines(model, tokenizer, lines, seconds, DEVICE)
    with (folder / "written.txt").open("w", encoding="utf-8") as file:
        file.writelines(f"{line.language}\t{line.tagged()}\n" for line in written)
    for line in random.Random(1).sample(written, min(30, len(written))):
        print(line.language, line.tagged(), flush=True)


def _written(folder: Path) -> list[Line]:
    found = []
    for row in (folder / "written.txt").read_text(encoding="utf-8").splitlines():
        language, _, line = row.partition("\t")
        if parsed := parse(language, line):
            found.append(parsed)
    return found


def _raw(folder: Path) -> list[Line]:
    rows = [
        json.loads(row) for row in (folder / "raw.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    random.Random(5).shuffle(rows)
    by_language: defaultdict[str, list[Line]] = defaultdict(list)
    for language, before, said in rows:
        asked = before[-200:] if random.random() < 0.5 else ""
        by_language[language].append(Line(language, "", asked, said, ((0, len(said), 0),)))
    return [line for lines in by_language.values() for line in lines[:9000]]


def learn(folder: Path, seconds: float) -> None:
    """Train the teacher, let it label everything, and train the student for so long."""
    lines, checked = divided(read(folder / "data"))
    model, tokenizer = qwen.load(folder / "pack", DEVICE)
    embeddings = model.model.embed_tokens.weight.detach().half().cpu()
    began = time.time()
    judge = teacher.train_teacher(model, tokenizer, [*lines, *list(bare(lines, 1))[::2]], 2, DEVICE)
    print("teacher trained in", round(time.time() - began), flush=True)
    written, raw = _written(folder), _raw(folder)
    own = [*lines, *varied(lines, 11), *varied(lines, 12), *bare(lines, 14)]
    others = [*varied(written, 13), *list(bare(written, 15))[::2]]
    every = [*checked, *own, *others, *raw]
    kinds = [0] * len(checked) + [1] * len(own) + [2] * len(others) + [3] * len(raw)
    vocabulary = student.smaller_vocabulary(
        folder / "pack", tokenizer, [*lines, *written, *raw], student.SIZES["tokens"]
    )
    items = student.encoded(student.make_tokenizer(vocabulary), every)
    ends = [[end for _, end in item[2]] for item in items]
    chances, states = teacher.taught(judge, tokenizer, every, ends, DEVICE)
    starts = [0]
    for one in ends:
        starts.append(starts[-1] + len(one))
    wanted = torch.tensor(
        [
            label
            for line, item in zip(every, items, strict=True)
            for label in teacher.token_labels(line, item[2])
        ],
        device=DEVICE,
    )
    found = chances.argmax(-1)
    judged(
        every,
        items,
        [chances[starts[n] : starts[n + 1]].float().cpu() for n in range(len(checked))],
    )
    first, last = starts[len(checked)], starts[len(checked) + len(own)]
    tags = torch.nn.functional.one_hot(wanted[first:last], len(LABELS)).half()
    chances[first:last] = 0.5 * chances[first:last] + 0.5 * tags
    is_kept = _KEPT.to(DEVICE)
    agrees = (is_kept[found] == is_kept[wanted]).float().cpu()
    places = [
        n
        for n, kind in enumerate(kinds)
        if kind and ends[n] and (kind != 2 or agrees[starts[n] : starts[n + 1]].mean() > 0.6)
    ]
    print("lines", len(places), "labelled after", round(time.time() - began), flush=True)
    del judge, model
    sizes = {**student.SIZES, "tokens": len(vocabulary["vocab"])}
    small = student.started(embeddings, vocabulary["places"], sizes)
    student.train_student(small, items, starts, chances, states, places, seconds, DEVICE)
    print("student trained after", round(time.time() - began), flush=True)
    out = {
        name: value.half().cpu()
        for name, value in small.state_dict().items()
        if "to_teacher" not in name
    }
    torch.save({"sizes": sizes, "state": out, "vocabulary": vocabulary}, folder / "student.pt")
    judged(every, items, student.labelled(small, items[: len(checked)], DEVICE))


def refine(folder: Path, seconds: float) -> None:
    """Train the student of ``student.pt`` further for so long, without a teacher.

    The labels are those of the written lines and the student's own; for all others its own.
    """
    kept = torch.load(folder / "student.pt", weights_only=False)
    small = student.Student(**kept["sizes"])
    small.load_state_dict(
        {name: value.float() for name, value in kept["state"].items()}, strict=False
    )
    small.to(DEVICE)
    lines, checked = divided(read(folder / "data"))
    own = [*lines, *varied(lines, 21), *bare(lines, 22)]
    every = [*checked, *own, *varied(_written(folder), 24), *_raw(folder)]
    items = student.encoded(student.make_tokenizer(kept["vocabulary"]), every)
    starts = list(accumulate((len(item[2]) for item in items), initial=0))
    found = student.labelled(small, items, DEVICE)
    judged(every, items, found[: len(checked)])
    chances = torch.cat(found).half().to(DEVICE)
    first, last = starts[len(checked)], starts[len(checked) + len(own)]
    wanted = torch.tensor(
        [
            label
            for line, item in zip(own, items[len(checked) :], strict=False)
            for label in teacher.token_labels(line, item[2])
        ],
        device=DEVICE,
    )
    tags = torch.nn.functional.one_hot(wanted, len(LABELS)).half()
    chances[first:last] = 0.3 * chances[first:last] + 0.7 * tags
    places = [n for n in range(len(checked), len(every)) if len(items[n][2])]
    student.train_student(small, items, starts, chances, None, places, seconds, DEVICE, 3e-4)
    out = {
        name: value.half().cpu()
        for name, value in small.state_dict().items()
        if "to_teacher" not in name
    }
    torch.save({**kept, "state": out}, folder / "refined.pt")
    judged(every, items, student.labelled(small, items[: len(checked)], DEVICE))


def judged(lines: list[Line], items: list, found: list[torch.Tensor]) -> None:
    """Kept or not, by segment, of the first lines, which were held back."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for line, item, chance in zip(lines, items, found, strict=False):
        for first, last, label in line.spans:
            inside = [k for k, (_, end) in enumerate(item[2]) if first < end <= last]
            if not inside or not label or LABELS[label] == "remember":
                continue
            keeps = (chance[inside][:, _KEPT].sum(-1)).mean().item() > 0.5
            is_kept = LABELS[label] in KEPT
            for name in (line.language, "all"):
                counts[name][0] += keeps and is_kept
                counts[name][1] += keeps and not is_kept
                counts[name][2] += is_kept and not keeps
                counts[name][3] += bool((chance[inside].mean(0).argmax() == label).item())
                counts[name][4] += 1
    for name, (right, wrong, missed, exact, every) in sorted(counts.items()):
        print(
            f"{name}: precision {right / max(1, right + wrong):.3f} recall"
            f" {right / max(1, right + missed):.3f} exact {exact / every:.3f} of {every}",
            flush=True,
        )


if __name__ == "__main__":
    stage, where = sys.argv[1], Path(sys.argv[2])
    if stage == "generate":
        generate(where, float(sys.argv[3]))
    elif stage == "learn":
        learn(where, float(sys.argv[3]))
    else:
        refine(where, float(sys.argv[3]))
