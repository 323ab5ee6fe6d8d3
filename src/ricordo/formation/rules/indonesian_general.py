"""Indonesian fallback rules. They apply only if no more specific rule reads the clause."""

import re
from datetime import datetime
from functools import partial
from typing import Final

from ricordo.formation.rules.noun_phrases import (
    capitalised_name,
    date_in_full,
    indonesian_languages,
    indonesian_place,
    indonesian_taste,
    indonesian_trade,
    known_indonesian_trade,
    name,
    own_age,
)
from ricordo.formation.rules.plans import episode, stated_goal, with_dates
from ricordo.formation.rules.rule import (
    CONDITIONS,
    INDONESIAN_LANGUAGES,
    INDONESIAN_MAKES,
    INDONESIAN_PETS,
    INDONESIAN_RELATIONS,
    OCCUPATIONS,
    Reader,
    Rule,
    RuleMatch,
    any_of,
    has_indonesian_possessive,
    has_pronoun,
    rule,
    short_slug,
    trimmed,
    whatever_follows,
)
from ricordo.formation.words import alternatives, pattern, words
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 5
_ORDER = r"(?: (?:sulung|bungsu|pertama|kedua|ketiga|tengah|kembar|laki-laki|perempuan|tiri))?"
_RELATION = rf"(?P<relation>(?:{any_of(INDONESIAN_RELATIONS)}){_ORDER})(?: saya| kami)"
_END = pattern("indonesian", "after a phrase", re.IGNORECASE)
_NOT_EATEN: Final = words("rules", "not eaten")
_NOT_LEARNED: Final = words("rules", "not learned")
_LASTING = re.compile(
    r"(?:sudah )?(?:(?:\d+|se|satu|dua|tiga|empat|lima|belasan|puluhan) ?(?:tahun|taun|bulan|"
    r"thn)(?:an)?) "
)

_rule = partial(rule, importance=3)

_MAX_HABIT_WORDS: Final = 14
_OFTEN = alternatives("indonesian", "often")
_CLOCK = r"jam (?:setengah )?(?:\d{1,2}(?:[.:]\d\d)?|\w+)(?: (?:pagi|siang|sore|malam|subuh))?"
_HABIT = pattern("indonesian", "habit", re.IGNORECASE)
_WHEN = re.compile(rf"\b(?:{_OFTEN})(?: (?:{_CLOCK}))?(?!\w)", re.IGNORECASE)
_AT_A_TIME = re.compile(rf"\b{_CLOCK}(?!\w)", re.IGNORECASE)
_NO_HABIT: Final = words("rules", "indonesian no habit")
_TIME_FIRST = pattern("indonesian", "time first", re.IGNORECASE)
_TIME_LAST = pattern("indonesian", "time last", re.IGNORECASE)
_EVENT = pattern("indonesian", "event")
_AIM = pattern("indonesian", "aim", re.IGNORECASE)
_HABIT_END = pattern("indonesian", "after a habit", re.IGNORECASE)
_VAGUE = pattern("indonesian", "vague", re.IGNORECASE)


def _short(text: str) -> str | None:
    bare = trimmed(_END.sub("", f" {text}").strip())
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) or not bare[0].isalnum() else bare


def _food(text: str) -> str | None:
    bare = _short(text)
    return None if bare is None or set(bare.lower().split()) & _NOT_EATEN else bare


def _learned(text: str) -> str | None:
    bare = _short(text)
    return None if bare is None or set(bare.lower().split()) & _NOT_LEARNED else bare


def _topic(text: str) -> str | None:
    bare = trimmed(re.split(r",| (?:dan|tapi|jadi) ", text, maxsplit=1)[0])
    fits = 1 <= len(bare.split()) <= 8 and not has_pronoun(bare)
    return bare if fits and not has_indonesian_possessive(bare) else None


def _foreign_trade(text: str) -> str | None:
    """An occupation by its English name: "frontend dev"."""
    bare = _short(text)
    last = bare.lower().split()[-1] if bare else ""
    is_trade = last in OCCUPATIONS or last in ("dev", "driver", "admin", "host")
    return bare if is_trade and bare and len(bare.split()) <= 3 else None


def _make(text: str) -> str | None:
    bare = _short(text)
    if bare is None:
        return None
    is_named = any(
        word[:1].isupper() or word.lower() in INDONESIAN_MAKES for word in bare.split()[1:]
    )
    return bare if is_named else None


def _age_alone(text: str) -> str | None:
    return own_age(re.split(r",| (?:tahun|thn|dan)\b", text)[0])


