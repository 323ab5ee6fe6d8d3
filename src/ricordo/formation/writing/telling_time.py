"""When something is, as a content tells it: past, now, planned, or a day only its speaker knew."""

import re
from typing import Final

from ricordo.text.dates import named_times

_RELATIVE = re.compile(
    r"\b(?:tomorrow|yesterday|today|tonight|(?:the )?day after tomorrow|this (?:morning|afternoon"
    r"|evening|week|weekend|month|year)|(?:next|last) (?:week|weekend|month|year|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday|night)|in (?:a|two|three|a few|[0-9]+) (?:days?"
    r"|weeks?|months?)|(?:a|two|three|a few|[0-9]+) (?:days?|weeks?|months?) ago"
    r"|right now|just now)\b"
    r"|\b(?:besok|lusa|kemarin(?: lusa)?|hari ini|malam ini|nanti (?:malam|sore|siang)|tadi (?:pagi"
    r"|siang|malam)|(?:minggu|pekan|bulan|tahun) (?:depan|lalu|ini|kemarin)|barusan)\b"
    r"|(?<!am )(?<!jeden )\bmorgen\b(?! (?:früh )?immer)|\b(?:heute|gestern|übermorgen|vorgestern"
    r"|(?:nächste|letzte|diese|kommende)[nrsm]? (?:woche|monat|jahr|wochenende|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag))\b"
    r"|明日|明後日|昨日|一昨日|今日|今朝|今夜|今晩|来週|先週|今週|来月|先月|今月|来年|去年|昨年|今年"
)
_DATED_IN_JAPANESE = re.compile("[0-9]{4}年|[0-9]{1,2}月[0-9]{1,2}日")

_PLANNED = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|will|going to|intend(?:s|ed|ing)?|want(?:s|ed)? to"
    r"|hop(?:es|ed|ing) to"
    r"|would like|scheduled|appointment|booked|looking forward|aims? to|due|about to|expects?"
    r"|expecting|has to|needs? to|starts? on|upcoming)\b"
    r"|\b(?:akan|berencana|merencanakan|ingin|mau|hendak|rencana|dijadwalkan|janji temu|berniat)\b"
    r"|\b(?:wird|werden|plant|planen|möchte|will|vorhat|beabsichtigt|termin|geplant|vor)\b"
    r"|予定|つもり|たい|計画|する(?:だろう|と思)"
)
_IRREGULAR_PAST: Final = (
    r"was|were|had|did|went|got|came|saw|met|bought|began|became|broke|brought|built|caught|chose"
    r"|drank|drove|ate|fell|felt|flew|forgot|found|gave|grew|heard|held|hurt|kept|knew|led|left|lent"
    r"|lost|made|paid|put|quit|ran|read|rode|said|sang|sat|sent|set|shot|slept|sold|spent|spoke|stood"
    r"|swam|taught|thought|told|took|understood|woke|won|wore|wrote|cut|let|been|gone|done|seen|ago"
)
_PAST = re.compile(
    rf"\b(?:{_IRREGULAR_PAST}|\w{{2,}}ed)\b"
    r"|\b(?:telah|sudah|pernah|tadi|kemarin|lalu|sebelumnya|dulu|baru saja|sempat|berhasil)\b"
    r"|\b(?:war|waren|hatte|hatten|wurde|wurden|ging|kam|kaufte|fand|nahm|bekam|begann|sah|traf"
    r"|ge\w{2,}(?:t|en)|\w{2,}iert|\w{3,}te|gestern|besucht|verkauft|verloren|bekommen|erhalten)\b"
    r"|(?:た|だった|でした|ました)[。.\s]*$"
)
_PRESENT = re.compile(
    r"^(?:the )?user(?:'s \w+)? (?:\w+ly )?(?:is|are|am|has|does|\w+[^s\W]s)\b"
    r"|\b(?:is|are) (?:\w+ )?\w+ing\b|\b(?:now|currently|right now|at the moment|these days)\b"
    r"|\b(?:sedang|sekarang|saat ini|kini|lagi)\b"
    r"|\b(?:gerade|jetzt|momentan|derzeit|zurzeit|aktuell)\b"
    r"|(?:[てで]い(?:る|ます)|中だ|中です|中である)[。.\s]*$"
)


def is_told_as_present(small: str) -> bool:
    """Whether a text in small letters clearly tells what goes on now: neither past nor planned."""
    if _PAST.search(small) or _PLANNED.search(small):
        return False
    return _PRESENT.search(small) is not None


def hangs_in_time(text: str) -> bool:
    """Whether a text counts from the day on which it was said and names no date."""
    if not _RELATIVE.search(text.lower()):
        return False
    return named_times(text) is None and not _DATED_IN_JAPANESE.search(text)
