"""What a line is, by its words: a request about a text, the start of one, a greeting, a statement.

All of it is for plain views (see ``words/voice.txt``).
"""

from typing import Final

from ricordo.formation.words import alternatives, pattern
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
_POINTS = pattern("voice", "points")
_UNNAMED = pattern("voice", "unnamed")
_SELF = lazy_pattern(_words_of_all("first person"))
_SUSPECTS = lazy_pattern(_words_of_all("scam"))
_GIVES_TASK = lazy_pattern(rf"{_POLITE}{_any('tasks on texts')}\b")
_FOREIGN = lazy_pattern(_words_of_all("foreign tasks on texts"))
_ON_TEXT = lazy_pattern(rf"{_POLITE}{_any('tasks')}\b")
_ABOUT_WRITING = lazy_pattern(_words("writing"))
_SAYING = lazy_pattern(_words_of_all("sent"))
_SHOWS = pattern("voice", "shows")
_ANOTHER = lazy_pattern(r"\bwhat (?:he|she|they|the|my|our|your|some)\b")
_QUESTION = lazy_pattern(
    r"^(?:(?:so|and|hey|hi|ok|but|wait|hmm|um|guys)[,\s]+)?" + _any("questions") + r"\b"
)
_LIFE = pattern("voice", "life")
_LABEL = pattern("voice", "label")
_OWN = pattern("voice", "own")
_STATES = pattern("voice", "states")
_GREETING = lazy_pattern(
    rf"(?:{_any('greetings')}[\s,!.]*){{1,4}}|{alternatives('voice', 'greetings unspaced')}"
)
_THANK = lazy_pattern(rf"(?:{_any('thanks')}[\s,!.]*){{1,4}}")
_FORMAL_SALUTATION = lazy_pattern(rf"^[ \t]*+{_any('formal salutations')}|^[^\n]{{1,20}}様[ \t]*+$")
_SALUTATION = lazy_pattern(rf"[ \t]*+{_any('salutations')}(?: [\w.'-]{{1,30}}){{1,3}},[ \t]*+")
_CLOSING = lazy_pattern(rf"[ \t]*+(?:{_any('closings')},?|sent from my\b[^\n]*|--)[ \t]*+")
ADDRESSED: Final = pattern("voice", "addressed")
_SINGULAR = pattern("voice", "singular")
_PLURAL_TO_READER = pattern("voice", "plural to reader")
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
