"""The months, years and days that a text names, also by their distance: "two weeks ago"."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.frozen import dataclass
from ricordo.text.normalise import capitalised_inside_sentence, fold_with_places, lazy_pattern

# All folded, with common abbreviations, grouped by how ambiguous they are.

ENGLISH_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_OF_TIME = """
during early in last late mid next since till until
akhir awal bulan hingga pada sampai sejak selama
anfang bis ende im letzten mitte nachsten seit
ate desde durante em en hasta pasado proximo
courant depuis fin pendant
entro nel scorso
begin eind sinds tijdens tot
"""
_OF_ANYTHING = "after around before by from of past through ab avant da dal de di vom"

# Prepositions before months but hardly before people; and those before both.
TIME_PREPOSITIONS: Final = frozenset(_OF_TIME.split())
OTHER_PREPOSITIONS: Final = frozenset(_OF_ANYTHING.split())

_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DAY_ENDING = r"(?:st|nd|rd|th|er|de|ste|o|a|\.)?"
_NO_DIGIT = r"(?![0-9]|[.,:/][0-9])"
_LINK = r"(?:\s+(?:of|de|del|do|di|the))?"
_ISO_DATE = lazy_pattern(
    rf"(?<![\w.,:/-])(?P<year>{_YEAR})-(?P<month>0[1-9]|1[0-2])"
    rf"(?:-(?P<day>0[1-9]|[12][0-9]|3[01]))?(?![0-9-])(?!\w(?<!t))"
)
_DAY_MONTH_YEAR = lazy_pattern(
    rf"(?<![\w.,:/-])[0-9]{{1,2}}([/.-])[0-9]{{1,2}}\1({_YEAR})(?![\w-])"
)
_MONTH_YEAR = lazy_pattern(rf"(?<![\w.,:/-])[0-9]{{1,2}}/({_YEAR})(?![\w/-])")
_LONE_YEAR = lazy_pattern(rf"(?<![\w.,:/$€£¥#-])({_YEAR})(?:-({_YEAR}))?(?![\w%/-]|[.,:][0-9])")
_DIGIT = re.compile(r"[0-9]")
_WORD_HEAD = re.compile(r"(?<![a-z])[a-z]{3}")
_WORD_BEFORE = re.compile(r"(?<![^\W_])([^\W\d_]{1,12})['\s]{1,3}$")
_LONGEST_BEFORE: Final = 15  # characters that it can match


def _numbered(*names_by_month: str) -> dict[str, int]:
    return {
        name: number
        for number, names in enumerate(names_by_month, start=1)
        for name in names.split()
    }


# Always months. "April", "June" and "August" are names too, but far more often months.
CLEAR_MONTHS: Final = _numbered(
    "january januari januar janner enero janvier gennaio janeiro janv ene",
    "february februari februar feber febrero fevrier febbraio fevereiro feb febr fev fevr",
    "maret maerz marz marzo maart mrz mrt",
    "april abril avril aprile apr abr avr",
    "maggio maio",
    "june juni junio juin giugno junho jun giu",
    "july juli julio juillet luglio julho jul juil lug",
    "august agustus agosto aout augustus aug agu agt ags",
    "september septiembre setiembre septembre settembre setembro sep",
    "october oktober octubre octobre ottobre outubro oct okt ott",
    "november noviembre novembre novembro nov",
    "december desember dezember diciembre decembre dicembre dezembro dec dez dic",
)

# Also words; months if capitalised inside a sentence: they may, a march.
MONTHS_OR_WORDS: Final = _numbered("", "", "march", "", "may mai")

# Also capitalised names or other words: Jan, Mars, Mei, mayo, sept (seven). Months if beside a
# number or a preposition of time ("bulan Mei", "7 mei", "en mars").
MONTHS_OR_NAMES: Final = _numbered("jan", "", "mars", "", "mei mayo", "", "", "", "sept")

# The sea in three of the languages; a month beside a day or a year.
NUMBERED_ABBREVIATIONS: Final = _numbered("", "", "mar")

# Everyday words in another of the languages: two years ago, a set, 5 out of 10, des (French and
# German), ich mag, Marco. Months only beside a year, or a day with "de" between.
EVERYDAY_ABBREVIATIONS: Final = _numbered(
    "gen", "", "marco", "", "mag", "", "", "ago", "set", "out", "", "des"
)

_MONTHS: Final = (
    CLEAR_MONTHS
    | MONTHS_OR_WORDS
    | MONTHS_OR_NAMES
    | NUMBERED_ABBREVIATIONS
    | EVERYDAY_ABBREVIATIONS
)

_NAMED_MONTH = lazy_pattern(
    rf"(?:(?<![\w.,:/-])(?P<day>{_DAY})(?:\.?\s*-\s*(?P<day_to>{_DAY}))?{_DAY_ENDING}"
    rf"(?P<link>{_LINK})[\s-]*)?"
    rf"(?<![^\W_])(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?!\w)\.?"
    rf"(?:,?\s*(?:the\s+)?(?P<after>{_DAY})(?:\s*-\s*(?P<after_to>{_DAY}))?"
    rf"(?:st|nd|rd|th)?{_NO_DIGIT}(?!\w))?"
    rf"(?:{_LINK}[\s,/-]*(?P<year>{_YEAR})(?![\w-]))?"
)
_MONTH_HEADS: Final = frozenset(name[:3] for name in _MONTHS)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time in a query; an empty set is no restriction."""

    months: frozenset[int]
    years: frozenset[int]
    days: frozenset[int]

    def covers(self, moment: datetime) -> bool:
        return (
            (not self.months or moment.month in self.months)
            and (not self.years or moment.year in self.years)
            and (not self.days or moment.day in self.days)
        )


