"""Standing instructions in Indonesian, as they are written and as they are said in chat."""

import re
from typing import Final

from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.standing import IDIOM, PRESENT_TASK, standing
from ricordo.formation.rules.trimming import has_indonesian_possessive

_VERBS = (
    r"jawab(?:lah)?|balas|bales|gunakan|pakai|pake|tulis|bicara|ngomong|panggil|manggil|jelaskan|"
    r"jelasin|sertakan|tambahkan|tambahin|nambahin|cantumkan|"
    r"hindari|beri|berikan|kasih|ngasih|tampilkan|sebut(?:kan|in)?|buat|ingatkan|sarankan|"
    r"rekomendasikan|menjawab|menggunakan|memakai|make|"
    r"membalas|memanggil|menyebut|bilang|singkat|mulai|akhiri|kirim|terjemahkan|langsung|ubah|ganti|ringkas"
)
_LEAD = (
    r"(?:(?:tolong|mohon|dan|oke|ok|ya|kamu harus|saya mau kamu|aku mau kamu|gue mau lo|"
    r"pokoknya)[,\s]+){0,3}"
)
_ONWARDS = (
    r"(?:mulai sekarang|mulai hari ini|ke depannya|kedepannya|ke depan|untuk seterusnya|"
    r"buat seterusnya|seterusnya|mulai saat ini|lain kali|selanjutnya|mulai skrg|sejak sekarang)"
)
# The occasion of any answer: "kalo jawab", "tiap ngobrol sama aku".
_OCCASION = (
    r"(?:(?:kalau|kalo|klo|tiap|setiap|setiap kali|tiap kali|saat|pas) "
    r"(?:kamu )?(?:jawab|menjawab|balas|bales|membalas|ngobrol|ngomong|berbicara|nulis|menulis|"
    r"ngitung|menghitung|ngasih|memberi|kasih)"
    r"(?: (?:saya|aku|gue|gw|harga|angka|kode|contoh|jawaban|pesan|sama (?:aku|gue|gw|saya)|"
    r"dengan saya))?)"
)
_NOT = (
    r"(?:jangan pernah|jangan sekali-kali|jangan|gausah|ga usah|gak usah|nggak usah|tidak usah|"
    r"tak usah|stop|berhenti)"
)
_ALWAYS = re.compile(
    rf"{_LEAD}(?P<how>selalu|jangan pernah|jangan sekali-kali) (?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    rf"{_LEAD}{_ONWARDS}[,:]? (?:{_OCCASION}[,:]? )?{_LEAD}(?P<how>selalu |{_NOT} |)"
    rf"(?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_OCCASION_FIRST = re.compile(
    rf"{_LEAD}(?=tiap|setiap){_OCCASION}[,:]? {_LEAD}(?P<how>selalu |{_NOT} |)"
    rf"(?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_EACH_TIME = re.compile(
    rf"{_LEAD}(?:setiap kali|tiap kali|setiap|tiap) (?:saya|aku|gue|gw) (?P<when>[\w ]{{3,50}}?),? "
    rf"(?:(?:tolong|selalu|langsung|mohon) ){{0,2}}(?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_UNTIL_NOW = re.compile(
    rf"{_LEAD}(?P<how>selalu |{_NOT} |)(?P<what>(?:{_VERBS})\b[^,]*?)(?: (?:aja|saja|ya|dong|yah))*"
    rf"(?:,[^,]*)?,? (?:{_ONWARDS}|selalu|terus)(?: (?:ya|gitu|aja|dong))*",
    re.IGNORECASE,
)
_EACH_ANSWER = re.compile(
    rf"{_LEAD}(?:{_ONWARDS}[,:]? )?(?P<where>(?:untuk |di |dalam )?setiap (?:jawaban|balasan|"
    rf"penjelasan)"
    rf"(?: (?:tentang|soal|mengenai) [\w ]{{3,30}}?)?),? (?:tolong |mohon |harap "
    rf")?(?P<how>selalu |{_NOT} |)"
    rf"(?P<what>(?:{_VERBS})\b.*)",
    re.IGNORECASE,
)
_MANNER = re.compile(
    rf"{_LEAD}(?:jawab|bales|balas|ngomong)(?:nya|lah)? (?:yang |dengan |"
    rf"yg )?(?P<how_said>[a-z-]{{4,14}}"
    rf"(?: (?:dan|sama) [a-z-]{{4,14}})?)(?: aja| saja)? (?:tiap|setiap|kalau|kalo|selama) "
    rf"(?:ngobrol|ngomong|bicara|chat|jawab|balas)\b.*",
    re.IGNORECASE,
)
_RATHER = re.compile(
    r"(?:saya|aku|gue|gw) (?:lebih )?(?:suka|seneng|senang|prefer) (?:kalau|kalo|klo|jika) "
    r"(?:kamu )?(?P<what>(?:di)?(?:jawab|balas|bales|jelasin|jelaskan)\b(?: [\w-]+){1,6})"
    r"(?:, ?(?:selalu|gitu|ya|terus)\b.*)?",
    re.IGNORECASE,
)
_PRONOUNS = re.compile(
    r"(?:\w+ ){0,2}(?:kalau|kalo|klo|jika|setiap|tiap) (?:\w+ )?(?:nulis|menulis|nyebut|menyebut|"
    r"ngomong(?:in)?|membahas|bahas)(?: (?:tentang|soal))? (?:saya|aku|gue|gw)\b.{0,40}? "
    r"(?:pakai|pake|gunakan) (?P<pronouns>(?:he|she|they)/(?:him|her|them))\b.*",
    re.IGNORECASE,
)
_BY_OTHERS = re.compile(r"\b(?:temen|teman|orang|dia|bos|guru|\w{3,}nya)\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:saya|aku|gue|gw)\b", re.IGNORECASE)
_REASON = re.compile(
    r",? (?:karena|soalnya|biar|supaya|walaupun|meskipun|walau|meski)\b.*", re.IGNORECASE
)
_SUFFIX: Final = re.compile(r"\b(\w{4,})nya\b", re.IGNORECASE)