def _name_beside(text: str) -> str | None:
    found = re.match(r"(\w{2,14})(?=$|,| \w)", text)
    return name(found[1]) if found else None


def _caller(text: str) -> str | None:
    return capitalised_name(re.sub(r" (?:di sini|disini|lagi)\b.*", "", text))


def _liking(
    begins: str, content: str, reader: Reader = indonesian_taste, key: str = "taste:{slug}"
) -> Rule:
    return rule(begins, content, reader, key, "preferences", type=MemoryType.PREFERENCE)


def indonesian_habit(clause: str) -> RuleMatch | None:
    """What the user does regularly."""
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
    return RuleMatch(content, theme="routine", key=f"routine:{short_slug(bare)}")


def indonesian_engagement(clause: str, at: datetime) -> RuleMatch | None:
    """What is coming up."""
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
    return episode(f"Pengguna berencana {bare} {when}.")


def indonesian_aim(clause: str) -> RuleMatch | None:
    """What the user works towards."""
    found = _AIM.fullmatch(clause)
    if found is None:
        return None
    bare = _bare(found["what"] or found["chase"] or found["target"])
    if bare is None or _VAGUE.search(bare) or len(bare.split()) > 8:
        return None
    verb = "sedang" if found["chase"] else "ingin"
    return stated_goal(f"Pengguna {verb} {bare}.", bare)


def _bare(text: str) -> str | None:
    bare = trimmed(_HABIT_END.sub("", text))
    if not 1 <= len(bare.split()) <= _MAX_HABIT_WORDS or has_pronoun(bare):
        return None
    return None if has_indonesian_possessive(bare) else bare


SELF: Final = (
    _rule(r"(?:saya )?dengan(?= \w+ (?:di sini|disini))", "Nama pengguna adalah {thing}.", _caller,
        "preferred_name"),
    _rule(r"(?:saya|kami)(?: sekeluarga)? (?:domisili|merantau (?:di|ke)|menetap di|bermukim di|"
        r"(?:nge)?kos(?:t)? di)|saya anak \w+ yang merantau (?:di|ke)",
        "Pengguna tinggal di {thing}.",
        lambda text: indonesian_place(re.split(r" (?:deket|dekat|sejak)\b", text)[0]), "home_city"),
    _rule(r"(?:umur|usia) saya(?: sekarang)?", "Pengguna berumur {thing} tahun.", _age_alone,
        "age"),
    _rule(rf"bahasa (?P<language>{any_of(INDONESIAN_LANGUAGES)}) saya (?:masih )?(?P<how>pas-pasan|"
        rf"kurang|jelek|terbatas|lancar|bagus|lumayan|dasar|belepotan)",
        "Bahasa {language} pengguna {how}.", whatever_follows, "language:{language}"),
    _rule(r"saya belajar(?= bahasa)", "Pengguna belajar bahasa {thing}.",
        lambda text: indonesian_languages(" ".join(text.split()[:2])), "learning:{slug}"),
    _rule(r"saya belajar", "Pengguna belajar {thing}.", _learned, "learning:{slug}"),
    _rule(rf"(?:hari )?ulang tahun {_RELATION}(?: itu| jatuh)?|"
        rf"{_RELATION.replace('<relation>', '<who>')} ulang tahun",
        "Ulang tahun {relation}{who} pengguna {thing}.", date_in_full,
        "family:{relation}{who}-birthday", "family"),
    _rule(r"(?:hari jadi|ulang tahun|anniversary)(?: (?:pernikahan|perkawinan))? (?:kami|"
        r"saya)(?: itu| jatuh)?", "Hari jadi pernikahan pengguna {thing}.", date_in_full,
        "anniversary", "family"),
    _rule(r"saya anak (?P<which>tunggal|sulung|bungsu|pertama|terakhir|"
        r"(?:ke-?\w+|kedua|ketiga) dari \w+)", "Pengguna adalah anak {which}.", whatever_follows,
        "family:siblings", "family"),
    _rule(r"saya (?:pakai|pake|memakai) (?P<what>kacamata|alat bantu dengar|kursi roda|"
        r"lensa kontak|inhaler|kawat gigi|behel)", "Pengguna memakai {what}.", whatever_follows,
        "aid:{what}", "health"),
)  # fmt: skip

