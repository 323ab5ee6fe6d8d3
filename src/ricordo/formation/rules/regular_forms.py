"""Chat in regular form, so that rules need only one spelling; statements in the third person."""

import re
from typing import Final

from ricordo.formation.rules.rule import (
    ADVERBS,
    BASE_FORMS,
    MODALS,
    PAST_FORMS,
    has_indonesian_possessive,
    has_pronoun,
    third_person,
)
from ricordo.formation.words import alternatives, pattern, words

_ENGLISH_LEAD = re.compile(
    rf"(?:(?:{alternatives('rules', 'leads')})(?:\s*[,.!:…]+\s*|\s+|$)){{0,4}}", re.IGNORECASE
)
_GREETING = pattern("english", "greeting", re.IGNORECASE)
_ENGLISH_SPELLINGS: Final = tuple(
    (re.compile(rf"\b{pattern}(?![\w'])", re.IGNORECASE), full)
    for pattern, full in (
        (r"(?:i'm|im|i am)", "I am"),
        (r"(?:i've|ive|i have)(?: got)?", "I have"),
        (r"(?:we're|we are)", "we are"),
        (r"(?:we've|we have)(?: got)?", "we have"),
        (r"(?:b-?day)", "birthday"),
        (r"(?:hubby)", "husband"),
        (r"(?:yrs?|year)[- ]olds?", "year-old"),
        (r"(?:i'll|i will)", "I will"),
        (r"(?:don't|dont)", "do not"),
        (r"(?:can't|cant|can not)", "cannot"),
        (r"(?:doesn't|doesnt)", "does not"),
        (r"(?:isn't|isnt)", "is not"),
        (r"gonna", "going to"),
        (r"wanna", "want to"),
        (r"(?:name's)", "name is"),
        (r"birthday's", "birthday is"),
        (r"job's", "job is"),
        (r"(\w{2,})'s (?=(?:the|my) name\b)", r"\1 is "),
        (r"(?:aren't|arent)", "are not"),
        (r"you're", "you are"),
        (r"(?:favorite|fav|fave)", "favourite"),
    )
)
_SMALL_I = re.compile(r"\bi(?= )")
_ENGLISH_ADVERB = alternatives("english", "adverb")
_ENGLISH_ADVERBS = re.compile(
    rf"^(I(?: am| have| do not)?)(?: (?!do not){_ENGLISH_ADVERB}){{1,3}}(?= )", re.IGNORECASE
)

_BOTH = re.compile(r"my [\w-]+ and (?:I|me)(?= )", re.IGNORECASE)

_TOKENS = re.compile(r"[\w'-]+|[^\w\s']+|\s+|'")
_FULL_FORMS: Final = (
    (re.compile(r"\b(?:i'm|im)\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(?:i've|ive)\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bi'll\b", re.IGNORECASE), "I will"),
    (re.compile(r"\bdont\b", re.IGNORECASE), "don't"),
)
_REPLACED: Final = {"my": "User's", "me": "User", "mine": "User's"}
_AUXILIARIES: Final = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "was": "was",
    "haven't": "hasn't",
}
_NO_BASE_FORM: Final = ("ing", "ly", "ed", "ss", "s", "'t", "ous", "ful")
_NOT_VERBS: Final = words("rules", "not verbs")
_SECOND_VERB = re.compile(
    rf"\b(?:and|or|but) (?:\w+ly )?(?:{'|'.join(sorted(BASE_FORMS | {'am'}))})\b", re.IGNORECASE
)

_INDONESIAN_LEAD = pattern(
    "indonesian", "lead", re.IGNORECASE, part=alternatives("rules", "indonesian leads")
)
_OWNED: Final = words("rules", "owned")
_INDONESIAN_SPELLINGS: Final = tuple(
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), full)
    for pattern, full in (
        (r"(?:aku|gue|gua|gw|sy|ane|saya)", "saya"),
        (r"(?:nggak|ngga|enggak|gak|ga|gk|tdk|ndak|kagak|kaga)", "tidak"),
        (rf"({'|'.join(sorted(_OWNED))})ku", r"\1 saya"),
        (r"(?:skrg|skrng|skg)", "sekarang"),
        (r"(tinggal|kerja|asal)nya(?= (?:di|sebagai|jadi|dari))", r"\1"),
        (r"(?:ultah)", "ulang tahun"),
        (r"(?:bini)", "istri"),
        (r"(?:udah|udh|sdh|dah|telah)", "sudah"),
        (r"yg", "yang"),
        (r"(?:dgn)", "dengan"),
        (r"(?:pengen|pingin|kepengen|pengin|ingin)", "ingin"),
        (r"(?:demen|doyan|gemar)", "suka"),
    )
)
_INDONESIAN_ADVERB = alternatives("indonesian", "adverb")
_INDONESIAN_ADVERBS = re.compile(rf"^saya(?: {_INDONESIAN_ADVERB}){{1,3}}(?= )", re.IGNORECASE)

