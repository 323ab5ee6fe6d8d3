"""Text that a program put into a message: memories, documents, templates, attacks.

The functions take a plain view (see ``text_spans.py``) and return the spans to cut.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ricordo.formation.text_spans import Paragraphs, Sentences, Span, lines
from ricordo.formation.words import alternatives, words
from ricordo.text.normalise import lazy_pattern

FENCE_START: Final = "<ricordo-memory>"
FENCE_END: Final = "</ricordo-memory>"
"""The markers around recalled memories. Writers escape them in the content."""

_FENCE_NAME: Final = "ricordomemory"

# Names of blocks: those that contain one of the first, or equal one of the rest.
_TELLING_PARTS = re.compile(
    "memor|context|recall|retriev|remind|instruct|systemprompt|searchresult|knowledge|profile"
    "|history|toolresult|tooloutput|functionresult|document|ricordo|aboutuser|userinfo|userfacts"
    "|environment|attachment|background"
)
_BLOCK_NAMES: Final = words("hygiene", "block names")

# The name alone opens a block, so that a missing ">" does not hide it. Possessive quantifiers keep
# it linear on thousands of "<" or letters.
_TAG = re.compile(r"<\s*+(?P<slash>/?)\s*+(?P<name>[a-z][\w:.-]*+)(?P<rest>[^<>]*+>)?")
_BRACKET_TAG = re.compile(
    r"\[\s{0,3}(?P<slash>/?)\s{0,3}(?P<name>[a-z][a-z_-]{1,40})[^\[\]\n]{0,80}\](?!\()"
)
_SIGNS_IN_NAMES: Final = str.maketrans("", "", "_-:. ")
_FENCE_LINE = re.compile(
    r"[ \t]*+[-=*#_~]{2,}+[ \t]*+(?P<what>begin|start|end)\b[^\n]{0,80}?[-=*#_~]{2,}+[ \t]*+"
)


def fence_cuts(view: str) -> Iterator[Span]:
    """Text between ricordo's own markers."""
    return _blocks(view, _is_own_fence)


def block_cuts(view: str) -> Iterator[Span]:
    """Blocks with a known name, nested or not; an unclosed one extends to the end."""
    yield from _blocks(view, _is_telling)
    yield from _bracket_blocks(view)
    yield from _blocks_between_lines(view)


def _is_own_fence(name: str) -> bool:
    return name == _FENCE_NAME


def _is_telling(name: str) -> bool:
    return name in _BLOCK_NAMES or _TELLING_PARTS.search(name) is not None


def _blocks(view: str, is_wanted: Callable[[str], bool]) -> Iterator[Span]:
    """From each outermost opening tag to its closing tag.

    A closing tag also closes unclosed blocks inside. One that closes nothing is cut on its own.
    """
    opened: list[str] = []
    count: Counter[str] = Counter()
    block_start = 0
    for tag in _TAG.finditer(view):
        name = tag["name"].translate(_SIGNS_IN_NAMES)
        if not is_wanted(name):
            continue
        if tag["slash"]:
            block_start = block_start if opened else tag.start()
            _close(name, opened, count)
            if not opened:
                yield block_start, tag.end()
        elif (tag["rest"] or "").endswith("/>"):
            yield tag.span()
        else:
            block_start = block_start if opened else tag.start()
            opened.append(name)
            count[name] += 1
    if opened:
        yield block_start, len(view)


def _close(name: str, opened: list[str], count: Counter[str]) -> None:
    """Remove the innermost block of this name, and what is inside it, from the open ones."""
    while count[name]:
        last = opened.pop()
        count[last] -= 1
        if last == name:
            return


def _bracket_blocks(view: str) -> Iterator[Span]:
    """``[memory] … [/memory]``; without an end, and at the start of a line, the paragraph."""
    tags = [
        tag
        for tag in _BRACKET_TAG.finditer(view)
        if _is_telling(tag["name"].translate(_SIGNS_IN_NAMES))
    ]
    paragraphs = Paragraphs(view)
    last_end = {tag["name"]: tag.end() for tag in tags if tag["slash"]}
    for tag in tags:
        closed_at = last_end.get(tag["name"], -1)
        if not tag["slash"] and closed_at > tag.start():
            yield tag.start(), closed_at
        elif not view[max(0, view.rfind("\n", 0, tag.start())) : tag.start()].strip():
            yield tag.start(), paragraphs.end_after(tag.end())


