"""What a line is, by its words: a request about a text, the start of one, a greeting, a statement.

All of it is for plain views (see ``words/voice.txt``).
"""

from typing import Final

from ricordo.formation.words import alternatives
from ricordo.text.normalise import lazy_pattern


def _any(section: str) -> str:
    return f"(?:{alternatives('voice', section)})"


def _words(section: str) -> str:
    return rf"\b{_any(section)}\b"


def _words_of_all(section: str) -> str:
    """Also the words of languages that put no spaces between words."""
    return f"{_words(section)}|{alternatives('voice', f'{section} unspaced')}"


_FEWEST_STATED_WORDS: Final = 4
_POLITE: Final = rf"^(?:{_any('polite openings')}[,!]?\s+){{0,6}}"

_TEXT_NOUN = lazy_pattern(_words_of_all("texts"))
# Not "this week" or "this problem": only what can mean a text.
_POINTS = lazy_pattern(
    r"\b(?:this|these)(?=\W*$|\s*[,;:.!?(]| (?:is|was|are|were|look|looks|looking|sound|sounds|"
    r"seem|seems|mean|means|say|says|real|legit|true|safe|correct|right|accurate|an?|the|to|for|"
    r"from|in|into|of|one|on|at|up|out|please|pls|bit|any|as|so|through|over|and|but|or|come|came|"
    r"just|yesterday|today|earlier|by|via|with|guy|person|stuff|points?|piece|page|bill|form|"
    r"claims?|terms))"
    r"|\b(?:this|these|that|those) (?:[\w-]+ ){0,2}?"
    + _words("texts")
    + r"|\b(?:the following|see below|(?:the )?\w+ below|below is|the above|"
    r"quoted|attached|pasted)\b|\bhere(?=\W*$)"
    r"|(?<!hari )(?<!minggu )(?<!bulan )(?<!tahun )(?<!saat )(?<!malam )(?<!pagi )(?<!kali )"
    r"(?<!siang )(?<!sore )(?<!selama )\bini\b|\b(?:berikut|begini|gini|kayak gini|di bawah)\b"
    r"|\bdas(?=\W*$| (?:echt|ein|eine|für|bitte|mir|mich|hat|kam|ist|heißt|bedeutet|nach|zusammen|"
    r"mal|so|hier|seriös|wahr|was)\b)|\b(?:dazu|folgendes?|folgenden?|unten)\b"
    r"|\bdiese[rsnm]?\b(?! (?:woche|jahr|monat|wochenende|abend|morgen|sommer|winter))"
    r"|\b(?:esto|eso|lo siguiente|abajo)\b|\best[ea]s?\b(?! (?:fin|semana|mes|año|noche|tarde|"
    r"mañana))"
    r"|\b(?:ça|ceci|cela|ci-dessous)\b|\bc'est\b|\bc(?:e|et|ette|es)\b(?! (?:week|soir|semaine|"
    r"mois|matin|été|hiver|que|qui))|\b(?:isto|isso|abaixo|o seguinte)\b"
    r"|\bess[ea]s?\b(?! (?:fim|semana|mês|ano))|\bquest[oaei]\b(?! (?:fine|settimana|mese|anno|"
    r"sera))"
    r"|\b(?:dit|deze|hieronder|het volgende)\b(?! (?:week|weekend|maand|jaar|avond))"
    r"|これ|この(?!週|月|年|夏|冬|前|頃)|次の|以下|下記|こんな|こういう|这(?!周|个月|年|几天)|這|下面|如下"
)
# At the start of a message, these can only mean a text.
_UNNAMED = lazy_pattern(
    r"\bthis (?!week|month|year|morning|afternoon|evening|summer|winter|spring|autumn|fall|time|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday)[\w-]+\W*$"
    r"|\b(?:he|him|his|she|her|they|them|their|the (?:sender|author|writer))\b|\b(?:it|in here)\W*$"
    r"|\b(?:dia|mereka|pengirim\w{0,3})\b|\b(?:er|ihm|der|ihnen)\b"
)
_SELF = lazy_pattern(_words_of_all("first person"))
_SUSPECTS = lazy_pattern(_words_of_all("scam"))
_GIVES_TASK = lazy_pattern(rf"{_POLITE}{_any('tasks on texts')}\b")
_FOREIGN = lazy_pattern(_words_of_all("foreign tasks on texts"))
_ON_TEXT = lazy_pattern(rf"{_POLITE}{_any('tasks')}\b")
_ABOUT_WRITING = lazy_pattern(_words("writing"))
_SAYING = lazy_pattern(_words_of_all("sent"))
_SHOWS = lazy_pattern(
    r"^(?:(?:so|ok|hi|hey|well)[,\s]+)?(?:here(?:'s| is| are| comes)|this is|these are|that's|"
    r"below is|ini(?:lah)?|berikut(?: ini)?(?: adalah)?)\b"
)
_ANOTHER = lazy_pattern(r"\bwhat (?:he|she|they|the|my|our|your|some)\b")
_QUESTION = lazy_pattern(
    r"^(?:(?:so|and|hey|hi|ok|but|wait|hmm|um|guys)[,\s]+)?" + _any("questions") + r"\b"
)
# Asked about one's own life as often as about a text.
_LIFE = lazy_pattern(
    r"\b(?:help|normal|do about|deal with|good idea|make sense|because of|like this|"
    r"think about moving)\b|^(?:can|could) (?:you|we|i) (?:do|talk)"
)
_LABEL = lazy_pattern(
    _any("labels") + r"(?:[,\s]+(?:please|pls|plz|thanks|thx|dong|ya|bitte|guys|on this|about this|"
    r"of this|here|for me))*[\s:?.!…]*"
)
_OWN = lazy_pattern(
    r"^(?:please |pls )?(?:save|store|keep|note|memori[sz]e|write down|simpan|merk\w{0,2} dir) "
    r"(?:this|these|the following|down|ini|das|folgendes)\b|" + _words_of_all("own leads")
)
_STATES = lazy_pattern(
    r"^(?:(?:so|and|but|well|hi|hey|ok|okay|also|oh|yes|no|btw|anyway)[,\s]+){0,2}"
    + _any("statements")
    + r"\b|^(?:私|僕|俺|我)|"
    r"\bremember\b|\bingat\b|\bfrom now on\b|\bmulai sekarang\b|\balways\b|\bnever\b"
)
_GREETING = lazy_pattern(
    rf"(?:{_any('greetings')}[\s,!.]*){{1,4}}|{alternatives('voice', 'greetings unspaced')}"
)
_THANK = lazy_pattern(rf"(?:{_any('thanks')}[\s,!.]*){{1,4}}")
_FORMAL_SALUTATION = lazy_pattern(rf"^[ \t]*+{_any('formal salutations')}|^[^\n]{{1,20}}様[ \t]*+$")
_SALUTATION = lazy_pattern(rf"[ \t]*+{_any('salutations')}(?: [\w.'-]{{1,30}}){{1,3}},[ \t]*+")
_CLOSING = lazy_pattern(rf"[ \t]*+(?:{_any('closings')},?|sent from my\b[^\n]*|--)[ \t]*+")
ADDRESSED: Final = lazy_pattern(
    rf"\b(?<!i )(?<!about )(?:your|ur) (?:\w+ ){{0,2}}?{_any('customer nouns')}\b"
    r"(?! (?:model|window))"
    r"|\bdear (?:customer|client|user|member|sir|madam|valued|tenant|friend)\b"
    r"|\b(?:click|tap) (?:here|below|the link|on the link|this link)\b"
    r"|\b(?:verify|confirm|update) your (?:identity|details|information|data)\b"
    r"|\b(?:rekening|akun|paket|pesanan|kartu|pembayaran|tagihan) anda\b|"
    r"\bnasabah (?:yth|terhormat)\b"
    r"|\bihre? (?:konto|paket|bestellung|karte|zahlung|sendung|rechnung)\b"
    r"|\bsu (?:cuenta|paquete|pedido|tarjeta|pago)\b|"
    r"\bvotre (?:compte|colis|commande|carte|paiement)\b"
    r"|\bsua (?:conta|encomenda|compra)\b|\bseu (?:pedido|cartão|pagamento|pacote)\b"
    r"|\b(?:il suo|la sua) (?:conto|pacco|ordine|carta)\b|"
    r"\buw (?:rekening|pakket|bestelling|account)\b"
    r"|お客様|您的(?:账户|帐户|包裹|订单|银行卡)"
)
_SINGULAR = lazy_pattern(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|saya|aku|gue|ich|mich|mir|mein\w{0,2}|yo|mi|mis|me|je|j'|"
    r"mon|ma|mes|eu|meu|minha|io|mio|mia|ik|mij|mijn)\b"
)
# "We" speaks to "you", as no user does to an assistant.
_PLURAL_TO_READER = lazy_pattern(
    r"\b(?:we|we're|we've|we'll|our|us)\b[^\n?]{0,200}\b(?:you|your|yours)\b"
    r"|\b(?:you|your|yours)\b[^\n?]{0,200}\b(?:we|we're|we've|we'll|our|us)\b"
    r"|\b(?:thanks|thank you) for your (?:\w+ ){0,2}?(?:patience|interest|understanding|business|"
    r"order|purchase|payment|loyalty|cooperation|attention|feedback|support|trust|message|inquiry)\b"
    r"|\b(?:wir|unser\w{0,2}|uns)\b[^\n?]{0,200}\b(?:sie|ihnen|ihr\w{0,2})\b"
    r"|\bkami\b[^\n?]{0,200}\b(?:anda|kamu|bapak|ibu)\b"
    r"|\b(?:hemos|queremos|nuestr[oa]s?|nos)\b[^\n?]{0,200}\b(?:le|les|usted(?:es)?|su|sus|te|tu)\b"
    r"|\b(?:nous|notre|nos)\b[^\n?]{0,200}\b(?:vous|votre|vos)\b"
    r"|\b(?:nós|nosso|nossa|temos|queremos)\b[^\n?]{0,200}\b(?:você|vocês|sua|seu|lhe)\b"
    r"|\b(?:abbiamo|nostr[oa]|vogliamo|siamo)\b[^\n?]{0,200}\b(?:lei|le|vi|suo|sua|vostr[oa])\b"
    r"|\b(?:wij|we|ons|onze)\b[^\n?]{0,200}\b(?:u|uw)\b"
)
_ABOUT_USER = lazy_pattern(
    r"\b(?:about me|about myself|tentang (?:saya|aku|gue|diri\w{0,5})|remember|ingat|catat)\b"
)