# "Ga bisa makan pedas": nobody else can be meant.
_LEFT_OUT = re.compile(
    r"(?:tidak|nggak|ngga|enggak|gak|ga|gk|tdk) (?:(?:bisa |pernah )?(?:makan|minum) |"
    r"(?:suka|doyan)(?= [\w-]+(?: [\w-]+)?\W*$) )|(?:lagi )?(?:suka|demen|doyan|"
    r"seneng) (?:banget |bgt )?sama |(?:pengen|pingin|ingin|mau) (?:turun|nurunin|berhenti|bisa|"
    r"lulus|jadi) |lagi (?:ngejar|nabung) |(?:udah|sudah) (?:\d+|se) ?(?:tahun|taun|bulan) ",
    re.IGNORECASE,
)

_SELF = re.compile(r"\bsaya\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\b\w{3,}ku\b", re.IGNORECASE)
_NO_SUFFIX: Final = words("rules", "no suffix")


def spelled_out(text: str) -> str:
    """The clause in full spelling, without greeting and filler."""
    flat = " ".join(text.replace("’", "'").split())
    lead = _ENGLISH_LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _ENGLISH_SPELLINGS:
        flat = spelling.sub(full, flat)
    return _SMALL_I.sub("I", flat)


def regular_english(text: str) -> str:
    """As ``spelled_out``, without adverbs before the verb."""
    return _ENGLISH_ADVERBS.sub(r"\1", spelled_out(text))


def of_both(clause: str) -> str:
    """A regular clause about "my wife and I" as one about "I"; any other unchanged."""
    return _BOTH.sub("I", clause, count=1) if _BOTH.match(clause) else clause


def is_greeting(text: str) -> bool:
    return bool(_GREETING.match(text))


def english_in_third_person(text: str) -> str | None:
    """The statement about "User"; None if it cannot be converted safely.

    An unknown verb, a second verb with the same subject and any remaining pronoun make it unsafe.
    """
    flat = " ".join(text.replace("’", "'").split())
    for short, full in _FULL_FORMS:
        flat = short.sub(full, flat)
    if re.search(r"\bI\b", flat, re.IGNORECASE) and _SECOND_VERB.search(flat):
        return None
    turned: list[str] = []
    awaits_verb = False
    for token in _TOKENS.findall(flat):
        lowered = token.lower()
        if awaits_verb and not token.isspace():
            verb = _turned_verb(lowered)
            if verb is None:
                return None
            turned.append(verb)
            awaits_verb = lowered in ADVERBS
        elif lowered == "i":
            turned.append("User")
            awaits_verb = True
        else:
            turned.append(_REPLACED.get(lowered, token))
    statement = "".join(turned)
    return None if awaits_verb or has_pronoun(statement) else statement


def _turned_verb(word: str) -> str | None:
    if word in _AUXILIARIES:
        return _AUXILIARIES[word]
    if word in ADVERBS or word in MODALS or word in PAST_FORMS or re.fullmatch(r"\w{2,}ed", word):
        return word
    if word in BASE_FORMS:
        return third_person(word)
    is_verb = re.fullmatch(r"[a-z]{3,}", word) and not word.endswith(_NO_BASE_FORM)
    return third_person(word) if is_verb and word not in _NOT_VERBS else None


def regular_indonesian(text: str) -> str:
    """The clause in full spelling, without greeting, filler and adverbs before the verb."""
    flat = " ".join(text.replace("’", "'").split())
    if _LEFT_OUT.match(flat):
        flat = f"saya {flat}"
    lead = _INDONESIAN_LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _INDONESIAN_SPELLINGS:
        flat = spelling.sub(full, flat)
    return _INDONESIAN_ADVERBS.sub("saya", flat)


def indonesian_in_third_person(text: str) -> str | None:
    """The statement about "pengguna"; None if it cannot be converted safely."""
    turned = _SELF.sub("pengguna", regular_indonesian(text))
    owned = (word.group().lower() for word in _SUFFIX.finditer(turned))
    if any(word not in _NO_SUFFIX for word in owned):
        return None
    return None if has_pronoun(turned) or has_indonesian_possessive(turned) else turned
