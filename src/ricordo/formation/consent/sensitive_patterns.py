"""Turns of phrase that tell a name, a home, a language, a birth, a treatment or an income."""

import re
from collections.abc import Callable
from typing import Final

from ricordo.text.normalise import lazy_pattern

_LANGUAGES: Final = (
    "english|indonesian|bahasa|javanese|sundanese|malay|german|french|italian|spanish|portuguese"
    "|dutch|danish|swedish|norwegian|finnish|polish|czech|slovak|russian|ukrainian|greek|turkish"
    "|arabic|hebrew|persian|farsi|hindi|urdu|bengali|punjabi|tamil|telugu|thai|vietnamese|tagalog"
    "|filipino|chinese|mandarin|cantonese|japanese|korean|hungarian|romanian|bulgarian|croatian"
    "|serbian|catalan|basque|welsh|irish|swahili|latin|esperanto|inggris|jawa|sunda|jepang|jerman"
    "|arab|prancis|belanda|korea|deutsch|englisch|franzosisch|italienisch|spanisch|russisch"
    "|turkisch|arabisch|polnisch|japanisch|chinesisch|indonesisch|niederlandisch"
)
_SOFTWARE: Final = (
    "code|codes|file|files|config|configuration|data|app|apps|repo|repository|logic|function"
    "|module|script|scripts|state|database|service|server|project|documentation|docs|class|test"
    "|tests|component|character|novel|story"
)
_NOT_A_PLACE: Final = (
    r"(?:python|java|javascript|typescript|rust|go|golang|kotlin|swift|ruby|php|linux|ubuntu|macos"
    r"|windows|postgres\w{0,5}|mysql|sqlite|mongodb|redis|aws|azure|gcp|github|gitlab|git|docker"
    r"|kubernetes|react|vue|angular|svelte|django|flask|fastapi|vim|neovim|emacs|vscode|notion"
    r"|slack|tears|management|marketing|sales|production|staging|main|version|dark|remote|part"
    r"|full|design|engineering|finance|hr|async|\w{0,20}ing|using|be|do|tim|divisi|bagian)\b"
)
_NOT_LIVED_IN: Final = r"(?:fear|peace|harmony|denial|sin|src|the (?:moment|past|present|cloud))\b"
_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|januari|februari|maret|mei|juni|juli|agustus|oktober|desember|januar|februar|marz|dezember"
)

