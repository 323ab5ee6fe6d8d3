"""Secrets by meaning and by form, and everyday text that has none."""

import re

import pytest

from ricordo.text.secrets import MASK, has_secret, secrets_in, without_secrets

GIVEN_AWAY = """
my pw is {qwerty}
my wifi is {HomeNet / k8sRocks2024}
wifi: {HomeNet password k8sRocks2024}
the alarm code of the house is {7391}
I log in with {hunter2}
{To log in I type purple giraffe walnut}.
User {types open sesame to get into the flat}
{Para entrar en mi portátil escribo morado siete puerto, todo en minúsculas}.
ノートパソコンに{入るときはさぼてんくるみと打ちます}。
Unsere Haustür {geht mit 3767} und der Rautetaste auf.
she unlocks the laptop with {Tr0ub4dor&3}
password: {hunter2}
Password = {s3cr3t!x}
My password is {correct horse battery staple}, keep it
my password is now {sunshine}
the password for the office printer is {letmein}
remember my netflix password: "{blue sky 9}"
my passcode's {998877}
My PIN is {4821}.
pin {4821} for the tablet
the PIN of my bank card is {0412}
save my card pin {9034} and the cvv {123}
CVC: {456}
front door code {7391}
the door code changed to {9912} yesterday
the gate code is {#4471}
the code for the garage is {2580}
code to the building: {1379}
the combination of the safe is {12-34-56}
safe combination: {12 34 56}
our locker combo is {30-10-20}
the verification code is {483920}
kode OTP nya {448201}
kode brankas adalah {778899}
password email saya {kucing-77-hunter2}
tolong ingat kata sandi email saya: {contoh-rahasia}
sandi wifi rumah adalah {melati99}
Mein Kennwort lautet {Sonnenschein}
Das WLAN-Passwort ist {Himbeere42}
Der Türcode ist {7391}
mi contraseña es {gatito}
el código de la alarma es {4471}
le mot de passe est {soleil}
le code de la porte est {1984B}
la password è {gattino}
a senha é {abacaxi}
mijn wachtwoord is {fietsbel}
пароль: {медведь}
パスワードは{hunter2}です。
我的密码是 {abc12345}
我银行的密码是{港口彗星灯笼}。
我邮箱的恢复码是{SYUP-V3NM-R9M6}。
Kode pemulihan akun email saya {MVN3-75F7-KBEB}.
Password bank saya {ungu lentera kenari}.
집 와이파이는 Casa고 {udErc$047} 넣으면 연결돼요.
User's home wifi Casa is joined with {sWD5R%770}.
Kunci API server kami {zk_osmnWcEDOGRmH1MwLWPMSRgi2gr5xryG}.
{Um in meinen Laptop zu kommen, tippe ich kaktus samt giraffe}.
うちの玄関は{33664とシャープで開}きます。
비밀번호는 {kimchi123}
my seed phrase is {apple banana cherry dog elephant frog}
recovery phrase: {witch collapse practice feed shame open}
export DB_PASSWORD={hunter2} && run
API key: {hunter2}
my api token is {a81kd92}
client secret: {Zk3-91x-aa}
credentials are {admin/admin123}
login: {ana / hunter2}
I sign in with ana@example.com and {hunter2}
use {sk-proj-abcdefghij0123456789hunter2} for it
{ghp_abcdefghijklmnopqrst0123hunter2}
{AKIAIOSFODNN7EXAMPLE} is the id
{eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc}
{postgres://ana:hunter2@}db.example.com/x
see https://x.example/reset?{token=ab12cd34ef}
My card is {4111 1111 1111 1111}, name Ana
card {4111-1111-1111-1111}
{5500005555555559}
amex {378282246310005}
クレジットカードは{4111 1111 1111 1111}で、来年まで使えます
제 신용카드는 {4111 1111 1111 1111}이고 비자예요
信用卡{5500005555555559}过期了
我们服务器用的是{sk-proj-abcdefghij0123456789hunter2}。
口座は{DE89 3704 0044 0532 0130 00}です
IBAN {DE89 3704 0044 0532 0130 00} is mine
pay to {GB82WEST12345698765432}
SSN {078-05-1120}
my social security number is {078 05 1120}
NIK saya {3275010101900001}
{a9f3k2m5x8c1v7b4n6q0w2e5r8t1y4u7}
{kD83hQz71LmWp0VtY2cRb6Xn}
""".strip().splitlines()

