"""Standing instructions to the assistant: for every answer, not only for this one."""

import re
from typing import Final

from ricordo.formation.rules.clauses import BLANKED
from ricordo.formation.rules.english_forms import in_third_person
from ricordo.formation.rules.rule import RuleMatch, has_indonesian_possessive, has_pronoun
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 32

PRESENT_TASK: Final = re.compile(
    r"\b(?:here|this|these|that|those|for now|today|now|right now|"
    r"in the (?:table|code|essay|e-?mail|letter|story|text|report|file|function|document|summary|"
    r"article)|above|below|following|again|until|if|unless|or (?:not|something|so|whatever)|"
    r"di sini|ini|itu|kali|tersebut|berikut|di atas|di bawah|sampai|kalau|jika|atau|dulu|sekarang|"
    r"hari)\b",
    re.IGNORECASE,
)
# Maxims, addressed to nobody in particular.
IDIOM: Final = re.compile(
    r"(?:mind|give up|say (?:never|die)|be (?:yourself|afraid|alone|happy|kind|the same|prepared)|"
    r"make (?:sense|mistakes)|do (?:it|so)|used? to\b|keep (?:going|trying|smiling)|"
    r"stay (?:safe|strong|positive|hungry)|(?:use|pakai|gunakan|pake) (?:an? )?(?:vpn|passwords?|"
    r"mask|masker|helm|helmet|sunscreen|seatbelt|protection|condoms?|common sense|caution))",
    re.IGNORECASE,
)


def standing(content: str, key: str | None = None) -> RuleMatch | None:
    """A standing instruction, unless it refers to something that is not in it."""
    if len(content.split()) > _MAX_WORDS or has_pronoun(content):
        return None
    return RuleMatch(
        content,
        type=MemoryType.INSTRUCTION,
        theme="instructions",
        key=key,
        importance=4,
        is_explicit=True,
    )