_NAME: Final = lazy_pattern(
    r"\b(?:my|user'?s) (?:(?:full|first|last|real|preferred|given|family|middle|legal) )?name\b"
    r"(?! ?(?:server|space))"
    r"|\bcalls? me (?!back|later|tomorrow|today|tonight|now|again|when|whenever|if|at|on|in|after"
    r"|before|once|maybe|as soon|crazy|every|anytime|by phone|to\b|for\b)\w"
    r"|\b(?:user|i|he|she|they) (?:also )?(?:goes|go|went) by\b(?! (?:the (?!name)|bus|train|car"
    r"|bike|bicycle|plane|foot|boat|metro|taxi|ferry|subway|tram|air|sea|feel))"
    r"|\bto be (?:called|known as|addressed)\b|\b(?:user is|i'm|i am) (?:called|named)\b"
    r"|\bnama(?:ku|nya)?(?: (?:saya|aku|pengguna|gue|gua|panggilan))? (?:adalah|ialah)\b"
    r"|\bnama(?:ku| (?:saya|aku|pengguna|gue|gua))\b|(?<!\w )\bpengguna bernama\b"
    r"|\bpanggil(?:lah)? (?:saya|aku|dia|gue|gua|pengguna)\b"
    r"|\b(?:biasa|sering|ingin|mau|suka|minta) dipanggil\b"
    r"|\bich heisse\b|\bmein name\b|\b(?:be)?nutzer(?:in)? heisst\b|\bnenn(?:t|en sie)? mich\b"
)
_HOME: Final = lazy_pattern(
    rf"(?<!\bthat )\b(?:live|lives|living|lived|resides?|residing) (?:\w{{1,20}} ){{0,2}}?"
    rf"(?:in|at|near|outside|close to)\b(?! {_NOT_LIVED_IN})"
    r"|\b(?:based|settled) (?:in|near|out of)\b"
    r"|\b(?:i'm|i am|user is|user comes?|i come|user hails|he is|she is) (?:originally )?from\b"
    r"(?! (?:the |a |an )?(?:\w{1,20} )?(?:team|department|company|office|future|squad|division))"
    r"|\boriginally from\b|\bhome is (?!office|where)\w"
    rf"|\bborn (?:and raised )?in (?!\d|the \d|{_MONTHS})"
    r"|\b(?:apartment|flat|house|home) in (?!one|two|a |the (?:near|next|sims)|order|minecraft)\w"
    r"|\b(?:tinggal|menetap|bermukim|ngekos|kos|ngontrak|berdomisili) (?:\w{1,20} ){0,2}?"
    r"(?:di|dekat)\b"
    rf"|\bpindah (?:rumah )?ke (?!{_NOT_A_PLACE})"
    r"|\b(?:berasal|asal|asalnya|asli) dari (?!tim|divisi|perusahaan)|\brumah(?:nya|ku| saya)? di\b"
    r"|\blahir di\b"
    r"|\b(?:wohne|wohnt|wohnen|wohnte|lebe|lebt) (?:\w{1,20} ){0,2}?(?:in|bei|nahe)\b"
    r"|\b(?:gezogen|zieht|ziehe|zog|umgezogen) (?:\w{1,20} ){0,2}?(?:nach|in)\b"
    r"|\bnach \w{1,30} (?:um)?gezogen\b|\b(?:kommt|komme|stammt|stamme) (?:\w{1,20} )?aus\b"
    r"|\bgeboren in (?!\d)"
)
_LIVING_SOFTWARE: Final = lazy_pattern(
    rf"\b(?:{_SOFTWARE}) (?:that )?(?:lives?|living|lived|resides?) (?:\w{{1,20}} )?(?:in|at)\b"
)
_MOVED: Final = lazy_pattern(
    r"\b(?:move|moved|moving|moves|relocat(?:e|es|ed|ing)|emigrated|immigrated) "
    r"(?:back |over |away |out |here )?(?:to|from) "
)
_NO_PLACE: Final = lazy_pattern(_NOT_A_PLACE)
_MOVED_ANYHOW: Final = lazy_pattern(_MOVED.pattern, re.IGNORECASE)
_VAGUE: Final = lazy_pattern(r"(?:a|an|the|my|our|his|her|their|another|new)\b")
_MOVED_HOME: Final = lazy_pattern(
    r"(?:a|an|the|my|our|his|her|their|another)(?: new| bigger| smaller| different)? "
    r"(?:flat|house|apartment|home|place|city|town|village|country|countryside|suburbs?|coast)\b"
)
_MOVED_TO_NAME: Final = lazy_pattern(r"(?:The |the )?[A-Z][a-z]")
_LANGUAGE: Final = lazy_pattern(
    rf"\b(?:speak|speaks|spoke|speaking|fluent|understands?) (?:\w{{1,20}},? ){{0,4}}?"
    rf"(?:{_LANGUAGES})\b"
    r"|\b(?:answers?|answered|repl(?:y|ies)|responses?|respond|talk|chat|chats|communicate|addressed)"
    rf" (?:\w{{1,20}} ){{0,3}}?in (?:\w{{1,20}} )?(?:{_LANGUAGES})\b"
    r"|\b(?:fasih|lancar|bisa|menguasai|berbicara|bicara|ngomong|jawab|jawaban|balas|pakai)"
    r" (?:\w{1,20} ){0,4}?(?:ber)?bahasa (?!pemrograman|program\b|python|java\b)"
    rf"|\b(?:spricht|spreche|sprechen|fliessend) (?:\w{{1,20}} ){{0,3}}?(?:{_LANGUAGES})\b"
    rf"|\bantwort\w{{0,4}} (?:\w{{1,20}} ){{0,3}}?auf (?:{_LANGUAGES})\b"
    rf"|\b(?:{_LANGUAGES}) is (?:my|his|her|their|user'?s) (?:first|native|mother|main)\b"
)
_PRONOUNS: Final = lazy_pattern(
    r"\b(?:she|he|they|ze|xe) ?/ ?(?:her|hers|him|his|them|theirs|they|she|he|zir|xem)\b"
)
# Currency signs stand between spaces in a plain text.
_INCOME: Final = lazy_pattern(
    r"\b(?:makes?|making|earn(?:s|ed)?|paid|gets?|owes?|owed?|saved|verdient|verdiene)\b"
    r" (?:\w{1,15} ){0,2}?(?:[$€£¥]|rp\.? ?|usd |eur |idr )? ?\d[\d.,]{0,15} ?(?:k|m|jt|juta)?"
    r" ?(?:dollars?|euros?|euro|pounds?|usd|eur|rupiah|yen)?"
    r" ?(?:(?:a|per|an|each|im|pro) (?:year|month|week|hour|day|annum|monat|jahr|stunde)|yearly"
    r"|monthly|annually|brutto|netto)\b"
    r"|\b(?:owes?|owed|saved)\b (?:\w{1,15} ){0,3}?(?:[$€£¥]|rp\.? ?) ?\d"
)
_FULL_DATE: Final = (
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./ -]\d{1,2}[./ -]\d{2,4}"
    r"|\d{1,2}(?:st|nd|rd|th|\.|er)?(?: of| de)? \w{3,10}(?: of| de)?,? (?:19|20)\d\d"
    r"|\w{3,10} \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d)"
)
_BIRTH: Final = lazy_pattern(
    r"\b(?:date of birth|birth ?date|dob|tanggal lahir|tgl lahir|geburtsdatum|fecha de nacimiento"
    r"|date de naissance|data di nascita|data de nascimento|geboortedatum)\b"
    r"|\b(?:born|lahir|geboren|nacio|nacido|nacida|nee?|nato|nata|nascid[oa]|birthday"
    rf"|ulang tahun\w{{0,3}}|geburtstag|cumpleanos)\b(?: \w{{1,12}}){{0,4}}? {_FULL_DATE}"
    rf"|\b{_FULL_DATE} geboren\b"
)
_SEEN_BY: Final = lazy_pattern(
    r"\b(?:sees?|seeing|saw|visits?|visited|visiting|consults?|consulted|appointments? (?:with|at)"
    r"|referred to|treated by|my|user's) (?:a |an |the |his |her |their |my )?"
    r"(?:psycholog|psychiatr|psychotherap|therapist|counsell?or|oncolog|cardiolog|neurolog|urolog"
    r"|gyna?ecolog|dermatolog|endocrinolog|rheumatolog|fertility|physio|midwife)"
)


def _tells_a_home(plain: str, cased: str) -> bool:
    kept = _LIVING_SOFTWARE.sub(" ", plain)
    if _HOME.search(kept):
        return True
    for found in _MOVED.finditer(plain):
        following = plain[found.end() : found.end() + 60]
        if _MOVED_HOME.match(following):
            return True
        if following and not _VAGUE.match(following) and not _NO_PLACE.match(following):
            return True
    return any(
        _MOVED_TO_NAME.match(cased[found.end() : found.end() + 10])
        and not _NO_PLACE.match(cased[found.end() : found.end() + 30].casefold())
        for found in _MOVED_ANYHOW.finditer(cased)
    )


def _finds(pattern: re.Pattern[str]) -> Callable[[str, str], bool]:
    return lambda plain, _cased: pattern.search(plain) is not None


PATTERNS: Final[dict[str, Callable[[str, str], bool]]] = {
    "preferred_name": _finds(_NAME),
    "pronouns": _finds(_PRONOUNS),
    "city": _tells_a_home,
    "language": _finds(_LANGUAGE),
    "health": _finds(_SEEN_BY),
    "money": _finds(_INCOME),
    "identifiers": _finds(_BIRTH),
}
"""By field: whether a plain text, or the same with its capitals, says so."""