def _blocks_between_lines(view: str) -> Iterator[Span]:
    """``--- begin … ---`` to ``--- end … ---``, or to the end."""
    start: int | None = None
    for line_start, line_end in lines(view):
        found = _FENCE_LINE.fullmatch(view, line_start, line_end)
        if not found:
            continue
        if found["what"] != "end":
            start = line_start if start is None else start
        elif start is not None:
            yield start, line_end
            start = None
    if start is not None:
        yield start, len(view)


_KINDS = (
    r"relevant|related|recalled|retrieved|saved|stored|long-?term|past|previous|user(?:'s)?"
    r"|earlier|recent|core|additional|injected|useful|shared|known"
)
_ABOUT = r"(?:\s+(?:about|of|on|for|from|regarding|since|as|up|is|are)\b[^\n:]{0,60}+)?"
# Lines that are headings even without a colon or a mark.
_CLEAR: Final = (
    rf"(?:here\s+(?:are|is)\s+)?(?:(?:the|your|some|all)\s+)?(?:(?:{_KINDS})\s+){{1,3}}"
    rf"(?:memor(?:y|ies)|context|documents|search\s+results|snippets|passages){_ABOUT}",
    r"what\s+(?:i|you|we)\s+(?:already\s+)?(?:remember|know|recall)\s+about\b[^\n:]{0,60}+",
    r"(?:here\s+(?:is|are)\s+)?what\s+(?:i|you|we|was|were)\s+(?:have\s+)?(?:recalled|remembered|"
    r"retrieved)\b[^\n:]{0,90}+",
    r"(?:things|facts)\s+(?:known|remembered|to\s+remember)\s+about\b[^\n:]{0,60}+",
    r"(?:facts|memories)\s+about\s+the\s+(?:user|customer)",
    r"memory\s+(?:updates?|context|bank|notes|entries|block)\b[^\n:]{0,60}+",
    r"context\s+(?:from\s+earlier|information\s+is\s+below\.?)",
    r"summary\s+of\s+(?:the\s+|our\s+)?(?:conversation|chat|previous|earlier)\b[^\n:]{0,40}+",
    r"(?:use|given|based\s+on)\s+(?:only\s+)?the\s+following\b[^\n:]{0,20}?\b(?:context|documents|"
    r"information|passages|memories)\b[^\n:]{0,120}+",
    r"(?:answer|respond)\b[^\n:]{0,60}?\bon\s+the\s+following\b[^\n:]{0,60}+",
    r"(?:ingatan|memori|konteks|dokumen)\s+(?:yang\s+)?(?:relevan|terkait|sebelumnya)[^\n:]{0,40}+",
    r"fakta\s+tentang\s+pengguna",
    r"(?:relevante|gespeicherte|frühere)\s+(?:erinnerungen|dokumente|fakten)[^\n:]{0,40}+",
    r"was\s+ich\s+über\s+(?:den|die)\s+nutzer(?:in)?\s+weiß",
    r"関連(?:する)?(?:記憶|メモリ|情報|文書)[^\n:]{0,15}+|ユーザーについて(?:の記憶|覚えている)[^\n:]{0,15}+",
)
# Words that people write as well: headings only with a mark before or a colon after them.
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
    r"|request|pertanyaan(?:\s+pengguna)?|(?:nutzer)?frage|anfrage|"
    r"(?:ユーザーの)?質問)[ \t*]{0,4}:[ \t*]{0,4}"
)
_ANSWER_LABEL = lazy_pattern(
    r"\n[ \t#*]{0,8}(?:(?:helpful|final|your|the)\s+)?(?:answer|response|jawaban|antwort|回答|"
    r"答え)[ \t*]{0,4}:[ \t*]{0,4}\s{0,8}\Z"
)


def template_cuts(view: str, first_block: int | None = None) -> Iterator[Span]:
    """Of a prompt with context and a question: everything but the question.

    The context is below a heading or begins at ``first_block``. The last question label counts,
    because documents have questions of their own.
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
    """Text under a heading such as "Relevant memories:", up to the next blank line or rule
    (``---``).

    A blank line right under the heading does not count, nor one between list entries.
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
    """The first line that no longer belongs to the heading."""
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
    if marked["rest"]:  # people write "Context: I am a nurse"
        return bool(marked["colon"]) and not _FIRST_PERSON.search(marked["rest"])
    return bool(marked["colon"] or marked["marks"].strip())


