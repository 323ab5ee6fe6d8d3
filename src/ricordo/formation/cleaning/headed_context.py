"""Context that a program put under a heading, or into a template around the user's question.

Everything here looks at a plain view (see ``plain_view.py``) and gives the spans to cut.
"""

from collections.abc import Iterator
from typing import Final

from ricordo.formation.cleaning.text_spans import Span, lines
from ricordo.text.normalise import lazy_pattern

_KINDS = (
    r"relevant|related|recalled|retrieved|saved|stored|long-?term|past|previous|user(?:'s)?"
    r"|earlier|recent|core|additional|injected|useful|shared|known"
)
_ABOUT = r"(?:\s+(?:about|of|on|for|from|regarding|since|as|up|is|are)\b[^\n:]{0,60}+)?"
# Lines that say so clearly that they need neither a colon nor a mark before them.
_CLEAR: Final = (
    rf"(?:here\s+(?:are|is)\s+)?(?:(?:the|your|some|all)\s+)?(?:(?:{_KINDS})\s+){{1,3}}"
    rf"(?:memor(?:y|ies)|context|documents|search\s+results|snippets|passages){_ABOUT}",
    r"what\s+(?:i|you|we)\s+(?:already\s+)?(?:remember|know|recall)\s+about\b[^\n:]{0,60}+",
    r"(?:here\s+(?:is|are)\s+)?what\s+(?:i|you|we|was|were)\s+(?:have\s+)?"
    r"(?:recalled|remembered|retrieved)\b[^\n:]{0,90}+",
    r"(?:things|facts)\s+(?:known|remembered|to\s+remember)\s+about\b[^\n:]{0,60}+",
    r"(?:facts|memories)\s+about\s+the\s+(?:user|customer)",
    r"memory\s+(?:updates?|context|bank|notes|entries|block)\b[^\n:]{0,60}+",
    r"context\s+(?:from\s+earlier|information\s+is\s+below\.?)",
    r"summary\s+of\s+(?:the\s+|our\s+)?(?:conversation|chat|previous|earlier)\b[^\n:]{0,40}+",
    r"(?:use|given|based\s+on)\s+(?:only\s+)?the\s+following\b[^\n:]{0,20}?\b"
    r"(?:context|documents|information|passages|memories)\b[^\n:]{0,120}+",
    r"(?:answer|respond)\b[^\n:]{0,60}?\bon\s+the\s+following\b[^\n:]{0,60}+",
    r"(?:ingatan|memori|konteks|dokumen)\s+(?:yang\s+)?(?:relevan|terkait|sebelumnya)[^\n:]{0,40}+",
    r"fakta\s+tentang\s+pengguna",
    r"(?:relevante|gespeicherte|frühere)\s+(?:erinnerungen|dokumente|fakten)[^\n:]{0,40}+",
    r"was\s+ich\s+über\s+(?:den|die)\s+nutzer(?:in)?\s+weiß",
    r"関連(?:する)?(?:記憶|メモリ|情報|文書)[^\n:]{0,15}+|ユーザーについて(?:の記憶|覚えている)[^\n:]{0,15}+",
)
# Words that people write as well: with a mark before or a colon behind they are headings.
_MARKED: Final = (
    rf"(?:(?:the|your|some|all)\s+)?(?:memor(?:y|ies)|context|documents|search\s+results){_ABOUT}",
    rf"(?:(?:{_KINDS})\s+){{0,2}}(?:conversations?|chat)(?:\s+(?:history|summary|so\s+far|log))?{_ABOUT}",
    r"(?:user|customer)\s+(?:profile|information|facts|preferences|memory)",
    rf"(?:(?:{_KINDS})\s+){{1,2}}(?:facts|messages|information|notes){_ABOUT}",
    r"background\s+(?:information|knowledge)|knowledge\s+base",
    r"ingatan|memori|konteks|riwayat\s+percakapan|profil\s+pengguna",
    r"erinnerungen|kontext|gesprächsverlauf|nutzerprofil",
    r"記憶|メモリ|コンテキスト|文脈|会話履歴|参考情報|検索結果|ユーザー(?:情報|プロフィール)",
)
_MARKS = r"(?P<marks>[ \t#*_=~\-\[(\x1f]*+)"
_AFTER = r"[ \t*_=~#\])\-]*+(?P<colon>:?)[ \t*_=~#\])\-]*+(?P<rest>[^\n]*+)"
_CLEAR_HEADING = lazy_pattern(rf"{_MARKS}(?:{'|'.join(_CLEAR)}){_AFTER}")
_MARKED_HEADING = lazy_pattern(rf"{_MARKS}(?:{'|'.join(_MARKED)}){_AFTER}")
_FIRST_PERSON = lazy_pattern(
    r"\b(?:i|i'm|i've|my|me|we|our|saya|aku|kami|ich|mein|meine|wir|mir)\b|私|僕|俺"
)
_MAX_HEADING_CHARS: Final = 300

