"""Cutting what follows the thing itself: asides, times, company, filler."""

import re
from typing import Final

from ricordo.formation.rules.word_sets import words

_STRONG_STOP = re.compile(r"[.!?;:(){}\[\]\"<>|…]|\s[-–—]\s")
_DECORATION = re.compile(r"[^\w%+#'’)]+$")
_FILLER_TAIL = re.compile(
    r"[,\s]+(?:by the way|btw|these days|nowadays|now|currently|right now|at the moment|today|"
    r"though|tho|too|"
    r"as well|actually|honestly|lol|haha\w{0,8}|hehe\w{0,8}|xd|you know|please|pls|thanks|"
    r"thank you|so much|"
    r"a lot|lots|very much|more than anything|to be honest|tbh|anyway|of course|really|"
    r"after all|in general|"
    r"most of all|best|the most|at all|personally|again|still|permanently|just fyi|fyi|anymore|"
    r"any more|lately|etc|"
    r"already|alone|ok|okay|"
    r"unfortunately|luckily|sadly|and all|and stuff|and so on|full[- ]time|part[- ]time|"
    r"sih|kok|lho|loh|dong|deh|nih|ya|yah|banget|bgt|sekali|sekarang|saat ini|kak|min|bro|gan|"
    r"sis|juga|"
    r"kok|tuh|wkwk\w{0,10}|hehe|aja|saja|btw|makasih|terima kasih|pokoknya|terus|skrg|dulu ya|"
    r"sejak (?:lama|kecil)|dari kecil|dari dulu)$",
    re.IGNORECASE,
)
_TIMES: Final = 4


def trimmed(text: str) -> str:
    """The text up to the first strong stop, without filler, smileys and signs at its end."""
    stop = _STRONG_STOP.search(text)
    kept = text[: stop.start()] if stop else text
    for _ in range(_TIMES):
        shorter = _FILLER_TAIL.sub("", _DECORATION.sub("", kept).strip())
        if shorter == kept:
            break
        kept = shorter
    return kept.strip(" ,'’")


def cut_at(text: str, words: re.Pattern[str]) -> str:
    """The text before the first of these words."""
    found = words.search(text)
    return text[: found.start()] if found else text


_PERSON = re.compile(
    r"\b(?:i|me|my|mine|myself|we|our|ours|us|you|your|yours|yourself|u|ur|he|she|him|her|his|"
    r"hers|they|"
    r"them|their|it|its|this|that|these|those|here|there|one|ones|something|anything|"
    r"everything|nothing|"
    r"someone|everyone|"
    r"saya|aku|gue|gw|gua|kamu|anda|kau|lu|lo|loe|elo|kita|kami|dia|mereka|ini|itu|sini|sana|"
    r"situ|tersebut|"
    r"begitu|gitu|gini|tadi)\b"
)
_INDONESIAN_POSSESSIVE = re.compile(r"\b\w{3,}(?:mu|nya)\b", re.IGNORECASE)
_NO_POSSESSIVE: Final = words("""
ilmu jamu tamu kamu nyamu semu bertemu temu tanya bertanya surabaya
""")


def has_pronoun(text: str) -> bool:
    """Whether a pronoun is left that another reader could not resolve."""
    without_country = re.sub(r"\b(?:US|IT)\b", "", text)
    return bool(_PERSON.search(without_country.lower()))


def has_indonesian_possessive(text: str) -> bool:
    """Whether a word ends in "your" or "its"."""
    found = (word.group().lower() for word in _INDONESIAN_POSSESSIVE.finditer(text))
    return any(word not in _NO_POSSESSIVE for word in found)
