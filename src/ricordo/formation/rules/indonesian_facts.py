"""Indonesian rules: identity, work, family, belongings, tastes and health.

Clauses are regular: "gue" is "saya", "namaku" "nama saya".
"""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.noun_phrases import (
    age,
    date_in_full,
    indonesian_employer,
    indonesian_known_place,
    indonesian_languages,
    indonesian_place,
    indonesian_taste,
    indonesian_trade,
    known_indonesian_trade,
    name,
    own_age,
    school,
    subject_of_study,
    year,
)
from ricordo.formation.rules.rule import (
    CONDITIONS,
    FOODS_NOT_EATEN,
    INDONESIAN_BELONGINGS,
    INDONESIAN_MAKES,
    INDONESIAN_NUMBER_WORDS,
    INDONESIAN_PETS,
    INDONESIAN_RELATIONS,
    NOT_PLACES,
    Reader,
    Rule,
    any_of,
    capitalised,
    has_indonesian_possessive,
    has_pronoun,
    nothing_more,
    phrase,
    rule,
    trimmed,
)
from ricordo.formation.words import alternatives, pattern, words
from ricordo.model.vocabulary import MemoryType

_health = partial(rule, theme="health", importance=4)

_work = partial(rule, theme="work", importance=3)
_fact = partial(rule, importance=3)

_FAITHS: Final = words("rules", "faiths")
_AFTER_AN_ALLERGEN = re.compile(r"[,\s]+(?:jadi|tapi|karena|sejak|dan (?=tidak|saya))\b")

_MAX_IDENTITY_WORDS: Final = 4
_AFTER_AN_IDENTITY = pattern("indonesian", "after an identity", re.IGNORECASE)
_NOT_STUDIED: Final = words("rules", "not studied")

_family = partial(rule, theme="family", importance=3)

_RELATION = alternatives(
    "indonesian", "relation", indonesian_relations=any_of(INDONESIAN_RELATIONS)
)
_PET = rf"(?P<pet>{any_of(INDONESIAN_PETS)})(?: peliharaan)? saya"
_COUNT = rf"(?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|\d{{1,2}})"

_MAX_BELONGING_WORDS: Final = 5
_AFTER_A_BELONGING = pattern("indonesian", "after a belonging", re.IGNORECASE)
_HOUSEHOLD_RELATION = rf"(?P<relation>{any_of(INDONESIAN_RELATIONS)}) (?:saya|kami)"
_KIND = alternatives("indonesian", "kind of belonging")
_NOT_BESIDE: Final = words("rules", "not beside")


def allergen(text: str) -> str | None:
    """A real allergen."""
    bare = phrase(re.sub(r"^(?:sama|terhadap|dengan|makanan) ", "", text), _AFTER_AN_ALLERGEN, 5)
    if bare is None or has_indonesian_possessive(bare):
        return None
    return None if re.search(r"\b(?:atau|kerja|drama|orang|senin)\b", bare) else bare


def _condition(text: str) -> str | None:
    named = re.sub(r"^(?:penyakit|riwayat) ", "", text)
    bare = trimmed(re.split(r"[,\s]+(?:jadi|tapi|dan|sejak)\b", named)[0])
    return bare if bare.lower() in CONDITIONS else None


def _food(text: str) -> str | None:
    bare = trimmed(re.split(r"[,\s]+(?:karena|jadi|tapi|sejak|dan (?=saya))\b", text)[0])
    words = bare.lower().split()
    is_food = set(words) - {"dan", "atau", "makanan", "merah"} <= FOODS_NOT_EATEN
    return bare if is_food and 1 <= len(words) <= 4 else None


def _answers(text: str) -> str | None:
    kind = re.fullmatch(
        r"jawaban (?:yang )?(?:[a-z-]{3,14}(?: dan|,|) ?){1,4}", trimmed(text), re.IGNORECASE
    )
    return kind[0].strip() if kind and not has_pronoun(kind[0]) else None


def _preference(begins: str, content: str, reader: Reader = indonesian_taste) -> Rule:
    return rule(begins, content, reader, "taste:{slug}", "preferences", type=MemoryType.PREFERENCE)


def _faith(text: str) -> str | None:
    bare = trimmed(re.split(" dan |,", text, maxsplit=1)[0])
    if bare.lower() == "muslim":
        return "Islam"
    return capitalised(bare) if bare.lower() in _FAITHS else None


