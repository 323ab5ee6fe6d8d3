"""Messages of public dialogues, without labels: the teacher labels them for the student.

Synthetic-Persona-Chat (CC BY 4.0), XPersona's validation files (MIT) and Tatoeba by way of LASER
(CC BY 2.0 FR). Writes lines of JSON: language, what was said before, what is said.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_XPERSONA = {"En": "en", "Fr": "fr", "Id": "id", "Jp": "ja", "Ko": "ko", "Zh": "zh"}
_TATOEBA = {
    "cmn": "zh", "deu": "de", "fra": "fr", "ind": "id", "jpn": "ja", "kor": "ko", "por": "pt",
    "spa": "es",
}  # fmt: skip
Said = tuple[str, str, str]


def _show(repository: Path, path: str) -> str:
    shown = subprocess.run(
        ["git", "-C", repository, "show", f"HEAD:{path}"], capture_output=True, check=True
    )
    return shown.stdout.decode()


def _persona_chat(repository: Path, dialogues: int) -> Iterator[Said]:
    folder = "data/01_transformed_data/SPC-train"
    names = _show(repository, folder + "/").split("\n")[2:]
    for name in random.Random(1).sample([name for name in names if name], dialogues):
        turns = _messages(json.loads(_show(repository, f"{folder}/{name}")))
        yield from (("en", before, said) for before, said in zip(["", *turns], turns, strict=False))


def _messages(node: object) -> list[str]:
    """The messages of a dialogue, wherever its file has them."""
    if isinstance(node, dict):
        for key in ("utterance", "text", "content", "message"):
            if isinstance(node.get(key), str):
                return [node[key]]
        return [said for value in node.values() for said in _messages(value)]
    return [said for value in node for said in _messages(value)] if isinstance(node, list) else []


def _xpersona(repository: Path) -> Iterator[Said]:
    for path in _show(repository, "dataset/").split("\n"):
        if "_valid" not in path:
            continue
        language = _XPERSONA.get(path[:2])
        for dialogue in json.loads(_show(repository, f"dataset/{path}")) if language else ():
            turns = [said for pair in dialogue["dialogue"] for said in pair]
            for before, said in zip(["", *turns], turns, strict=False):
                yield str(language), before, said


def _tatoeba(repository: Path) -> Iterator[Said]:
    for code, language in _TATOEBA.items():
        path = f"data/tatoeba/v1/tatoeba.{code}-eng.{code}"
        yield from ((language, "", said) for said in _show(repository, path).splitlines())


if __name__ == "__main__":
    persona_chat, xpersona, laser, to = map(Path, sys.argv[1:5])
    found = [*_persona_chat(persona_chat, 1500), *_xpersona(xpersona), *_tatoeba(laser)]
    with to.open("w", encoding="utf-8") as file:
        for language, before, said in found:
            if 4 <= len(said) <= 400:
                file.write(json.dumps([language, before, said], ensure_ascii=False) + "\n")
