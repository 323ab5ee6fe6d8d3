"""Indonesian rules: identity. Clauses are regular: "gue" is "saya", "namaku" "nama saya"."""

import re
from functools import partial
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
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    rule,
    trimmed,
)
from ricordo.formation.rules.things import indonesian_known_place, indonesian_place, name
from ricordo.formation.words import pattern, words

_work = partial(rule, theme="work", importance=3)
_fact = partial(rule, importance=3)

_FAITHS: Final = words("rules", "faiths")


def _faith(text: str) -> str | None:
    bare = trimmed(text.split(" dan ", maxsplit=1)[0].split(",", maxsplit=1)[0])
    if bare.lower() == "muslim":
        return "Islam"
    return bare[:1].upper() + bare[1:] if bare.lower() in _FAITHS else None


NAMES: Final = (
    rule(r"nama (?:lengkap |asli |panggilan )?saya(?: adalah| itu)?|saya bernama",
        "Nama pengguna adalah {thing}.", name, "preferred_name", importance=4),
    rule(r"(?:(?:tolong|kamu|bisa|boleh|cukup) ){0,3}panggil(?:(?: saja| aja)? saya| saja|"
        r" aja)(?: dengan(?: nama| sebutan)?)?(?: saja| aja)?", "Pengguna ingin dipanggil {thing}.",
        name, "preferred_name", importance=4, is_explicit=True),
    rule(r"saya (?:biasa |sering )?dipanggil", "Pengguna biasa dipanggil {thing}.", name,
        "preferred_name", importance=4),
)  # fmt: skip

PLACES: Final = (
    _fact(r"saya (?:tinggal(?: sendiri)?|menetap|berdomisili|domisili|bermukim) di|"
        r"(?:rumah|domisili|tempat tinggal) saya (?:ada )?di", "Pengguna tinggal di {thing}.",
        indonesian_place, "home_city"),
    _fact(r"saya pindah(?: rumah)?(?: dari [\w .'-]{2,40}?)? ke", "Pengguna tinggal di {thing}.",
        indonesian_known_place, "home_city"),
    _fact(r"saya (?:berasal |asli |asal(?:nya)? )?dari|saya asli(?! dari)|saya asal(?! dari)|"
        r"asal saya(?: dari)?|kampung halaman saya(?: di)?", "Pengguna berasal dari {thing}.",
        indonesian_known_place, "hometown"),
    _fact(r"saya (?:besar|dibesarkan|lahir dan besar) di", "Pengguna dibesarkan di {thing}.",
        indonesian_known_place, "hometown"),
    _fact(r"saya (?:di)?lahir(?:kan)? di", "Pengguna lahir di {thing}.", indonesian_known_place,
        "birthplace"),
    _fact(r"saya tidak (?:lagi )?tinggal (?:lagi )?di(?=.*\blagi\b)|saya tidak lagi tinggal di",
        "Pengguna tidak lagi tinggal di {thing}.",
        lambda text: indonesian_known_place(text.split(" lagi")[0])),
)  # fmt: skip

WORK: Final = (
    _work(r"saya(?: seorang| adalah)? ibu rumah tangga", "Pengguna adalah ibu rumah tangga.",
        nothing_more, "occupation"),
    _work(r"saya (?:be)?kerja (?:sebagai|jadi)|saya berprofesi sebagai|"
        r"(?:pekerjaan|profesi) saya(?: adalah| sebagai)?", "Pengguna bekerja sebagai {thing}.",
        indonesian_trade, "occupation"),
    _work(r"saya(?: adalah)?(?: seorang)?", "Pengguna adalah {thing}.", known_indonesian_trade,
        "occupation"),
    _work(r"saya (?:be)?kerja (?:sebagai [\w ]{3,40}? )?di", "Pengguna bekerja di {thing}.",
        indonesian_employer, "employer"),
    _work(r"saya (?:be)?kerja di", "Pengguna bekerja di {thing}.", indonesian_known_place,
        "work_city"),
    rule(r"saya (?:be)?kerja (?:dari rumah|remote|wfh)", "Pengguna bekerja dari rumah.",
        nothing_more, "work_arrangement", theme="work"),
    _work(r"saya sudah tidak (?:be)?kerja (?:lagi )?di|saya tidak lagi (?:be)?kerja di",
        "Pengguna tidak lagi bekerja di {thing}.",
        lambda text: indonesian_employer(text.split(" lagi")[0])),
    _work(r"saya (?:kuliah|sekolah|belajar|mahasiswa)(?: [\w ]{3,40}?)? di",
        "Pengguna kuliah di {thing}.", school, "school"),
    _work(r"saya (?:kuliah|mengambil|ambil) (?:di )?(?:jurusan|prodi)|jurusan saya(?: adalah)?",
        "Pengguna kuliah jurusan {thing}.", subject_of_study, "studies"),
    _work(r"saya lulusan(?: dari)?|saya alumni", "Pengguna lulusan {thing}.", school, "education"),
)  # fmt: skip

