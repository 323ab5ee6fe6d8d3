"""The language of a text, where it is plain to see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.languages import guess, nearest
from tests.unit.tables import cases, phrases

KNOWN = """
The user lives in Rome and works as a nurse. => en
I have been living here with my sister since May. => en
Pengguna tinggal di Bekasi dan bekerja sebagai perawat. => id
Saya tidak suka kopi yang terlalu manis. => id
Der Nutzer wohnt in Köln und arbeitet als Lehrer. => de
Ich mag keinen Kaffee, aber ich trinke gerne Tee. => de
El usuario vive en Madrid y trabaja como enfermero. => es
L'utilisateur habite à Lyon et travaille dans une école. => fr
L'utente vive a Roma e lavora come infermiere nella clinica. => it
O usuário mora em Lisboa e não gosta de café. => pt
De gebruiker woont in Utrecht en werkt als leraar. => nl
ユーザーは京都に住んでいる。 => ja
私はPythonとJavaScriptが好きです。 => ja
用户住在北京，他很喜欢喝茶。 => zh
사용자는 서울에 살고 있다. => ko
ผู้ใช้อาศัยอยู่ในกรุงเทพ => th
Пользователь живёт в Москве. => Cyrl
المستخدم يعيش في القاهرة => Arab
उपयोगकर्ता दिल्ली में रहता है => Deva
Ο χρήστης μένει στην Αθήνα. => el
"""
NEAREST = """
Where is it? => english
Wo ist es? => german
Di mana? => indonesian
¿Quién? => spanish
Où est-il ? => french
Dov'è il gatto? => italian
Onde está? => portuguese
Waar is het? => dutch
Bu kim? => turkish
Ở đâu? => vietnamese
Где она? => russian
أين هي؟ => arabic
वह कहाँ है? => hindi
"""
UNKNOWN = """
Rome | OK! | User lives in Rome. | Nama: Ana | 123 456 | 🎉🎉🎉🎉 | 東京都在住 |
Ana Silva, Ben, Paris, Berlin | Moscow, Москва, Tokyo, 東京都 | in a no me |
Ana's car is a red one
"""


@pytest.mark.requirement("formation.language-kept")
def test_plain_texts_are_recognised_and_short_and_mixed_ones_not_guessed() -> None:
    for text, language in cases(KNOWN):
        assert guess(text) == language, text
    for text in ["", *phrases(UNKNOWN)]:
        assert guess(text) is None, text


@given(st.text(max_size=200))
def test_any_text_is_looked_at_without_fault(text: str) -> None:
    found = guess(text)
    assert found is None or 2 <= len(found) <= 4
    nearest(text)


@pytest.mark.requirement("recall.text")
def test_a_word_is_enough_for_the_nearest_language() -> None:
    for text, language in cases(NEAREST):
        assert nearest(text) == language, text
    for text in ("", "Rome", "wie", "猫です", "고양이", "แมว", "ana@example.com", "1.5"):
        assert nearest(text) is None, text
