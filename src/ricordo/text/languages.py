"""Detects the language of a text: by its script first, then by function words."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final

from ricordo.text.normalise import word_lists

# Everyday words, mostly verbs, that distinguish languages with common stop words.
_FURTHER: Final = {
    "en": "and but with lives works likes loves prefers wants has never always their was named no"
    " love like live work want need went got",
    "id": "pengguna tidak suka tinggal bekerja kerja punya memiliki ingin tahun hari orang rumah"
    " setiap bernama berencana sebuah membeli pergi dia nya",
    "de": "nutzer benutzer mag wohnt arbeitet lebt möchte plant jeden heißt heißen gerne keine ist",
    "es": "usuario vive trabaja gusta quiere prefiere tiene llama cada año día hermana",
    "fr": "utilisateur aime habite travaille veut préfère chaque année jour appelle sœur frère",
    "it": "utente vive lavora piace vuole preferisce anno giorno sorella fratello chiama",
    "pt": "usuário mora gosta trabalha quer prefere ano dia irmã irmão chama uma não",
    "nl": "gebruiker woont werkt houdt graag elke jaar dag zus broer heet niet",
    "tr": "kullanıcı yaşıyor çalışıyor seviyor istiyor adı yıl gün evde kız kardeşi nedir",
    "vi": "người dùng sống thích muốn tên năm ngày nhà việc mẹ bố tôi có đã đâu đang khi cho một"
    " các",
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
    "tr": "turkish",
    "vi": "vietnamese",
}
_OWN_LETTERS: Final = {"de": "ßäö", "es": "ñ¿¡", "fr": "êœ", "pt": "ãõ", "tr": "ğşı", "vi": "đơư"}
_BY_SCRIPT: Final = {"Cyrl": "russian", "Arab": "arabic", "Deva": "hindi"}
# What an apostrophe leaves behind: the s of "user's" is no French word.
_REMAINS: Final = frozenset("cdjlmnstv")
_WORDS: Final = {
    code: (word_lists("stop_words")[name] | frozenset(_FURTHER[code].split())) - _REMAINS
    for code, name in _NAMES.items()
}
# A word of several languages counts less for each of them.
_KNOWN_IN: Final = {
    word: tuple(code for code, words in _WORDS.items() if word in words)
    for word in frozenset[str]().union(*_WORDS.values())
}

_LATIN: Final = "latin"
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
    _LATIN: re.compile("[a-zA-Z\u00c0-\u024f\u1ea0-\u1ef9]"),
}
# One of these characters counts as several letters.
_SIGNS_WEIGH: Final = {"kana": 3, "han": 3, "ko": 3}
_CHINESE_ONLY = re.compile("[的了们們这這那吗嗎呢吧很她你您没沒说說]")
_WORD = re.compile(r"(?<![\w@./:-])[^\W\d_]+(?![\w@/]|\.\w)")  # not part of an address

_MIN_LETTERS: Final = 4
_MIN_SCRIPT_SHARE: Final = 0.6
_MIN_SCORE: Final = 1.5
_MIN_WORDS_FOUND: Final = 2
_MIN_LEAD: Final = 1.8  # times the score of the second
_LONGEST_LOOK_CHARS: Final = 4_000
_SHORT_LOOK_CHARS: Final = 400

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
    "tr": "Turkish",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


def guess(text: str) -> str | None:
    """The language of a text, or None when it is too short or too mixed to be certain: for uses
    where a wrong answer costs more than none.

    An ISO 639 code for Japanese, Chinese, Korean, Thai, Greek, Hebrew, English, Indonesian, German,
    Spanish, French, Italian, Portuguese, Dutch, Turkish and Vietnamese. For scripts of many
    languages (Cyrillic, Arabic, Devanagari), the ISO 15924 code of the script.
    """
    return _guess(text[:_LONGEST_LOOK_CHARS])


def nearest(text: str) -> str | None:
    """The language whose words and letters a text has, by its English name, however few they are;
    None without any sign of one, and for languages that have no spaces between words.
    """
    start = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _nearest(start[:_SHORT_LOOK_CHARS].lower())


@lru_cache(maxsize=64)
def _nearest(start: str) -> str | None:
    script = _LATIN if start.isascii() else _script(start)
    if script != _LATIN:
        return _BY_SCRIPT.get(script or "")
    scores: dict[str, float] = {}
    for part in start.split():
        for word in (part,) if part.isalpha() else _WORD.findall(part):
            known = _KNOWN_IN.get(word)
            if known is not None:
                for code in known:
                    scores[code] = scores.get(code, 0.0) + 1 / len(known)
    if not start.isascii():
        for code, letters in _OWN_LETTERS.items():
            scores[code] = scores.get(code, 0.0) + any(letter in start for letter in letters)
    second, score = sorted([0.0, 0.0, *scores.values()])[-2:]
    if score == second:
        return None
    return next(_NAMES[code] for code, reached in scores.items() if reached == score)


@lru_cache(maxsize=64)
def _guess(text: str) -> str | None:
    script = _script(text)
    return _latin(text) if script == _LATIN else script


def _script(text: str) -> str | None:
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
    return script


def _japanese_or_chinese(text: str, *, has_kana: bool) -> str | None:
    if has_kana:
        return "ja"
    # A few Japanese words can go without kana, so Han alone is no proof.
    return "zh" if _CHINESE_ONLY.search(text) else None


def _latin(text: str) -> str | None:
    words = _WORD.findall(unicodedata.normalize("NFC", text).lower())
    found = {code: [word for word in words if word in known] for code, known in _WORDS.items()}
    scores = {
        code: sum(1 / len(_KNOWN_IN[word]) for word in matched) for code, matched in found.items()
    }
    (best, score), (_, second) = Counter(scores).most_common(2)
    is_sure = (
        len(set(found[best])) >= _MIN_WORDS_FOUND
        and score >= _MIN_SCORE
        and score >= _MIN_LEAD * second
    )
    return best if is_sure else None
