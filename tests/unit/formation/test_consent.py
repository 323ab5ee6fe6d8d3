"""Which statements need consent, and which wait for a second signal."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.consent import benign_field
from ricordo.formation.sensitive import SENSITIVE_FIELDS, sensitive_fields_of
from ricordo.model.vocabulary import MemoryType
from tests.unit.tables import phrases

sensitive = pytest.mark.requirement("formation.sensitive")
corroborated = pytest.mark.requirement("formation.corroboration")

TOUCHING = {
    "preferred_name": """
        User's name is Ana. | The user's full name is Ana Ben. | My name is Ben | just call me Ben |
        User goes by Ben. | User prefers to be called Ana. | User is called Ben. |
        User's nickname is Benny. | Nama saya Ana. | namaku Ben | Panggil saya Ana. |
        Pengguna ingin dipanggil Ben. | Nama pengguna adalah Ana. | Ich heiße Ben. |
        Der Nutzer heißt Ben. | Nenn mich Ana. | 私の名前はアナです | アナと呼んでください
    """,
    "pronouns": """
        User's pronouns are they/them. | User uses she/her. | I use he / him |
        Kata ganti pengguna adalah dia. | Die Pronomen des Nutzers sind sie/ihr. |
        代名詞は彼女です
    """,
    "city": """
        User lives in Bekasi. | User currently lives in a small town near Turin. |
        i live in jakarta | User moved to Turin. | we are moving to bandung next month |
        User moved back to Bandung in May. | User moved to the Netherlands. |
        User moved to a new flat. | User relocated from Milan. | User is based in Berlin. |
        User is from Bekasi. | I'm originally from Java | User grew up in Padang. |
        User was born in Turin. | User's hometown is Solo. | User's home address changed. |
        User has an apartment in Lisbon. | Home is Turin. | Pengguna tinggal di Bekasi. |
        aku ngekos di Depok | Pengguna pindah ke Surabaya. | Pengguna berasal dari Medan. |
        Kampung halaman pengguna di Solo. | rumah saya di Bogor | Der Nutzer wohnt in Köln. |
        Ich lebe seit Jahren in Wien. | Sie ist nach Berlin gezogen. | Ich komme aus Bremen. |
        東京在住です | 大阪に住んでいます | 京都出身です
    """,
    "language": """
        User speaks Indonesian and English. | User is fluent in Italian. |
        User's native language is Javanese. | User's mother tongue is Sundanese. |
        User is bilingual. | User prefers answers in Indonesian. | Pengguna bisa berbahasa Jepang. |
        Bahasa ibu pengguna adalah Jawa. | Pengguna fasih bahasa Inggris. |
        Der Nutzer spricht Deutsch und Polnisch. | Ich bin Muttersprachler. | 日本語を話します |
        母語は日本語です
    """,
    "health": """
        User is lactose-intolerant. | User is allergic to peanuts. | User has diabetes. |
        User has type 2 diabetes and takes metformin. | User was diagnosed with ADHD. |
        User suffers from depression. | User has anxiety attacks. |
        User sees a therapist every week. | User is in therapy. |
        User started seeing a psychologist. | User has an appointment with a cardiologist. |
        User is pregnant. | User is a recovering alcoholic. | User is addicted to alcohol. |
        User is colour-blind. | User is deaf. | User uses a wheelchair. | User is disabled. |
        User takes medication for blood pressure. | User has coeliac disease. |
        User broke his arm. | User was hospitalised in March. | User's mother has cancer. |
        User has a cold. | User has epilepsy. | User is HIV positive. | User quit smoking. |
        I got covid last week | User has chronic back pain. | User takes antidepressants. |
        Pengguna alergi kacang. | Pengguna sakit maag. | Pengguna mengidap diabetes. |
        Pengguna sedang hamil. | Pengguna minum obat tiap hari. | aku ke psikolog tiap minggu |
        Pengguna punya asma. | Pengguna tidak tahan laktosa. |
        Ibu pengguna dirawat di rumah sakit. | Pengguna punya darah tinggi. | Ich bin schwanger. |
        Der Nutzer hat eine Laktoseintoleranz. | Der Nutzer ist Diabetiker. |
        Sie nimmt Medikamente. | Ich habe Depressionen und Migräne. | 卵アレルギーがあります |
        糖尿病で通院しています | 妊娠中です | うつ病と診断された
    """,
    "faith": """
        User is Muslim. | User is a practising Catholic. | User goes to church on Sundays. |
        User prays five times a day. | User only eats halal food. | User keeps kosher. |
        User is an atheist. | User is fasting for Ramadan. | User converted to Islam. |
        User goes to mass every Sunday. | User sings in the church choir. |
        User is an altar server. | User gives up sweets for Lent. | User celebrates Diwali. |
        Pengguna misa tiap Minggu. |
        Der Nutzer geht sonntags in die Messe. | User goes to confession. | User fasts in Ramadan. |
        User is Jewish. | User is agnostic. | Pengguna beragama Kristen. | Pengguna rajin salat. |
        Pengguna sholat lima waktu. | aku lagi puasa | Pengguna ikut pengajian. |
        Der Nutzer ist evangelisch. | Sie betet jeden Abend. | イスラム教徒です | 毎週教会に行く
    """,
    "sexuality": """
        User is gay. | User is bisexual. | User came out as trans last year. |
        User is a trans woman. | User identifies as non-binary. | User is in a same-sex marriage. |
        User is straight. | Pengguna seorang lesbian. | Pengguna penyuka sesama jenis. |
        Der Nutzer ist schwul. | 私はゲイです | 同性愛者です
    """,
    "politics": """
        User votes for the Green Party. | User voted in the last election. | User is a Democrat. |
        User is politically conservative. | User is left-wing. |
        User is a member of a trade union. | User is a union member. | User is a climate activist. |
        Pengguna anggota partai Golkar. | Pengguna golput di pemilu. |
        Pengguna ikut serikat buruh. | Der Nutzer wählt die SPD. | Sie ist in der Gewerkschaft. |
        自民党を支持しています | 選挙で投票した
    """,
    "money": """
        User's salary is 50,000 a year. | User earns 4000 euros a month. | I make $80k a year |
        User is in debt. | User has a student loan. | User has savings of 10,000. |
        User is saving for retirement and has a mortgage. | User went bankrupt. |
        User's account balance is low. | User owes Ana $500. | User's income dropped. |
        User is broke. | User got a raise to 60k. | Gaji pengguna 5 juta. | Pengguna punya utang. |
        Pengguna punya cicilan motor. | tabunganku tinggal sedikit | Der Nutzer hat Schulden. |
        Mein Gehalt ist gestiegen. | 年収は500万円です | 住宅ローンがある
    """,
    "identifiers": """
        User was born on 12 March 1984. | User's date of birth is on file. | DOB 12.03.1984 |
        User's birthday is March 12, 1984. | Pengguna lahir tanggal 12-03-1984. |
        Der Nutzer ist am 12. März 1984 geboren. | User nació el 12 de marzo de 1984. |
        User's e-mail is ana@example.org. | Reach me at ana.ben+x@mail.example.co.uk |
        User's phone number changed. | my number is +39 011 123 4567 | call me on 0812-3456-7890 |
        phone 555 0134 | (212) 555-0134 is best | card 4111 1111 1111 1111 | card 5500005555555559 |
        IBAN DE89 3704 0044 0532 0130 00 | it89 is not one but GB82WEST12345698765432 is |
        NIK 3275010101900001 | 3275010101900001 | SSN 078-05-1120 |
        User's passport expires in May. | User's tax number is on file. |
        User's licence plate is B 1234 XYZ. | Plat nomor mobil pengguna B 1234 XYZ. |
        User lives at 12 Garden Street. | rumahku di Jl. Melati No. 5 | Gartenstraße 12, Köln |
        The home server is at 93.184.216.34 | 2001:db8:0:0:1:0:0:1 is mine |
        Nomor HP pengguna berubah. | Meine Telefonnummer ist neu. | 電話番号は変わりました |
        住所は東京都港区1丁目 | 連絡は+81 90 1234 5678まで | 找我可以打+86 138 0013 8000吧 |
        연락은 +82 10 1234 5678로 주세요 | 卡号4111 1111 1111 1111，快过期了
    """,
}

ORDINARY = """
    User likes coffee. | User works as a nurse. | User has a cat. | User uses Python. |
    User prefers short answers. | User plays in a band. | User drives a red car. |
    User is vegetarian. | User is vegan. | User likes healthy code. |
    User builds health insurance software. | User works on a diabetes research platform. |
    User works for a cancer charity. | The app crashed after the virus scan. |
    User found a bug in the parser. | User wants a health check endpoint. |
    User disabled notifications. | User went on a blind date. | User works in a hospital. |
    User is a therapist. | User works as a cardiologist. | User is married to a psychologist. |
    User is sick of meetings. | User is addicted to chess. |
    User reads about the Great Depression. | User drinks non-alcoholic beer. |
    User likes smoked salmon. | User writes framework-agnostic code. | User acts in good faith. |
    User does intermittent fasting experiments. |
    User studies the lambda calculus of Alonzo Church. | User hates office politics. |
    User studies political science. | User reads about leader election in Raft. |
    User is planning a birthday party. | User uses a union type in Python. |
    User has technical debt to pay down. | User likes daylight savings time. |
    User bought a laptop for 1,200 euros. | The ticket costs $50. | User is learning Spanish. |
    User's favourite programming language is Rust. | User speaks at conferences. |
    User's dog is named Rex. | User's cat is called Miso. | Please call me back tomorrow |
    User goes by train. | The project's name is Apollo. | User moved to the design team. |
    User moved to Python 3. | User moved to management. | The config lives in the src folder. |
    User lives with two cats. | User was born in 1990. | User prefers straight answers. |
    User takes the shortest transport route. | User cooks with extra virgin olive oil. |
    User released version 1.2.3 on 2024-05-12. | The total is 1,234,567. |
    User started on 2026-01-01 12:00:00. | The server listens on 127.0.0.1. |
    The call is std::vector::push_back. | User uses a password manager. |
    User ran 10 km in 50 minutes. | User makes 3 podcasts a month. |
    User is training for a marathon. | User earned a degree in physics. | User collects stamps. |
    User is writing a parser. | I'll tell you when it is done | User has two children. |
    User is married. | User is a vegetarian cook. | User loves the colour green. |
    User joined the band in 2019. | User prefers dark mode. | User is preparing a talk. |
    Pengguna suka kopi. | Pengguna bekerja sebagai perawat. | Pengguna bekerja di rumah sakit. |
    Pengguna punya kucing. | Pengguna suka jawaban singkat. |
    Pengguna memakai sistem operasi Linux. | Pengguna belajar bahasa pemrograman Rust. |
    Pengguna kecanduan kopi. | Pengguna seorang vegetarian. | Pengguna bermain gitar. |
    Pengguna suka nasi goreng. | Kucing pengguna bernama Miso. | Der Nutzer mag Kaffee. |
    Der Nutzer isst gern Salat. | Der Nutzer arbeitet als Krankenpfleger. |
    Der Nutzer sucht eine Wohnung. | Ich glaube, das passt. |
    Der Nutzer bevorzugt kurze Antworten. | Der Nutzer fährt Fahrrad. | コーヒーが好きです |
    猫を飼っています | 短い答えがいい | 毎日がんばっています | ドローンを飛ばすのが好き |
    システム障害対応をしている | 猫の名前はミソです