def named_times(text: str) -> NamedTime | None:
    """The months, the years from 1900 to 2099 and, beside a month, the days that a text names.

    Month names in eight languages and ISO dates. Of 7/5/2024 only the year is certain. Ambiguous
    words ("may") count where the context is a date. None without a month or year.
    """
    if not _may_name_a_time(text):
        return None
    composed = unicodedata.normalize("NFC", text).replace("–", "-")
    folded, places = fold_with_places(composed)
    months: set[int] = set()
    days: set[int] = set()
    years = _years(folded)
    for match in _ISO_DATE.finditer(folded):
        months.add(int(match["month"]))
        days.update(_days(match["day"], None))
    for match in _NAMED_MONTH.finditer(folded):
        start = places[match.start("month")]
        end = places[match.end("month") - 1] + 1
        # With its diacritics (março, Mär) it is unambiguous.
        is_spelled_out = not composed[start:end].isascii()
        is_capitalised = capitalised_inside_sentence(composed, start, end)
        if is_spelled_out or _is_a_month(match, is_capitalised=is_capitalised):
            months.add(_MONTHS[match["month"]])
            days.update(_days(match["day"], match["day_to"]))
            days.update(_days(match["after"], match["after_to"]))
            years.update(int(year) for year in (match["year"],) if year)
    if not months and not years:
        return None
    return NamedTime(frozenset(months), frozenset(years), frozenset(days))


def _may_name_a_time(text: str) -> bool:
    """A quick filter: a digit, or a word that starts like a month."""
    if not text.isascii():
        return True
    lower = text.lower()
    return _DIGIT.search(lower) is not None or not _MONTH_HEADS.isdisjoint(
        _WORD_HEAD.findall(lower)
    )


def date_terms(moment: datetime) -> str:
    """The terms of a date: "2024-05-07 7 May 2024"."""
    month = ENGLISH_MONTHS[moment.month - 1]
    return f"{moment.date().isoformat()} {moment.day} {month} {moment.year}"


def _years(folded: str) -> set[int]:
    found: set[int] = set()
    for pattern, groups in (
        (_ISO_DATE, (1,)),
        (_DAY_MONTH_YEAR, (2,)),
        (_MONTH_YEAR, (1,)),
        (_LONE_YEAR, (1, 2)),
    ):
        for match in pattern.finditer(folded):
            found.update(int(match[group]) for group in groups if match[group])
    return found


def _days(first: str | None, last: str | None) -> range:
    if first is None:
        return range(0)
    return range(int(first), int(last or first) + 1)


def _is_a_month(match: re.Match[str], *, is_capitalised: bool) -> bool:
    """Whether the context is enough evidence for a month."""
    word = match["month"]
    if word in CLEAR_MONTHS or match["year"]:
        return True
    has_day = bool(match["day"] or match["after"])
    if word in EVERYDAY_ABBREVIATIONS:
        return bool(match["day"] and match["link"])
    if has_day or word in NUMBERED_ABBREVIATIONS:
        return has_day
    start = match.start("month")
    before = _WORD_BEFORE.search(match.string, max(0, start - _LONGEST_BEFORE), start)
    preposition = before[1] if before else ""
    if word in MONTHS_OR_NAMES:
        return preposition in TIME_PREPOSITIONS
    return is_capitalised or preposition in TIME_PREPOSITIONS | OTHER_PREPOSITIONS