def speaks_of_user(said: str) -> bool:
    return _SELF.search(said) is not None


def speaks_to_reader(said: str) -> bool:
    """Whether a sentence says "we" to its reader: another voice."""
    if said.endswith("?") or _SINGULAR.search(said) or _GIVES_TASK.match(said):
        return False
    return _PLURAL_TO_READER.search(said) is not None


def is_about_others(said: str) -> bool:
    """Whether a sentence states something that is not about the user."""
    if said.endswith(("?", ":")) or len(said.split()) < _FEWEST_STATED_WORDS:
        return False
    if _SELF.search(said) or _STATES.search(said) or _GIVES_TASK.match(said):
        return False
    return not (_ON_TEXT.match(said) or _GREETING.match(said) or _THANK.match(said))


def is_label(said: str) -> bool:
    """Whether a line only says "comment on this": "Thoughts?"."""
    return _LABEL.fullmatch(said) is not None


def is_about_text(said: str) -> bool:
    """Whether a sentence gives a task on a text, or asks about one."""
    if _ABOUT_USER.search(said):
        return False
    if _GIVES_TASK.match(said) or (_FOREIGN.search(said) and not _STATES.match(said)):
        return True
    points = _POINTS.search(said) is not None
    if _ON_TEXT.match(said) and (points or _ABOUT_WRITING.search(said)) and not _LIFE.search(said):
        return True
    if not (said.endswith("?") or _QUESTION.match(said)):
        return False
    return bool(
        (points and not _LIFE.search(said))
        or _SUSPECTS.search(said)
        or (_ABOUT_WRITING.search(said) and not _STATES.match(said))
    )