"""


POSITIVE = [(field, phrase) for field, text in TOUCHING.items() for phrase in phrases(text)]


@sensitive
def test_statements_that_need_consent() -> None:
    for field, statement in POSITIVE:
        assert field in sensitive_fields_of(statement, "", None), statement
        assert field in sensitive_fields_of("User said something.", statement, None), statement


@sensitive
def test_ordinary_statements_do_not() -> None:
    for statement in phrases(ORDINARY):
        assert sensitive_fields_of(statement, statement, None) == frozenset(), statement


KEYS = {
    "preferred_name": "preferred_name name",
    "pronouns": "Pronouns",
    "city": "home_city city hometown",
    "city identifiers": "address",
    "language": "language language:native",
    "health": "allergy:nuts allergies diagnosis medication:daily mental_health",
    "faith": "religion",
    "sexuality": "sexual_orientation",
    "politics": "political_party",
    "money": "salary",
    "identifiers": "email nik",
    "": "diet pet_name favourite_colour programming_language job",
}


@sensitive
def test_the_key_says_what_it_is_about() -> None:
    for fields, keys in KEYS.items():
        for key in keys.split():
            assert sensitive_fields_of("Green.", "green", key) == set(fields.split()), key
    assert sensitive_fields_of("Green.", "green", "home city") == {"city"}
    for nothing in ("", None):
        assert sensitive_fields_of("Green.", "green", nothing) == frozenset()


@sensitive
def test_what_is_said_beside_the_key_counts() -> None:
    assert sensitive_fields_of("User is vegetarian.", "I'm vegetarian", "diet") == frozenset()
    medical = sensitive_fields_of("User eats gluten-free because of coeliac disease.", "", "diet")
    assert medical == {"health"}
    assert not sensitive_fields_of("User's main programming language is Go.", "", "language")


@sensitive
def test_several_fields_at_once() -> None:
    found = sensitive_fields_of("User, a gay Muslim, lives in Turin and has asthma.", "", None)
    assert found == {"sexuality", "faith", "city", "health"}


@sensitive
def test_case_and_diacritics_do_not_matter() -> None:
    for written in ("USER IS SCHWANGER", "Ich leide an MIGRÄNE", "migrane", "MIGRA\u0308NE"):
        assert sensitive_fields_of(written, "", None) == {"health"}


@sensitive
@pytest.mark.parametrize("number", ["4111 1111 1111 1112", "GB82WEST12345698765431"])
def test_numbers_with_a_wrong_check_digit_are_just_numbers(number: str) -> None:
    assert not sensitive_fields_of(f"The build is {number}", "", None)


@sensitive
@given(st.text(max_size=200), st.text(max_size=200), st.none() | st.text(max_size=40))
def test_any_text_gets_an_answer_of_known_fields(content: str, quote: str, key: str | None) -> None:
    assert sensitive_fields_of(content, quote, key) <= set(SENSITIVE_FIELDS)


@sensitive
@given(st.sampled_from(POSITIVE), st.text(alphabet=" .,!?\n", max_size=10))
def test_what_surrounds_it_does_not_hide_it(case: tuple[str, str], around: str) -> None:
    field, statement = case
    assert field in sensitive_fields_of(f"{around} {statement} {around}", "", None)


HOSTILE = [
    "a", "1", "1 ", "1-", "a@", "a.", "user ", "lives ", "speaks x ", "moved to a ", "jl a ",
    "1 A ", "DE89 ", "ab ", "0:", "makes 1 ", "がん", "名", "\u0301", "+", "call me ",
    "x" * 29 + " ",
]  # fmt: skip


@sensitive
@pytest.mark.parametrize("chars", [800, pytest.param(40_000, marks=pytest.mark.slow)])
def test_hostile_text_ends(chars: int) -> None:
    for piece in HOSTILE:
        hostile = (piece * chars)[:chars]
        assert sensitive_fields_of(hostile, hostile, hostile) <= set(SENSITIVE_FIELDS)
    for piece in ("a", "likes ", "likes a ", "答え", "suka x,"):
        benign_field(piece * chars, MemoryType.FACT, (piece * chars)[:chars])


@sensitive
def test_the_fields_are_those_of_the_specification() -> None:
    assert SENSITIVE_FIELDS == (
        "preferred_name", "pronouns", "city", "language", "health",
        "faith", "sexuality", "politics", "money", "identifiers",
    )  # fmt: skip


ABOUT_ANSWERS = """
    User prefers short answers. | User likes concise, friendly replies. |
    User wants explanations with examples. | User dislikes long responses. |
    User doesn't like very long answers. | User prefers bullet points. |
    User likes to be addressed informally. | Pengguna suka jawaban singkat. |
    Pengguna lebih suka penjelasan yang panjang. | Pengguna ingin dijawab singkat. |
    Der Nutzer bevorzugt kurze Antworten. | Der Nutzer mag ausführliche Erklärungen. |
    短い答えが好きです | 箇条書きで説明してほしい
