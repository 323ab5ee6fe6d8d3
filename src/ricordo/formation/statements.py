"""Takes sentences apart to compare them.

Made for the short third-person sentences of memories, in English and Indonesian; of other languages
it knows the negations. What it does not recognise stays plain words.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ricordo.formation.sensitive import plain_text, words_of
from ricordo.formation.words import pattern
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.text.analyser import Analyser, stop_words
from ricordo.text.normalise import lazy_pattern


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


LIKING: Final = "likes"
"""Replaces every verb of liking and disliking."""

_MAX_SENTENCES: Final = 8
_KNOWN_TEXTS: Final = 1_024
_MAX_SUBJECT_WORDS: Final = 4
_SENTENCE_END: Final = lazy_pattern(r"(?<=[.!?。！？])\s+|(?<=[。！？])|[;\n]+")
_WORD: Final = lazy_pattern(r"[^\s,.;:!?()\"“”]+(?:[.,:]\d+)*")
_SHORT_NOT: Final = lazy_pattern(r"\b(?:can't|cannot)\b|n't\b")
_DISLIKE: Final = pattern("statements", "dislike")
_LIKE: Final = pattern("statements", "like")
_FAN: Final = lazy_pattern(r"\bis not (?=a (?:big |huge )?fan of|fond of|keen on|into\b)")
_NO_LONGER: Final = lazy_pattern(
    r"\bno longer\b|\bnot any ?more\b|\b(?:sudah|udah) (?:tidak|nggak)\b"
)
_NEGATORS: Final = _words(
    "not no never none without cannot tidak tak bukan belum nggak gak ga enggak jangan tanpa nicht"
    " kein keine keinen keiner nie niemals"
)
_DELICATE: Final = pattern("statements", "delicate")
_CLAUSES: Final = lazy_pattern(r",| (?:and|or|dan|atau|und|oder) ")
_WISH: Final = lazy_pattern(r"\bwould (?:like|love|prefer)\b")
_JAPANESE_NOT: Final = lazy_pattern(r"ない|ません|なかった|嫌い|なくな")
_ADVERBS: Final = _words(
    "currently now still really also always usually often just very quite truly mostly generally"
    " absolutely definitely actually recently so much lot sekarang kini masih sangat juga selalu"
    " sering sekali banget memang benar lagi any anymore"
)
_PAST: Final = _words(
    "was were had did used formerly previously once ago yesterday last until dulu dahulu pernah"
    " kemarin lalu sampai tadinya"
)
_AUXILIARIES: Final = _words(
    "a an the do does did is are am be been being has have had will would to of that this yang"
    " adalah ialah sebuah seorang seekor"
)
_VERBS: Final = _words(
    "likes is are was were has have had lives live works work owns plays uses wants needs speaks"
    " drinks eats studies drives runs goes plans knows keeps makes takes does prefers reads writes"
    " cooks moved bought started learns teaches travels visits sleeps weighs earns not never no can"
    " should must may will would tidak tak bukan belum adalah punya memiliki tinggal bekerja kerja"
    " belajar makan minum main bermain pergi mau ingin akan bisa memakai menggunakan berusia"
    " berumur sedang sudah lahir naik membaca menulis"
)
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, words in enumerate(
        [
            ("zero", "nol"),
            ("one", "satu"),
            ("two", "dua"),
            ("three", "tiga"),
            ("four", "empat"),
            ("five", "lima"),
            ("six", "enam"),
            ("seven", "tujuh"),
            ("eight", "delapan"),
            ("nine", "sembilan"),
            ("ten", "sepuluh"),
            ("eleven", "sebelas"),
            ("twelve",),
        ]
    )
    for word in words
}
_ENDS_SUBJECT: Final = _VERBS | _NEGATORS
_SAME_SUBJECT: Final = {"pengguna": "user", "i": "user", "saya": "user", "aku": "user"}
_INDONESIAN_FILLERS: Final = stop_words("indonesian")
_TERMS: Final = Analyser("english")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence. ``terms`` are its content words without numbers, negation and liking verbs.

    ``text`` is the normalised sentence: short forms written out, adverbs removed, every verb of
    liking or disliking replaced by :data:`LIKING`. ``is_positive`` is False if it is denied or
    disliked. ``is_delicate``: the meaning depends on the order of the words (comparisons,
    exceptions, likes beside dislikes), so two of those are only compared by ``order``.
    """

    text: str
    subject: str
    terms: frozenset[str]
    numbers: frozenset[str]
    is_taste: bool
    is_positive: bool
    is_past: bool
    is_delicate: bool
    order: tuple[str, ...]

    @property
    def after_liking(self) -> str:
        """What is liked or disliked."""
        return self.text.partition(f" {LIKING} ")[2]