WORK: Final = (
    _rule(r"saya (?:mengajar|ngajar)", "Pengguna mengajar {thing}.", _learned, "occupation",
        "work"),
    _rule(r"saya(?! (?:bukan|tidak|ke|di|cari|butuh|mau|ingin))", "Pengguna adalah {thing}.",
        _foreign_trade, "occupation", "work"),
    _rule(r"saya (?:freelance|freelancer|pekerja lepas)(?: di)?(?: bidang)?",
        "Pengguna freelance {thing}.", _short, "occupation", "work"),
    _rule(r"saya (?:be)?kerja di (?:bidang|dunia|sektor|industri)",
        "Pengguna bekerja di bidang {thing}.", _short, "field_of_work", "work"),
    _rule(r"(?:usaha|bisnis|jualan) (?:saya|kami)(?: itu|"
        r" adalah)?(?! (?:sepi|rugi|bangkrut|lagi|baru|turun|naik|ramai|belum|tidak|sudah|gagal|"
        r"mau|lancar))", "Usaha pengguna adalah {thing}.", _short, "business", "work"),
    _rule(r"(?:saya |kami )?(?:sudah )?(?:\d+|se|dua|tiga|lima) ?(?:tahun|taun|thn|"
        r"bulan)(?: ini)?(?: saya)? (?:buka|punya|menjalankan|jalanin|ngelola|mengelola|merintis)",
        "Pengguna punya {thing}.", _short, "business", "work"),
    _rule(r"(?:saya )?(?:sudah )?(?:\d+|se|dua|tiga|lima|belasan|puluhan) ?(?:tahun|taun|thn|"
        r"bulan)(?: ini)?(?: saya)? (?:menjadi|jadi|kerja sebagai|bekerja sebagai)",
        "Pengguna adalah {thing}.", indonesian_trade, "occupation", "work"),
    _rule(r"(?:sudah )?(?:\d+|se|dua|tiga|lima) ?(?:tahun|taun|thn) saya (?:mengajar|ngajar)",
        "Pengguna mengajar {thing}.", lambda text: _learned(re.sub(r"^di ", "", text)),
        "occupation", "work"),
    _rule(r"(?:sejak |setelah |habis )?(?:saya )?pensiun(?:an)? dari",
        "Pengguna pensiun dari {thing}.",
        lambda text: _short(re.split(r" (?:saya|tahun)\b", text)[0]), "occupation", "work"),
    _rule(r"(?:saya )(?P<class>kelas (?:\d{1,2}|x|xi|xii)(?: (?:ipa|ips|smp|sma|smk|sd|bahasa))?)",
        "Pengguna {class}.", whatever_follows, "studies", "work"),
    _rule(r"(?:saya )?(?P<work>skripsi|tesis|disertasi|penelitian|tugas akhir|"
        r"riset)(?: saya)?(?: itu)? (?:tentang|soal|mengenai|membahas)",
        "{work} pengguna tentang {thing}.", _topic, "studies", "work"),
)  # fmt: skip

LIKINGS: Final = (
    _liking(r"saya (?:malas|males|tidak tahan|tidak kuat|muak|bosan|bosen|sebel|sebal|risih|kapok|"
        r"alergi)(?: (?:banget|bgt|sekali))? (?:sama|dengan|dgn)", "Pengguna tidak suka {thing}."),
    _liking(r"saya (?:penggemar|fans?)(?: (?:berat|garis keras|setia|fanatik))?(?: dari)?",
        "Pengguna penggemar {thing}."),
    _liking(r"(?P<what>[\w-]+(?: [\w-]+)?) (?:yang |adalah yang |itu yang )?paling saya (?:suka|"
        r"sukai|cintai)", "Pengguna paling suka {what}.", whatever_follows, "taste:{what}"),
    _liking(r"menurut saya (?P<what>[\w-]+(?: (?:yang )?(?:terlalu )?[\w-]+){0,2}?) (?:itu "
        r")?(?:sangat |terlalu )?(?:mengganggu|membosankan|menyebalkan|melelahkan|nyebelin|"
        r"ngebosenin)", "Pengguna tidak suka {what}.", whatever_follows, "taste:{what}"),
    _liking(r"saya tidak (?:begitu )?suka", "Pengguna tidak suka {thing}.",
        lambda text: (
            _topic(text)
            if re.search(r" (?:yang|yg) ", text)
            and len(text.split()) <= 6
            and not re.search(r"\d|\b(?:tadi|barusan|pertama|kedua)\b", text)
            else None
        )),
)  # fmt: skip