REST: Final = (
    rule(r"saya (?:bisa|fasih|berbicara|bicara|menguasai|"
        r"lancar)(?: (?:ngomong|berbicara|bicara|berbahasa))?(?= bahasa)|saya berbahasa|"
        r"saya bisa berbahasa", "Pengguna bisa berbahasa {thing}.", indonesian_languages,
        "language"),
    _fact(r"bahasa ibu saya(?: adalah)?", "Bahasa ibu pengguna adalah bahasa {thing}.",
        indonesian_languages, "language:native"),
    rule(r"saya belajar(?= bahasa)", "Pengguna belajar bahasa {thing}.", indonesian_languages,
        "learning:{slug}"),
    _fact(r"(?:hari )?(?:ulang tahun|ultah|lahir) saya(?: adalah| itu| jatuh)?|"
        r"tanggal lahir saya(?: adalah)?|saya (?:di)?lahir(?:kan)?(?: di [\w]{3,20})?,?(?! di)",
        "Ulang tahun pengguna {thing}.", date_in_full, "birthday"),
    _fact(r"saya (?:di)?lahir(?:kan)?", "Pengguna lahir tahun {thing}.", year, "birth_year"),
    _fact(r"(?:umur|usia) saya|saya (?:berumur|berusia|umur|usia)|saya(?= \d{2} (?:tahun|thn)\W*$)",
        "Pengguna berumur {thing} tahun.", own_age, "age"),
    rule(r"saya(?: beragama| seorang)?|agama saya", "Pengguna beragama {thing}.", _faith,
        "religion"),
)  # fmt: skip

PROFILE_RULES: Final = (*NAMES, *PLACES, *WORK, *REST)


_MAX_WORDS: Final = 4
_END = pattern("indonesian", "after an identity", re.IGNORECASE)
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
    rule(r"pronoun saya(?: adalah| itu)? (?P<pronouns>(?:he|she|they)/\w{3,4})",
        "Pronoun pengguna adalah {pronouns}.", nothing_more, "pronouns", importance=4),
    _fact(r"(?:saya|kami) (?:(?:ngekos|ngekost|indekos|kos|kost|ngontrak|tinggal|menetap|"
        r"berdomisili|domisili) di)|(?:rumah|kosan|kontrakan) (?:saya|kami) (?:ada )?di",
        "Pengguna tinggal di {thing}.", indonesian_place, "home_city"),
    _fact(r"(?:domisili|tempat tinggal) saya(?: sekarang| saat ini)?(?: ada)?(?: di)?|"
        r"kami (?:sekeluarga )?(?:sudah |baru )?pindah(?: rumah)?(?: dari [\w .'-]{2,40}?)? ke|"
        r"saya (?:sudah |baru )?pindah(?: rumah)? ke|(?:sudah )pindah ke",
        "Pengguna tinggal di {thing}.", indonesian_known_place, "home_city"),
    _fact(r"saya orang(?: asli)?", "Pengguna berasal dari {thing}.", indonesian_known_place,
        "hometown"),
    _fact(r"saya(?= \d{2}\W*$| \d{2},)", "Pengguna berumur {thing} tahun.", own_age, "age"),
    rule(r"(?:di rumah |sehari-hari |sehari2 )?saya (?:di rumah |sehari-hari )?(?:pakai|pake|"
        r"ngomong|berbicara|bicara|memakai|menggunakan)(?= bahasa)",
        "Pengguna memakai bahasa {thing}.", indonesian_languages, "language"),
    rule(r"saya (?:cuma |hanya )(?:bisa|ngerti|paham)(?= bahasa)",
        "Pengguna hanya bisa berbahasa {thing}.", indonesian_languages, "language"),
    rule(r"(?:gaji|penghasilan|pendapatan) saya(?: sekarang)?(?: (?:sekitar|cuma|kira2|"
        r"adalah))? (?P<amount>(?:rp\.? ?)?\d[\d.,]{0,11} ?(?:juta|jt|ribu|rb|k)?)(?P<per>(?: |"
        r"(?=/))(?:sebulan|per bulan|setahun|per tahun|seminggu|sehari|/bulan))?",
        "Gaji pengguna {amount} {per}.", key="income"),
)  # fmt: skip

OCCUPIED: Final = (
    _work(r"saya (?:ber)?(?:jualan|dagang)", "Pengguna berjualan {thing}.", _short, "occupation"),
    _work(r"saya kuliah(?! (?:di|jurusan|prodi|sambil|lagi)\b)", "Pengguna kuliah {thing}.",
        _studied, "studies"),
    _work(r"saya (?P<who>siswa|siswi|mahasiswa|mahasiswi|pelajar)(?: [\w ]{2,30}?)? (?:jurusan|"
        r"prodi|program studi)", "Pengguna adalah {who} jurusan {thing}.", _studied, "occupation"),
    _work(r"saya di(?= (?:dinas|kementerian|pt|cv|bumn|pemda|pemkot) \w)",
        "Pengguna bekerja di {thing}.", indonesian_employer, "employer"),
    rule(r"saya (?:nabung|menabung|ngumpulin uang) (?:buat|untuk|demi)",
        "Pengguna menabung untuk {thing}.", _goal, "goal:{slug}", theme="plans", importance=3),
    rule(r"(?:saya )?(?:ingin|mau) bisa(?= (?:main|berenang|renang|nyetir|menyetir|masak|memasak|"
        r"jahit|menjahit|ngomong bahasa|berbahasa|bahasa|berbicara|naik|membaca|bermain) ?)",
        "Pengguna ingin bisa {thing}.", _goal, "goal:{slug}", theme="plans", importance=3),
)  # fmt: skip

SELF_RULES: Final = (*SELF, *OCCUPIED)
