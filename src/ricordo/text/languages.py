"""Detects the language of a text, where that is certain.

By script first, then by function words. Texts too short or too mixed get no answer: a wrong one
costs more than none.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import Final

from ricordo.text.analyser import stop_words

# Everyday words, mostly verbs, that distinguish languages with common stop words.
_FURTHER: Final = {
    "en": "and but with lives works likes loves prefers wants has never always their was named no",
    "id": "pengguna tidak suka tinggal bekerja kerja punya memiliki ingin tahun hari orang rumah"
    " setiap bernama berencana sebuah membeli pergi dia nya",
    "de": "nutzer benutzer mag wohnt arbeitet lebt möchte plant jeden heißt gerne keine ist",
    "es": "usuario vive trabaja gusta quiere prefiere tiene llama cada año día hermana",
    "fr": "utilisateur aime habite travaille veut préfère chaque année jour appelle sœur frère",
    "it": "utente vive lavora piace vuole preferisce anno giorno sorella fratello chiama",
    "pt": "usuário mora gosta trabalha quer prefere ano dia irmã irmão chama uma não",
    "nl": "gebruiker woont werkt houdt graag elke jaar dag zus broer heet niet",
}
_NAMES: Final = {
    "en": "english",
    "id": "indonesian",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}
# What an apostrophe leaves behind: the s of "user's" is no French word.
_REMAINS: Final = frozenset("cdjlmnstv")
_WORDS: Final = {
    code: (stop_words(name) | frozenset(_FURTHER[code].split())) - _REMAINS
    for code, name in _NAMES.items()
}
# A word of several languages counts less for each of them.
_SHARED_BY: Final = Counter(word for words in _WORDS.values() for word in words)

_SCRIPTS: Final = {
    "kana": re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]"),
    "han": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7a3]"),
    "th": re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u05d0-\u05ea]"),
    "Cyrl": re.compile("[\u0400-\u052f]"),
    "Arab": re.compile("[\u0620-\u06ff]"),
    "Deva": re.compile("[\u0904-\u0939]"),
    "latin": re.compile("[a-zA-Z\u00c0-\u024f]"),
}
# One of these characters counts as several letters.
_SIGNS_WEIGH: Final = {"kana": 3, "han": 3, "ko": 3}
_CHINESE_ONLY = re.compile("[的了们們这這那吗嗎呢吧很她你您没沒说說]")
_WORD = re.compile(r"[^\W\d_]+")

_MIN_LETTERS: Final = 4
_MIN_SCRIPT_SHARE: Final = 0.6
_MIN_SCORE: Final = 1.5
_MIN_WORDS_FOUND: Final = 2
_MIN_LEAD: Final = 1.8  # times the score of the second
_LONGEST_LOOK_CHARS: Final = 4_000

LANGUAGE_NAMES: Final = {
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "he": "Hebrew",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pt": "Portuguese",
    "th": "Thai",
    "zh": "Chinese",
}


def guess(text: str) -> str | None:
    """The language of a text, or None when uncertain.

    An ISO 639 code for Japanese, Chinese, Korean, Thai, Greek, Hebrew, English, Indonesian, German,
    Spanish, French, Italian, Portuguese and Dutch. For scripts of many languages (Cyrillic, Arabic,
    Devanagari), the ISO 15924 code of the script.
    """
    return _guess(text[:_LONGEST_LOOK_CHARS])


@lru_cache(maxsize=64)
def _guess(text: str) -> str | None:
    weights = {
        script: len(letters.findall(text)) * _SIGNS_WEIGH.get(script, 1)
        for script, letters in _SCRIPTS.items()
    }
    total = sum(weights.values())
    if total < _MIN_LETTERS:
        return None
    east_asian = weights.pop("kana") + weights["han"]
    if east_asian / total >= _MIN_SCRIPT_SHARE:
        return _japanese_or_chinese(text, has_kana=east_asian > weights["han"])
    script, weight = max(weights.items(), key=lambda entry: entry[1])
    if weight / total < _MIN_SCRIPT_SHARE:
        return None
    return _latin(text) if script == "latin" else script


def _japanese_or_chinese(text: str, *, has_kana: bool) -> str | None:
    if has_kana:
        return "ja"
    # A few Japanese words can go without kana, so Han alone is no proof.
    return "zh" if _CHINESE_ONLY.search(text) else None


def _latin(text: str) -> str | None:
    words = _WORD.findall(text.lower())
    found = {code: [word for word in words if word in known] for code, known in _WORDS.items()}
    scores = {
        code: sum(1 / _SHARED_BY[word] for word in matched) for code, matched in found.items()
    }
    (best, score), (_, second) = Counter(scores).most_common(2)
    is_sure = (
        len(set(found[best])) >= _MIN_WORDS_FOUND
        and score >= _MIN_SCORE
        and score >= _MIN_LEAD * second
    )
    return best if is_sure else None