HEALTH: Final = (
    _rule(rf"(?:saya |kami )?{_LASTING.pattern}(?:ini )?(?:saya )?tidak (?P<do>makan|minum)",
        "Pengguna tidak {do} {thing}.", _food, "diet:{slug}", "health"),
    _rule(r"(?:saya|kami)(?: sekeluarga)? (?:sudah )?(?:tidak|stop|"
        r"berhenti)(?: (?:bisa|pernah|lagi))? (?P<do>makan|minum)", "Pengguna tidak {do} {thing}.",
        _food, "diet:{slug}", "health"),
    _rule(r"(?:kami sekeluarga|keluarga saya|kami|serumah) (?P<diet>vegetarian|vegan)",
        "Keluarga pengguna {diet}.", whatever_follows, "diet:household", "health"),
    _rule(r"saya diet(?! (?:apa|yang|gimana|dulu|biar|supaya|tapi))", "Pengguna diet {thing}.",
        _short, "diet", "health"),
    _rule(r"kulit saya alergi", "Pengguna alergi {thing}.", _short, "allergy:{slug}", "health"),
    _rule(rf"(?:saya (?:seorang )?)?(?:penderita|pengidap|penyintas) (?P<what>{any_of(CONDITIONS)}|"
        rf"kanker|jantung|stroke|lupus)", "Pengguna punya {what}.", whatever_follows,
        "condition:{what}", "health"),
    _rule(rf"{_RELATION} (?:punya |kena |sakit |menderita |"
        rf"mengidap )?(?P<what>{any_of(CONDITIONS)}|stroke|kanker|jantung|demensia|pikun|"
        rf"asam urat)(?! (?:apa|atau))", "{relation} pengguna punya {what}.", whatever_follows,
        "family:{relation}-health", "family"),
)  # fmt: skip

HELD: Final = (
    _rule(rf"{_RELATION} si", "{relation} pengguna bernama {thing}.", _name_beside,
        "family:{relation}", "family"),
    _rule(rf"{_RELATION} (?:adalah )?(?:pensiunan|mantan)",
        "{relation} pengguna pensiunan {thing}.", indonesian_trade, "family:{relation}-work",
        "family"),
    _rule(rf"{_RELATION}", "{relation} pengguna adalah {thing}.", known_indonesian_trade,
        "family:{relation}-work", "family"),
    _rule(r"(?P<who>nenek|kakek|ibu|ayah|mertua|orang tua|ortu|mama|papa|adik|"
        r"kakak)(?: saya)? tinggal (?:sama|bareng|bersama|dengan|serumah dengan) (?:kami|saya)",
        "{who} tinggal bersama pengguna.", whatever_follows, "family:{who}-home", "family"),
    _rule(rf"(?P<pet>{any_of(INDONESIAN_PETS)}) (?:saya|kami) (?:namanya|bernama|si)",
        "{pet} pengguna bernama {thing}.", _name_beside, "pet:{pet}", "family"),
    _rule(r"(?:saya|kami) (?:memelihara|melihara|pelihara|miara|ternak|beternak|budidaya)",
        "Pengguna memelihara {thing}.", _short, "keeps:{slug}", "family"),
    _rule(rf"(?:saya|kami) punya (?:se\w+ |\d+ |dua |"
        rf"tiga )?(?P<pet>{any_of(INDONESIAN_PETS)})(?! (?:apa|atau))", "Pengguna punya {pet}.",
        whatever_follows, "pet:{pet}", "family"),
    _rule(r"(?:saya|kami) (?:baru )?(?:beli|membeli|pakai|pake|memakai|punya)(?= \w+ \w)",
        "Pengguna punya {thing}.", _make, "possession:{slug}"),
    _rule(r"di rumah (?:kami|saya) (?:memakai|pakai|pake|ada|punya)",
        "Di rumah pengguna ada {thing}.",
        lambda text: _topic(text) if re.search(r"\d|\bmerek\b|\bmerk\b", text) else None,
        "home:equipment"),
    _rule(r"(?:omzet|omset|pendapatan|penghasilan|cicilan|sewa|tagihan)(?: [a-z]+)?(?: saya|"
        r" kami)(?: (?:sekitar|kira-kira|cuma|rata-rata|"
        r"per bulan))? (?P<amount>(?:rp\.? ?)?\d[\d.,]{0,11} ?(?:juta|jt|ribu|rb|"
        r"k))(?P<per>(?: (?:sebulan|per bulan|setahun|seminggu|sehari))?)",
        "Penghasilan atau pengeluaran pengguna {amount} {per}.", whatever_follows, "money"),
)  # fmt: skip

RULES: Final = (*SELF, *WORK, *LIKINGS, *HEALTH, *HELD)
