"""Procedures: numbered steps that the user asks to be remembered."""

import re
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.english_person import in_third_person
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.trimming import has_pronoun
from ricordo.model.vocabulary import MemoryType
from ricordo.text.normalise import folded, slug

_REACH_CHARS: Final = 1_000
_MIN_STEPS: Final = 2
_MAX_SLUG_CHARS: Final = 60

_REQUEST = re.compile(
    r"(?:^|(?<=[.!?\n]))[ \t]*(?:(?:please|pls|tolong|hi|ok|mohon)[,\s]+){0,2}"
    r"(?:(?:remember|save|store|memori[sz]e|keep) (?:(?:these|the following|this|my|the|"
    r"how) )(?:[\w-]+ ){0,4}?"
    r"(?:steps|procedure|process|workflow|checklist|recipe|routine|to)\b(?P<what>[^:\n]{0,80}):|"
    r"(?:remember|note|save|memori[sz]e)(?: down)? how i (?:always |"
    r"usually )?(?P<how>[^:\n]{3,60}):|"
    r"(?:ingat|inget|catat|catet|simpan|simpen)(?: ya)? (?:langkah-langkah|langkah|prosedur|cara|"
    r"resep|urutan|alur)\b(?P<apa>[^:\n]{0,80}):)",
    re.IGNORECASE,
)
_REQUEST_AFTER = re.compile(
    r"(?:^|(?<=[.!?\n\s]))(?:please |pls |tolong |can you |could you |mohon ){0,2}(?:remember|"
    r"save|note|"
    r"memori[sz]e|keep|ingat|inget|catat|simpan)(?: ya)? (?:these|the|this|those|all (?:these|the)|"
    r"langkah|urutan|prosedur)(?: (?:steps|procedure|routine|workflow|checklist|order|recipe|ini|"
    r"itu|tadi|di atas|process)\b){1,2}(?!\s*:)(?! (?:for|to|of)\b)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:^|(?<=[.!?\n]))[ \t]*(?:(?:here['’]?s|this is) )?how i (?:always |usually )?"
    r"(?P<how>[^:\n.!?]{3,60}):[ \t\n]*$|(?:^|(?<=[.!?\n]))[^:\n.!?]{0,80}:[ \t\n]*$",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?:^|\s)(?P<number>\d{1,2})[.)][ \t]+(?P<text>[^\n]{2,200}?)(?=\s+\d{1,2}[.)][ \t]|\n|$)"
)
_IT = re.compile(r"\b(?:it|them)\b", re.IGNORECASE)
_END_OF_SENTENCE = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure and its place in the passage."""

    statement: Statement
    start: int
    end: int


def procedure_in(text: str) -> Procedure | None:
    """The first procedure of a screened text that the user asks to be remembered."""
    request = _REQUEST.search(text)
    if request:
        start = request.start() + len(request.group()) - len(request.group().lstrip())
        return _procedure(text, start, request.end(), _title(request))
    after = _REQUEST_AFTER.search(text)
    first = _STEP.search(text, 0, after.start()) if after else None
    if after is None or first is None or first["number"] != "1":
        return None
    heading = _HEADING.search(text[: first.start() + 1])
    said = heading["how"] if heading else None
    title = _own_way(said) if said else None
    found = _procedure(text, first.start("number"), first.start(), title or "Steps")
    return found if found and found.end <= after.start() else None


def _procedure(text: str, start: int, low: int, title: str) -> Procedure | None:
    steps: list[str] = []
    end = low
    for step in _STEP.finditer(text, low, low + _REACH_CHARS):
        between = text[end : step.start()].strip(" \t\r\n.,;")
        if int(step["number"]) != len(steps) + 1 or between:
            break
        line = step["text"]
        stop = _END_OF_SENTENCE.search(line)
        steps.append((line[: stop.start()] if stop else line).strip(" ,;"))
        end = step.start("text") + len(line.rstrip())
        if stop and line[stop.end() :].strip():
            end = step.start("text") + stop.end()
            break
    content = " ".join(f"{number}. {step}." for number, step in enumerate(steps, start=1))
    # "Tag it" speaks of the step before; any other pronoun hangs in the air.
    if len(steps) < _MIN_STEPS or has_pronoun(f"{title} {_IT.sub('', content)}"):
        return None
    purpose = re.sub(r"^(?:Steps|Langkah) ?", "", title)
    key = slug(folded(purpose))[:_MAX_SLUG_CHARS].strip("-_")
    statement = Statement(
        f"{title}: {content}",
        type=MemoryType.PROCEDURE,
        theme="procedures",
        key=f"procedure:{key}" if key else None,
        importance=3,
        is_explicit=True,
    )
    return Procedure(statement, start, end)


def _own_way(said: str) -> str | None:
    """The title of what the user describes as their own way: "How User brews"."""
    turned = in_third_person(f"I {said.strip()}")
    return f"How {turned}" if turned else None


def _title(request: re.Match[str]) -> str:
    if request["how"] is not None:
        return _own_way(request["how"]) or "Steps"
    purpose = _purpose(request)
    name = "Langkah" if request["apa"] is not None else "Steps"
    return f"{name} {purpose}" if purpose else name


def _purpose(request: re.Match[str]) -> str:
    said = (request["what"] or request["apa"] or "").strip(" ,")
    if re.search(r"\bhow to\b", request.group(), re.IGNORECASE) and not said.lower().startswith(
        ("for", "to")
    ):
        said = f"to {said}"
    said = re.sub(r"\b(?:ini|berikut|following|please|ya)\b", "", said)
    said = re.sub(r" (?:saya|aku|gue|gw)\s*$|^(?:saya|aku|gue|gw) ", " ", said.strip())
    return " ".join(said.split()).strip(" ,")
