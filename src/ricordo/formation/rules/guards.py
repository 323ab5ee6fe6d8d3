"""Whether a clause may be a source at all: no question, guess, wish, report or placeholder."""

import re

from ricordo.formation.rules.clauses import Clause
from ricordo.formation.rules.screening import BLANKED
from ricordo.formation.rules.sentences import Sentence

_UNCERTAIN = (
    r"if|unless|whether|suppos\w{1,5}|assum\w{1,4}|wish\w{0,3}|would|could|might|maybe|perhaps|"
    r"probably|"
    r"hypothetical\w{0,2}|imagin\w{1,4}|pretend\w{0,3}|guess|allegedly|apparently|not sure|"
    r"i think|i believe|"
    r"i feel like|kinda|sort of|almost|nearly|technically|"
    r"kalau|kalo|klo|jika|jikalau|bila|andai\w{0,3}|seandainya|misal|misalnya|umpama\w{0,3}|"
    r"mungkin|"
    r"barangkali|kayaknya|kayanya|sepertinya|kira-kira|seolah|entah|hampir|harusnya|seharusnya"
)
_REPORTED = (
    r"sa(?:id|ys?|ying)|told|tells|asked|asks|thinks|thought|claims|claimed|(?<![iI] )wrote|"
    r"writes|heard|"
    r"believes|"
    r"quot\w{1,4}|according to|katanya|kata|bilang|berkata|menurut|ujar|konon"
)
_BEFORE = re.compile(
    rf"\b(?:{_UNCERTAIN}|{_REPORTED}|example|instance|when|whenever|once|until|"
    r"as an? (?:test|joke|example|hypothetical)|story|novel|characters?|dream\w{0,2}|"
    r"lyrics?|poem|you(?: are|['’]re)|ur|let['’]?s|"
    r"contoh|ketika|waktu|dulu|cerita|mimpi|lirik|e\.g|oh (?:great|sure|wow)|sure)\b",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    rf"\b(?:{_UNCERTAIN}|{_REPORTED}|used to|apa|apakah|siapa|mana|berapa|kapan|kenapa|gimana|"
    rf"bagaimana|today|tonight|this (?:morning|afternoon|evening|"
    rf"week)|for now|temporarily|hari ini|sementara|supposed to|i['’]d|may (?:be|not|have|want|"
    rf"need|like)|"
    r"dulu|dulunya|tadinya|pernah|belum|lorem|xx+|foo|bar baz|todo|tbd)\b|"
    rf"[\[\]<>{{}}|\\=#^~]|__|\.\.|[{BLANKED}]|https?:",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^\W*(?:or|atau|right|correct|yes|huh|eh|kan|ya kan|isn['’]?t|aren['’]?t|don['’]?t i|"
    r"do i(?=\W*$)|"
    r"am i(?=\W*$)|not$|"
    r"not any|no longer|said|says|was what|is what|would|katanya|kata|bukan(?=\W*$)|anymore)\b|"
    r"\b(?:i wish|(?:came|moved|went) back|returned|said no|or (?:so|something|not)|in (?:the|"
    r"my|this) (?:story|novel|dream|"
    r"game)|or was it)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\b(?:right|correct|huh|eh|kan|bukan|ya kan|isn['’]?t it|don['’]?t i|yes|no|or not)\W*$",
    re.IGNORECASE,
)
# What follows a statement only to have it confirmed: "I live in Rome, do I not?".
_CONFIRMS = re.compile(
    r"\W*(?:(?:or|and|so|atau|dan)\W+)?(?:"
    r"(?:do|am|have|did|was|can|will|is|are|does|should|would|could)(?:n['’]?t)? "
    r"(?:i|it|we|that|you think)(?: not)?|"
    r"(?:is|was) (?:that|this|it) (?:right|correct|true|so|it)|(?:that['’]?s|is) (?:right|correct)|"
    r"(?:you (?:think|say|mean|reckon)|do you think(?: so)?)|"
    r"(?:benar|bener|betul|iya|ya|begitu|gitu)(?: (?:kan|ya|tidak|nggak|gak|ga|bukan))?|"
    r"(?:apa|atau) (?:bukan|tidak|nggak|gak|ga)|"
    r"(?!(?:tips|ideas|advice|suggestions|recommendations|thoughts|help|you|kamu|saran|solusi|"
    r"rekomendasi)\b)[\w'’-]+|)\W*",
    re.IGNORECASE,
)
# "Is it odd that I'm tall and I hate heels, really?" asks about both.
_ASKING = re.compile(
    r"\W*(?:(?:so|and|but|hi|hey|hello|ok|okay)\W+)?"
    r"(?:do|does|did|is|are|was|am|what|why|how|when|who|which|where|would|could|should|can|will|"
    r"apa|apakah|kenapa|mengapa|bagaimana|gimana|siapa|kapan|bisakah)\b[^,;:!?]*$",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    r"\W*(?:(?:a|some|more|and|just|quick|little|bit|of|few|things?|facts?|oh|ok|okay|so|hi|hey|"
    r"hello|halo|hai|also)\W+){0,6}(?:(?:about|abt) (?:me|myself)|heads[- ]up|fun fact|"
    r"side note|reminder|"
    r"fyi|btw|question|tanya|pertanyaan|note|notes|"
    r"info|context|background|"
    r"for context|for the record|update|intro|"
    r"introduction|ps|p\.s|"
    r"remember(?: (?:this|that|these|the following|about me|about myself))?|keep in mind|"
    r"please (?:note|remember)(?: (?:this|that|about me))?|details|my details|"
    r"tentang (?:saya|aku|gue|diriku)|catatan|sekadar info|sekedar info|info|konteks|"
    r"ingat(?: ya| ini)?|catat(?: ya| ini)?|"
    r"tolong (?:ingat|catat)(?: ini| ya)?)\W*",
    re.IGNORECASE,
)
_HELPFUL_TAIL = re.compile(
    r"[,\s]+(?:if (?:that|it|this) (?:helps|matters|makes|is|changes)|in case (?:that|it|you)|"
    r"if you (?:need|want|must|were)|kalau (?:itu )?(?:membantu|perlu))\b.*$",
    re.IGNORECASE,
)


def without_helpful_tail(text: str) -> str:
    """The text without "if that helps"."""
    return _HELPFUL_TAIL.sub("", text)


def may_be_source(sentence: Sentence, clause: Clause) -> bool:
    """Whether what the clause says can be taken as said by the user, of now, and in earnest.

    Negations are not judged here: a rule says which of them it reads.
    """
    own = without_helpful_tail(clause.text)
    after = without_helpful_tail(clause.after)
    return not (
        _INSIDE.search(own)
        or _TAG.search(own)
        or _AFTER.search(after)
        or _is_asked(sentence, clause)
        or is_led_astray(clause.before)
    )


def _is_asked(sentence: Sentence, clause: Clause) -> bool:
    """A question, unless a statement leads to one: "I live in Bekasi, where can I swim?"."""
    if "?" in clause.after[:3]:
        return True
    if "?" not in sentence.ending:
        return False
    return bool(_CONFIRMS.fullmatch(clause.after)) or bool(_ASKING.match(clause.before))


def is_led_astray(before: str) -> bool:
    """Whether what stands before a clause makes it a report, a guess or somebody else's line."""
    if ":" in before:
        introduction, _, before = before.rpartition(":")
        if not _INTRODUCTION.fullmatch(introduction):
            return True
    return bool(_BEFORE.search(before))