_LONGEST_YEARS: Final = 100
_COUNTS: Final = {
    word: count
    for count, words in enumerate(
        (
            "a an one",
            "two dua zwei dos deux dois duas",
            "three tiga drei tres trois três",
            "four empat vier cuatro quatre quatro",
            "five lima fünf cinco cinq",
            "six enam sechs seis",
            "seven tujuh sieben siete sept sete",
            "eight delapan acht ocho huit oito",
            "nine sembilan neun nueve neuf nove",
            "ten sepuluh zehn diez dix dez",
        ),
        start=1,
    )
    for word in words.split()
}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SATURDAY: Final = _WEEKDAYS.index("saturday")

# By unit and distance. Without words that have another meaning as often ("morgen", "mañana").
_PHRASES: Final = {
    ("day", -2): r"the day before yesterday|kemarin lusa|vorgestern|anteayer|avant-hier|anteontem"
    r"|おととい|一昨日|前天|그저께",
    ("day", -1): r"yesterday|last night|kemarin(?! lusa)|gestern|(?<!ante)ayer|anoche"
    r"|(?<!ante)ontem|昨日|昨夜|昨天|昨晚|어제",
    ("day", 1): r"tomorrow|besok|demain|amanhã|明日|明天|내일",
    ("day", 2): r"the day after tomorrow|lusa|übermorgen|pasado mañana|après-demain"
    r"|depois de amanhã|明後日|后天|모레",
    ("week", -1): r"last week|minggu lalu|letzte woche|la semana pasada|la semaine dernière"
    r"|semana passada|先週|上周|上星期|지난주",
    ("week", 1): r"next week|minggu depan|nächste woche|la (?:próxima semana|semana que viene)"
    r"|la semaine prochaine|semana que vem|来週|下周|下星期|다음 주",
    ("weekend", -1): r"last weekend|akhir pekan lalu|letztes wochenende"
    r"|el fin de semana pasado|le week-end dernier",
    ("month", -1): r"last month|bulan lalu|letzten monat|el mes pasado|le mois dernier"
    r"|mês passado|先月|上个月|지난달",
    ("month", 1): r"next month|bulan depan|nächsten monat|el (?:próximo mes|mes que viene)"
    r"|le mois prochain|mês que vem|来月|下个月|다음 달",
    ("year", -1): r"last year|tahun lalu|letztes jahr|el año pasado|l'année dernière|ano passado"
    r"|去年|작년",
    ("year", 1): r"next year|tahun depan|nächstes jahr|el (?:próximo año|año que viene)"
    r"|l'année prochaine|ano que vem|来年|明年|내년",
}
_UNITS: Final = {
    "day": r"days?|hari|tage?n?|días?|jours?|dias?",
    "week": r"weeks?|minggu|wochen?|semanas?|semaines?",
    "month": r"months?|bulan|monate?n?|mes(?:es)?|mois|m[êe]s(?:es)?",
    "year": r"years?|tahun|jahre?n?|años?|ans?|anos?",
}
_COUNT: Final = rf"\d{{1,2}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}"
_UNIT: Final = "|".join(_UNITS.values())
_AGO: Final = lazy_pattern(
    rf"(?<!\w)(?:(?P<en>{_COUNT}) (?P<unit>{_UNIT}) (?:ago|(?:yang )?lalu|atrás)"
    rf"|(?:vor|hace|il y a|há) (?P<de>{_COUNT}) (?P<units>{_UNIT}))(?!\w)",
    re.IGNORECASE,
)
_WEEKDAY: Final = lazy_pattern(
    rf"(?<!\w)(?P<which>last|this past|this coming) (?P<day>{'|'.join(_WEEKDAYS)})(?!\w)",
    re.IGNORECASE,
)
_ONE: Final = {
    step: lazy_pattern(rf"(?<![^\W\d_])(?:{words})(?![a-zäöüáéíóúñâêãõç]|['’]s)", re.IGNORECASE)
    for step, words in _PHRASES.items()
}
_ANY: Final = lazy_pattern("|".join(f"(?:{one.pattern})" for one in _ONE.values()), re.IGNORECASE)