_BULLET = lazy_pattern(r"[ \t]*+(?:[-*•+]|[0-9]{1,3}[.)]|\[[0-9]{1,3}\])[ \t]")
_RULE_LINE = lazy_pattern(r"[ \t]*+(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+|~{3,}+)[ \t]*+")
_QUERY_LABEL = lazy_pattern(
    r"(?:^|\n)[ \t#*]{0,8}(?:(?:user(?:'s)?|current|customer|human)\s+)?(?:query|question|input"
    r"|request|pertanyaan(?:\s+pengguna)?|(?:nutzer)?frage|anfrage|(?:ユーザーの)?質問)"
    r"[ \t*]{0,4}:[ \t*]{0,4}"
)
_ANSWER_LABEL = lazy_pattern(
    r"\n[ \t#*]{0,8}(?:(?:helpful|final|your|the)\s+)?"
    r"(?:answer|response|jawaban|antwort|回答|答え)[ \t*]{0,4}:[ \t*]{0,4}\s{0,8}\Z"
)


def template_cuts(view: str, first_block: int | None = None) -> Iterator[Span]:
    """Of a text that gives context and then a question: everything but the question.

    The context stands under a heading or, where ``first_block`` says so, begins at that place. The
    last label counts, because documents have questions of their own.
    """
    headings = (start for start, end in lines(view) if _is_heading(view[start:end]))
    context = first_block if first_block is not None else next(headings, None)
    if context is None:
        return
    labels = [found.end() for found in _QUERY_LABEL.finditer(view, context)]
    if labels:
        yield 0, labels[-1]
        if answer := _ANSWER_LABEL.search(view, labels[-1]):
            yield answer.span()


def headed_cuts(view: str) -> Iterator[Span]:
    """What stands under a heading such as "Relevant memories:", up to the next blank line.

    A rule (``---``) ends it too. A blank line right under the heading does not count, nor one
    between the entries of a list.
    """
    found = lines(view)
    index = 0
    while index < len(found):
        start, end = found[index]
        index += 1
        if _is_heading(view[start:end]):
            index = _end_of_headed(view, found, index)
            yield start, found[index - 1][1]


def _end_of_headed(view: str, found: list[Span], index: int) -> int:
    """The first line that no longer belongs under the heading."""
    has_text = False
    while index < len(found):
        line = view[slice(*found[index])]
        if _RULE_LINE.fullmatch(line):
            if has_text:
                return index + 1
        elif line.strip(" \t"):
            has_text = True
        elif has_text and not _list_goes_on(view, found, index + 1):
            break
        index += 1
    return index


def _list_goes_on(view: str, found: list[Span], index: int) -> bool:
    return index < len(found) and _BULLET.match(view, *found[index]) is not None


def _is_heading(line: str) -> bool:
    if len(line) > _MAX_HEADING_CHARS:
        return False
    if clear := _CLEAR_HEADING.match(line):
        return bool(clear["colon"]) or not clear["rest"].strip(" .")
    marked = _MARKED_HEADING.match(line)
    if not marked:
        return False
    if marked["rest"]:  # "Context: I am a nurse" is what a person writes
        return bool(marked["colon"]) and not _FIRST_PERSON.search(marked["rest"])
    return bool(marked["colon"] or marked["marks"].strip())
