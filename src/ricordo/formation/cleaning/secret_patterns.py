"""What must never be remembered, nor shown to a model: passwords, keys, tokens, card numbers."""

from collections.abc import Iterator
from typing import Final

from ricordo.formation.cleaning.text_spans import Paragraphs, Sentences, Span
from ricordo.text.patterns import lazy_pattern

_WORDS: Final = (
    r"passwords?|pass ?codes?|pass ?phrases?|passwd|pwd|pin(?: code| number)?|api[ _-]?keys?"
    r"|(?:secret|access|private|license|encryption)[ _-]?(?:key|token)s?|client[ _-]?secret|secret"
    r"|(?:auth|access|bearer|refresh|session)?[ _-]?tokens?|cvv2?|cvc|recovery (?:code|phrase)s?"
    r"|seed phrase|otp|2fa codes?|credentials?|log[ -]?in"
    r"|kata ?sandi|sandi|kode (?:akses|otp|rahasia)|nomor pin"
    r"|passwort|kennwort|zugangscode|geheimzahl|geheimnummer"
)
_JAPANESE_WORDS: Final = "パスワード|暗証番号|秘密鍵|合言葉|apiキー|アクセストークン|トークン"
_WORD_STARTS = r"(?<![^\W_])"  # also after the _ of DB_PASSWORD
_NAMED = lazy_pattern(
    rf"{_WORD_STARTS}(?:{_WORDS})\b[^\n.:=]{{0,40}}?(?:\b(?:is|are|was|adalah|ialah|yaitu|ist|lautet)\b|[:=])"
    rf"|(?:{_JAPANESE_WORDS})[^\n。]{{0,20}}?(?:は|が|:|=)"
    # Without a word between, as people type: digits, or letters and digits mixed.
    r"|\b(?:cvv2?|cvc|pin|otp|passcode|sandi|password|passwort)\b[^\n.0-9]{0,20}\b[0-9]{3,8}\b"
    r"|\b(?:pass(?:word|code|wort)|(?:kata )?sandi|kennwort|token|api key)\b[^\n.]{0,40}?"
    r"(?<!\S)(?=\S{0,30}[0-9])(?=\S{0,30}[^\W\d])\S{6,40}"
)
_TOKEN = lazy_pattern(
    r"\b(?:sk|pk|rk)[-_](?:[a-z]{2,8}[-_])?[a-z0-9_-]{16,}+"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|pypi-|dop_v1_|shpat_)[a-z0-9_-]{16,}+"
    r"|\bxox[abeprs]-[a-z0-9-]{10,}+|\b(?:akia|asia)[0-9a-z]{16}\b|\baiza[0-9a-z_-]{30,}+"
    r"|\beyj[a-z0-9_-]{10,}+\.[a-z0-9_-]{6,}+|\bbearer\s{1,3}[a-z0-9._~+/-]{16,}+"
    r"|\bssh-(?:rsa|ed25519|dss)\s{1,3}[a-z0-9+/=]{20,}+"
    r"|\b[a-z][a-z0-9+.-]{1,15}://[^\s/@:]{1,100}:[^\s/@]{1,100}@"
)
_KEY_BLOCK = lazy_pattern(r"-----begin [a-z0-9 ]{0,40}(?:key|certificate)[a-z0-9 ]{0,20}-----")
_RANDOM_RUN = lazy_pattern(r"(?<![a-z0-9_-])[a-z0-9_-]{32,}+")
_CARD_RUN = lazy_pattern(r"(?<![0-9])[0-9](?:[ -]?[0-9]){12,18}(?![0-9])")
_MIN_DIGITS_IN_RANDOM: Final = 4
_MIN_LETTERS_IN_RANDOM: Final = 8


def secret_cuts(view: str) -> Iterator[Span]:
    """The sentences of a plain view that hold a secret; a key block to the end of its paragraph.

    Where a sentence ends with the colon after which the secret should come, the next line goes too.
    """
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in secrets(view):
        first, last = sentences.around(start, end)
        if view.startswith("-----begin", start):
            last = paragraphs.end_after(end)
        elif not view[end:last].strip():
            last = sentences.around(last, min(last + 1, len(view)))[1]
        yield first, last


def has_secret(view: str) -> bool:
    """Whether a plain view holds a secret."""
    return any(True for _ in secrets(view))


def secrets(view: str) -> Iterator[Span]:
    """Where a plain view gives away a secret."""
    for pattern in (_NAMED, _TOKEN, _KEY_BLOCK):
        yield from (found.span() for found in pattern.finditer(view))
    for found in _RANDOM_RUN.finditer(view):
        run = found.group()
        digits = sum(map(str.isdigit, run))
        letters = sum(map(str.isalpha, run))
        if digits >= _MIN_DIGITS_IN_RANDOM and letters >= _MIN_LETTERS_IN_RANDOM:
            yield found.span()
    for found in _CARD_RUN.finditer(view):
        if _passes_luhn([int(digit) for digit in found.group() if digit.isdecimal()]):
            yield found.span()


def _passes_luhn(digits: list[int]) -> bool:
    """The check digit of card numbers."""
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
