"""What the user explicitly asked to be remembered."""

import re
from dataclasses import dataclass
from typing import Final

from ricordo.formation.consent.sensitive import sensitive_fields_of
from ricordo.formation.rules.clauses import clauses
from ricordo.formation.rules.guards import is_led_astray
from ricordo.formation.rules.screening import screened
from ricordo.formation.rules.sentences import Sentence, sentences

_POLITE = (
    r"(?:(?:please|pls|hi|hey|hello|ok|okay|so|also|and|but|just|btw|by the way|can you|"
    r"could you|will you|would you|you should|you must|always|i want you to|i need you to|"
    r"tolong|mohon|harap|oke|dan|juga|kamu harus|bisa)[,!\s]+){0,4}"
)
_SELF = (
    r"(?=(?:i|i['’]?m|im|i['’]ve|my|saya|aku|gue|gw|nama|istri|suami|anak|"
    r"nomor|alamat|ukuran|jadwal|plat|rumah|mobil|motor)\b)"
)
_STRONG = (
    r"remember(?: (?:this|the following|it|please)){0,2}(?: for (?:me|later|next time|"
    r"the future|future chats)){0,2}(?:,? that\b|"
    r"\s*[:,])|remember " + _SELF + r"|"
    r"(?:don['’]?t|do not|never) (?:ever )?forget(?:,? that\b|\s*:| " + _SELF + r")|"
    r"(?:note|write|jot) (?:it|this|that) down(?: (?:for me|please|somewhere)){0,2}\s*[:,]|"
    r"(?:save|store|keep) (?:this|it)(?: for (?:me|later|next time)){1,2}"
    r"(?:,? (?:will|would|could|can) you|,? please|,? ok)?\s*[:,]|"
    r"(?:you(?:['’]ll| will)? (?:may |might |should )?want to|you should|worth) "
    r"remember(?:ing)?(?: (?:this|that)(?: one)?)?\s*:|"
    r"(?:something|one thing|a thing|things?) (?:to|worth) remember(?:ing)?(?: about me)?\s*:|"
    r"(?:note|reminder) for (?:later|next time|the future|future chats)\s*[:,]|"
    r"(?:make|take) a (?:mental )?note(?: that\b|\s*:| of (?:this|the fact that)\b)|"
    r"memori[sz]e (?:that\b|this\s*:)|"
    r"(?:save|store|add) (?:this|that|it)? ?(?:to|in|into) (?:your |the )?memory(?: that\b|\s*:)|"
    r"(?:ingat|inget|ingatlah|ingat-ingat|inget-inget|ingat2|inget2|catat|catatlah|catet|simpan|"
    r"simpen)(?: (?:ya|dong|ini|baik-baik|juga|"
    r"dalam memori)){0,3}(?:,? (?:bahwa|kalau|kalo|klo)\b|\s*[:,]| " + _SELF + r")|"
    r"(?:di)?(?:simpan|simpen|ingat|catat)(?: (?:untuk|buat) (?:lain kali|nanti|ke depannya))?\s*:|"
    r"jangan (?:sampai )?lupa(?: ya| dong)?(?:,? (?:bahwa|kalau|kalo|klo)\b|\s*[:,]| "
    + _SELF
    + r")"
)
_WEAK = (
    r"(?:please |pls )note(?:,? that\b|\s*[:,]| "
    + _SELF
    + r")|note that\b|(?:keep|bear) in mind(?:,? that\b|\s*[:,]| "
    + _SELF
    + r")|"
    r"for the record(?:,? that\b|\s*[:,]| " + _SELF + r")|"
    r"for (?:future|your) reference(?:\s*[:,]| " + _SELF + r")|"
    r"(?:perlu|harap) (?:diingat|dicatat)(?:,? (?:bahwa|kalau|kalo)\b|\s*[:,])|(?:sekadar|"
    r"sekedar|sebagai) catatan\s*[:,]"
)
_BEFORE = re.compile(rf"(?P<polite>{_POLITE})(?:(?P<strong>{_STRONG})|{_WEAK})\s*", re.IGNORECASE)
_AFTER = re.compile(
    rf"{_POLITE}(?:remember (?:that|this|it|all that)|keep (?:that|this|it) in mind|"
    rf"note (?:that|this|it)(?: down)?|"
    r"(?:don['’]?t|do not) forget(?: (?:that|this|it))?|make a note of (?:that|this|it)|"
    r"(?:di)?(?:ingat|inget|catat)(?: (?:ya|itu|ini|dong|baik-baik)){1,3}|"
    r"tolong (?:di)?(?:ingat|inget|catat)(?: (?:ya|itu|ini))?|jangan lupa(?: (?:ya|itu|ini|"
    r"dong))?)"
    r"(?:[,\s]+(?:please|pls|ok|okay|for (?:me|later|next time|the future)|thanks|thank you|ya|"
    r"yah|kak)){0,3}\W*",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    rf"{_POLITE}(?:remember|ingat|catat|note|save|simpan|keep in mind)(?: [\w'’-]+){{0,6}}\s*:?\s*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)])[ \t]+\S")