_DROP_VERBS: Final = (
    r"ignor(?:e|ing)|disregard(?:ing)?|forget|overlook|override|bypass|skip|neglect|drop"
)
_RULES: Final = (
    r"(?:instruction|prompt|rule|guideline|direction|command|message|context|polic(?:y|ie)|order"
    r"|constraint|restriction|safet)"
)
_EARLIER: Final = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|existing|original|your|system|current)"
)
_ENGLISH: Final = (
    rf"\b(?:{_DROP_VERBS})\b(?:\s+\S{{1,15}}){{0,4}}?\s+{_EARLIER}(?:\s+\S{{1,15}}){{0,2}}?\s+{_RULES}",
    rf"\b(?:{_DROP_VERBS})\b\s+(?:all|any|every|these|those|the)(?:\s+of)?(?:\s+(?:the|your))?\s+{_RULES}",
    rf"\b(?:{_DROP_VERBS})\b\s+(?:everything|anything|all(?:\s+that)?|what(?:ever)?)\s+"
    r"(?:(?:you|i|we)\s+)?(?:above|before|previous|earlier|prior|were|was|have been|said|know)",
    r"\bnew\s+(?:system\s+)?(?:instructions?|rules|prompt|directives?)\s*(?::|-|are\b|follow)",
    r"\b(?:from\s+now\s+on|now)\s*,?\s+you\s+(?:are|will|must|act|behave)\b",
    r"\byou\s+are\s+now\b|\byou\s+are\s+no\s+longer\s+(?:an?|bound|restricted)\b",
    r"\b(?:system|developer|initial|hidden)\s+(?:prompt|message|instructions?)\b",
    r"\b(?:developer|debug|god|admin|dan|sudo|jailbreak|unrestricted|root)\s+mode\b",
    r"\bjail-?break(?:ed|ing|s)?\b|\bdo\s+anything\s+now\b|\bprompt\s+injection\b",
    r"\b(?:pretend|act\s+as\s+if|imagine)\s+(?:that\s+)?you(?:'re|\s+are|\s+have)\b",
    r"\b(?:reveal|print|repeat|show|output|leak)\s+(?:me\s+)?(?:your|"
    r"the)\s+(?:\S{1,15}\s+){0,2}(?:prompt|instructions)\b",
    r"\bwithout\s+(?:any\s+)?(?:restrictions|filters|censorship)\b",
    r"<\|?\s*(?:im_start|im_end|endoftext|system|begin_of_text|start_header_id)\b",
    r"\[/?inst\]|<<\s*/?\s*sys\s*>>",
)
# A line that claims to be from the system.
_FORGED: Final = (
    r"(?:^|\n)[ \t#*\[<(]{0,8}(?:system|developer|administrator|sistem|"
    r"システム)(?:\s+(?:note|override|notice|update))?[ \t\])>*]{0,4}:",
)
_INDONESIAN: Final = (
    r"\b(?:abaikan|lupakan|hiraukan|langgar|kesampingkan)\b(?:\s+\S{1,15}){0,4}?\s+(?:instruksi|"
    r"perintah|aturan|petunjuk|arahan|pesan|prompt|konteks)",
    r"\b(?:abaikan|lupakan)\s+(?:semua|segala|apa)\S{0,5}\s+(?:yang\s+)?(?:sebelumnya|di\s*atas)",
    r"\binstruksi\s+baru\s*(?::|-|adalah)|\bprompt\s+sistem\b|\bmode\s+(?:pengembang|developer)\b",
    r"\b(?:mulai\s+)?sekarang\s+(?:kamu|anda)\s+adalah\b|\b(?:kamu|anda)\s+sekarang\s+adalah\b",
    r"\bberpura-?pura(?:lah)?\s+(?:kamu|anda|menjadi)\b",
)
_GERMAN: Final = (
    r"\b(?:ignoriere?n?|missachten?|vergiss|vergessen|übergehen?|"
    r"überschreiben?)\b(?:\s+\S{1,15}){0,4}?\s+(?:anweisung|instruktion|befehl|regel|vorgabe|"
    r"vorschrift|nachricht|prompt|kontext)",
    r"\b(?:ignoriere?|vergiss)\s+alles\s+(?:bisherige|vorherige|davor|zuvor|oben|was)\b",
    r"\bneue\s+(?:anweisung|instruktion|regel)(?:en|n)?\s*(?::|-)|\bsystem-?prompt\b",
    r"\bdu\s+bist\s+(?:jetzt|nun|ab\s+sofort)\b|\bab\s+(?:jetzt|sofort)\s+bist\s+du\b"
    r"|\bvon\s+(?:jetzt|nun)\s+an\s+bist\s+du\b",
    r"\bentwickler-?modus\b|\btu\s+so,?\s+als\s+(?:ob|wärst)\b",
)
_JAPANESE: Final = (
    r"(?:指示|命令|指令|ルール|プロンプト|制約|設定|文脈|会話)[^\n。]{0,12}(?:無視|忘れ|破棄|取り消)",
    r"(?:以前|これまで|今まで|上記|前)の[^\n。]{0,15}(?:無視|忘れ)",
    r"新しい(?:指示|命令|ルール)\s*(?::|は)|システムプロンプト|開発者モード|脱獄",
    r"(?:あなた|君|お前)は(?:今|これ|いま)から|これから(?:あなた|君)は",
)
# Boot text: who the model is, what time it is, what to load.
_BOOT: Final = (
    r"\byou\s+are\s+(?:an?|the)\s+(?:\S{1,20}\s+){0,5}?(?:assistant|ai|chatbot|language\s+model|"
    r"bot|agent|copilot)\b",
    r"\bas\s+an\s+(?:ai|artificial|assistant)\b|\byour\s+(?:task|job|role|goal)\s+is\s+to\b",
    r"(?:^|\n)[ \t#*\[-]*+(?:(?:the\s+)?current\s+(?:date|time|datetime|user)|today's\s+date"
    r"|session\s+(?:started|id|start)|new\s+session|knowledge\s+cutoff|system\s+(?:info|time)"
    r"|working\s+directory|environment|available\s+tools|timestamp)\b[^\n]{0,60}?(?::|\bis\b|\bat\b)",
    r"(?:^|\n)[ \t]*+\[?[ \t]*+(?:a\s+)?(?:new\s+)?session\s+(?:was\s+|has\s+been\s+)?started\b",
    r"\b(?:du\s+bist|sie\s+sind)\s+ein(?:e)?\s+(?:\S{1,20}\s+){0,4}?(?:assistent(?:in)?|ki|"
    r"chatbot|sprachmodell)\b",
    r"\b(?:kamu|anda)\s+adalah\s+(?:sebuah\s+|seorang\s+)?(?:\S{1,20}\s+){0,3}?(?:asisten|ai|"
    r"chatbot|model\s+bahasa)\b",
    r"あなたは[^\n。]{0,25}(?:アシスタント|ai|チャットボット|言語モデル|エージェント)(?:です|である)",
)
_ATTACK = lazy_pattern("|".join((*_ENGLISH, *_FORGED, *_INDONESIAN, *_GERMAN, *_JAPANESE, *_BOOT)))

