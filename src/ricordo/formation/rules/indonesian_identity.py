"""Indonesian rules: identity. Clauses are regular: "gue" is "saya", "namaku" "nama saya"."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import (
    date_in_full,
    indonesian_employer,
    indonesian_languages,
    indonesian_trade,
    known_indonesian_trade,
    own_age,
    school,
    subject_of_study,
    year,
)
from ricordo.formation.rules.rule import (
    Rule,
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
    whatever_follows,
)
from ricordo.formation.rules.things import indonesian_known_place, indonesian_place, name
from ricordo.formation.words import words

_FAITHS: Final = words("rules", "faiths")


def _faith(text: str) -> str | None:
    bare = trimmed(text.split(" dan ", maxsplit=1)[0].split(",", maxsplit=1)[0])
    if bare.lower() == "muslim":
        return "Islam"
    return bare[:1].upper() + bare[1:] if bare.lower() in _FAITHS else None


NAMES: Final = (
    Rule(
        begins=starting(r"nama (?:lengkap |asli |panggilan )?saya(?: adalah| itu)?|saya bernama"),
        thing=name,
        content="Nama pengguna adalah {thing}.",
        key="preferred_name",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"(?:(?:tolong|kamu|bisa|boleh|cukup) ){0,3}panggil(?:(?: saja| aja)? saya| saja|"
            r" aja)(?: dengan(?: nama| sebutan)?)?(?: saja| aja)?"
        ),
        thing=name,
        content="Pengguna ingin dipanggil {thing}.",
        key="preferred_name",
        importance=4,
        is_explicit=True,
    ),
    Rule(
        begins=starting(r"saya (?:biasa |sering )?dipanggil"),
        thing=name,
        content="Pengguna biasa dipanggil {thing}.",
        key="preferred_name",
        importance=4,
    ),
)

PLACES: Final = (
    Rule(
        begins=starting(
            r"saya (?:tinggal(?: sendiri)?|menetap|berdomisili|domisili|bermukim) di|"
            r"(?:rumah|domisili|tempat tinggal) saya (?:ada )?di"
        ),
        thing=indonesian_place,
        content="Pengguna tinggal di {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya pindah(?: rumah)?(?: dari [\w .'-]{2,40}?)? ke"),
        thing=indonesian_known_place,
        content="Pengguna tinggal di {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"saya (?:berasal |asli |asal(?:nya)? )?dari|saya asli(?! dari)|saya asal(?! dari)|"
            r"asal saya(?: dari)?|kampung halaman saya(?: di)?"
        ),
        thing=indonesian_known_place,
        content="Pengguna berasal dari {thing}.",
        key="hometown",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:besar|dibesarkan|lahir dan besar) di"),
        thing=indonesian_known_place,
        content="Pengguna dibesarkan di {thing}.",
        key="hometown",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:di)?lahir(?:kan)? di"),
        thing=indonesian_known_place,
        content="Pengguna lahir di {thing}.",
        key="birthplace",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"saya tidak (?:lagi )?tinggal (?:lagi )?di(?=.*\blagi\b)|saya tidak lagi tinggal di"
        ),
        thing=lambda text: indonesian_known_place(text.split(" lagi")[0]),
        content="Pengguna tidak lagi tinggal di {thing}.",
        importance=3,
    ),
)

WORK: Final = (
    Rule(
        begins=starting(r"saya(?: seorang| adalah)? ibu rumah tangga"),
        thing=nothing_more,
        content="Pengguna adalah ibu rumah tangga.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"saya (?:be)?kerja (?:sebagai|jadi)|saya berprofesi sebagai|"
            r"(?:pekerjaan|profesi) saya(?: adalah| sebagai)?"
        ),
        thing=indonesian_trade,
        content="Pengguna bekerja sebagai {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya(?: adalah)?(?: seorang)?"),
        thing=known_indonesian_trade,
        content="Pengguna adalah {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:be)?kerja (?:sebagai [\w ]{3,40}? )?di"),
        thing=indonesian_employer,
        content="Pengguna bekerja di {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:be)?kerja di"),
        thing=indonesian_known_place,
        content="Pengguna bekerja di {thing}.",
        key="work_city",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:be)?kerja (?:dari rumah|remote|wfh)"),
        thing=nothing_more,
        content="Pengguna bekerja dari rumah.",
        key="work_arrangement",
        theme="work",
    ),
    Rule(
        begins=starting(
            r"saya sudah tidak (?:be)?kerja (?:lagi )?di|saya tidak lagi (?:be)?kerja di"
        ),
        thing=lambda text: indonesian_employer(text.split(" lagi")[0]),
        content="Pengguna tidak lagi bekerja di {thing}.",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:kuliah|sekolah|belajar|mahasiswa)(?: [\w ]{3,40}?)? di"),
        thing=school,
        content="Pengguna kuliah di {thing}.",
        key="school",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"saya (?:kuliah|mengambil|ambil) (?:di )?(?:jurusan|prodi)|jurusan saya(?: adalah)?"
        ),
        thing=subject_of_study,
        content="Pengguna kuliah jurusan {thing}.",
        key="studies",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya lulusan(?: dari)?|saya alumni"),
        thing=school,
        content="Pengguna lulusan {thing}.",
        key="education",
        theme="work",
        importance=3,
    ),
)

REST: Final = (
    Rule(
        begins=starting(
            r"saya (?:bisa|fasih|berbicara|bicara|menguasai|lancar)(?: (?:ngomong|berbicara|bicara|"
            r"berbahasa))?(?= bahasa)|saya berbahasa|saya bisa berbahasa"
        ),
        thing=indonesian_languages,
        content="Pengguna bisa berbahasa {thing}.",
        key="language",
    ),
    Rule(
        begins=starting(r"bahasa ibu saya(?: adalah)?"),
        thing=indonesian_languages,
        content="Bahasa ibu pengguna adalah bahasa {thing}.",
        key="language:native",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya belajar(?= bahasa)"),
        thing=indonesian_languages,
        content="Pengguna belajar bahasa {thing}.",
        key="learning:{slug}",
    ),
    Rule(
        begins=starting(
            r"(?:hari )?(?:ulang tahun|ultah|lahir) saya(?: adalah| itu| jatuh)?|"
            r"tanggal lahir saya(?: adalah)?|saya (?:di)?lahir(?:kan)?(?: di [\w]{3,20})?,?(?! di)"
        ),
        thing=date_in_full,
        content="Ulang tahun pengguna {thing}.",
        key="birthday",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya (?:di)?lahir(?:kan)?"),
        thing=year,
        content="Pengguna lahir tahun {thing}.",
        key="birth_year",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:umur|usia) saya|saya (?:berumur|berusia|umur|usia)|"
            r"saya(?= \d{2} (?:tahun|thn)\W*$)"
        ),
        thing=own_age,
        content="Pengguna berumur {thing} tahun.",
        key="age",
        importance=3,
    ),
    Rule(
        begins=starting(r"saya(?: beragama| seorang)?|agama saya"),
        thing=_faith,
        content="Pengguna beragama {thing}.",
        key="religion",
    ),
)

PROFILE_RULES: Final = (*NAMES, *PLACES, *WORK, *REST)


_MAX_WORDS: Final = 4
_END = re.compile(
    r"[,\s]+(?:dari|di|ke|untuk|buat|karena|jadi|tapi|dan|sejak|selama|secara|online|sama|lewat|"
    r"via|semester|angkatan|tingkat|yang|sambil|bareng|bersama|pas|biar|supaya|mau)\b.*|,.*",
    re.IGNORECASE,
)
_NOT_STUDIED: Final = words("rules", "not studied")


def _short(text: str) -> str | None:
    """A noun phrase of a few words, without pronouns."""
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
            r"adalah))? (?P<amount>(?:rp\.? ?)?\d[\d.,]{0,11} ?(?:juta|jt|ribu|rb|k)?)(?P<per>(?: |"
            r"(?=/))(?:sebulan|per bulan|setahun|per tahun|seminggu|sehari|/bulan))?"
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
            r"memasak|jahit|menjahit|ngomong bahasa|berbahasa|bahasa|berbicara|naik|membaca|"
            r"bermain) ?)"
        ),
        thing=_goal,
        content="Pengguna ingin bisa {thing}.",
        key="goal:{slug}",
        theme="plans",
        importance=3,
    ),
)

SELF_RULES: Final = (*SELF, *OCCUPIED)
