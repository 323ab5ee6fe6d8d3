"""python -m training.ranker.conversations FOLDER OUT: questions about conversations.

Our own in ``data`` (``joined-*.jsonl`` are dialogues of Synthetic-Persona-Chat, Google, CC BY 4.0,
joined and with other names; the questions are ours), and those of FOLDER, which has
``friendsqa_dev.json`` and ``friendsqa_tst.json`` of FriendsQA (Emory University, Apache-2.0;
repository emorynlp/FriendsQA): dialogues of several people with questions that people wrote, and
the lines that answer them. Ten dialogues make a conversation. OUT is in the format that ``ricordo
bench recall`` reads.
"""

import json
import random
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

_JOINED = 10
_OF_THE_SHOW = re.compile(r"\bscene\b|beginning|conversation\b|at the end", re.IGNORECASE)


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    scenes = [
        scene
        for name in ("friendsqa_dev.json", "friendsqa_tst.json")
        for scene in json.loads((folder / name).read_text(encoding="utf-8"))["data"]
    ]
    chance = random.Random(4)
    chance.shuffle(scenes)
    made = [
        conversation(f"f{start // _JOINED}", scenes[start : start + _JOINED], chance)
        for start in range(0, len(scenes) - _JOINED + 1, _JOINED)
    ]
    made += [our_own(path, line) for path, line in our_lines()]
    whole = {"name": "conversations", "source": __doc__, "licence": "Apache-2.0, CC BY 4.0"}
    out.write_text(json.dumps({**whole, "conversations": made}), encoding="utf-8")


def our_lines() -> list[tuple[str, dict]]:
    """Each conversation with its name; every third of ours is also there as its beginning."""
    found = []
    for path in sorted((Path(__file__).parent / "data").glob("*.jsonl")):
        if path.stem == "memories":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            read = json.loads(line)
            found.append((f"{path.stem}-{number}", read))
            if number % 3 == 0:
                end = (12, 25, 50)[number // 3 % 3]
                asked = [one for one in read["questions"] if all(e < end for e in one["e"])]
                begun = {"turns": read["turns"][:end], "questions": asked}
                found.append((f"{path.stem}-{number}-begun", begun))
    return found


def our_own(name: str, read: dict) -> dict:
    at = [
        datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(hours=9, seconds=place)
        for place, (day, _, _) in enumerate(read["turns"])
    ]
    turns = [
        {
            "id": f"u{place}",
            "thread": f"t{day}",
            "actor": who,
            "role": who if who in ("user", "assistant") else None,
            "at": when.isoformat(),
            "text": text,
        }
        for place, ((day, who, text), when) in enumerate(zip(read["turns"], at, strict=True))
    ]
    questions = [
        {
            "id": f"q{place}",
            "text": one["q"],
            "answer": None,
            "evidence": [f"u{each}" for each in one["e"]],
            "category": "abstention" if one["k"] == "nothing" else one["k"],
            "at": None,
            "stale": [f"u{each}" for each in one["old"]] if one.get("old") else None,
            "fresh": [f"u{each}" for each in one["e"]] if one.get("old") else None,
        }
        for place, one in enumerate(read["questions"])
    ]
    return {"id": name, "turns": turns, "questions": questions}


def conversation(name: str, scenes: list[dict], chance: random.Random) -> dict:
    turns: list[dict] = []
    questions: list[dict] = []
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for number, scene in enumerate(scenes):
        at += timedelta(days=chance.randrange(1, 20))
        for part in scene["paragraphs"]:
            said = {}
            for line in part["utterances:"]:
                text = _joined(line["utterance"])
                if text:
                    said[line["uid"]] = f"s{number}u{line['uid']}"
                    who = line["speakers"][0].split()[0] if line["speakers"] else None
                    turns.append(
                        {
                            "id": said[line["uid"]],
                            "thread": f"t{number}",
                            "actor": "Narrator" if who == "#NOTE#" else who,
                            "role": None,
                            "at": (at + timedelta(seconds=len(turns))).isoformat(),
                            "text": text,
                        }
                    )
            for asked in part["qas"]:
                text = _joined(asked["question"])
                answers = {
                    said[one["utterance_id"]]
                    for one in asked["answers"]
                    if one["utterance_id"] in said and not one["is_speaker"]
                }
                if answers and len(text.split()) > 2 and not _OF_THE_SHOW.search(text):
                    questions.append(
                        {
                            "id": f"q{len(questions)}",
                            "text": text,
                            "answer": asked["answers"][0]["answer_text"],
                            "evidence": sorted(answers),
                            "category": "said",
                            "at": None,
                            "stale": None,
                            "fresh": None,
                        }
                    )
    return {"id": name, "turns": turns, "questions": questions}


def _joined(text: str) -> str:
    """Without the spaces that separate marks and endings."""
    return re.sub(r" (n't|'\w+|[.,!?;:'’])", r"\1", text).strip()


if __name__ == "__main__":
    main()
