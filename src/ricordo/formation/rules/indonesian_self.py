"""Indonesian rules: more of who the user is, where they live, what they do and earn."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import (
    indonesian_employer,
    indonesian_languages,
    own_age,
    subject_of_study,
)
from ricordo.formation.rules.rule import Rule, nothing_more, starting, whatever_follows
from ricordo.formation.rules.things import indonesian_known_place, indonesian_place
from ricordo.formation.rules.trimming import has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_sets import words

_MAX_WORDS: Final = 4
_END = re.compile(
    r"[,\s]+(?:dari|di|ke|untuk|buat|karena|jadi|tapi|dan|sejak|selama|secara|online|sama|lewat|"
    r"via|semester|angkatan|tingkat|yang|sambil|bareng|bersama|pas|biar|supaya|mau)\b.*|,.*",
    re.IGNORECASE,
)
_NOT_STUDIED: Final = words("""
pagi siang malam sore besok online daring offline terus sendiri sambil jauh dulu hari lagi sampai
bareng jam pukul kerja gratis keluar s1 s2 s3 d3 d4
""")


def _short(text: str) -> str | None:
    """A noun phrase of a few words, without anybody in it."""
    bare = trimmed(_END.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) or not bare[0].isalpha() else bare


def _studied(text: str) -> str | None:
    bare = _short(text)
    if bare is None or set(bare.lower().split()) & _NOT_STUDIED:
        return None
    return subject_of_study(bare)


def _goal(text: str) -> str | None:
    bare = _short(text)
    return None if bare is None or re.match(r"(?:bayar|beli) (?:utang|cicilan)", bare) else bare


SELF: Final = (
    Rule(
        begins=starting(r"pronoun saya(?: adalah| itu)? (?P<pronouns>(?:he|she|they)/\w{3,4})"),
        thing=nothing_more,
        content="Pronoun pengguna adalah {pronouns}.",
        key="pronouns",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"(?:saya|kami) (?:(?:ngekos|ngekost|indekos|kos|kost|ngontrak|tinggal|menetap|"
            r"berdomisili|domisili) di)|(?:rumah|kosan|kontrakan) (?:saya|kami) (?:ada )?di"
        ),
        thing=indonesian_place,
        content="Pengguna tinggal di {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:domisili|tempat tinggal) saya(?: sekarang| saat ini)?(?: ada)?(?: di)?|"
            r"kami (?:sekeluarga )?(?:sudah |baru )?pindah(?: rumah)?(?: dari [\w .'-]{2,40}?)? ke|"
            r"saya (?:sudah |baru )?pindah(?: rumah)? ke|(?:sudah )pindah ke"
        ),
        thing=indonesian_known_place,
        content="Pengguna tinggal di {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya orang(?: asli)?"),
        thing=indonesian_known_place,
        content="Pengguna berasal dari {thing}.",
        key="hometown",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya(?= \d{2}\W*$| \d{2},)"),
        thing=own_age,
        content="Pengguna berumur {thing} tahun.",
        key="age",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:di rumah |sehari-hari |sehari2 )?saya (?:di rumah |sehari-hari )?(?:pakai|pake|"
            r"ngomong|berbicara|bicara|memakai|menggunakan)(?= bahasa)"
        ),
        thing=indonesian_languages,
        content="Pengguna memakai bahasa {thing}.",
        key="language",
    ),
    Rule(
        begins=starting(r"saya (?:cuma |hanya )(?:bisa|ngerti|paham)(?= bahasa)"),
        thing=indonesian_languages,
        content="Pengguna hanya bisa berbahasa {thing}.",
        key="language",
    ),
    Rule(
        begins=starting(
            r"(?:gaji|penghasilan|pendapatan) saya(?: sekarang)?(?: (?:sekitar|cuma|kira2|"
            r"adalah))? "
            r"(?P<amount>(?:rp\.? ?)?\d[\d.,]{0,11} ?(?:juta|jt|ribu|rb|k)?)"
            r"(?P<per>(?: |(?=/))(?:sebulan|per bulan|setahun|per tahun|seminggu|sehari|/bulan))?"
        ),
        thing=whatever_follows,
        content="Gaji pengguna {amount} {per}.",
        key="income",
    ),
)

OCCUPIED: Final = (
    Rule(
        begins=starting(r"saya (?:ber)?(?:jualan|dagang)"),
        thing=_short,
        content="Pengguna berjualan {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya kuliah(?! (?:di|jurusan|prodi|sambil|lagi)\b)"),
        thing=_studied,
        content="Pengguna kuliah {thing}.",
        key="studies",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"saya (?P<who>siswa|siswi|mahasiswa|mahasiswi|pelajar)(?: [\w ]{2,30}?)? (?:jurusan|"
            r"prodi|program studi)"
        ),
        thing=_studied,
        content="Pengguna adalah {who} jurusan {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya di(?= (?:dinas|kementerian|pt|cv|bumn|pemda|pemkot) \w)"),
        thing=indonesian_employer,
        content="Pengguna bekerja di {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:nabung|menabung|ngumpulin uang) (?:buat|untuk|demi)"),
        thing=_goal,
        content="Pengguna menabung untuk {thing}.",
        key="goal:{slug}",
        theme="plans",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:saya )?(?:ingin|mau) bisa(?= (?:main|berenang|renang|nyetir|menyetir|masak|"
            r"memasak|"
            r"jahit|menjahit|ngomong bahasa|berbahasa|bahasa|berbicara|naik|membaca|bermain) ?)"
        ),
        thing=_goal,
        content="Pengguna ingin bisa {thing}.",
        key="goal:{slug}",
        theme="plans",
        importance=3,
    ),
)

RULES: Final = (*SELF, *OCCUPIED)
