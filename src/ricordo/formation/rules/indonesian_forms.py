"""Normalises Indonesian chat: one word for "I", one for "not", suffixes as words."""

import re
from typing import Final

from ricordo.formation.rules.rule import has_indonesian_possessive, has_pronoun
from ricordo.formation.words import alternatives, pattern, words

_LEAD = pattern("indonesian", "lead", re.IGNORECASE, part=alternatives("rules", "indonesian leads"))
_OWNED: Final = words("rules", "owned")
_SPELLINGS: Final = tuple(
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
_ADVERB = alternatives("indonesian", "adverb")
_ADVERBS = re.compile(rf"^saya(?: {_ADVERB}){{1,3}}(?= )", re.IGNORECASE)


# "Ga bisa makan pedas": nobody else can be meant.
_LEFT_OUT = re.compile(
    r"(?:tidak|nggak|ngga|enggak|gak|ga|gk|tdk) (?:(?:bisa |pernah )?(?:makan|minum) |"
    r"(?:suka|doyan)(?= [\w-]+(?: [\w-]+)?\W*$) )|(?:lagi )?(?:suka|demen|doyan|"
    r"seneng) (?:banget |bgt )?sama |(?:pengen|pingin|ingin|mau) (?:turun|nurunin|berhenti|bisa|"
    r"lulus|jadi) |lagi (?:ngejar|nabung) |(?:udah|sudah) (?:\d+|se) ?(?:tahun|taun|bulan) ",
    re.IGNORECASE,
)


def regular(text: str) -> str:
    """The clause in full spelling, without greeting, filler and adverbs before the verb."""
    flat = " ".join(text.replace("’", "'").split())
    if _LEFT_OUT.match(flat):
        flat = f"saya {flat}"
    lead = _LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _SPELLINGS:
        flat = spelling.sub(full, flat)
    return _ADVERBS.sub("saya", flat)


_SELF = re.compile(r"\bsaya\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\b\w{3,}ku\b", re.IGNORECASE)
_NO_SUFFIX: Final = words("rules", "no suffix")


def in_third_person(text: str) -> str | None:
    """The statement about "pengguna"; None if it cannot be converted safely."""
    turned = _SELF.sub("pengguna", regular(text))
    owned = (word.group().lower() for word in _SUFFIX.finditer(turned))
    if any(word not in _NO_SUFFIX for word in owned):
        return None
    return None if has_pronoun(turned) or has_indonesian_possessive(turned) else turned
