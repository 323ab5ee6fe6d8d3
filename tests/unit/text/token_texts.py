"""Texts of many kinds, to count their tokens: natural ones, and kinds that are made up."""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from typing import Final

PROSE: Final = (
    "Last spring I moved into a small flat near the station, and since then my mornings have "
    "changed completely. I get up at six, make a pot of tea, and walk along the river before "
    "anybody else is awake. The neighbours are friendly, although the one upstairs plays the "
    "trumpet rather badly on Sundays."
)

NATURAL: Final = {
    "English": PROSE,
    "German": "Letztes Frühjahr bin ich in eine kleine Wohnung am Bahnhof gezogen, und seitdem "
    "stehe ich um sechs auf und gehe vor der Arbeit am Fluss spazieren.",
    "French": "Au printemps dernier, j'ai emménagé dans un petit appartement près de la gare, et "
    "depuis je me lève à six heures pour marcher le long de la rivière.",
    "Spanish": "La primavera pasada me mudé a un piso pequeño cerca de la estación, y desde "
    "entonces me levanto a las seis y paseo junto al río antes del trabajo.",
    "Italian": "La primavera scorsa mi sono trasferita in un piccolo appartamento vicino alla "
    "stazione, e da allora mi alzo alle sei e cammino lungo il fiume.",
    "Portuguese": "Na primavera passada mudei-me para um apartamento pequeno perto da estação, e "
    "desde então levanto-me às seis e caminho junto ao rio.",
    "Dutch": "Vorig voorjaar ben ik verhuisd naar een kleine flat bij het station, en sindsdien "
    "sta ik om zes uur op en wandel ik langs de rivier.",
    "Polish": "Zeszłej wiosny przeprowadziłam się do małego mieszkania koło dworca i od tamtej "
    "pory wstaję o szóstej i spaceruję wzdłuż rzeki.",
    "Czech": "Loni na jaře jsem se přestěhovala do malého bytu u nádraží a od té doby vstávám v "
    "šest a chodím podél řeky.",
    "Finnish": "Viime keväänä muutin pieneen asuntoon aseman lähelle, ja siitä lähtien olen "
    "herännyt kuudelta ja kävellyt joen rantaa ennen töitä.",
    "Turkish": "Geçen bahar istasyonun yakınındaki küçük bir daireye taşındım ve o zamandan beri "
    "saat altıda kalkıp nehir boyunca yürüyorum.",
    "Indonesian": "Musim semi lalu saya pindah ke apartemen kecil dekat stasiun, dan sejak itu "
    "saya bangun jam enam lalu berjalan di sepanjang sungai sebelum bekerja.",
    "Vietnamese": "Mùa xuân năm ngoái tôi chuyển đến một căn hộ nhỏ gần nhà ga, và từ đó tôi dậy "
    "lúc sáu giờ để đi dạo dọc bờ sông.",
    "Russian": "Прошлой весной я переехала в небольшую квартиру возле вокзала и с тех пор встаю в "
    "шесть и гуляю вдоль реки.",
    "Ukrainian": "Минулої весни я переїхала до невеликої квартири біля вокзалу і відтоді встаю о "
    "шостій та гуляю вздовж річки.",
    "Greek": "Την περασμένη άνοιξη μετακόμισα σε ένα μικρό διαμέρισμα κοντά στον σταθμό και από "
    "τότε ξυπνάω στις έξι.",
    "Arabic": "في الربيع الماضي انتقلت إلى شقة صغيرة قرب المحطة، ومنذ ذلك الحين أستيقظ في السادسة.",
    "Hebrew": "באביב שעבר עברתי לדירה קטנה ליד התחנה, ומאז אני קמה בשש והולכת לאורך הנהר.",
    "Persian": "بهار گذشته به آپارتمان کوچکی نزدیک ایستگاه رفتم و از آن وقت ساعت شش بیدار می‌شوم.",
    "Hindi": "पिछले वसंत में मैं स्टेशन के पास एक छोटे फ्लैट में आ गई और तब से छह बजे उठती हूँ।",
    "Bengali": "গত বসন্তে আমি স্টেশনের কাছে একটি ছোট ফ্ল্যাটে উঠেছি, আর তখন থেকে ছয়টায় উঠি।",
    "Tamil": "கடந்த வசந்தத்தில் நிலையத்திற்கு அருகில் ஒரு சிறிய வீட்டிற்கு மாறினேன்.",
    "Thai": "ฤดูใบไม้ผลิที่แล้วฉันย้ายไปอยู่ห้องเล็กๆ ใกล้สถานี และตั้งแต่นั้นมาฉันตื่นหกโมงเช้า",
    "Japanese": "去年の春、駅の近くの小さなアパートに引っ越して、それから毎朝六時に起きています。",
    "Korean": "지난봄에 역 근처의 작은 아파트로 이사했고 그때부터 여섯 시에 일어나 걷습니다.",
    "Chinese": "去年春天我搬到了车站附近的一套小公寓，从那以后我每天六点起床，上班前沿着河边散步。",
    "Georgian": "გასულ გაზაფხულზე სადგურთან პატარა ბინაში გადავედი და მას შემდეგ ექვსზე ვდგები.",
    "Telugu": "గత వసంతంలో స్టేషన్ దగ్గర ఉన్న చిన్న ఇంటికి మారాను, అప్పటి నుండి ఆరు గంటలకు లేస్తాను.",
}

