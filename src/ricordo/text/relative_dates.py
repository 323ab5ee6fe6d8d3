"""Days, weeks, months and years that are named by their distance: "yesterday", "two weeks ago"."""

import re
from collections.abc import Callable, Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.text.dates import ENGLISH_MONTHS
from ricordo.text.normalise import lazy_pattern

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