@lru_cache(maxsize=_KNOWN_TEXTS)
def statements_of(text: str) -> tuple[Statement, ...]:
    """The first sentences of a text, taken apart."""
    sentences = [part for part in _SENTENCE_END.split(text[:MAX_CONTENT_CHARS]) if part.strip()]
    return tuple(_statement(sentence) for sentence in sentences[:_MAX_SENTENCES])


def _statement(sentence: str) -> Statement:
    plain = _SHORT_NOT.sub(
        lambda found: "can not" if "c" in found[0] else " not", plain_text(sentence)
    )
    plain = _WISH.sub("wants", _NO_LONGER.sub("not", plain)).replace("favorite", "favourite")
    plain = _FAN.sub("not is ", plain)
    dislikes = _DISLIKE.search(plain) is not None
    joined = _DISLIKE.sub(LIKING, plain, count=1) if dislikes else _LIKE.sub(LIKING, plain, count=1)
    words = [_NUMBER_WORDS.get(word, word) for word in _WORD.findall(joined)]
    kept = [word for word in words if word not in _ADVERBS]
    denials = sum(word in _NEGATORS for word in kept) + len(_JAPANESE_NOT.findall(plain))
    said = [word for word in kept if word not in _NEGATORS]
    is_mixed = (dislikes and _LIKE.search(plain) is not None) or (
        (dislikes or denials) and _CLAUSES.search(plain) is not None
    )
    numbers = frozenset(word for word in said if word[0].isdigit())
    content = [
        word
        for word in said
        if word not in numbers
        and word not in _AUXILIARIES
        and word not in _INDONESIAN_FILLERS
        and word != LIKING
    ]
    return Statement(
        text=" ".join(word for word in said if word not in {"do", "does"}),
        subject=_subject(kept),
        terms=frozenset(_TERMS.terms(" ".join(content))),
        numbers=numbers,
        is_taste=LIKING in said,
        is_positive=(denials + dislikes) % 2 == 0,
        is_past=not _PAST.isdisjoint(words),
        is_delicate=bool(is_mixed) or _DELICATE.search(plain) is not None,
        order=tuple(words_of(plain)),
    )


def _subject(words: list[str]) -> str:
    """The words before the verb, or the first word."""
    named = words[1:] if words[:1] == ["the"] else words
    end = next((n for n, word in enumerate(named) if n and word in _ENDS_SUBJECT), 1)
    said = named[: end if end <= _MAX_SUBJECT_WORDS else 1]
    return " ".join(_SAME_SUBJECT.get(word, word) for word in said)


CONTRADICTION_MIN: Final = 0.55
"""The least cosine of memories that can contradict each other."""
OVERLAP_MIN: Final = 0.6
"""The least share of common words of memories that say the same."""

_FILLERS: Final = frozenset(
    {"a", "an", "the", "my", "his", "her", "its", "their", "our", "your", "is", "are", "am", "be"}
    | {"been", "being", "has", "have", "had", "do", "does", "did", "yang", "adalah", "ialah"}
    | {"sebuah", "seorang", "seekor"}
)


def share_words(analyser: Analyser, one: str, other: str) -> bool:
    """Whether texts share most of their words, and differ in no figure or negation."""
    if figures_and_denials(one) != figures_and_denials(other):
        return False
    return share_of_words(analyser, one, other) >= OVERLAP_MIN


def share_of_words(analyser: Analyser, one: str, other: str) -> float:
    """The share of words that two texts have in common, 0 to 1."""
    first, second = set(analyser.terms(one)), set(analyser.terms(other))
    return len(first & second) / len(first | second) if first and second else 0.0


def figures_and_denials(text: str) -> tuple[set[str], set[bool]]:
    """What must not differ between texts that say the same, however similar they are."""
    said = statements_of(text)
    return {number for one in said for number in one.numbers}, {one.is_positive for one in said}


def keep_the_order(one: str, other: str) -> bool:
    """Whether all words of one text occur in the other, in the same order.

    Function words count, fillers do not. If so, one says what the other says and perhaps more. If
    not, the same words may mean something else: "from Rome to Paris" is not "from Paris to Rome",
    nor "before work" "after work".
    """
    first, second = sorted((_content_words(one), _content_words(other)), key=len)
    remaining = iter(second)
    return all(word in remaining for word in first)


def _content_words(text: str) -> list[str]:
    words = [word for said in statements_of(text) for word in said.text.split()]
    return [(_TERMS.terms(word) or [word])[0] for word in words if word not in _FILLERS]
