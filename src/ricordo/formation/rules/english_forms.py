"""English chat made regular, so that each rule needs to know one spelling."""

import re
from typing import Final

_LEAD = re.compile(
    r"(?:(?:hi|hello|hey|hiya|greetings|ok|okay|yes|yeah|yep|no|nope|well|so|also|and|but|btw|"
    r"by the way|fyi|"
    r"actually|honestly|anyway|for (?:context|reference|info)|as i (?:said|mentioned)|"
    r"as you know|thanks|thank you|"
    r"good (?:morning|afternoon|evening)|to be (?:clear|honest)|tbh|just so you know|jsyk|"
    r"personally|in general|"
    r"generally|first|second|secondly|finally|ps|additionally|plus|because|since|"
    r"as(?= (?:i|i['’]?m|my|we)\b)|there|oh|ah|hmm|um|uh|anyways|great|cool|sorry|heads[- ]up|"
    r"fun fact|side note|no wait|speaking(?= as\b)|"
    r"everyone|all|"
    r"one more thing|another thing|correction|nice to meet you|currently|nowadays|now|these days|"
    r"right now|"
    r"unfortunately|luckily|sadly|basically|lately|in reality|at (?:age )?\d\d|in fact|"
    r"truth be told|as it happens|at home)(?:\s*[,.!:…]+\s*|\s+|$)){0,4}",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening)|halo|hai|hallo|helo|"
    r"assalamualaikum|selamat (?:pagi|siang|sore|malam)|permisi)\b",
    re.IGNORECASE,
)
_SPELLINGS: Final = tuple(
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
_ADVERB = (
    r"(?:really|also|absolutely|truly|just|currently|now|still|actually|personally|definitely|"
    r"totally|already|"
    r"recently|presently|generally|mostly|mainly|honestly|simply|always|usually|quite|"
    r"genuinely|thoroughly|"
    r"strongly|particularly|especially|very much|sure do|do)"
)
_ADVERBS = re.compile(
    rf"^(I(?: am| have| do not)?)(?: (?!do not){_ADVERB}){{1,3}}(?= )", re.IGNORECASE
)


def spelled_out(text: str) -> str:
    """The clause in full spelling, without greeting and filler."""
    flat = " ".join(text.replace("’", "'").split())
    lead = _LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _SPELLINGS:
        flat = spelling.sub(full, flat)
    return _SMALL_I.sub("I", flat)


def regular(text: str) -> str:
    """The clause in full spelling, without greeting, filler and adverbs before the verb."""
    return _ADVERBS.sub(r"\1", spelled_out(text))


_BOTH = re.compile(r"my [\w-]+ and (?:I|me)(?= )", re.IGNORECASE)


def of_both(clause: str) -> str:
    """A regular clause about "my wife and I" as one about "I"; any other as it stands."""
    return _BOTH.sub("I", clause, count=1) if _BOTH.match(clause) else clause


def is_greeting(text: str) -> bool:
    """Whether the text begins as one does with somebody whom one has just met."""
    return bool(_GREETING.match(text))