# A word must follow: {"open": true} and "Open 9 to 5" are no orders.
_ORDERS: Final = rf"(?:{alternatives('hygiene', 'order verbs')})\b(?:\s*+[,:])?\s++[\"'(]?[^\W\d]"
_ORDER_AT_START = lazy_pattern(_ORDERS)
_ORDER_INSIDE = lazy_pattern(
    rf"(?<=[:\"'>*(\]])[ ]?{_ORDERS}"
    r"|\bremember(?:\s+that|\s+this|\s*+:)|\b(?:save|store|add|write|commit)\b[^\n.]{0,60}\bmemor"
    r"|\b(?:assistant|ai|model|agent|chatbot|llm)\s+(?:must|should|shall|needs?\s+to|has\s+to|"
    r"will)\b"
    r"|\b(?:ingatlah|ingat\s+bahwa|asisten\s+(?:harus|wajib|perlu))\b"
    r"|\bmerke?\s+(?:dir|ihnen)\b|\b(?:assistent|ki)\s+(?:muss|soll|sollte)\b"
    r"|覚えて|記憶して|保存して|してください|しなさい|アシスタントは"
)
_SIGNS_AROUND: Final = " \t\n\x1f.!?:\"'>*(#-["


def attack_cuts(view: str) -> Iterator[Span]:
    """Sentences with an attack or boot text, each with the rest of its paragraph.

    What follows an attack is often what it wants remembered.
    """
    return _with_rest_of_paragraph(view, (found.span() for found in _ATTACK.finditer(view)))


def order_cuts(view: str) -> Iterator[Span]:
    """Sentences that tell an assistant what to do, for text that no user wrote."""
    found = [match.span() for match in _ORDER_INSIDE.finditer(view)]
    for start, end in Sentences(view).spans():
        first = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        if match := _ORDER_AT_START.match(view, first):
            found.append(match.span())
    return _with_rest_of_paragraph(view, found)


def has_attack(view: str) -> bool:
    return _ATTACK.search(view) is not None


def _with_rest_of_paragraph(view: str, found: Iterable[Span]) -> Iterator[Span]:
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in found:
        # After the punctuation of the sentence before, which the match may include.
        place = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        first, last = sentences.around(place, end)
        yield first, max(last, paragraphs.end_after(end))
