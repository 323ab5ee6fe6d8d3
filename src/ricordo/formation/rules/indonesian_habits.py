"""Indonesian: habits, plans and aims, told by their time."""

import re
from datetime import datetime
from typing import Final

from ricordo.formation.rules.moments import with_dates
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.trimming import has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_sets import words
from ricordo.model.vocabulary import MemoryType
from ricordo.text.normalise import folded, slug

_MAX_WORDS: Final = 14
_MAX_SLUG_CHARS: Final = 60
_DAY = r"(?:senin|selasa|rabu|kamis|jumat|jum'at|sabtu|minggu)"
_PART = r"(?:pagi|siang|sore|malam|subuh|malem)"
_OFTEN = (
    rf"(?:tiap|setiap|saban)(?: hari)? (?:{_DAY}(?: {_PART})?|{_PART}|hari|bulan|tahun|akhir "
    rf"pekan|weekend)|"
    rf"(?:tiap|setiap) hari|(?:\d+|dua|tiga|empat|lima) ?(?:kali|x) (?:seminggu|sehari|sebulan)|"
    rf"(?:seminggu|sehari|sebulan) (?:\d+|dua|tiga|empat|lima|se)? ?(?:kali|x)"
)
_CLOCK = r"jam (?:setengah )?(?:\d{1,2}(?:[.:]\d\d)?|\w+)(?: (?:pagi|siang|sore|malam|subuh))?"
_HABIT = re.compile(
    rf"(?:(?P<first>{_OFTEN})[, ]+)?(?:saya|kami) (?P<usual>biasanya |biasa |selalu |rutin )?"
    rf"(?:(?P<middle>{_OFTEN}) )?(?P<what>(?P<verb>[a-z]+)(?: .*)?)",
    re.IGNORECASE,
)
_WHEN = re.compile(rf"\b(?:{_OFTEN})(?: (?:{_CLOCK}))?(?!\w)", re.IGNORECASE)
_AT_A_TIME = re.compile(rf"\b{_CLOCK}(?!\w)", re.IGNORECASE)
_NO_HABIT: Final = words("""
mau ingin akan bisa harus tidak bukan belum butuh perlu cari bingung lupa merasa ngerasa pusing
sakit kena dapat dapet dapetin gagal error coba takut khawatir malas males dimarahin disuruh
ditanya suka benci punya ada adalah tahu tau pikir rasa lihat
""")
_MONTH = (
    r"(?:januari|februari|maret|april|mei|juni|juli|agustus|september|oktober|november|desember)"
)
_TIME = (
    rf"(?:(?:pada |di )?(?:(?:tanggal|tgl) \d{{1,2}} {_MONTH}|(?:bulan |awal |akhir "
    rf")?{_MONTH}(?: nanti| ini)?|"
    rf"(?:bulan|minggu|tahun) depan|(?:abis|habis|setelah|sebelum) lebaran|(?:akhir|awal) "
    rf"tahun(?: ini| depan)?|"
    rf"lebaran(?: nanti| ini| besok)?|liburan (?:sekolah|semester|akhir tahun)))"
)
_WHO = (
    r"(?:saya|kami|kita)(?: (?:sekeluarga|berdua|serombongan))?"
    r"(?: (?:sama|bareng|dan|dengan) [\w-]+(?: saya)?)?"
)
_TIME_FIRST = re.compile(
    rf"(?P<when>{_TIME})[, ]+{_WHO} (?:(?:rencananya|ada rencana|berencana) )?"
    rf"(?P<will>mau |akan |bakal |ada |)(?P<what>.+)",
    re.IGNORECASE,
)
_TIME_LAST = re.compile(
    rf"{_WHO} (?:rencananya |berencana |ada rencana )?(?:mau |akan |bakal )(?P<what>.+?) "
    rf"(?P<when>{_TIME})\b.*",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"(?:nikah|menikah|sidang|ujian|operasi|interview|wawancara|wisuda|pindah|mudik|lahiran|umrah|umroh|"
    r"pensiun|lomba|tes|ke (?=[A-Z]))",
)
_AIM = re.compile(
    r"(?:saya )?(?:(?:ingin|mau|pengen|target saya|berusaha|lagi berusaha|mencoba|berniat|"
    r"bertekad)(?: bisa)? )"
    r"(?P<what>(?:turun(?:in)?|nurunin|menurunkan|naik(?:in)?|menaikkan|berhenti|stop|mengurangi|ngurangin|"
    r"lulus|jadi|menjadi|renang|berenang|nyetir|hafal|menguasai|lancar|fasih|khatam|bebas|lunas|"
    r"kuliah (?:di|ke)|nabung|menabung|bangun (?:lebih )?pagi|lari|rutin)\b.*)|"
    r"(?:saya |lagi )(?:sedang |lagi )?(?P<chase>(?:ngejar|mengejar|latihan|persiapan|"
    r"mempersiapkan)(?: (?:buat|untuk))? .+)|target saya (?P<target>.+)",
    re.IGNORECASE,
)
_END = re.compile(
    r",.*| (?:tapi|jadi|karena|biar|supaya|soalnya|terus|trus|gimana|apa|dong|tips|sebelum|"
    r"tahun ini|taun ini|"
    r"baru|kalau|kalo|dan (?=saya))\b.*",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:tidak|bukan|atau|lebih|rapat|dokter|meeting|bayar|ambil|tanya|nanya|minta|bikin|buat|beli|pesan|tahu|tau|coba|error|tugas|pr|besok|"
    r"kode|file)\b",
    re.IGNORECASE,
)


def indonesian_habit(clause: str) -> Statement | None:
    """What a regular clause says that the user does regularly."""
    said = _HABIT.fullmatch(clause)
    if said is None or said["verb"].lower() in _NO_HABIT:
        return None
    what = said["what"]
    first = (said["first"] or said["middle"] or "").lower()
    when = _WHEN.search(what)
    timed = _AT_A_TIME.search(what) if said["usual"] else None
    found = when or timed
    if found:
        what = what[: found.end()]
    elif not first:
        return None
    bare = _bare(what)
    if bare is None or re.search(r"\b(?:tidak|bukan|atau)\b", bare):
        return None
    content = f"Pengguna {bare}{f' {first}' if first else ''}."
    return Statement(content, theme="routine", key=f"routine:{_slug(bare)}")


def indonesian_engagement(clause: str, at: datetime) -> Statement | None:
    """What a regular clause says is coming up."""
    first = _TIME_FIRST.fullmatch(clause)
    found = first or _TIME_LAST.fullmatch(clause)
    if found is None:
        return None
    bare = _bare(found["what"])
    if bare is None or _VAGUE.search(bare):
        return None
    if first and not first["will"] and not _EVENT.match(bare):
        return None
    when = with_dates(found["when"], at)
    content = f"Pengguna berencana {bare} {when}."
    return Statement(content, type=MemoryType.EPISODE, theme="plans", importance=3)


def indonesian_aim(clause: str) -> Statement | None:
    """What a regular clause says that the user works towards."""
    found = _AIM.fullmatch(clause)
    if found is None:
        return None
    bare = _bare(found["what"] or found["chase"] or found["target"])
    if bare is None or _VAGUE.search(bare) or len(bare.split()) > 8:
        return None
    verb = "sedang" if found["chase"] else "ingin"
    return Statement(
        f"Pengguna {verb} {bare}.", theme="plans", key=f"goal:{_slug(bare)}", importance=3
    )


def _bare(text: str) -> str | None:
    bare = trimmed(_END.sub("", text))
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) else bare


def _slug(text: str) -> str:
    return slug(folded(text))[:_MAX_SLUG_CHARS].strip("-_")
