"""python -m training.ranker.conversations FOLDER OUT: questions about conversations.

FOLDER has ``friendsqa_dev.json`` and ``friendsqa_tst.json`` of FriendsQA (Emory University,
Apache-2.0; repository emorynlp/FriendsQA): dialogues of several people with questions that people
wrote, and the lines that answer them. Ten dialogues make a conversation. OUT is in the format that
``ricordo bench recall`` reads.
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
    whole = {"name": "friendsqa", "source": "emorynlp/FriendsQA", "licence": "Apache-2.0"}
    out.write_text(json.dumps({**whole, "conversations": made}), encoding="utf-8")


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