def _short(text: str) -> str | None:
    """A noun phrase of a few words, without pronouns."""
    bare = trimmed(_AFTER_AN_IDENTITY.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_IDENTITY_WORDS or has_pronoun(bare):
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


def _bare(text: str) -> str | None:
    bare = trimmed(_AFTER_A_BELONGING.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_BELONGING_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) else bare


def _model(text: str) -> str | None:
    """A make or model: a capital, a number or its name distinguishes it from a complaint."""
    bare = _bare(text)
    if bare is None:
        return None
    first, *rest = bare.split()
    if first.lower() in NOT_PLACES - INDONESIAN_MAKES:
        return None
    if first.lower() in INDONESIAN_MAKES or (first[:1].isupper() and first.isalpha()):
        return bare
    numbered = rest and any(map(str.isdigit, rest[-1])) and first.isalpha() and len(rest) == 1
    return bare if numbered and len(rest[-1]) > 1 and len(first) > 3 else None


def _belonging(text: str) -> str | None:
    bare = _bare(text)
    return bare if bare and bare.lower().split()[0] in INDONESIAN_BELONGINGS else None


def _beside(text: str) -> str | None:
    """The name in "kakakku Ana kerja di bank"."""
    found = re.match(r"(\w{3,12})(?= (?:be)?(?:kerja|tinggal|kuliah|sekolah)\b)", text)
    return name(found[1]) if found and found[1].lower() not in _NOT_BESIDE else None


def _origin(text: str) -> str | None:
    bare = _bare(text)
    return bare if bare and bare[0].isupper() and len(bare.split()) <= 2 else None


TASTES: Final = (
    _preference(r"saya (?:lebih )?suka(?: (?:banget|sekali|sama))?(?! jawaban)",
        "Pengguna suka {thing}."),
    _preference(r"saya (?:cinta|menyukai|menggemari|penggemar(?: berat| setia)?|hobi)",
        "Pengguna suka {thing}."),
    _preference(r"saya senang(?= (?:me|ber|ng|nonton|main|masak|baca|jalan)\w*)(?! (?:bertemu|"
        r"mendengar|membantu|melihat|berkenalan|bisa))", "Pengguna senang {thing}."),
    _preference(r"saya (?:tidak|kurang) (?:begitu |terlalu )?suka(?: (?:sama|dengan))?",
        "Pengguna tidak suka {thing}."),
    _preference(r"saya (?:benci|membenci|anti)(?: (?:banget|sama|dengan))?",
        "Pengguna tidak suka {thing}."),
    rule(r"(?P<kind>[a-z]{3,15}(?: [a-z]{3,15})?) (?:favorit|"
        r"kesukaan) saya(?: (?:adalah|itu|yaitu|ya))?", "{kind} favorit pengguna adalah {thing}.",
        indonesian_taste, "favourite:{kind}", theme="preferences", type=MemoryType.PREFERENCE),
    rule(r"hobi saya(?: (?:adalah|itu|yaitu))?", "Hobi pengguna adalah {thing}.", indonesian_taste,
        "hobbies", theme="preferences", type=MemoryType.PREFERENCE),
    rule(r"saya lebih suka|saya suka|saya mau|saya ingin", "Pengguna lebih suka {thing}.", _answers,
        "tone", theme="instructions", importance=4, type=MemoryType.PREFERENCE),
)  # fmt: skip

HEALTH: Final = (
    _health(r"saya (?:punya |ada |memiliki )?alergi(?: berat| parah)?", "Pengguna alergi {thing}.",
        allergen, "allergy:{slug}"),
    _health(r"saya (?:seorang )?(?P<diet>vegetarian|vegan|pescatarian)", "Pengguna {diet}.",
        nothing_more, "diet"),
    _health(r"saya intoleran(?:si)? (?P<what>laktosa|gluten)", "Pengguna intoleran {what}.",
        nothing_more, "allergy:{what}"),
    _health(r"saya tidak (?:bisa |boleh |pernah )?(?P<do>makan|minum)",
        "Pengguna tidak {do} {thing}.", _food, "diet:{slug}", importance=3),
    _health(r"saya (?:punya|menderita|mengidap|ada|kena|memiliki)", "Pengguna punya {thing}.",
        _condition, "condition:{slug}"),
)  # fmt: skip

TASTE_RULES: Final = (*TASTES, *HEALTH)

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
    _work(r"saya (?:sedang )?magang di", "Pengguna magang di {thing}.", indonesian_employer,
        "employer"),
    _work(r"saya di(?= (?:dinas|kementerian|pt|cv|bumn|pemda|pemkot) \w)",
        "Pengguna bekerja di {thing}.", indonesian_employer, "employer"),
    rule(r"saya (?:nabung|menabung|ngumpulin uang) (?:buat|untuk|demi)",
        "Pengguna menabung untuk {thing}.", _goal, "goal:{slug}", theme="plans", importance=3),
    rule(r"(?:saya )?(?:ingin|mau) bisa(?= (?:main|berenang|renang|nyetir|menyetir|masak|memasak|"
        r"jahit|menjahit|ngomong bahasa|berbahasa|bahasa|berbicara|naik|membaca|bermain) ?)",
        "Pengguna ingin bisa {thing}.", _goal, "goal:{slug}", theme="plans", importance=3),
)  # fmt: skip

SELF_RULES: Final = (*SELF, *OCCUPIED)

