"""What a user pasted and did not say: code, quotations, e-mails, logs of other chats, raw data.

Everything here looks at a plain view (see ``plain_view.py``) and gives the spans to cut.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ricordo.formation.cleaning.text_spans import Paragraphs, Span, lines
from ricordo.text.normalise import lazy_pattern

_FENCE = lazy_pattern(r"[ \t]*+(?P<mark>`{3,}+|~{3,}+)")
_INDENTED = lazy_pattern(r"(?: {4}|[ ]{0,3}\t)")
_LIST_ENTRY = lazy_pattern(r"[ \t]*+(?:[-*•+]|[0-9]{1,3}[.)])[ \t]")
_CODE_LINE = lazy_pattern(
    r"[ \t]*+(?:(?:async )?def \w+\(|class \w+[(:{]|import [\w.]+[ \t]*+$"
    r"|from [\w.]+ import\b|#include\b"
    r"|(?:const|let|var) \w+ ?=|function \w*\(|return\b[^\n]{0,200};|>>> |\$ \w|traceback \("
    r"|file \"[^\"\n]{1,200}\", line|at [\w.$]+\(|\w{0,40}(?:error|exception): "
    r"|(?:export )?[a-z_]{2,40}=\S|(?:select|insert|update|delete) [^\n]{1,200}"
    r"\b(?:from|into|set) [^\n]{0,300};)"
)
_QUOTATION = lazy_pattern(r"[ \t]{0,8}>")

# So long, it is not a word of one's own between marks but somebody's statement.
_LONG_QUOTATION = lazy_pattern(r"(?<![\w\"])\"[^\"\n]{60,4000}+\"(?!\w)|「[^「」\n]{30,2000}+」")
# Shorter ones are somebody's words where they are sentences, or speak of a person.
_QUOTED_SENTENCE = lazy_pattern(
    r"(?<![\w\"])\"(?=[^\"\n]{0,60}(?:[.!?]\"|[.!?] |\b(?:i|i'm|my|me|you|your|saya|aku|kamu|anda|"
    r"ich|mein|du|dein|yo|je|tu|eu|io|ik)\b))[^\"\n]{8,60}+\"(?!\w)"
)
_QUOTED_BLOCK = lazy_pattern(r"(?:^|\n)[ \t]*+\"[^\"]{12,8000}+\"[ \t.]*+(?=\n|$)")

_DATA = lazy_pattern(
    r"\bdata:[a-z0-9/+.-]{1,80}+[;,][^\s\"')>]*+|(?<![a-z0-9+/=_-])[a-z0-9+/=_-]{80,}+"
)

_MAIL_FIELDS: Final = (
    r"from|to|cc|bcc|subject|date|sent|reply-to|message-id|received|von|an|betreff|datum|gesendet"
    r"|dari|kepada|perihal|tanggal|差出人|宛先|件名|日時|送信日時"
)
_MAIL_FIELD = lazy_pattern(rf"[ \t*>]*+(?P<field>{_MAIL_FIELDS})[ \t*]{{0,4}}:[ \t*]")
_MAIL_SENDERS: Final = frozenset({"from", "von", "dari", "差出人", "received"})
_MAIL_START = lazy_pattern(
    r"[ \t]*+(?:-{2,}+[ \t]*+)?(?:begin\s+)?(?:forwarded\s+message|original\s+message"
    r"|weitergeleitete\s+nachricht|ursprüngliche\s+nachricht|pesan\s+(?:yang\s+)?(?:diteruskan|asli)"
    r"|転送(?:された)?メッセージ)\b[ \t:-]*+"
    r"|[ \t]*+(?:on|am|pada)\b[^\n]{4,120}\b(?:wrote|schrieb|menulis)\b[^\n]{0,60}:[ \t]*+"
    r"|--[ \t]?|sent\s+from\s+my\s+\S{1,30}.{0,20}|von\s+meinem\s+\S{1,30}\s+gesendet.{0,10}"
    r"|dikirim\s+dari\s+\S{1,30}.{0,20}"
)

_MODELS = "assistant ai bot chatgpt gpt claude gemini copilot model asisten assistent アシスタント"
_PERSONS = "user human you me customer system q pengguna nutzer benutzer ユーザー"
_MODEL_SPEAKERS: Final = frozenset(_MODELS.split())
_PERSON_SPEAKERS: Final = frozenset(_PERSONS.split())
_SPEAKER_LINE = lazy_pattern(
    r"[ \t*#>_]{0,8}(?:[\[(]?[0-9][0-9:.,/ apm\-]{3,24}[\])]?[ \t,-]{0,4})?"
    r"(?P<name>[^\W\d][\w.'-]{0,20}(?:[ ][^\W\d][\w.'-]{0,20}){0,2})[ \t*_]{0,4}:(?=[ \t*\n]|$)"
)
_MIN_LOG_LINES: Final = 3


def code_cuts(view: str) -> Iterator[Span]:
    """Fenced code, to the end where the fence is not closed, and lines of code without one."""
    fence = ""
    start = 0
    for line_start, line_end in lines(view):
        found = _FENCE.match(view, line_start, line_end)
        if fence:
            if found and found["mark"].startswith(fence):
                yield start, line_end
                fence = ""
        elif found:
            fence, start = found["mark"], line_start
        elif _is_code(view, line_start, line_end):
            yield line_start, line_end
    if fence:
        yield start, len(view)


def _is_code(view: str, start: int, end: int) -> bool:
    if _CODE_LINE.match(view, start, end):
        return True
    is_indented = _INDENTED.match(view, start, end) is not None
    return is_indented and not _LIST_ENTRY.match(view, start, end)


def quotation_cuts(view: str) -> Iterator[Span]:
    """Lines that begin with ``>``, and what others state between quotation marks."""
    for quotation in (_LONG_QUOTATION, _QUOTED_BLOCK, _QUOTED_SENTENCE):
        yield from (found.span() for found in quotation.finditer(view))
    for start, end in lines(view):
        if _QUOTATION.match(view, start, end):
            yield start, end


def data_cuts(view: str) -> Iterator[Span]:
    """Data addresses, and runs of characters too long for any word."""
    return (found.span() for found in _DATA.finditer(view))


def mail_cuts(view: str) -> Iterator[Span]:
    """From the head of a pasted e-mail, or the mark of a signature, to the end of the text."""
    fields: set[str] = set()
    head = 0
    for start, end in lines(view):
        if _MAIL_START.fullmatch(view, start, end):
            yield start, len(view)
            return
        if found := _MAIL_FIELD.match(view, start, end):
            head = head if fields else start
            fields.add(found["field"])
            if len(fields) > 1 and fields & _MAIL_SENDERS:
                yield head, len(view)
                return
        elif view[start:end].strip():
            fields.clear()


def chat_log_cuts(view: str) -> Iterator[Span]:
    """A log of a chat: a model among the speakers, or speakers who take turns.

    From the first line with a speaker to the end of the paragraph of the last.
    """
    spoken = [
        (found.start(), found.end(), found["name"])
        for start, end in lines(view)
        if (found := _SPEAKER_LINE.match(view, start, end))
    ]
    names = Counter(name for _, _, name in spoken)
    with_model = any(name in _MODEL_SPEAKERS for name in names)
    known = {name for name in names if name in _MODEL_SPEAKERS | _PERSON_SPEAKERS}
    take_turns = len(spoken) >= _MIN_LOG_LINES and sum(n > 1 for n in names.values()) > 0
    if with_model and len(known) > 1:
        spoken = [entry for entry in spoken if entry[2] in known]
    elif not (take_turns and len(names) > 1):
        return
    yield spoken[0][0], Paragraphs(view).end_after(spoken[-1][1])
