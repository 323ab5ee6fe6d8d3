"""Plans and goals: steps in a life, with a date or a clear intent, not the next step of a task."""

import re
from collections.abc import Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.formation.rules.rule import RuleMatch, has_indonesian_possessive, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import NOT_PLACES
from ricordo.model.vocabulary import MemoryType
from ricordo.text.dates import CLEAR_MONTHS, ENGLISH_MONTHS
from ricordo.text.normalise import folded, slug

_INDONESIAN_MONTHS: Final = [
    "Januari",
    "Februari",
    "Maret",
    "April",
    "Mei",
    "Juni",
    "Juli",
    "Agustus",
    "September",
    "Oktober",
    "November",
    "Desember",
]
_DECEMBER: Final = 12
_MONTH = "|".join(sorted({*CLEAR_MONTHS, "march", "may", "mei", "maret"}, key=len, reverse=True))
_RELATIVE = re.compile(
    r"\b(?P<english>next (?:week|month|year)|tomorrow)\b|"
    r"\b(?P<indonesian>minggu depan|bulan depan|tahun depan|besok)\b",
    re.IGNORECASE,
)
_LONGEST_YEARS: Final = 10  # "in 99 months" is shorter
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_IN_A_WHILE = re.compile(
    r"\bin (?P<count>a|one|two|three|four|five|six|[1-9]\d?) (?P<unit>weeks?|"
    r"months?)(?:['’]? time)?\b",
    re.IGNORECASE,
)
_MONTH_NEXT_YEAR = re.compile(rf"\b({_MONTH})(?: of)? (?:next year|tahun depan)\b", re.IGNORECASE)
_FIXED = re.compile(
    rf"\b(?:in|on|by|early|late|mid|end of|this|next|pada|bulan|di bulan|awal|akhir|tanggal|"
    rf"tgl) (?:the )?(?:bulan |"
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTH})\b(?: \d{{1,2}}(?:st|nd|rd|"
    rf"th)?)?(?:,? \d{{4}})?|\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTH})\b(?: \d{{4}})?|"
    r"\b(?:in|tahun|by) 20\d{2}\b|\b(?:this|next|in|in the) (?:spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)


def has_time(text: str) -> bool:
    return bool(_RELATIVE.search(text) or _FIXED.search(text))


def with_dates(text: str, at: datetime) -> str:
    """Replace "next month" and the like by the date they mean at that time."""
    if at.year < MAXYEAR:
        text = _MONTH_NEXT_YEAR.sub(rf"\1 {at.year + 1}", text)
    if at.year < MAXYEAR - _LONGEST_YEARS:
        text = _IN_A_WHILE.sub(lambda found: _after_a_while(found, at), text)
    dated = _RELATIVE.sub(lambda found: _dated(found.group().lower(), at), text)
    return dated.replace(" of in ", " of ")


def _after_a_while(found: re.Match[str], at: datetime) -> str:
    """The approximate date of "in two weeks"."""
    said = found["count"].lower()
    count = _COUNTS.get(said) or int(said)
    days = count * (7 if found["unit"].lower().startswith("week") else 30)
    then = at + timedelta(days=days)
    return f"around {_day(then, ENGLISH_MONTHS)}"


def _dated(phrase: str, at: datetime) -> str:
    """The date that a phrase means; unchanged at the end of the calendar."""
    if at.year >= MAXYEAR:
        return phrase
    next_month = at.month % _DECEMBER
    its_year = at.year + (at.month == _DECEMBER)
    day = at + timedelta(days=1)
    monday = at + timedelta(days=7 - at.weekday())
    return {
        "tomorrow": f"on {_day(day, ENGLISH_MONTHS)}",
        "next week": f"in the week of {_day(monday, ENGLISH_MONTHS)}",
        "next month": f"in {ENGLISH_MONTHS[next_month]} {its_year}",
        "next year": f"in {at.year + 1}",
        "besok": f"pada {_day(day, _INDONESIAN_MONTHS)}",
        "minggu depan": f"pada minggu {_day(monday, _INDONESIAN_MONTHS)}",
        "bulan depan": f"pada {_INDONESIAN_MONTHS[next_month]} {its_year}",
        "tahun depan": f"pada tahun {at.year + 1}",
    }[phrase]


def _day(at: datetime, months: Sequence[str]) -> str:
    return f"{at.day} {months[at.month - 1]} {at.year}"


_MAX_WORDS: Final = 18
_MAX_SLUG_CHARS: Final = 60

_STEP = (
    r"move|relocate|travel|fly|visit|go on (?:a )?(?:holiday|vacation|honeymoon|pilgrimage)|"
    r"go to (?=[A-Z])|retire|get (?:married|a (?:dog|cat|puppy|kitten|divorce|master's|phd))|marry|"
    r"start (?:a|my|an) (?:new )?(?:job|business|company|course|family|phd|master's|degree|"
    r"internship|bakery|blog)|buy (?:a|an|my) (?:\w+ ){0,2}(?:house|home|flat|apartment|car|"
    r"motorbike|bike|boat)|sell my (?:house|car|flat|apartment)|adopt|graduate|"
    r"run (?:a|the|my) (?:\w+ ){0,2}marathon|quit my job|change jobs|open (?:a|my)|"
    r"study (?:abroad|in|at)|spend (?:the )?(?:\w+ )?(?:summer|winter|holidays?|christmas|month|"
    r"year)|climb|hike|take (?:a )?(?:sabbatical|gap year)"
)
_DOING: Final = {
    "moving": "move",
    "relocating": "relocate",
    "travelling": "travel",
    "traveling": "travel",
    "flying": "fly",
    "visiting": "visit",
    "retiring": "retire",
    "getting": "get",
    "starting": "start",
    "buying": "buy",
    "graduating": "graduate",
    "running": "run",
    "marrying": "marry",
    "adopting": "adopt",
    "opening": "open",
}
_ING = re.compile(rf"I am (?P<doing>{'|'.join(_DOING)}) (?P<rest>.+)", re.IGNORECASE)
_INTENT = re.compile(
    rf"I (?:am planning|plan|intend|am hoping|hope|have decided|decided|am preparing) (?:to|"
    rf"on) (?P<what>(?:{_STEP})\b.*)",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"we (?=(?:are (?:getting married|moving to|flying|travell?ing|visiting|adopting|"
    r"going on (?:holiday|vacation|honeymoon)|buying an? (?:house|flat|home|apartment)|"
    r"going to (?:get married|move to|visit|travel|adopt))|"
    r"will (?:get married|move to|visit|travel)|(?:plan|are planning|have decided) to)\b)",
    re.IGNORECASE,
)
_FUTURE = re.compile(rf"I (?:will|am going to|will be) (?P<what>(?:{_STEP})\b.*)", re.IGNORECASE)
_PLANNING = re.compile(
    r"I am planning (?P<what>an? (?:\w+ ){0,2}(?:trip|holiday|vacation|wedding|honeymoon)\b.*)",
    re.IGNORECASE,
)

_STEP_INDONESIAN = (
    r"pindah|menikah|nikah|liburan|berlibur|umroh|umrah|naik haji|pensiun|wisuda|kuliah|mudik|"
    r"resign|membeli (?:rumah|mobil|motor)|beli (?:rumah|mobil|motor)|membuka|"
    r"buka (?:usaha|toko|warung|kafe|cabang)|melahirkan|lahiran|magang|ke (?=(?-i:[A-Z]))|"
    r"berkunjung|pergi ke|terbang|traveling"
)
_FUTURE_INDONESIAN = re.compile(
    rf"(?:saya|kami) (?:akan|mau|berencana(?: untuk)?|rencananya(?: mau| akan)?|ingin|"
    rf"bakal) (?P<what>(?:{_STEP_INDONESIAN})\b.*)",
    re.IGNORECASE,
)

_GOAL = re.compile(
    r"my (?:main |big |long-term |new year's )?(?:goal|dream|aim|ambition|"
    r"resolution)(?: this year| for this year| for \d{4})? is to (?P<what>.+)",
    re.IGNORECASE,
)
_BECOME = re.compile(
    r"I (?:want|hope|aim|aspire|would love|am trying|am hoping|am working|"
    r"am determined) to (?P<what>become an? .+|be an? .+ (?:someday|one day|in the future)|"
    r"learn .+|speak .+|lose (?:weight|\d+ ?(?:kg|kilos|pounds|lbs))\b.*|"
    r"(?:run|do|finish|complete) (?:an?|my first|the) (?:[\w-]+ ){0,2}(?:marathon|triathlon|"
    r"ironman|10k|5k|ultra)\b.*|write (?:a|my first) (?:novel|book|memoir)\b.*|"
    r"(?:quit|stop|give up) (?:smoking|drinking|vaping|sugar)\b.*|save (?:up )?for .+|"
    r"get (?:fit|fitter|in shape|pregnant)\b.*|start my own (?:business|company)\b.*|"
    r"read \d+ books\b.*)",
    re.IGNORECASE,
)
_SAVING = re.compile(
    r"I am (?P<how>saving(?: up)?|training) for (?P<what>an? .+|my first .+|(?-i:[A-Z]).+)",
    re.IGNORECASE,
)
# A duration counts from today, and means little later.
_DEADLINE = re.compile(
    r",? (?:before (?:the end of )?(?:the|this|next) (?:year|summer|winter|month)|"
    r"by the end of .*|this year|within .*|in the next .*|by (?:next|this) .*|like an? .*)$",
    re.IGNORECASE,
)
_TIME_FIRST_INDONESIAN = re.compile(
    r"(?P<when>(?:(?:pada )?(?:bulan|tahun|akhir tahun|awal tahun) )[\w]+(?: (?:ini|depan|"
    r"\d{4}))?|(?:bulan|tahun|minggu) depan)[, ]+(?:rencananya )?(?P<who>saya|"
    r"kami) (?P<rest>(?:rencananya )?(?:mau|akan|berencana|bakal|ingin) .+)",
    re.IGNORECASE,
)
_GOAL_INDONESIAN = re.compile(
    r"(?:target|tujuan|cita-cita|impian|resolusi) saya(?: tahun ini)?(?: adalah| itu|"
    r" yaitu)? (?P<what>(?:ingin |mau |untuk )?\w.+)|"
    r"saya (?:ingin|mau|bercita-cita) (?P<become>(?:menjadi|jadi) .+|belajar .+)",
    re.IGNORECASE,
)
_NO_GOAL = re.compile(
    r"\b(?:this|that|these|those|it|here|now|today|tonight|how|more|about|what|why|your?|better|"
    r"code|function|bug|error|part|the|lebih|cara|bagaimana|gimana|tentang|lagi|dulu|ini|itu|"
    r"sekarang|hari ini|part of|member|jelas|baik)\b",
    re.IGNORECASE,
)
_NO_PLAN = re.compile(
    r"\b(?:or|atau|this|that|it|here|tonight|today|now|soon|someday|sometime|on to|forward|ahead|"
    r"ini|itu|nanti|kapan|tidak|not)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"[,\s]+(?:so|because|but|and (?=i\b|need|want|look|would|my\b)|karena|jadi|tapi|dan|which|"
    r"where|with|to (?=(?:be|start|work|live|study)\b))\b.*|,(?! \d{4}).*",
    re.IGNORECASE,
)


def plan_or_goal(english: str, indonesian: str, at: datetime) -> RuleMatch | None:
    """A plan or goal in a clause, given in regular English and Indonesian form."""
    return (
        _plan(english, at)
        or _plan_indonesian(indonesian, at)
        or _goal(english)
        or _goal_indonesian(indonesian)
    )


def _plan(clause: str, at: datetime) -> RuleMatch | None:
    clause = _TOGETHER.sub("I ", clause, count=1).replace("I are ", "I am ", 1)
    ing = _ING.fullmatch(clause)
    future = _FUTURE.fullmatch(clause)
    if ing:
        what, needs_time = f"{_DOING[ing['doing'].lower()]} {ing['rest']}", True
        if not re.match(_STEP, what):
            return None
    elif future:
        what, needs_time = future["what"], True
    else:
        intent = _INTENT.fullmatch(clause) or _PLANNING.fullmatch(clause)
        if intent is None:
            return None
        what, needs_time = intent["what"], False
    trip = re.match(r"an? ", what)
    bare = _bare(what.replace(" my ", " a "))
    if bare is None or (needs_time and not has_time(bare)) or not _goes_somewhere(bare):
        return None
    return _episode(f"User plans {'' if trip else 'to '}{with_dates(bare, at)}.")


def _goes_somewhere(what: str) -> bool:
    """A move or a visit must name its destination; "move the button" is no plan."""
    verb = re.match(r"(move|relocate|travel|fly|visit)\b(.*)", what, re.IGNORECASE)
    if not verb:
        return True
    goal = (
        r" (?:the )?[A-Z]\w+"
        if verb[1].lower() == "visit"
        else r" (?:back |out )?(?:to|around|through|in) (?:the )?(?:[A-Z]\w+|a new (?:city|"
        r"house|home|flat|apartment))"
    )
    found = re.match(goal, verb[2])
    return found is not None and not set(found.group().lower().split()) & NOT_PLACES


def _plan_indonesian(clause: str, at: datetime) -> RuleMatch | None:
    first = _TIME_FIRST_INDONESIAN.fullmatch(clause)
    if first:
        rest = re.split(r",| sama | bareng ", first["rest"])[0]
        clause = f"{first['who']} {rest} {first['when'].lower()}"
    future = _FUTURE_INDONESIAN.fullmatch(clause)
    bare = _bare(future["what"]) if future else None
    if bare is None or not has_time(bare) or has_indonesian_possessive(bare):
        return None
    return _episode(f"Pengguna berencana {with_dates(bare, at)}.")


def _episode(content: str) -> RuleMatch:
    return RuleMatch(content, type=MemoryType.EPISODE, theme="plans", importance=3)


def _bare(what: str) -> str | None:
    bare = trimmed(_END.sub("", what))
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare) or _NO_PLAN.search(bare):
        return None
    return bare


def _goal(clause: str) -> RuleMatch | None:
    clause = _DEADLINE.sub("", clause)
    saving = _SAVING.fullmatch(clause)
    if saving:
        aim = _bare(saving["what"].replace("my ", "a "))
        how = saving["how"].lower()
        return _stated_goal(f"User is {how} for {aim}.", aim) if aim else None
    goal = _GOAL.fullmatch(clause) or _BECOME.fullmatch(clause)
    bare = _bare(goal["what"]) if goal else None
    if (
        bare is None
        or _NO_GOAL.search(bare)
        or (bare.startswith("learn") and len(bare.split()) > 4)
    ):
        return None
    verb = "wants" if clause.lower().startswith("i ") else "has the goal"
    return _stated_goal(f"User {verb} to {bare}.", bare)


def _goal_indonesian(clause: str) -> RuleMatch | None:
    goal = _GOAL_INDONESIAN.fullmatch(clause)
    bare = (
        _bare(re.sub(r"^(?:ingin|mau|untuk) ", "", goal["what"] or goal["become"]))
        if goal
        else None
    )
    if bare is None or _NO_GOAL.search(bare) or has_indonesian_possessive(bare):
        return None
    return _stated_goal(f"Pengguna ingin {bare}.", bare)


def _stated_goal(content: str, bare: str) -> RuleMatch:
    short = slug(folded(bare))[:_MAX_SLUG_CHARS].strip("-_")
    return RuleMatch(content, theme="plans", key=f"goal:{short}", importance=3)