def asks_about_unnamed(said: str) -> bool:
    """Whether a question is about somebody or something unnamed, and not about the user."""
    last = said.rpartition(", ")[2]
    if _ON_TEXT.match(last) and _UNNAMED.search(last) and not _SELF.search(last):
        return True
    asks = said.endswith("?") or _QUESTION.match(said)
    return bool(
        asks and _UNNAMED.search(said) and not _SELF.search(said) and not _LIFE.search(said)
    )


def announces(said: str, *, is_stopped: bool = False) -> bool:
    """Whether a line announces a text; one that ends in a full stop must point at it."""
    if _ABOUT_USER.search(said):
        return False
    noun = _TEXT_NOUN.search(said) is not None
    if _SHOWS.match(said) and (noun or _ANOTHER.search(said)):
        return True
    sent = _SAYING.search(said) is not None
    points = _POINTS.search(said) is not None
    if points and (sent or noun):
        return True
    if said.endswith(":"):
        return sent or points or noun
    return sent and not is_stopped and (noun or _ends_with_saying(said))


def _ends_with_saying(said: str) -> bool:
    """Whether the line ends with the verb: "the letter says"."""
    return any(len(said) - found.end() <= 3 for found in _SAYING.finditer(said))


def is_own_lead(said: str) -> bool:
    """Whether a line introduces the user's own words: "A bit about me:"."""
    return said.endswith(":") and _OWN.search(said) is not None


def is_statement(said: str) -> bool:
    """Whether a line is about the user, or a lasting request to the assistant."""
    return _STATES.search(said) is not None


def is_greeting(said: str) -> bool:
    return _GREETING.fullmatch(said) is not None


def is_thanks(said: str) -> bool:
    return _THANK.fullmatch(said) is not None


def is_formal_salutation(line: str) -> bool:
    """A salutation that nobody uses for an assistant."""
    return _FORMAL_SALUTATION.match(line) is not None


def is_salutation(line: str) -> bool:
    """A salutation that may also be meant for an assistant."""
    return _SALUTATION.fullmatch(line) is not None


def is_closing(line: str) -> bool:
    """The line above a signature, or the mark of one."""
    return _CLOSING.fullmatch(line) is not None