FAMILY: Final = (
    _family(rf"{_RELATION} (?:ber)?nama(?:nya)?(?: adalah)?",
        "{relation} pengguna bernama {thing}.", name, "family:{relation}"),
    _family(rf"nama {_RELATION}(?: adalah)?", "{relation} pengguna bernama {thing}.", name,
        "family:{relation}"),
    _family(rf"{_RELATION} tinggal di", "{relation} pengguna tinggal di {thing}.", indonesian_place,
        "family:{relation}-home"),
    _family(rf"{_RELATION} (?:be)?kerja (?:sebagai|jadi)",
        "{relation} pengguna bekerja sebagai {thing}.", indonesian_trade, "family:{relation}-work"),
    _family(rf"{_RELATION}(?: adalah)?(?: seorang)?", "{relation} pengguna adalah {thing}.",
        known_indonesian_trade, "family:{relation}-work"),
    _family(rf"{_RELATION} (?:berumur|berusia|umurnya|usianya|umur)",
        "{relation} pengguna berumur {thing} tahun.", age, "family:{relation}-age"),
    _family(rf"{_RELATION} (?:be)?kerja di", "{relation} pengguna bekerja di {thing}.",
        indonesian_employer, "family:{relation}-employer"),
    _family(rf"{_RELATION} alergi", "{relation} pengguna alergi {thing}.", allergen, importance=4),
    _family(r"anak saya (?:ada )?(?P<count>dua|tiga|empat|lima|satu|\d)(?: orang)?",
        "Pengguna punya {count} anak.", nothing_more, "family:anak"),
    _family(rf"saya (?:punya|memiliki|mempunyai) {_COUNT} (?:orang )?(?P<relation>anak|adik|kakak|"
        rf"saudara)(?: (?:perempuan|laki-laki))?", "Pengguna punya {count} {relation}.",
        nothing_more, "family:{relation}"),
    _family(r"saya (?:sudah )?(?P<state>menikah|berkeluarga|bercerai|bertunangan)",
        "Pengguna sudah {state}.", nothing_more, "marital_status"),
    _family(r"saya (?P<state>lajang|jomblo)", "Pengguna {state}.", nothing_more, "marital_status"),
    _family(rf"{_PET} (?:ber)?nama(?:nya)?(?: adalah)?|"
        rf"nama {_PET.replace('<pet>', '<pet2>')}(?: adalah)?",
        "{pet}{pet2} pengguna bernama {thing}.", name, "pet:{pet}{pet2}"),
    _family(rf"saya (?:punya|memelihara|memiliki|pelihara) (?:(?:seekor|"
        rf"satu) )?(?P<pet>{any_of(INDONESIAN_PETS)}) (?:ber)?nama(?:nya)?",
        "Pengguna punya {pet} bernama {thing}.", name, "pet:{pet}"),
    rule(rf"saya (?:punya|memelihara|memiliki|"
        rf"pelihara) (?:{_COUNT} )?(?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:ber)?nama)",
        "Pengguna memelihara {pet}.", nothing_more, "pet:{pet}", theme="family"),
)  # fmt: skip

FAMILY_RULES: Final = FAMILY

HOUSEHOLD: Final = (
    _family(_HOUSEHOLD_RELATION, "{relation} pengguna bernama {thing}.", _beside,
        "family:{relation}"),
    rule(rf"{_HOUSEHOLD_RELATION} (?:asli )?orang", "{relation} pengguna orang {thing}.", _origin,
        "family:{relation}-origin", theme="family"),
    _family(r"istri saya (?:sedang |lagi |sudah )?hamil(?! (?:atau|apa|nggak|gak|ga|tidak)\b)",
        "Istri pengguna sedang hamil."),
    _family(rf"saya tinggal (?:sama|bareng|bersama|dengan|"
        rf"berdua dengan) (?P<relation>{any_of(INDONESIAN_RELATIONS)}|orang ?tua|ortu|"
        rf"keluarga)(?: saya)?", "Pengguna tinggal bersama {relation}.", nothing_more,
        "lives_with"),
    rule(rf"(?:di rumah(?: saya| kami)? (?:ada|punya)|kami (?:punya|memelihara|"
        rf"pelihara)) (?P<count>{any_of(INDONESIAN_NUMBER_WORDS)}|"
        rf"\d{{1,2}}) (?:ekor )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:liar|tetangga|orang|masuk|"
        rf"mati|lewat))", "Pengguna memelihara {count} {pet}.", key="pet:{pet}", theme="family"),
    rule(r"(?:saya|kami|sekeluarga|keluarga saya|kami sekeluarga) (?:cuma |hanya |"
        r"selalu )(?P<do>makan)(?: makanan)?(?: yang)? halal", "Pengguna hanya makan yang halal.",
        key="diet", theme="health", importance=4),
    rule(rf"{_KIND} saya(?: itu| adalah| pakai| pake| merk| merek)?",
        "{kind} pengguna adalah {thing}.", _model, "possession:{kind}"),
    rule(r"(?:saya|kami) (?:punya|memiliki|mempunyai)(?: (?:sebuah|satu))?",
        "Pengguna punya {thing}.", _belonging, "possession:{slug}"),
)  # fmt: skip

HOUSEHOLD_RULES: Final = HOUSEHOLD
