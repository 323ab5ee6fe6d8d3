"""Clauses of a sentence: each is looked at by itself, with what stands before and after it."""

import re
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.english_verbs import BASE_FORMS
from ricordo.formation.rules.sentences import Sentence
from ricordo.formation.rules.word_sets import words

MAX_CLAUSES: Final = 12

_PERSONS = r"i|i['’]?m|i['’]ve|ive|i['’]ll|my|we|you|he|she|they|it|it['’]?s|there|u|"
_PERSONS_INDONESIAN = (
    r"saya|aku|gue|gw|gua|sy|nama|namaku|istri|istriku|suami|suamiku|kamu|kita|kami|dia|"
)
_REQUESTS = (
    r"please|pls|help|recommend|suggest|tell|give|let|thanks|thank|tolong|mohon|minta|makasih|"
    r"jangan|"
    r"remember|note|call|always|never|from now on|selalu|ingat|catat|panggil|"
)
_QUESTIONS = (
    r"what|what['’]?s|where|how|who|which|why|can|could|would|will|should|do|does|did|is|are|"
    r"any|have you|"
    r"apa|apakah|bisa|ada|dimana|di mana|bagaimana|gimana|berapa|siapa|kapan|kenapa|boleh|"
    r"kira-kira|"
)
_TURNS = (
    r"udah|sudah|enaknya|masih|jelasin|rekomendasi|tips|kado|bikinin|if|when|because|but|so|and|not|or|although|though|where|kalau|kalo|tapi|jadi|karena|"
    r"bukan|atau|dan"
)
_STARTER = rf"(?:{_PERSONS}{_PERSONS_INDONESIAN}{_REQUESTS}{_QUESTIONS}{_TURNS})(?![\w-])"

_INDONESIAN_VERBS: Final = words("""
tinggal bekerja kerja suka punya kuliah lahir alergi benci pindah berasal bisa hobi tidak gak
nggak ga ngga enggak ingin mau butuh perlu cari nyari sering selalu belajar berencana seorang
sedang lagi sudah udah belum akan pengen harus sekarang
""")
_VERB = "|".join(sorted(BASE_FORMS | {"am", "do", "don't", "dont", "can't"} | _INDONESIAN_VERBS))

# What goes on about the same person after a mere comma: "I'm Ana, live in Rome, work as a nurse".
_GOES_ON = (
    r"(?:(?:now|currently|also|originally|skrg|sekarang|juga|udah|sudah|lagi) )?(?:"
    r"live in|living in|based in|work (?:as|at|for|in)|working (?:as|at|for)|study|studying|"
    r"allergic to|love|hate|speak|originally from|born in|"
    r"tinggal di|domisili|ngekos|kerja|bekerja|kuliah|suka|hobi|asal|asli|lahir|umur|usia|alergi|"
    r"intoleran\w{0,2}|punya|pindah ke|"
    r"(?:tidak|gak|ga|nggak|ngga|enggak|kurang) (?:bisa |pernah )?(?:suka|makan|minum))"
)
# Indonesian asks in place: "aku vegan, di warung makan apa ya".
_ASKED_IN_PLACE = (
    r"apa|apakah|apaan|berapa|gimana|gmn|bagaimana|mana|dimana|kenapa|kapan|siapa|gak|ga|nggak|"
    r"tidak|kah|bisa|boleh|mending|tolong|cara"
)
# All the space before a sign, from its first character on. From each of them anew, with a choice of
# how much of it to take, a row of spaces would take the cube of its length.
_GAP: Final = r"(?:(?<!\s)\s++)?"
_PAUSE: Final = rf"(?:{_GAP},\s++|(?<!\s)\s++)"
_BORDER = re.compile(
    rf"(?P<shared>{_PAUSE}(?:and|but|dan|tapi)\s+(?=(?:now\s|also\s|"
    rf"\w{{3,12}}ly\s)?(?:{_VERB})\s+\S)|"
    rf"{_GAP},\s++(?:(?:and|dan|trus|terus)\s+)?(?={_GOES_ON}\s+\S)|"
    rf"(?:(?<![,\s])|(?<=,\s))\s++(?=(?:skrg|sekarang) (?:tinggal|kerja|bekerja|kuliah)\b))|"
    rf"{_PAUSE}(?:and|but|dan|serta)\s+(?:also\s+|juga\s+)?(?:that|bahwa|kalau|kalo)\s+"
    rf"(?={_STARTER})|"
    rf"{_GAP},\s*+(?=[^,.;!?]{{0,80}}\b(?:{_ASKED_IN_PLACE})\b)|"
    rf"{_PAUSE}(?:and\s+)?since\s+(?=(?:i|i['’]?m|i['’]ve|my|we)\b)|"
    rf"(?<!\s)\s++[-–—]{{1,3}}\s+|{_GAP}—\s*|{_GAP}[()]\s*|:\s+|{_GAP}[:;=][)(DP]|{_GAP}[!?…]+\s*|"
    rf"{_PAUSE}(?:but|so|because|cause|cuz|although|though|even though|whereas|tapi|tetapi|karena|"
    rf"soalnya|"
    rf"padahal|meskipun|walaupun|sehingga|makanya|while|so that)\s+|"
    rf"{_GAP},\s*+(?={_STARTER})|"
    rf"{_PAUSE}(?:and|so|plus|dan|terus|trus|jadi|lalu|serta)\s+(?={_STARTER})",
    re.IGNORECASE,
)
# "My favourite band is Queen, anything similar?": what is asked stands behind the last comma.
_ASKED_LAST = re.compile(r"\s*,\s*(?=[^,]+ [^,]+$)(?!(?:and|or|dan|atau)\b|[^,]* (?:and|dan) )")
_FIRST_PERSON = re.compile(
    r"(?:\W|\b(?:hi|hello|hey|so|well|yes|also|and|halo|hai|jadi|kenalin|kenalkan|perkenalkan|oh|"
    r"btw|oiya|iya|ya|oke|ok|skrg|sekarang|nama|my name)\b)*"
    r"(i|im|i['’]m|i['’]ve|ive|is|saya|aku|gue|gw|gua|namaku|sy)\b",
    re.IGNORECASE,
)

