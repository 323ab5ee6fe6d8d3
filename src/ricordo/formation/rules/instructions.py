"""Standing instructions to the assistant: meant for every answer, not for the one at hand."""

import re

from ricordo.formation.rules.english_person import in_third_person
from ricordo.formation.rules.instructions_indonesian import indonesian_instruction
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.screening import BLANKED
from ricordo.formation.rules.standing import IDIOM, PRESENT_TASK, standing

_VERBS = (
    r"answer|reply|respond|use|write|speak|talk|address|call me|explain|include|add|avoid|keep|"
    r"format|start|end|begin|"
    r"give me|show|ask|say|mention|be|make|send|assume|remind me|suggest|recommend|provide|"
    r"cite|tell me|translate|"
    r"double-check|check|put|treat|refer|greet|stick|limit|convert|skip|end|sign|apologi[sz]e|"
    r"quote|prefer|return|list|spell|do"
)
# These are too common in maxims to stand after a bare "always".
_MORE_VERBS = rf"{_VERBS}|give|drop|leave out|round|summari[sz]e|shorten|highlight|switch|cut|stay"
_DOING = (
    r"using|saying|adding|giving|asking|calling|writing|putting|suggesting|recommending|mentioning|"
    r"repeating|apologi[sz]ing|ending|starting|including|telling|explaining|answering|replying|"
    r"sending|reminding|translating|showing"
)
_LEAD = (
    r"(?:(?:please|pls|and|also|ok|okay|so|just|i want you to|i'd like you to|"
    r"i would like you to|i need you to|"
    r"you should|you must|you can|can you please|remember to|make sure to|make sure you|"
    r"be sure to)[,\s]+){0,3}"
)
_HOW = r"(?P<how>always |never |don't ever |do not ever |don't |do not |dont |stop |)"
_ONWARDS = (
    r"(?:from now on(?:wards)?|from here on(?: out| in)?|going forward|moving forward|henceforth|"
    r"in (?:the )?future|next time and always|"
    r"(?:in|for|with) (?:all )?(?:of )?(?:your |future )?(?:answers|responses|replies)(?: to me)?|"
    r"from today(?: on)?|"
    r"whenever you (?:answer|reply|write|respond)(?: to)?(?: me)?|every time you (?:answer|reply)|"
    r"when(?:ever)? you(?:'re| are)? (?:talk|talking|write|writing) to me)"
)
_ALWAYS = re.compile(
    rf"{_LEAD}(?P<how>always|never|don't ever|do not ever) (?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    rf"{_LEAD}{_ONWARDS}[,:]?\s+{_LEAD}{_HOW}(?P<what>(?:{_MORE_VERBS})\b.*|(?:{_DOING}) .*)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    rf"{_LEAD}{_ONWARDS}[,:]?\s+{_LEAD}(?P<how>no) (?:more )?(?P<what>[\w-]+(?: [\w-]+){{0,3}})",
    re.IGNORECASE,
)
_UNTIL_NOW = re.compile(
    rf"{_LEAD}{_HOW}(?P<what>(?:{_MORE_VERBS})\b.*?|(?:{_DOING}) .*?),? (?:{_ONWARDS}|ever|"
    rf"with me(?: from now on)?|every (?:single )?time|always|at all times|"
    rf"in (?:all|every) (?:of )?(?:our |your )?(?:chats?|answers?|conversations?|repl(?:y|ies)))"
    rf"(?: please)?",
    re.IGNORECASE,
)
_NEVER_ANY = re.compile(
    r"(?:please,? )?(?P<how>no) (?P<what>[\w-]+(?: [\w-]+){0,3}?)(?: for me)?(?:,? please)?,? "
    r"(?:ever(?: again)?|every time|at any time|in (?:any|all) (?:of )?(?:your )?(?:answers|"
    r"replies))",
    re.IGNORECASE,
)
_FOR_ME = re.compile(
    r"(?P<what>[a-z-]+(?: [a-z-]+)? in \S+(?: \S+)?) for me(?:,? please)?,? (?:always|every time)",
    re.IGNORECASE,
)
_STOP = re.compile(rf"{_LEAD}(?P<how>stop) (?P<what>(?:{_DOING}) .+)", re.IGNORECASE)
_EACH_TIME = re.compile(
    rf"{_LEAD}(?:whenever|every time|each time|any ?time|always when|"
    rf"when(?= i (?:ask|say|paste|send|share|type|write|give|mention|post)\b)) i "
    rf"(?P<when>[\w' ]{{3,50}}?),? "
    rf"(?:(?:just|please|always|then|you should|i want you to) ){{0,2}}"
    rf"(?P<what>(?:{_MORE_VERBS}|scale|fix|rewrite|correct|proofread|check|compare|rate|review|"
    rf"simplify|remind|help|warn)\b.*)",
    re.IGNORECASE,
)
# Quotations, placeholders and markup: an instruction about a text, or part of one.
_UNSPOKEN = re.compile(rf"[{BLANKED}\[\]{{}}<>|`=]|__")
_TAIL = re.compile(
    r"[,\s]+(?:please|pls|thanks|thank you|ok|okay|ya|dong|yah|makasih|terima kasih|kak|deh|"
    r"lol)\W*$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r",? (?:because|since|so that|as (?=i\b)|even (?:if|when|though)|although|no matter)\b.*|"
    r",? ?(?:and )?(?:i hate|i don't|i can't|don't do|dont do)\b.*|"
    r",? please(?=,)",
    re.IGNORECASE,
)
_SENT = re.compile(r"\b(?:an?|some|my) ([a-z]+(?: [a-z]+)?)$", re.IGNORECASE)
_EMPTY = re.compile(r"\b(?:any|one|some|them|so)$", re.IGNORECASE)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\bunless (?:i|otherwise)(?: \w+)? ?(?:ask|say|tell you|told|request|asked|want)\b.*",
    re.IGNORECASE,
)