HARMLESS = """
I log into GitHub every day and type a lot
Saya masuk kantor jam 8 dan mengetik laporan
the shop opens at 1000 and I enter data all day
the code review is at 9
my PIN number machine is broken
order 7391 arrived
I take bus 42 to work
bus 4711 leaves at 8
wifi is slow
my wifi is down again
the wifi is a TP-Link AX3000
the wifi at the airport is free
wifi 6 is faster than wifi 5
flight LH2041 leaves at gate B12
gate 42 closes in 10 minutes
booking reference X7K2PQ
my phone number is +62 812 3456 7890
call me on (212) 555-0134
ISBN 978-3-16-148410-0
ISBN 9783161484100
we run Python 3.12.4 on Ubuntu 24.04
version 2.4.18 fixes it
commit 3f2a9c1e8b7d6f5a4c3b2a1908f7e6d5c4b3a291 broke the build
request id 123e4567-e89b-12d3-a456-426614174000
sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
the error code is 404
error code 7391 came up
the zip code is 90210
my postcode is 17116
country code 62
the code is on GitHub
the dress code is casual
the source code is 40000 lines
the area code for Jakarta is 021
my password manager is Bitwarden
I forgot my password
the password is wrong
my password is too long
my password expired yesterday
password reset does not work
the password field is empty
passwords are hashed with bcrypt
the password must have 12 characters
is the password required?
what is my password?
how do I choose a strong password?
the password must be 12 characters long
the password on mobile differs
my password is 8 characters
the token limit is 4096
a token is about 4 characters
tokens are counted per day
the token is invalid
the secret of a good soup is patience
the secret is to rest the dough
my secret santa is Ben
the key is to stay calm
my favourite key is C minor
I log in with Google
I log in with my work email
I sign in with Face ID
I log in with OAuth2
we log in with ana@example.com
the login page is slow
login is broken since monday
my login: /
I have a pin on Pinterest with 300 likes
she wore a pin from 1984
the safe is in the cellar
a combination of the two works
the combination of the colours is nice
the alarm is at 7:30
my alarm goes off at 6:45
the door is 2 metres high
the security code review is on 2026-03-04
the access code of conduct is long
serial number sn123456789
invoice 2024-00123 is paid
tracking number 1Z999AA10123456784
the meeting is at 14:30 in room 301
timestamp 1700000000000
my locker is number 214
my house number is 77
I was born in 1984
it costs 4,711.50 euros
the recipe needs 250 g flour and 125 ml milk
chapter 12, page 345
I ran 10 km in 52:30
the seed phrase is a concept of wallets
the recovery phrase is written on paper
sandi saya lupa
kata sandi harus diganti
kode pos 17116
nomor antrian 57
das Passwort ist falsch
die Postleitzahl ist 10115
la contraseña es incorrecta
the wheel of fortune shows 777
my plan is to save 5000 by 2027
https://docs.example.com/d/1A2b3C4d5E6f7G8h9I0j/edit
ThisIsALongIdentifierWithManyWords2024
user_profile_settings_page_v2_final_draft_7
""".strip().splitlines()


def _attack(line: str) -> tuple[str, str]:
    """A line as somebody says it, and as it may be shown."""
    return re.sub(r"[{}]", "", line), re.sub(r"{[^}]+}", MASK, line)


@pytest.mark.requirement("security.secrets")
@pytest.mark.parametrize("line", GIVEN_AWAY)
def test_a_secret_is_masked_and_the_rest_stays(line: str) -> None:
    said, shown = _attack(line)
    assert without_secrets(said) == shown


@pytest.mark.requirement("security.secrets")
def test_everyday_text_stays_as_it_is() -> None:
    assert len(HARMLESS) >= 60
    assert [line for line in HARMLESS if has_secret(line)] == []


@pytest.mark.requirement("security.secrets")
def test_a_private_key_goes_as_a_whole() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n\nabcd\n-----END RSA PRIVATE KEY-----"
    assert without_secrets(f"here: {key} thanks") == f"here: {MASK} thanks"


@pytest.mark.requirement("security.secrets")
def test_the_value_may_stand_on_the_next_line() -> None:
    assert without_secrets("My api key:\nhunter2\nbye") == f"My api key:\n{MASK}\nbye"


@pytest.mark.requirement("security.secrets")
def test_what_is_masked_is_not_masked_again() -> None:
    for line in GIVEN_AWAY:
        shown = _attack(line)[1]
        assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "piece", ["password is ", "pin ", "code of the ", "a1B2", "wifi: x / ", "/ "]
)
def test_a_long_text_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (32_000 // len(piece))
    assert all(0 <= start < end <= len(text) for start, end in secrets_in(text))
