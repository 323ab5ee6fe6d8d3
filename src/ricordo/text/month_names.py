"""Month names in English, Indonesian, German, Spanish, French, Italian, Portuguese and Dutch.

All in folded form (small letters, no diacritics), with their common abbreviations, by how sure one
can be that the word is a month.
"""

from typing import Final

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


def _numbered(*names_by_month: str) -> dict[str, int]:
    return {
        name: number
        for number, names in enumerate(names_by_month, start=1)
        for name in names.split()
    }


# Months wherever they stand. "April", "June" and "August" are names too, but far more often months.
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

# Also words, but with a capital inside a sentence they are months: they may, a march.
MONTHS_OR_WORDS: Final = _numbered("", "", "march", "", "may mai")

# Also names or other things, so that a capital proves nothing: Jan, Mars, Mei, mayo on a sandwich,
# sept (seven). As months they nearly always have a number or a preposition of time beside them
# ("bulan Mei", "7 mei", "en mars").
MONTHS_OR_NAMES: Final = _numbered("jan", "", "mars", "", "mei mayo", "", "", "", "sept")

# The sea in three of the languages; a month beside a day or a year.
NUMBERED_ABBREVIATIONS: Final = _numbered("", "", "mar")

# Everyday words in another of the languages: two years ago, a set, 5 out of 10, des (French and
# German), ich mag, Marco. They need a year beside them, or a day with "de" between.
EVERYDAY_ABBREVIATIONS: Final = _numbered(
    "gen", "", "marco", "", "mag", "", "", "ago", "set", "out", "", "des"
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

# Before a month, but hardly before a person; and those that stand before both.
TIME_PREPOSITIONS: Final = frozenset(_OF_TIME.split())
OTHER_PREPOSITIONS: Final = frozenset(_OF_ANYTHING.split())