# "…, ok?" asks for a nod, not for an answer.
_NOD = re.compile(
    r"[,\s]+(?:ok|okay|alright|please|pls|will you|would you|yeah|ya|yah|oke|dong|bisa kan)\W*$",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\W*(?:please |pls )?(?:can|could|will|would|bisa)\b", re.IGNORECASE)


_MOST_PRIVATE: Final = frozenset({"health", "faith", "sexuality", "politics", "money"})


@dataclass(frozen=True, slots=True)
class Request:
    """A sentence, or its last part from ``body_start`` on, that is to be remembered.

    ``is_strong``: asked with a word that has no other sense; "note that" also just explains.
    ``start`` and ``end`` include the words of the request.
    """

    start: int
    end: int
    body: Sentence
    is_strong: bool


def requests_in(all_sentences: list[Sentence], text: str) -> list[Request]:
    """The requests among the sentences of a screened text."""
    found: list[Request] = []
    in_list_until = -1
    for number, sentence in enumerate(all_sentences):
        if sentence.start < in_list_until:
            found.append(Request(sentence.start, sentence.end, sentence, True))
            continue
        in_list_until = _end_of_list(sentence, text)
        request = _request_before(sentence) or _request_after(sentence)
        if request:
            found.append(request)
        elif number and _AFTER.fullmatch(sentence.text) and "?" not in sentence.ending:
            before = all_sentences[number - 1]
            if "?" not in before.ending and not (found and found[-1].end >= before.end):
                found.append(Request(before.start, sentence.end, before, True))
    return found


def is_surely_asked_for(content: str, request: Request) -> bool:
    """Whether a request is about this statement without a doubt.

    What is said first is. Of what is added to it ("and that I have cancer"), what is most private
    is rather proposed than stored: it may just have slipped in.
    """
    private = sensitive_fields_of(content, "", None) & _MOST_PRIVATE
    if not private:
        return True
    said = clauses(request.body)
    return not said or private <= sensitive_fields_of(said[0].full, "", None)


def explicit_spans(text: str) -> list[tuple[int, int]]:
    """The parts of a text that the user asked to be remembered, with the words of the request."""
    own = screened(text)
    return [(request.start, request.end) for request in requests_in(sentences(own), own)]


def _request_before(sentence: Sentence) -> Request | None:
    for clause in clauses(sentence):
        place = clause.start - sentence.start
        marker = _BEFORE.match(sentence.text, place)
        if marker is None:
            continue
        is_question = (
            "?" in sentence.ending
            and not _ASKED.match(sentence.text[place:])
            and not _NOD.search(sentence.text)
        )
        body = sentence.text[marker.end() :]
        if is_question or not body or is_led_astray(clause.before):
            return None
        ending = sentence.ending.replace("?", "")
        return Request(
            clause.start,
            sentence.end,
            Sentence(body, sentence.start + marker.end(), ending),
            bool(marker["strong"]),
        )
    return None


def _request_after(sentence: Sentence) -> Request | None:
    """A statement with "please remember that" at its end."""
    pieces = clauses(sentence)
    if len(pieces) > 1 and "?" not in sentence.ending and _AFTER.fullmatch(pieces[-1].text):
        body = sentence.text[: pieces[-2].end - sentence.start]
        return Request(sentence.start, sentence.end, Sentence(body, sentence.start, ""), True)
    return None


def _end_of_list(sentence: Sentence, text: str) -> int:
    """Where the list ends that a sentence such as "Remember about me:" introduces, or -1."""
    if not _INTRODUCES.fullmatch(sentence.text):
        return -1
    place = text.find("\n", sentence.end)
    end = -1
    while place >= 0:
        line_end = text.find("\n", place + 1)
        if not _ITEM.match(text, place + 1):
            return end
        end = line_end if line_end >= 0 else len(text)
        place = line_end
    return end
