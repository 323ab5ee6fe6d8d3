"""Indonesian rules: who the user is. Clauses are regular: "gue" is "saya", "namaku" "nama saya"."""

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
from ricordo.formation.rules.rule import Rule, nothing_more, starting
from ricordo.formation.rules.things import indonesian_known_place, indonesian_place, name
from ricordo.formation.rules.trimming import trimmed
from ricordo.formation.rules.word_sets import words

_FAITHS: Final = words("islam muslim kristen katolik hindu buddha budha konghucu")


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
            r"saya (?:tinggal(?: sendiri)?|menetap|berdomisili|domisili|bermukim) di|(?:rumah|"
            r"domisili|"
            r"tempat tinggal) saya (?:ada )?di"
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
            r"saya (?:be)?kerja (?:sebagai|jadi)|saya berprofesi sebagai|(?:pekerjaan|"
            r"profesi) saya(?: adalah| sebagai)?"
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
            r"saya (?:bisa|fasih|berbicara|bicara|menguasai|lancar)(?: (?:ngomong|berbicara|"
            r"bicara|berbahasa))?(?= bahasa)|saya berbahasa|saya bisa berbahasa"
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
            r"tanggal lahir saya(?: adalah)?|saya (?:di)?lahir(?:kan)?(?: di [\w]{3,20})?,"
            r"?(?! di)"
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
            r"(?:umur|usia) saya|saya (?:berumur|berusia|umur|usia)|saya(?= \d{2} (?:tahun|"
            r"thn)\W*$)"
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

RULES: Final = (*NAMES, *PLACES, *WORK, *REST)