def instruction(text: str) -> Statement | None:
    """The standing instruction that a whole sentence gives, if it gives one."""
    if _UNSPOKEN.search(text):
        return None
    flat = " ".join(text.replace("’", "'").split())
    flat = _TAIL.sub("", _TAIL.sub("", flat.rstrip(" .!,")))
    return _english(flat) or _english_each_time(flat) or indonesian_instruction(flat)


def _english(flat: str) -> Statement | None:
    short = _OTHERWISE.sub("unless asked", _REASON.sub("", flat))
    written = _FOR_ME.fullmatch(short)
    if written:
        return standing(f"User wants {written['what']}.")
    found = (
        _ALWAYS.fullmatch(short)
        or _FROM_NOW.fullmatch(short)
        or _NO_MORE.fullmatch(short)
        or _UNTIL_NOW.fullmatch(short)
        or _NEVER_ANY.fullmatch(short)
        or _STOP.fullmatch(short)
    )
    if found is None:
        return None
    how = found["how"].strip().lower()
    what = found["what"].strip(" ,.")
    if _is_passing(what) or (found.re is _STOP and _THE.search(what)):
        return None
    if bool(re.match(rf"(?:{_DOING})\b", what, re.IGNORECASE)) != (how == "stop"):
        return None
    if how == "no":
        return standing(f"User wants the assistant to use no {_about_user(what)}.")
    wish = {"": "to", "always": "to always", "never": "to never", "stop": "to stop"}.get(
        how, "not to"
    )
    return standing(f"User wants the assistant {wish} {_about_user(what)}.")


def _english_each_time(flat: str) -> Statement | None:
    found = _EACH_TIME.fullmatch(_REASON.sub("", flat))
    if found is None or _is_passing(found["what"]):
        return None
    when = in_third_person(f"I {found['when']}")
    thing = _SENT.search(found["when"])
    said = found["what"].strip(" ,.")
    if thing:  # "it" is what the user sends
        said = re.sub(r"\bit\b", f"the {thing[1]}", said, flags=re.IGNORECASE)
    what = _about_user(said)
    return standing(f"User wants the assistant to {what} whenever {when}.") if when else None


def _is_passing(what: str) -> bool:
    """Whether it is said to nobody in particular, or of the text at hand."""
    asked = what.replace("unless asked", "")
    return bool(IDIOM.match(what) or PRESENT_TASK.search(asked) or _EMPTY.search(asked.strip(" ,")))


def _about_user(what: str) -> str:
    what = what[:1].lower() + what[1:]
    what = re.sub(r"^(keep|make) it\b", r"\1 answers", what)
    what = re.sub(r"\bme\b", "User", what, flags=re.IGNORECASE)
    what = re.sub(r"\bmy\b", "User's", what, flags=re.IGNORECASE)
    return re.sub(r"\byour ", "", what, flags=re.IGNORECASE)