_ID_VERBS = (
    r"jawab(?:lah)?|balas|bales|gunakan|pakai|pake|tulis|bicara|ngomong|panggil|manggil|jelaskan|"
    r"jelasin|sertakan|tambahkan|tambahin|nambahin|cantumkan|hindari|beri|berikan|kasih|ngasih|"
    r"tampilkan|sebut(?:kan|in)?|buat|ingatkan|sarankan|rekomendasikan|menjawab|menggunakan|"
    r"memakai|make|membalas|memanggil|menyebut|bilang|singkat|mulai|akhiri|kirim|terjemahkan|"
    r"langsung|ubah|ganti|ringkas"
)
_ID_LEAD = (
    r"(?:(?:tolong|mohon|dan|oke|ok|ya|kamu harus|saya mau kamu|aku mau kamu|gue mau lo|"
    r"pokoknya)[,\s]+){0,3}"
)
_ID_ONWARDS = (
    r"(?:mulai sekarang|mulai hari ini|ke depannya|kedepannya|ke depan|untuk seterusnya|"
    r"buat seterusnya|seterusnya|mulai saat ini|lain kali|selanjutnya|mulai skrg|sejak sekarang)"
)
# The occasion of any answer: "kalo jawab", "tiap ngobrol sama aku".
_OCCASION = (
    r"(?:(?:kalau|kalo|klo|tiap|setiap|setiap kali|tiap kali|saat|pas) (?:kamu )?(?:jawab|menjawab|"
    r"balas|bales|membalas|ngobrol|ngomong|berbicara|nulis|menulis|ngitung|menghitung|ngasih|"
    r"memberi|kasih)(?: (?:saya|aku|gue|gw|harga|angka|kode|contoh|jawaban|pesan|"
    r"sama (?:aku|gue|gw|saya)|dengan saya))?)"
)
_NOT = (
    r"(?:jangan pernah|jangan sekali-kali|jangan|gausah|ga usah|gak usah|nggak usah|tidak usah|"
    r"tak usah|stop|berhenti)"
)
_ID_ALWAYS = re.compile(
    rf"{_ID_LEAD}(?P<how>selalu|jangan pernah|jangan sekali-kali) (?P<what>(?:{_ID_VERBS})\b.*)",
    re.IGNORECASE,
)
_ID_FROM_NOW = re.compile(
    rf"{_ID_LEAD}{_ID_ONWARDS}[,:]? (?:{_OCCASION}[,:]? )?{_ID_LEAD}(?P<how>selalu |{_NOT} |"
    rf")(?P<what>(?:{_ID_VERBS})\b.*)",
    re.IGNORECASE,
)
_OCCASION_FIRST = re.compile(
    rf"{_ID_LEAD}(?=tiap|setiap){_OCCASION}[,:]? {_ID_LEAD}(?P<how>selalu |{_NOT} |"
    rf")(?P<what>(?:{_ID_VERBS})\b.*)",
    re.IGNORECASE,
)
_ID_EACH_TIME = re.compile(
    rf"{_ID_LEAD}(?:setiap kali|tiap kali|setiap|tiap) (?:saya|aku|gue|"
    rf"gw) (?P<when>[\w ]{{3,50}}?),? (?:(?:tolong|selalu|langsung|"
    rf"mohon) ){{0,2}}(?P<what>(?:{_ID_VERBS})\b.*)",
    re.IGNORECASE,
)
_ID_UNTIL_NOW = re.compile(
    rf"{_ID_LEAD}(?P<how>selalu |{_NOT} |)(?P<what>(?:{_ID_VERBS})\b[^,]*?)(?: (?:aja|saja|ya|"
    rf"dong|yah))*(?:,[^,]*)?,? (?:{_ID_ONWARDS}|selalu|terus)(?: (?:ya|gitu|aja|dong))*",
    re.IGNORECASE,
)
_EACH_ANSWER = re.compile(
    rf"{_ID_LEAD}(?:{_ID_ONWARDS}[,:]? )?(?P<where>(?:untuk |di |dalam )?setiap (?:jawaban|"
    rf"balasan|penjelasan)(?: (?:tentang|soal|mengenai) [\w ]{{3,30}}?)?),? (?:tolong |mohon |"
    rf"harap )?(?P<how>selalu |{_NOT} |)(?P<what>(?:{_ID_VERBS})\b.*)",
    re.IGNORECASE,
)
_MANNER = re.compile(
    rf"{_ID_LEAD}(?:jawab|bales|balas|ngomong)(?:nya|lah)? (?:yang |dengan |"
    rf"yg )?(?P<how_said>[a-z-]{{4,14}}(?: (?:dan|sama) [a-z-]{{4,14}})?)(?: aja| saja)? (?:tiap|"
    rf"setiap|kalau|kalo|selama) (?:ngobrol|ngomong|bicara|chat|jawab|balas)\b.*",
    re.IGNORECASE,
)
_RATHER = re.compile(
    r"(?:saya|aku|gue|gw) (?:lebih )?(?:suka|seneng|senang|prefer) (?:kalau|kalo|klo|"
    r"jika) (?:kamu )?(?P<what>(?:di)?(?:jawab|balas|bales|jelasin|"
    r"jelaskan)\b(?: [\w-]+){1,6})(?:, ?(?:selalu|gitu|ya|terus)\b.*)?",
    re.IGNORECASE,
)
_PRONOUNS = re.compile(
    r"(?:\w+ ){0,2}(?:kalau|kalo|klo|jika|setiap|tiap) (?:\w+ )?(?:nulis|menulis|nyebut|menyebut|"
    r"ngomong(?:in)?|membahas|bahas)(?: (?:tentang|soal))? (?:saya|aku|gue|gw)\b.{0,40}? (?:pakai|"
    r"pake|gunakan) (?P<pronouns>(?:he|she|they)/(?:him|her|them))\b.*",
    re.IGNORECASE,
)
_BY_OTHERS = re.compile(r"\b(?:temen|teman|orang|dia|bos|guru|\w{3,}nya)\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:saya|aku|gue|gw)\b", re.IGNORECASE)
_ID_REASON = re.compile(
    r",? (?:karena|soalnya|biar|supaya|walaupun|meskipun|walau|meski)\b.*", re.IGNORECASE
)
_SUFFIX: Final = re.compile(r"\b(\w{4,})nya\b", re.IGNORECASE)


def indonesian_instruction(flat: str) -> RuleMatch | None:
    named = _PRONOUNS.fullmatch(flat)
    if named:
        return standing(f"Pengguna ingin disebut dengan {named['pronouns'].lower()}.", "pronouns")
    short = _ID_REASON.sub("", flat)
    manner = _MANNER.fullmatch(short)
    if manner:
        return standing(f"Pengguna ingin asisten menjawab dengan {manner['how_said'].lower()}.")
    rather = _RATHER.fullmatch(short)
    if rather and not _BY_OTHERS.search(rather["what"]):
        return standing(f"Pengguna lebih suka {rather['what']}.")
    return _each_time(short) or _always(short)


def _always(flat: str) -> RuleMatch | None:
    each = _EACH_ANSWER.fullmatch(flat)
    if each and not PRESENT_TASK.search(each["what"]):
        what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", each["what"])).strip(" ,.")
        how = "tidak " if re.match(_NOT, each["how"]) else ""
        return standing(f"Pengguna ingin asisten {how}{what} {each['where'].lower()}.")
    flat = re.sub(r" ya, (?:langsung|cukup) .*", "", flat)
    found = (
        _ID_ALWAYS.fullmatch(flat)
        or _ID_FROM_NOW.fullmatch(flat)
        or _OCCASION_FIRST.fullmatch(flat)
        or _ID_UNTIL_NOW.fullmatch(flat)
    )
    if found is None or IDIOM.match(found["what"]):
        return None
    what = re.sub(r" (?:kalau|kalo|klo|saat|pas) (?:jawab|ngitung|menjawab)\b", "", found["what"])
    if PRESENT_TASK.search(_without_occasion(what)):
        return None
    said = found["how"].strip().lower()
    how = {"selalu": "selalu ", "": ""}.get(said, "tidak pernah " if "pernah" in said else "tidak ")
    what = _SELF.sub("pengguna", what).strip(" ,.")
    return (
        None
        if has_indonesian_possessive(what)
        else standing(f"Pengguna ingin asisten {how}{what}.")
    )