def indonesian_instruction(flat: str) -> Statement | None:
    """The standing instruction that a sentence gives in Indonesian."""
    named = _PRONOUNS.fullmatch(flat)
    if named:
        return standing(f"Pengguna ingin disebut dengan {named['pronouns'].lower()}.", "pronouns")
    short = _REASON.sub("", flat)
    manner = _MANNER.fullmatch(short)
    if manner:
        return standing(f"Pengguna ingin asisten menjawab dengan {manner['how_said'].lower()}.")
    rather = _RATHER.fullmatch(short)
    if rather and not _BY_OTHERS.search(rather["what"]):
        return standing(f"Pengguna lebih suka {rather['what']}.")
    return _each_time(short) or _always(short)


def _always(flat: str) -> Statement | None:
    each = _EACH_ANSWER.fullmatch(flat)
    if each and not PRESENT_TASK.search(each["what"]):
        what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", each["what"])).strip(" ,.")
        how = "tidak " if re.match(_NOT, each["how"]) else ""
        return standing(f"Pengguna ingin asisten {how}{what} {each['where'].lower()}.")
    flat = re.sub(r" ya, (?:langsung|cukup) .*", "", flat)
    found = (
        _ALWAYS.fullmatch(flat)
        or _FROM_NOW.fullmatch(flat)
        or _OCCASION_FIRST.fullmatch(flat)
        or _UNTIL_NOW.fullmatch(flat)
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


def _each_time(flat: str) -> Statement | None:
    found = _EACH_TIME.fullmatch(flat)
    if found is None or PRESENT_TASK.search(found["what"]) or _SELF.search(found["when"]):
        return None
    # "-nya" means what was sent, which the occasion names.
    what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", found["what"])).strip(" ,.")
    return standing(f"Pengguna ingin asisten {what} setiap kali pengguna {found['when']}.")
