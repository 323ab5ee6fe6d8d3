"""Sentences and clauses of a passage, and whether what they say is said in earnest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules import tasks
from ricordo.formation.rules.rule import BASE_FORMS
from ricordo.formation.words import words

BLANKED: Final = "\ufffc"  # replaces a quotation inside a sentence
_LONG_PASSAGE_CHARS: Final = 4_000  # a longer passage is mostly pasted
_OPENING_CHARS: Final = 1_000  # of such a passage the user probably typed
_SENTENCES_IN_A_LIST: Final = 2

_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)")
_MARKED_LINE = re.compile(r"^[ \t]*(?:>|\||#{1,6} |//|\$ |<[a-z/!])|^(?: {4,}|\t)\S", re.IGNORECASE)
_LIST_LINE = re.compile(r"^[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)]|[a-z][.)])[ \t]+\S", re.IGNORECASE)
_OWN_LIST = re.compile(
    r"\b(?:about me|about myself|remember|facts? about me|my (?:details|profile|background)|"
    r"tentang (?:saya|aku|gue|diri(?:ku| saya))|ingat|catat|profil (?:saya|ku))\b",
    re.IGNORECASE,
)
_QUOTATIONS: Final = (
    re.compile(r"`[^`\n]{1,400}`"),
    re.compile(r"\"[^\"\n]{0,400}\""),
    re.compile(r"“[^”\n]{0,400}”"),
    re.compile(r"„[^“”\n]{0,400}[“”]"),
    re.compile(r"«[^»\n]{0,400}»"),
    re.compile(r"(?<!\w)‘[^‘\n]{2,400}?’(?!\w)"),
    re.compile(r"(?<!\w)'(?=\S)[^'\n]{1,30}(?:'\w[^'\n]{0,60}){0,6}(?<=\S)'(?!\w)"),
    re.compile(r"\*[^*\n]{2,200}\*(?=\s|$)"),
    re.compile(r"[\"“«„][^\n]*"),  # not closed
)


def screened(text: str) -> str:
    """The text with everything blanked out that is not in the user's own voice.

    As long as the passage, so that positions are the same.
    """
    own = tasks.without_given_text(text)
    if not own.strip():
        return own
    if len(text) > _LONG_PASSAGE_CHARS:
        end = _end_of_opening(text)
        own = own[:end] + _blank_lines(own[end:])
    own = _without_marked_lines(own)
    for quotation in _QUOTATIONS:
        own = quotation.sub(lambda found: BLANKED * len(found.group()), own)
    return own


def _end_of_opening(text: str) -> int:
    end = text.find("\n\n", 0, _OPENING_CHARS)
    return max(0, end)


def _blank_lines(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_marked_lines(text: str) -> str:
    """Without code, block quotes, tables, headings and lists of sentences."""
    lines = text.split("\n")
    keep = [True] * len(lines)
    in_fence = False
    for number, line in enumerate(lines):
        fence = bool(_FENCE.match(line))
        keep[number] = not (in_fence or fence or _MARKED_LINE.match(line))
        in_fence ^= fence
    _drop_lists(lines, keep)
    return "\n".join(
        line if kept else " " * len(line) for line, kept in zip(lines, keep, strict=True)
    )


def _drop_lists(lines: list[str], keep: list[bool]) -> None:
    """Drop lists, which are mostly material, unless introduced as being about the user."""
    introduction = ""
    run: list[int] = []
    for number, line in enumerate([*lines, "end"]):
        if number < len(lines) and _LIST_LINE.match(line):
            run.append(number)
            continue
        if not line.strip() and number < len(lines):
            continue
        if len(run) >= _SENTENCES_IN_A_LIST and not _OWN_LIST.search(introduction):
            for item in run:
                keep[item] = False
        introduction, run = line[:400], []


MAX_SENTENCE_CHARS: Final = 400
MAX_SENTENCES: Final = 500
_WRAPPED_LINE_CHARS: Final = 60  # a longer line without a full stop is wrapped

_BREAK = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[;\n]|(?<=[a-z\d])[!?]+(?=[A-Z])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|st|mt|ft|jr|sr|vs|e\.g|i\.e|approx|jl|jln|tgl|dll|dsb|pt|cv|"
    r"tbk|ir|drs|hj|bpk|sdr|[a-z]|(?:[a-z]\.)+[a-z])$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:(?:[-*•–+]|\(?\d{1,3}[.)])\s+)?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of the passage; ``ending`` is its punctuation, if any."""

    text: str
    start: int
    ending: str

    @property
    def end(self) -> int:
        """The end in the passage, without the punctuation."""
        return self.start + len(self.text)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text. Over-long ones are left out: they are hardly chat."""
    found = []
    for start, end, ending in _pieces(text):
        bullet = _BULLET.match(text, start, end)
        body_start = bullet.end() if bullet else start
        body = text[body_start:end].rstrip()
        if body and len(body) <= MAX_SENTENCE_CHARS:
            found.append(Sentence(body, body_start, ending))
            if len(found) == MAX_SENTENCES:
                break
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for sign in _BREAK.finditer(text):
        if sign.group() == "." and _ABBREVIATION.search(
            text[max(start, sign.start() - 12) : sign.start()]
        ):
            continue
        if sign.group() == "\n" and _goes_on(text, start, sign.start()):
            continue
        yield start, sign.start(), sign.group().strip()
        start = sign.end()
    yield start, len(text), ""


def _goes_on(text: str, start: int, line_end: int) -> bool:
    """Whether a line break only wraps a long line."""
    line_start = max(start, text.rfind("\n", start, line_end) + 1)
    following = text[line_end + 1 : line_end + 2]
    return (
        line_end - line_start >= _WRAPPED_LINE_CHARS
        and following.isalnum()
        and BLANKED not in text[line_start:line_end]
    )


MAX_CLAUSES: Final = 12

_PERSONS = r"i|i['’]?m|i['’]ve|ive|i['’]ll|my|we|you|he|she|they|it|it['’]?s|there|u|"
_PERSONS_INDONESIAN = (
    r"saya|aku|gue|gw|gua|sy|nama|namaku|istri|istriku|suami|suamiku|kamu|kita|kami|dia|"
)
_REQUESTS = (
    r"please|pls|help|recommend|suggest|tell|give|let|thanks|thank|tolong|mohon|minta|makasih|"
    r"jangan|remember|note|call|always|never|from now on|selalu|ingat|catat|panggil|"
)
_QUESTIONS = (
    r"what|what['’]?s|where|how|who|which|why|can|could|would|will|should|do|does|did|is|are|any|"
    r"have you|apa|apakah|bisa|ada|dimana|di mana|bagaimana|gimana|berapa|siapa|kapan|kenapa|boleh|"
    r"kira-kira|"
)
_TURNS = (
    r"udah|sudah|enaknya|masih|jelasin|rekomendasi|tips|kado|bikinin|if|when|because|but|so|and|"
    r"not|or|although|though|where|kalau|kalo|tapi|jadi|karena|bukan|atau|dan"
)
_STARTER = rf"(?:{_PERSONS}{_PERSONS_INDONESIAN}{_REQUESTS}{_QUESTIONS}{_TURNS})(?![\w-])"

_INDONESIAN_VERBS: Final = words("rules", "indonesian verbs")
_VERB = "|".join(sorted(BASE_FORMS | {"am", "do", "don't", "dont", "can't"} | _INDONESIAN_VERBS))

# The same subject continues after a comma: "I'm Ana, live in Rome, work as a nurse".
_GOES_ON = (
    r"(?:(?:now|currently|also|originally|skrg|sekarang|juga|udah|sudah|lagi) )?(?:live in|"
    r"living in|based in|work (?:as|at|for|in)|working (?:as|at|for)|study|studying|allergic to|"
    r"love|hate|speak|originally from|born in|tinggal di|domisili|ngekos|kerja|bekerja|kuliah|suka|"
    r"hobi|asal|asli|lahir|umur|usia|alergi|intoleran\w{0,2}|punya|pindah ke|"
    r"(?:tidak|gak|ga|nggak|ngga|enggak|kurang) (?:bisa |pernah )?(?:suka|makan|minum))"
)
# Indonesian questions keep the word order: "aku vegan, di warung makan apa ya".
_ASKED_IN_PLACE = (
    r"apa|apakah|apaan|berapa|gimana|gmn|bagaimana|mana|dimana|kenapa|kapan|siapa|gak|ga|nggak|"
    r"tidak|kah|bisa|boleh|mending|tolong|cara"
)
# Takes all the space before a sign from its first character on; else a row of spaces takes cubic
# time.
_GAP: Final = r"(?:(?<!\s)\s++)?"
_PAUSE: Final = rf"(?:{_GAP},\s++|(?<!\s)\s++)"
_BORDER = re.compile(
    rf"(?P<shared>{_PAUSE}(?:and|but|dan|tapi)\s+(?=(?:now\s|also\s|"
    rf"\w{{3,12}}ly\s)?(?:{_VERB})\s+\S)|{_GAP},\s++(?:(?:and|dan|trus|"
    rf"terus)\s+)?(?={_GOES_ON}\s+\S)|(?:(?<![,\s])|(?<=,\s))\s++(?=(?:skrg|sekarang) (?:tinggal|"
    rf"kerja|bekerja|kuliah)\b))|{_PAUSE}(?:and|but|dan|serta)\s+(?:also\s+|juga\s+)?(?:that|"
    rf"bahwa|kalau|kalo)\s+(?={_STARTER})|"
    rf"{_GAP},\s*+(?=[^,.;!?]{{0,80}}\b(?:{_ASKED_IN_PLACE})\b)|"
    rf"{_PAUSE}(?:and\s+)?since\s+(?=(?:i|i['’]?m|i['’]ve|my|we)\b)|(?<!\s)\s++[-–—]{{1,3}}\s+|"
    rf"{_GAP}—\s*|{_GAP}[()]\s*|:\s+|{_GAP}[:;=][)(DP]|{_GAP}[!?…]+\s*|"
    rf"{_PAUSE}(?:but|so|because|cause|cuz|although|though|even though|whereas|tapi|tetapi|karena|"
    rf"soalnya|padahal|meskipun|walaupun|sehingga|makanya|while|so that)\s+|"
    rf"{_GAP},\s*+(?={_STARTER})|{_PAUSE}(?:and|so|plus|dan|terus|trus|jadi|lalu|"
    rf"serta)\s+(?={_STARTER})",
    re.IGNORECASE,
)
# "My favourite band is Queen, anything similar?": the question is after the last comma.
_ASKED_LAST = re.compile(r"\s*,\s*(?=[^,]+ [^,]+$)(?!(?:and|or|dan|atau)\b|[^,]* (?:and|dan) )")
_FIRST_PERSON = re.compile(
    r"(?:\W|\b(?:hi|hello|hey|so|well|yes|also|and|halo|hai|jadi|kenalin|kenalkan|perkenalkan|oh|"
    r"btw|oiya|iya|ya|oke|ok|skrg|sekarang|nama|my name)\b)*(i|im|i['’]m|i['’]ve|ive|is|saya|aku|"
    r"gue|gw|gua|namaku|sy)\b",
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
    """A piece of a sentence with its position in the passage.

    ``subject`` is carried over from the clause before it: "I live here and *work there*".
    """

    text: str
    start: int
    before: str
    after: str
    subject: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def full(self) -> str:
        return f"{self.subject} {self.text}" if self.subject else self.text


def clauses(sentence: Sentence) -> list[Clause]:
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


_UNCERTAIN = (
    r"if|unless|whether|suppos\w{1,5}|assum\w{1,4}|wish\w{0,3}|would|could|might|maybe|perhaps|"
    r"probably|hypothetical\w{0,2}|imagin\w{1,4}|pretend\w{0,3}|guess|allegedly|apparently|"
    r"not sure|i think|i believe|i feel like|kinda|sort of|almost|nearly|technically|kalau|kalo|"
    r"klo|jika|jikalau|bila|andai\w{0,3}|seandainya|misal|misalnya|umpama\w{0,3}|mungkin|"
    r"barangkali|kayaknya|kayanya|sepertinya|kira-kira|seolah|entah|hampir|harusnya|seharusnya"
)
_REPORTED = (
    r"sa(?:id|ys?|ying)|told|tells|asked|asks|thinks|thought|claims|claimed|(?<![iI] )wrote|writes|"
    r"heard|believes|quot\w{1,4}|according to|katanya|kata|bilang|berkata|menurut|ujar|konon"
)
_BEFORE = re.compile(
    rf"\b(?:{_UNCERTAIN}|{_REPORTED}|example|instance|when|whenever|once|until|"
    r"as an? (?:test|joke|example|hypothetical)|story|novel|characters?|dream\w{0,2}|lyrics?|poem|"
    r"you(?: are|['’]re)|ur|let['’]?s|contoh|ketika|waktu|dulu|cerita|mimpi|lirik|e\.g|"
    r"oh (?:great|sure|wow)|sure)\b",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    rf"\b(?:{_UNCERTAIN}|{_REPORTED}|used to|apa|apakah|siapa|mana|berapa|kapan|kenapa|gimana|"
    rf"bagaimana|today|tonight|this (?:morning|afternoon|evening|week)|for now|temporarily|"
    rf"hari ini|sementara|supposed to|i['’]d|may (?:be|not|have|want|need|like)|"
    r"dulu|dulunya|tadinya|pernah|belum|lorem|xx+|foo|bar baz|todo|tbd)\b|"
    rf"[\[\]<>{{}}|\\=#^~]|__|\.\.|[{BLANKED}]|https?:",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^\W*(?:or|atau|right|correct|yes|huh|eh|kan|ya kan|isn['’]?t|aren['’]?t|don['’]?t i|"
    r"do i(?=\W*$)|am i(?=\W*$)|not$|not any|no longer|said|says|was what|is what|would|katanya|"
    r"kata|bukan(?=\W*$)|anymore)\b|\b(?:i wish|(?:came|moved|went) back|returned|said no|"
    r"or (?:so|something|not)|in (?:the|my|this) (?:story|novel|dream|game)|or was it)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\b(?:right|correct|huh|eh|kan|bukan|ya kan|isn['’]?t it|don['’]?t i|yes|no|or not)\W*$",
    re.IGNORECASE,
)
# Tag questions: "I live in Rome, do I not?".
_CONFIRMS = re.compile(
    r"\W*(?:(?:or|and|so|atau|dan)\W+)?(?:(?:do|am|have|did|was|can|will|is|are|does|should|would|"
    r"could)(?:n['’]?t)? (?:i|it|we|that|you think)(?: not)?|"
    r"(?:is|was) (?:that|this|it) (?:right|correct|true|so|it)|"
    r"(?:that['’]?s|is) (?:right|correct)|(?:you (?:think|say|mean|reckon)|do you think(?: so)?)|"
    r"(?:benar|bener|betul|iya|ya|begitu|gitu)(?: (?:kan|ya|tidak|nggak|gak|ga|bukan))?|"
    r"(?:apa|atau) (?:bukan|tidak|nggak|gak|ga)|(?!(?:tips|ideas|advice|suggestions|"
    r"recommendations|thoughts|help|you|kamu|saran|solusi|rekomendasi)\b)[\w'’-]+|)\W*",
    re.IGNORECASE,
)
# "Is it odd that I'm tall and I hate heels, really?" asks about both.
_ASKING = re.compile(
    r"\W*(?:(?:so|and|but|hi|hey|hello|ok|okay)\W+)?(?:do|does|did|is|are|was|am|what|why|how|"
    r"when|who|which|where|would|could|should|can|will|apa|apakah|kenapa|mengapa|bagaimana|gimana|"
    r"siapa|kapan|bisakah)\b[^,;:!?]*$",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    r"\W*(?:(?:a|some|more|and|just|quick|little|bit|of|few|things?|facts?|oh|ok|okay|so|hi|hey|"
    r"hello|halo|hai|also)\W+){0,6}(?:(?:about|abt) (?:me|myself)|heads[- ]up|fun fact|side note|"
    r"reminder|fyi|btw|question|tanya|pertanyaan|note|notes|info|context|background|for context|"
    r"for the record|update|intro|introduction|ps|p\.s|"
    r"remember(?: (?:this|that|these|the following|about me|about myself))?|keep in mind|"
    r"please (?:note|remember)(?: (?:this|that|about me))?|details|my details|"
    r"tentang (?:saya|aku|gue|diriku)|catatan|sekadar info|sekedar info|info|konteks|"
    r"ingat(?: ya| ini)?|catat(?: ya| ini)?|tolong (?:ingat|catat)(?: ini| ya)?)\W*",
    re.IGNORECASE,
)
_HELPFUL_TAIL = re.compile(
    r"[,\s]+(?:if (?:that|it|this) (?:helps|matters|makes|is|changes)|in case (?:that|it|you)|"
    r"if you (?:need|want|must|were)|kalau (?:itu )?(?:membantu|perlu))\b.*$",
    re.IGNORECASE,
)


def without_helpful_tail(text: str) -> str:
    """Without "if that helps"."""
    return _HELPFUL_TAIL.sub("", text)


def may_be_source(sentence: Sentence, clause: Clause) -> bool:
    """Whether the user says this clause themselves, about the present, and in earnest.

    Negations are not judged here: a rule says which of them it reads.
    """
    own = without_helpful_tail(clause.text)
    after = without_helpful_tail(clause.after)
    return not (
        _INSIDE.search(own)
        or _TAG.search(own)
        or _AFTER.search(after)
        or _is_asked(sentence, clause)
        or is_not_in_earnest(clause.before)
    )


def _is_asked(sentence: Sentence, clause: Clause) -> bool:
    """A question, unless a statement leads to one: "I live in Bekasi, where can I swim?"."""
    if "?" in clause.after[:3]:
        return True
    if "?" not in sentence.ending:
        return False
    return bool(_CONFIRMS.fullmatch(clause.after)) or bool(_ASKING.match(clause.before))


def is_not_in_earnest(before: str) -> bool:
    """Whether the text before a clause makes it a report, a guess or somebody else's line."""
    if ":" in before:
        introduction, _, before = before.rpartition(":")
        if not _INTRODUCTION.fullmatch(introduction):
            return True
    return bool(_BEFORE.search(before))
