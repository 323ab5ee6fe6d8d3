"""What one likes or dislikes: things that last, not the answer at hand."""

import re
from typing import Final

from ricordo.formation.rules.trimming import cut_at, has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_sets import words

_MAX_WORDS: Final = 7
_MAX_CHARS: Final = 70
_MAX_ITEM_WORDS: Final = 3

_AFTER = re.compile(
    r"[,\s]+(?:so|because|since|which|who|but|especially|particularly|like when|even though|"
    r"although|"
    r"such as|as long as|ever since|instead|over there|"
    r"karena|soalnya|tapi|apalagi|terutama|khususnya|sejak|daripada|dibanding\w{0,3})\b.*",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(
    r"\b(?:when|if|unless|whenever|until|than|or|not|except|without|enough|too|how|what|why|"
    r"where|whether|while|as|"
    r"ketika|saat|kalau|kalo|jika|atau|kecuali|asal|asalkan|bukan|tidak|tanpa|bagaimana|cara|"
    r"yang)\b",
    re.IGNORECASE,
)
# "I like option B", "I hate this error", "I prefer Tuesday": of the moment, or of the talk itself.
_OF_THE_MOMENT = re.compile(
    r"\b(?:options?|versions?|answers?|ideas?|suggestions?|plans?|drafts?|choices?|responses?|"
    r"results?|"
    r"approach\w{0,2}|solutions?|recommendations?|numbers?|first|second|third|last|latter|"
    r"former|both|all|none|neither|"
    r"errors?|bugs?|exceptions?|functions?|methods?|examples?|explanations?|wording|tone|sound|"
    r"way|part|look|"
    r"overviews?|summar(?:y|ies)|lists?|challenges?|deals?|questions?|advice|articles?|"
    r"jokes?|titles?|names?|drawings?|sentences?|paragraphs?|scripts?|outputs?|queries|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|tonight|yesterday|"
    r"am|pm|chat|chatting|talking|conversation|bot|ai|chatgpt|claude|gpt|"
    r"opsi|pilihan|versi|jawaban|ide|saran|rencana|hasil|solusi|usul|contoh|penjelasan|kalimat|"
    r"judul|"
    r"pertama|kedua|ketiga|keduanya|semua|semuanya|senin|selasa|rabu|kamis|jumat|sabtu|besok|"
    r"nanti)\b|\d",
    re.IGNORECASE,
)
_NOT_THINGS: Final = words("""
to be is are was were do does did have has had seen been get got being having will and the a an
some any no more most much many very so such what how when where why who which if that as at by
from of on than then too up with into for in out over about off better rather less just only even
also it's its it lots plenty another other others bisa lupa bingung telat sakit kesel kesal capek
cape lelah ngantuk salah susah takut malas males ketiduran kepikiran gagal pusing sedih nangis
marah panik lihat liat denger dengar bertemu ketemu berkenalan mendengar melihat sekali banget
atas akan sudah sama dengan pada ke di dari hal banyak agak cukup kurang lebih kok aja dia mereka
membantu dibantu terlambat keliru typo kesasar nyasar stres stress galau iri cemburu ngerasa
merasa kaget gemetar nih sih dong deh ya yah lah tuh loh lho kan mah
""")
_THE_LASTING = re.compile(
    r"[Tt]he (?:beach|sea|ocean|mountains?|rain|snow|cold|heat|summer|winter|autumn|spring|"
    r"outdoors|countryside|forest|"
    r"sun|night|gym|theatre|theater|cinema|opera|piano|guitar|violin|colou?r \w+|smell of .+|"
    r"sound of .+|taste of .+|"
    r"[A-Z].*)"
)
_TO_VERB = re.compile(
    r"to (?:think|know|see|ask|keep|say|hear|bother|be|have|get|do|make|use|try|add|order|"
    r"thank|interrupt)\b",
    re.IGNORECASE,
)
_LEADING_VERB = re.compile(
    r"(?:seeing|hearing|being|having|getting|talking|chatting|knowing|feeling|working on|"
    r"helping)\b",
    re.IGNORECASE,
)
# "Short, blunt answers" is one wish, and another rule's.
_HOW_TO_ANSWER = re.compile(
    r"(?:[\w'’-]+,? ){1,4}(?:answers|responses|replies|explanations)\b", re.IGNORECASE
)
_VAGUE: Final = words("""
stuff things thing people life work lots help fun options details everything bits feedback
""")


def taste(text: str) -> str | None:
    """The thing liked or disliked in an English clause."""
    thing = _bare(cut_at(text, _AFTER))
    if (
        thing is None
        or _HOW_TO_ANSWER.match(text)
        or thing.lower() in _VAGUE
        or _TO_VERB.match(thing)
        or _LEADING_VERB.match(thing)
    ):
        return None
    lowered = thing.lower()
    if lowered.startswith("the "):
        return thing if _THE_LASTING.fullmatch(thing) else None
    if lowered.startswith("to "):
        return thing
    first = lowered.split()[0]
    if first in ("a", "an"):
        return (
            thing
            if re.match(
                r"an? (?:good|nice|hot|cold|strong|window|aisle|glass|cup|firm|quiet)\b", lowered
            )
            else None
        )
    return None if first in _NOT_THINGS else thing


def indonesian_taste(text: str) -> str | None:
    """The thing liked or disliked in an Indonesian clause."""
    thing = _bare(
        re.sub(
            r"^(?:banget|sekali|sama|dengan|akan|bgt) ",
            "",
            cut_at(text, _AFTER),
            flags=re.IGNORECASE,
        )
    )
    if thing is None:
        thing = _of_a_kind(text)
    if thing is None or has_indonesian_possessive(thing):
        return None
    first = thing.lower().split()[0]
    if first in _NOT_THINGS or (
        re.match(r"(?:ke|ter|di)(?=\w{4})", first) and first not in _TRUE_THINGS
    ):
        return None
    return thing


# "Kopi yang manis" says what sort; "baju yang merah" points at one.
_SORTS = re.compile(
    r"(?:kopi|teh|makanan|minuman|masakan|musik|film|buku|lagu|cuaca|tempat|orang|sambal|kue|game|"
    r"cerita|novel|olahraga)(?: \w+)? (?:yang|yg) (?:terlalu )?[a-z]{4,12}",
    re.IGNORECASE,
)


def _of_a_kind(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    refused = has_pronoun(bare) or _OF_THE_MOMENT.search(bare)
    return bare if _SORTS.fullmatch(bare) and not refused else None


_TRUE_THINGS: Final = words("""
keju kentang keripik kerupuk ketoprak ketan kelapa kelinci kecap teropong terong kereta keramik
disko
""")


def _bare(text: str) -> str | None:
    thing = _without_second_half(trimmed(text))
    words = thing.split()
    if not 1 <= len(words) <= _MAX_WORDS or not 2 <= len(thing) <= _MAX_CHARS:
        return None
    if has_pronoun(thing) or _OF_THE_MOMENT.search(thing) or _CONDITION.search(thing):
        return None
    return thing if any(letter.isalpha() for letter in thing) else None


def _without_second_half(text: str) -> str:
    """A list is kept whole ("tea, coffee and cake"); other commas end the thing."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1:
        is_list = bool(re.match(r"(?:and|dan) |\w+ (?:and|dan) ", parts[-1]))
        short = all(
            len(re.sub(r"^(?:and|dan) ", "", part).split()) <= _MAX_ITEM_WORDS for part in parts
        )
        text = text if is_list and short else parts[0]
    head, conjunction, tail = _last_and(text)
    if conjunction and len(tail.split()) > _MAX_ITEM_WORDS:
        return trimmed(head)
    return trimmed(text)


def _last_and(text: str) -> tuple[str, str, str]:
    found = re.search(r"^(.*)\s(and|dan)\s(.*)$", text)
    return (found[1], found[2], found[3]) if found else (text, "", "")