# "I have a cat called Pip, likes to bite": the cat does.
_NAMES_ANOTHER = re.compile(r"\b(?:namanya|bernama|called|named)\b", re.IGNORECASE)
# "My wife and I": one subject, not two clauses.
_ONE_OF_TWO = re.compile(r"(?:[\w'’]+,? ){0,2}my [\w-]+", re.IGNORECASE)
_AND_I = re.compile(r"\s+and\s+(?:i|me)\s", re.IGNORECASE)
_INDONESIAN_SELF: Final = frozenset(("saya", "aku", "gue", "gw", "gua", "namaku", "sy"))


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence with its place in the passage.

    ``subject`` is what it leaves out because the clause before it has said it: "I live here and
    *work there*".
    """

    text: str
    start: int
    before: str
    after: str
    subject: str = ""

    @property
    def end(self) -> int:
        """Where it ends in the passage."""
        return self.start + len(self.text)

    @property
    def full(self) -> str:
        """The clause with its subject."""
        return f"{self.subject} {self.text}" if self.subject else self.text


def clauses(sentence: Sentence) -> list[Clause]:
    """The clauses of a sentence in order."""
    found: list[Clause] = []
    start = 0
    shares = False
    borders = [
        (border.start(), border.end(), bool(border["shared"]))
        for border in _BORDER.finditer(sentence.text)
    ]
    asked = _asked_last(sentence)
    if asked and all(asked[0] >= high for _, high, _ in borders):
        borders.append(asked)
    for low, high, next_shares in [*borders, (len(sentence.text), len(sentence.text), False)]:
        text = sentence.text[start:low].strip(" \t,")
        if _ONE_OF_TWO.fullmatch(text) and _AND_I.match(sentence.text, low):
            continue
        if text:
            place = start + sentence.text[start:low].index(text[0])
            found.append(_clause(sentence, text, place, found[-1] if shares and found else None))
        start, shares = high, next_shares
        if len(found) == MAX_CLAUSES:
            break
    return found


def _asked_last(sentence: Sentence) -> tuple[int, int, bool] | None:
    comma = sentence.text.rfind(",") if "?" in sentence.ending else -1
    border = _ASKED_LAST.match(sentence.text, comma) if comma > 0 else None
    return (border.start(), border.end(), False) if border else None


def _clause(sentence: Sentence, text: str, place: int, sharing: Clause | None) -> Clause:
    subject = ""
    if sharing:
        first = _FIRST_PERSON.match(sharing.full)
        if first and not _NAMES_ANOTHER.search(sharing.text):
            subject = "saya" if first[1].lower() in _INDONESIAN_SELF else "I"
    return Clause(
        text=text,
        start=sentence.start + place,
        before=sentence.text[:place],
        after=sentence.text[place + len(text) :],
        subject=subject,
    )