"""
ABOUT_OTHER_THINGS = """
    User likes coffee. | User has a dog. | User works on survey answers and likes it. |
    User prefers survey responses on paper. | User answers the phone at noon. |
    Pengguna suka kopi. | Der Nutzer mag Tee. | コーヒーが好きです |
    User likes tea. The assistant gave an answer.
"""


@corroborated
def test_how_the_user_likes_to_be_answered() -> None:
    for content in phrases(ABOUT_ANSWERS):
        assert benign_field(None, MemoryType.PREFERENCE, content) == "tone", content
        assert benign_field(None, MemoryType.INSTRUCTION, content) is None
    for content in phrases(ABOUT_OTHER_THINGS):
        assert benign_field(None, MemoryType.PREFERENCE, content) is None, content


@corroborated
def test_the_key_decides_first() -> None:
    tones, goals = ["tone", "Style", "answer_style", "answer style"], ["goal", "goals", "goal:run"]
    others = ["goalkeeper", "favourite_colour", "music_style", "", None]
    for keys, field in ((tones, "tone"), (goals, "goals"), (others, None)):
        for key in keys:
            assert benign_field(key, MemoryType.FACT, "Green.") == field
            assert benign_field(key, MemoryType.INSTRUCTION, "Green.") is None


def test_every_alternative_of_a_pattern_is_one() -> None:
    """A bar at the end of a line without a space before it leaves a line break in the pattern."""
    folder = resources.files("ricordo.formation") / "words"
    for file in folder.iterdir():
        rows = file.read_text(encoding="utf-8").splitlines()
        loose = [row for row in rows if row.endswith("|") and not row.endswith((" |", "\\|"))]
        assert loose == [], file.name