def _without_occasion(what: str) -> str:
    return re.sub(rf" {_OCCASION}", "", what, flags=re.IGNORECASE)


def _each_time(flat: str) -> RuleMatch | None:
    found = _ID_EACH_TIME.fullmatch(flat)
    if found is None or PRESENT_TASK.search(found["what"]) or _SELF.search(found["when"]):
        return None
    # "-nya" refers to what was sent, which the occasion names.
    what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", found["what"])).strip(" ,.")
    return standing(f"Pengguna ingin asisten {what} setiap kali pengguna {found['when']}.")


_VERBS = (
    r"answer|reply|respond|use|write|speak|talk|address|call me|explain|include|add|avoid|keep|"
    r"format|start|end|begin|give me|show|ask|say|mention|be|make|send|assume|remind me|suggest|"
    r"recommend|provide|cite|tell me|translate|double-check|check|put|treat|refer|greet|stick|"
    r"limit|convert|skip|end|sign|apologi[sz]e|quote|prefer|return|list|spell|do"
)
# Too common in maxims to follow a bare "always".
_MORE_VERBS = rf"{_VERBS}|give|drop|leave out|round|summari[sz]e|shorten|highlight|switch|cut|stay"
_DOING = (
    r"using|saying|adding|giving|asking|calling|writing|putting|suggesting|recommending|mentioning|"
    r"repeating|apologi[sz]ing|ending|starting|including|telling|explaining|answering|replying|"
    r"sending|reminding|translating|showing"
)
_LEAD = (
    r"(?:(?:please|pls|and|also|ok|okay|so|just|i want you to|i'd like you to|i would like you to|"
    r"i need you to|you should|you must|you can|can you please|remember to|make sure to|"
    r"make sure you|be sure to)[,\s]+){0,3}"
)
_HOW = r"(?P<how>always |never |don't ever |do not ever |don't |do not |dont |stop |)"
_ONWARDS = (
    r"(?:from now on(?:wards)?|from here on(?: out| in)?|going forward|moving forward|henceforth|"
    r"in (?:the )?future|next time and always|(?:in|for|with) (?:all )?(?:of )?(?:your |"
    r"future )?(?:answers|responses|replies)(?: to me)?|from today(?: on)?|"
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
    rf"in (?:all|every) (?:of )?(?:our |your )?(?:chats?|answers?|conversations?|"
    rf"repl(?:y|ies)))(?: please)?",
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
    rf"when(?= i (?:ask|say|paste|send|share|type|write|give|mention|"
    rf"post)\b)) i (?P<when>[\w' ]{{3,50}}?),? (?:(?:just|please|always|then|you should|"
    rf"i want you to) ){{0,2}}(?P<what>(?:{_MORE_VERBS}|scale|fix|rewrite|correct|proofread|check|"
    rf"compare|rate|review|simplify|remind|help|warn)\b.*)",
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
    r",? ?(?:and )?(?:i hate|i don't|i can't|don't do|dont do)\b.*|,? please(?=,)",
    re.IGNORECASE,
)
_SENT = re.compile(r"\b(?:an?|some|my) ([a-z]+(?: [a-z]+)?)$", re.IGNORECASE)
_EMPTY = re.compile(r"\b(?:any|one|some|them|so)$", re.IGNORECASE)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\bunless (?:i|otherwise)(?: \w+)? ?(?:ask|say|tell you|told|request|asked|want)\b.*",
    re.IGNORECASE,
)


def instruction(text: str) -> RuleMatch | None:
    """The standing instruction that a whole sentence gives, or None."""
    if _UNSPOKEN.search(text):
        return None
    flat = " ".join(text.replace("’", "'").split())
    flat = _TAIL.sub("", _TAIL.sub("", flat.rstrip(" .!,")))
    return _english(flat) or _english_each_time(flat) or indonesian_instruction(flat)


def _english(flat: str) -> RuleMatch | None:
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


def _english_each_time(flat: str) -> RuleMatch | None:
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
    """Whether it is a maxim, or about the text at hand."""
    asked = what.replace("unless asked", "")
    return bool(IDIOM.match(what) or PRESENT_TASK.search(asked) or _EMPTY.search(asked.strip(" ,")))


def _about_user(what: str) -> str:
    what = what[:1].lower() + what[1:]
    what = re.sub(r"^(keep|make) it\b", r"\1 answers", what)
    what = re.sub(r"\bme\b", "User", what, flags=re.IGNORECASE)
    what = re.sub(r"\bmy\b", "User's", what, flags=re.IGNORECASE)
    return re.sub(r"\byour ", "", what, flags=re.IGNORECASE)