_INDONESIAN_MONTHS: Final = (
    *("Januari", "Februari", "Maret", "April", "Mei", "Juni"),
    *("Juli", "Agustus", "September", "Oktober", "November", "Desember"),
)
_COMING: Final = {
    "tomorrow": ("day", "on", ENGLISH_MONTHS),
    "next week": ("week", "in the week of", ENGLISH_MONTHS),
    "next month": ("month", "in", ENGLISH_MONTHS),
    "next year": ("year", "in", ENGLISH_MONTHS),
    "besok": ("day", "pada", _INDONESIAN_MONTHS),
    "minggu depan": ("week", "pada minggu", _INDONESIAN_MONTHS),
    "bulan depan": ("month", "pada", _INDONESIAN_MONTHS),
    "tahun depan": ("year", "pada tahun", _INDONESIAN_MONTHS),
}
_NEXT: Final = lazy_pattern(rf"\b(?:{'|'.join(_COMING)})\b", re.IGNORECASE)
_MONTH_NEXT_YEAR: Final = lazy_pattern(
    rf"\b({'|'.join((*ENGLISH_MONTHS, *_INDONESIAN_MONTHS))})(?: of)? (?:next year|tahun depan)\b",
    re.IGNORECASE,
)
_IN_A_WHILE: Final = lazy_pattern(
    r"\bin (?P<count>a|one|two|three|four|five|six|[1-9]\d?) (?P<unit>week|month)s?"
    r"(?:['’]? time)?\b",
    re.IGNORECASE,
)


def spelled(day: datetime, months: Sequence[str] = ENGLISH_MONTHS) -> str:
    """A day in words: "7 May 2023"."""
    return f"{day.day} {months[day.month - 1]} {day.year}"


def with_dates(text: str, at: datetime) -> str:
    """A text with the date that it means instead of "next month" and the like."""
    if not _LONGEST_YEARS < at.year < MAXYEAR - _LONGEST_YEARS:
        return text
    text = _MONTH_NEXT_YEAR.sub(rf"\1 {at.year + 1}", text)
    text = _IN_A_WHILE.sub(lambda found: f"around {spelled(_after(found, at))}", text)
    return _NEXT.sub(lambda found: _coming(found[0].lower(), at), text).replace(" of in ", " of ")


def _after(found: re.Match[str], at: datetime) -> datetime:
    said = found["count"].lower()
    count = int(said) if said.isdigit() else _COUNTS[said]
    return at + timedelta(days=count * (7 if found["unit"].lower() == "week" else 30))


def _coming(phrase: str, at: datetime) -> str:
    unit, before, months = _COMING[phrase]
    return f"{before} {_meant(unit, 1, at, months).removeprefix('the week of ')}"


def with_meant_dates(text: str, at: datetime) -> str:
    """A text that was said at that time, with the dates that it means after their names."""
    if not _LONGEST_YEARS < at.year < MAXYEAR - _LONGEST_YEARS:
        return text
    for pattern, meant in (
        (_ANY, lambda found: _of_phrase(found, at)),
        (_AGO, lambda found: _ago(found, at)),
        (_WEEKDAY, lambda found: _on_weekday(found, at)),
    ):
        text = pattern.sub(_beside(meant), text)
    return text


def _beside(meant: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{found[0]} ({meant(found)})"


def _of_phrase(found: re.Match[str], at: datetime) -> str:
    step = next(step for step, one in _ONE.items() if one.fullmatch(found[0]))
    return _meant(*step, at)


def _ago(found: re.Match[str], at: datetime) -> str:
    said, named = found["en"] or found["de"], found["unit"] or found["units"]
    count = int(said) if said.isdigit() else _COUNTS[said.lower()]
    unit = next(unit for unit, names in _UNITS.items() if re.fullmatch(names, named, re.IGNORECASE))
    if unit == "week":  # nobody counts them to the day
        return f"about {spelled(at - timedelta(weeks=count))}"
    return _meant(unit, -count, at)


def _on_weekday(found: re.Match[str], at: datetime) -> str:
    wanted = _WEEKDAYS.index(found["day"].lower())
    if found["which"].lower() == "this coming":
        return spelled(at + timedelta(days=(wanted - at.weekday() - 1) % 7 + 1))
    return spelled(at - timedelta(days=(at.weekday() - wanted - 1) % 7 + 1))


def _meant(unit: str, steps: int, at: datetime, months: Sequence[str] = ENGLISH_MONTHS) -> str:
    if unit == "day":
        return spelled(at + timedelta(days=steps), months)
    monday = at - timedelta(days=at.weekday())
    if unit == "week":
        return f"the week of {spelled(monday + timedelta(weeks=steps), months)}"
    if unit == "weekend":
        return f"the weekend of {spelled(monday + timedelta(weeks=steps, days=_SATURDAY))}"
    if unit == "month":
        counted = at.year * 12 + at.month - 1 + steps
        return f"{months[counted % 12]} {counted // 12}"
    return str(at.year + steps)