WRITTEN: Final = {
    "code": "def getUserById(self, user_id: int) -> Optional[str]:\n    for row in self._rows:\n"
    "        if row.id == user_id:\n            return row.name.strip()\n    return None\n",
    "JSON": '{"id": 4512, "name": "ana", "tags": ["tea", "early_riser"], "isActive": true, '
    '"score": 0.875, "address": {"street": "Station Rd 7", "geo": [52.3791, 4.9003]}}',
    "table": "| Argument | Default | |\n| --- | --- | --- |\n| `top_k` | 3 | how many at most |\n"
    "| `threshold` | | leaves out what is [less sure](search.md#nothing-relevant) |\n",
    "address": "https://www.example.com/docs/v2/getting_started.html?utm_source=xYz9&id=0f3c#top",
    "emoji": "👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇮🇹 ❤️ 👩🏾‍💻 🎉🥳 1️⃣",
}

_MARKED_EMOJI: Final = ("👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇮🇹", "❤️", "👩🏾‍💻", "😀", "☕", "1️⃣", "🫠")
_BLOCKS: Final = (
    (0x80, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
    (0x2000, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFF),
    (0x1F300, 0x1FAFF), (0xE000, 0x10FFFF),
)  # fmt: skip


def _of(alphabet: str, longest: int) -> Callable[[random.Random], str]:
    return lambda dice: "".join(dice.choices(alphabet, k=dice.randint(1, longest)))


def _words(alphabet: str, longest: int) -> Callable[[random.Random], str]:
    word = _of(alphabet, longest)
    return lambda dice: " ".join(word(dice) for _ in range(dice.randint(1, 25)))


def _characters(dice: random.Random) -> str:
    first, last = dice.choice(_BLOCKS)
    return "".join(chr(dice.randint(first, last)) for _ in range(dice.randint(1, 40)))


def _mixed(dice: random.Random) -> str:
    common = dice.choices(string.printable, k=3)
    pieces = [_characters(dice)[:3], *common, *dice.choices("éя的", k=2)]
    return "".join(dice.choices(pieces, k=dice.randint(1, 40)))


def _repeated(dice: random.Random) -> str:
    return "".join(dice.choices(string.printable + "éя的🎉", k=dice.randint(1, 4))) * dice.choice(
        (2, 3, 7, 31, 100)
    )


def _record(dice: random.Random) -> str:
    value = {"id": dice.getrandbits(32), "at": dice.random(), "by": str(_uuid(dice))}
    value["ok"] = [1, None]
    return json.dumps(value, indent=dice.choice((None, 2)))


def _uuid(dice: random.Random) -> uuid.UUID:
    return uuid.UUID(int=dice.getrandbits(128))


MADE_UP: Final[dict[str, Callable[[random.Random], str]]] = {
    "hexadecimal": _of(string.hexdigits[:16], 120),
    "base64": lambda dice: base64.b64encode(dice.randbytes(dice.randint(1, 120))).decode(),
    "UUIDs": lambda dice: " ".join(str(_uuid(dice)) for _ in range(dice.randint(1, 4))),
    "small letters": _of(string.ascii_lowercase, 60),
    "capitals": _of(string.ascii_uppercase, 60),
    "letters": _of(string.ascii_letters, 60),
    "letters and digits": _of(string.ascii_letters + string.digits, 60),
    "short words": _words(string.ascii_lowercase, 3),
    "words": _words(string.ascii_lowercase, 9),
    "common letters": _words("etaoinshrdlu", 12),
    "digits": _of(string.digits, 60),
    "ASCII": _of(string.printable, 80),
    "white space": _of(" \n\t\r", 60),
    "control characters": _of("".join(map(chr, range(32))), 40),
    "Unicode": _characters,
    "Unicode and ASCII": _mixed,
    "emoji sequences": lambda dice: "".join(dice.choices(_MARKED_EMOJI, k=dice.randint(1, 12))),
    "repeats": _repeated,
    "JSON records": _record,
}
