"""Finds secrets in a text: passwords, codes, keys, card and account numbers.

By meaning, a word for a secret has a value near it: "my pw is qwerty", "the alarm code of the house
is 7391". By form, a value is one in any context: a card number, a token, a private key. Only the
value is masked.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from ricordo.text.identifiers import IBAN, SHORTEST_CARD, iban_end, is_card
from ricordo.text.normalise import lazy_pattern, word_lists
from ricordo.text.spans import Span, merged

_ANY: Final = re.IGNORECASE
_STARTS = r"(?<![^\W_])"  # also after the _ of DB_PASSWORD
_OTHER_THINGS = (
    r"(?![-_ ]?(?:managers?|resets?|polic(?:y|ies)|fields?|hash(?:es|ing)?|prompts?|dialogs?|pages?"
    r"|forms?|lengths?|rules?|requirements?|generators?|protect\w*|hints?|less|changes?|screens?"
    r"|strength|recovery|sharing|boxe?s?|apps?|files?|management|security|authentication|rotation"
    r"|expiry|expiration|economy|limits?|counts?|budgets?|usage|windows?|streams?|types?|ring"
    r"|dinger|richtlinien?)\b)"
)
PASSWORDS: Final = lazy_pattern(
    rf"{_STARTS}(?:pass ?words?|pw|pwd|passwd|pass ?codes?|pass ?phrases?|master ?key"
    r"|(?:wi-?fi|wlan)[ -]?(?:keys?|schlüssel|schluessel)|kata ?sandi|sandi"
    r"|\w{0,12}passw(?:ort|örter|oerter)|kennwort|zugangscode|contrase(?:ñ|n)a|mot de passe|mdp"
    r"|clave (?:de |del |de la |de mi |para el )?(?:banco|port(?:á|a)til|correo|wifi|m(?:ó|o)vil"
    r"|cuenta|ordenador|tel(?:é|e)fono|email|acceso|usuario|tarjeta|cajero)"
    r"|wachtwoord|senha|has(?:ł|l)o|(?:ş|s)ifre|parola(?: d['’]ordine)?|пароль|parool|lösenord"
    rf"|l(?:ö|o)senord|salasana|jelsz(?:ó|o)|heslo){_OTHER_THINGS}(?![^\W_])",
    _ANY,
)
PHRASES: Final = lazy_pattern(
    rf"{_STARTS}(?:(?:seed|recovery|backup|mnemonic|wallet) (?:phrases?|words?)"
    r"|frasa pemulihan|frase semilla|wiederherstellungsphrase)\b",
    _ANY,
)
_PLACES = (
    r"(?:alarm|door|gate|entry|entrance|access|security|garage|lock(?:er)?|key ?(?:safe|box)"
    r"|lock ?box"
    r"|safe|vault|padlock|building|intercom|unlock|house|home|flat|apartment|office|elevator|lift"
    r"|parking|shed|cellar|phone|sim|tablet|laptop|voicemail|bank(?: card)?|card|atm|login|sign-?in"
    r"|verification|authenti\w{0,8}|2fa|mfa|one[- ]time|sms|backup|recovery|activation|secret)"
)
CODES: Final = lazy_pattern(
    rf"{_STARTS}(?:(?:front |back |main )?{_PLACES}[ -]?(?:codes?|pins?|keypad)"
    rf"|codes? (?:of|for|to|on) (?:the |my |our |his |her |their )?(?:\w{{1,15}} )?{_PLACES}"
    rf"|(?:combination|combo) (?:of|for|to|on) (?:the |my |our )?(?:\w{{1,15}} )?{_PLACES}"
    r"|(?:safe|lock|locker|vault|padlock|suitcase|bike lock)['’]?s? (?:combination|combo)"
    r"|pin(?:[- ]?(?:codes?|numbers?|nummer))?|puk|cvv2?|cvc2?|otp|tan|geheimzahl|geheimnummer"
    r"|kode (?:pintu|alarm|brankas|akses|otp|rahasia|gerbang|pin|verifikasi|keamanan)|nomor pin"
    r"|(?:tür|tuer|alarm|tor|haus|zugangs|sicherheits|safe|schloss)-?codes?"
    r"|code (?:der|des|vom|für|fuer|zum|zur) (?:\w{3} )?(?:tür|tuer|haustür|alarm\w{0,7}|tor\w?"
    r"|safe\w?)"
    r"|c(?:ó|o)digo (?:de|del) (?:la |el )?(?:alarma|puerta|port(?:ó|o)n|caja fuerte|acceso"
    r"|seguridad)"
    r"|c(?:ó|o)digo d[oa] (?:alarme|porta|port(?:ã|a)o|cofre)|clave"
    r"|code (?:de la |du |d['’]|de l['’])(?:porte|portail|alarme|entr(?:é|e)e|acc(?:è|e)s|coffre)"
    r"|codice (?:del(?:la|l['’])? ?)(?:cancello|allarme|porta|cassaforte)|(?:deur|alarm)code)\b",
    _ANY,
)
TOKENS: Final = lazy_pattern(
    rf"{_STARTS}(?:api[ _-]?keys?|(?:secret|access|private|license|licence|encryption|signing"
    rf"|product)"
    r"[ _-]?keys?|(?:(?:auth|access|bearer|refresh|session|api|bot|personal access)[ _-]?)?tokens?"
    r"|client[ _-]?secret|secrets?|recovery codes?|backup codes?|2fa codes?|kode pemulihan"
    r"|wiederherstellungscodes?|kunci api|(?:clave|chave|cl[ée]) (?:d['’e] ?l?['’]?)?api"
    r"|c[óo]digo de recupera(?:ci[óo]n|ç[ãa]o)|code de r[ée]cup[ée]ration"
    rf"|(?:zugangs)?schl(?:ü|ue)ssel){_OTHER_THINGS}(?![^\W_])",
    _ANY,
)
LOGINS: Final = lazy_pattern(
    rf"{_STARTS}(?:credentials?|creds|log[ -]?in(?: (?:details|data|info))?|user(?:name)? ?(?:and"
    rf"|/|&) ?"
    r"pass(?:word)?|zugangsdaten|akun)(?: (?:for|to|of|on) (?:the |my "
    r"|our )?(?:[^\W_]{1,20} ?){1,2})?"
    r"(?=\s*(?:[:=]|(?:is|are|was|adalah|ist)\b))",
    _ANY,
)
NETWORKS: Final = lazy_pattern(
    rf"{_STARTS}(?:wi-?fi|wlan|hotspot|ssid)(?: (?:at home|here|network|name|netz|kita|saya"
    rf"|rumah))?"
    r"(?=\s*(?:[:=]|(?:is|are|adalah|ist|heisst|heißt|es|est)\b))",
    _ANY,
)
ENTERING: Final = lazy_pattern(
    r"\b(?:log(?:s|ged|ging)?[ -]?(?:in|on)|sign(?:s|ed|ing)?[ -]?in|unlock(?:s|ed)?|get in|gets in"
    r"|masuk|login|logge mich|melde mich)\b(?: [^\s.,;:!?]{1,15}){0,4}? "
    r"(?:with|using|via|by typing|pakai|dengan|mit|con|avec) ",
    _ANY,
)
IDENTITIES: Final = lazy_pattern(
    rf"{_STARTS}(?:ssn|social security(?: number)?|nik|(?:nomor|no\.?) (?:ktp|nik)|ktp"
    rf"|national id(?:entity)?"
    r"(?: number)?|identity number|npwp|sozialversicherungsnummer|steuer-?id\w{0,12}|bsn|cpf|dni"
    r"|nif"
    r"|aadhaar|national insurance(?: number)?)\b[^\n0-9]{0,24}?"
    r"(?P<value>(?<!\w)[0-9][0-9 .-]{5,22}[0-9a-z])",
    _ANY,
)
EASTERN: Final = lazy_pattern(
    r"(?:パスワード|パスコード|暗証番号|合言葉|秘密鍵|apiキー|アクセストークン|トークン|密码|密碼|口令|验证码"
    r"|恢复码|恢復碼|备用码|備用碼|密钥|復旧コード|回復コード|リカバリーコード|バックアップコード|認証コード|解錠番号"
    r"|비밀번호|암호|복구 ?코드|백업 ?코드|인증 ?(?:번호|코드)|api ?키"
    r"|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน)[^\n。.!?0-9a-z]{0,12}?"
    r"(?P<value>[!-~]{3,60})"
    r"|(?:パスワード|合言葉|密码|密碼|口令|비밀번호|암호)(?:是|は|는|은|:|：)\s*"
    r"(?P<words>(?!很|不|没|已|要|什么|安全|忘|あり|必要|なに|何|変|잊|바|뭐|안전)[^\s!-~•。！？，、]{4,20}"
    r"(?:\s[^\s!-~•。！？，、]{2,10}){0,3})",
    _ANY,
)
JOINED: Final = lazy_pattern(
    r"(?:wi-?fi|wlan|hotspot|와이파이|무선|无线网|無線|ワイファイ)[^.。!?\n]{0,60}?"
    r"(?P<value>(?<![!-~])(?=[!-~]{0,30}[0-9])(?=[!-~]{0,30}(?-i:[a-z!#$%&*@^]))[!-~]{6,40}?)(?![!-~])",
    _ANY,
)
"""What is named with a network, and looks random."""

MASK: Final = "[secret removed]"
"""Replaces a secret in what is shown to a model, or quoted."""

_MASKED: Final = "•" * len(MASK)  # while looking, so that what is masked is nothing but a sign

# -- between the word and the value

_SAYS = (
    r"(?:[:=]|->|→|\b(?:is|c['’]est|are|was|were|be|['’]s|adalah|ialah|yaitu|itu|ist|lautet|sind|es|est|è|é"
    r"|são|är"
    r"|(?:got |was |has been |is )?(?:changed|set|reset|updated) to|diganti(?: jadi| menjadi)?)\b)"
    r"(?:\s+(?:now|still|simply|just|again|currently|actually|jetzt|sekarang|ahora"
    r"|literally)\b)?\s*[:=]?\s*"
)
_TO_VALUE: Final = lazy_pattern(
    rf"(?:\s+(?!{_SAYS})[^\s:=.,;!?]{{1,24}}){{0,5}}?\s*,?\s*{_SAYS}", _ANY
)
_VALUE: Final = lazy_pattern(
    r"[\"'“‘«„`](?P<quoted>[^\"'”’»“`\n]{1,100})[\"'”’»“`]|(?P<bare>[^\s]{1,200})"
)
_NEXT: Final = lazy_pattern(r"(?P<gap>[ \t]+)(?P<word>\S{1,200})")
_AFTER_VALUE: Final = ".,;:!?)]}\"'”’»`>"
_SEPARATORS: Final = frozenset({"/", "|", "+", "&", "-", "–", "—", "\\", "//"})

# -- what a value is and is not

_MEASURE: Final = lazy_pattern(
    r"[vV]?\d{1,6}(?:[.,:/-]\d{1,6})*(?:st|nd|rd|th|am|pm|h|hrs?|min|mins|s|ms|gb|mb|kb|tb|k|m|km"
    r"|cm|mm|kg"
    r"|g|l|ml|px|pt|em|x|ghz|mhz|khz|hz|mbps|gbps|bit|bits|byte|w|kw|kwh|v|a|mah|jt|rb|usd|eur|°c?"
    r"|%|€|\$"
    r"|-?(?:bit|digit|char|character|word|letter|stellig\w*|day|year|month|week|hour|factor"
    r"|step)s?)?",
    _ANY,
)
_MAIL: Final = lazy_pattern(r"[^\s@]{1,64}@[^\s@]{1,190}\.[a-z]{2,24}", _ANY)
_ADDRESS: Final = lazy_pattern(r"(?:[a-z][a-z0-9+.-]{1,15}://|www\.|/|\./|~/|[a-z]:\\)\S*", _ANY)
_LOOSE_DIGITS: Final = lazy_pattern(r"[\s:#]{0,3}(?P<value>\d(?:[ -]?\d){2,11})(?![\w.,:/-]*\d)")
_LOOSE_PIN: Final = lazy_pattern(
    r"(?:\s+(?:nya|saya|ku|kartu|debit|kredit|credit|atm|hp|number|nummer|no|code|for|of|my|the|card|bank|phone|tablet"
    r"|is|der|meiner?"
    r"|karte)\b){0,4}[\s:#=-]{1,3}(?P<value>\d{3,8})(?![\w:/-]|[.,]\d)",
    _ANY,
)
_LOOSE_PASSWORD: Final = lazy_pattern(
    r"[^\n.!?]{0,40}?(?<!\S)(?P<value>(?=\S{0,30}[0-9])(?=\S{0,30}[^\W\d])\S{6,40})"
)
_GROUPED: Final = lazy_pattern(
    r"[^\n.!?]{0,40}?(?<![A-Z0-9-])(?P<value>(?=[A-Z0-9-]*[0-9])[A-Z0-9]{3,8}(?:-[A-Z0-9]{3,8}){2,7}"
    r"|[A-Z]{4}(?:-[A-Z]{4}){2,7}|[A-Z]{5}(?:-[A-Z]{5}){2,7})(?![A-Z0-9-])"
)
_UNSAID: Final = lazy_pattern(
    r"(?:\s+\w{2,12})?\s+(?:saya|kami|aku)\s+(?P<value>(?!(?:adalah|itu|sudah|tidak|belum|harus|lupa|mau"
    r"|bisa|di\w*|yang|akan|sering|selalu|perlu|ada|sama|terlalu|agar|supaya|untuk|dan|ke|dari|jadi)\b)"
    r"[a-z]{3,12}(?: [a-z]{3,12}){1,3})(?=[.,!?]|$)"
)
"""Where a language needs no verb: "password bank saya ungu lentera"."""
_FEWEST_DIGITS: Final = 3
_WORDS_OF_A_PHRASE: Final = 4  # "correct horse battery staple", where "correct" alone is a verdict
_SHORT_CODES: Final = frozenset({"pin", "cvv", "cvv2", "cvc", "cvc2", "otp", "puk", "tan"})

# -- secrets by their form, in ASCII: letters of other scripts may touch them

_FORM: Final = _ANY | re.ASCII
_TOKEN: Final = lazy_pattern(
    r"\b(?:sk|pk|rk)[-_](?:[a-z]{2,8}[-_])?[a-z0-9_-]{16,}+"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|pypi-|dop_v1_|shpat_|sq0[a-z]{3}-"
    r"|ya29\.)[a-z0-9_-]{16,}+"
    r"|\b[a-z]{2,5}_(?=[a-z0-9]{0,60}[0-9])(?=[a-z0-9]{0,60}(?-i:[A-Z]))(?=[a-z0-9]{0,60}(?-i:[a-z]))[a-z0-9]{24,}+"
    r"|\bxox[abeprs]-[a-z0-9-]{10,}+|\b(?:akia|asia)[0-9a-z]{16}\b|\baiza[0-9a-z_-]{30,}+"
    r"|\bsg\.[a-z0-9_-]{16,}+\.[a-z0-9_-]{16,}+"
    r"|\beyj[a-z0-9_-]{10,}+\.[a-z0-9_-]{6,}+(?:\.[a-z0-9_-]{0,}+)?"
    r"|\bbearer\s{1,3}[a-z0-9._~+/-]{16,}+"
    r"|\bssh-(?:rsa|ed25519|dss)\s{1,3}[a-z0-9+/=]{20,}+"
    r"|\b[a-z][a-z0-9+.-]{1,15}://[^\s/@:]{1,100}:[^\s/@]{1,100}@"
    r"|(?<=[?&])(?:token|access_token|api_?key|key|secret|password|sig|signature)=[^\s&#]{6,}+",
    _FORM,
)
_KEY_BLOCK: Final = lazy_pattern(
    r"-----begin [a-z0-9 ]{0,40}(?:key|certificate)[a-z0-9 ]{0,20}-----"
    r"(?:[^-]{0,20000}-----end [a-z0-9 ]{0,60}-----)?",
    _ANY,
)
_RUN: Final = lazy_pattern(r"(?<![a-z0-9_+=/.:-])[a-z0-9_+=-]{20,}+(?![a-z0-9_+=/-])", _ANY)
_HEX: Final = lazy_pattern(r"[0-9a-f]{24,128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", _ANY)
_CARD: Final = lazy_pattern(r"(?<![\w.,])[2-6](?:[ -]?[0-9]){12,18}(?![\w]|[.,-]?\d)", _FORM)
# With one of these before it, also a number with a wrong digit is a card's.
_CARD_WORD: Final = lazy_pattern(
    r"\b(?:cards?|carte|tarjeta|cart[aã]o|karte|kreditkarte|kartu)\b|カード|卡|카드", _ANY
)
_NEAR: Final = 24
# What somebody types to get in is a secret, whatever it is called.
_GET_IN: Final = (
    r"\bto (?:(?:log|sign|get) ?in(?:to)?|unlock)\b|\buntuk (?:masuk|login|membuka)\b"
    r"|\b(?:buat|supaya bisa) (?:masuk|login|buka|membuka)\b"
    r"|\bzum (?:einloggen|anmelden|entsperren)\b|\bum \w+ ?(?:einzuloggen|anzumelden|zu entsperren)"
    r"|\bum in [^.!?\n]{2,30} zu (?:kommen|gelangen)\b"
    r"|\bpara (?:entrar|desbloquear|abrir|acceder|acessar|iniciar sesión)\b"
    r"|\bpour (?:me connecter|entrer|ouvrir|accéder|déverrouiller)\b"
    r"|入るとき|ログイン|解除する|登录时|解锁时|(?:打开|登录|解锁)[^。！？\n]{0,10}(?:时|要|需要|就)"
    r"|로그인|잠금|들어갈 때|열 때"
)
_TYPE: Final = (
    r"\bI (?:type|enter|key in)\b|(?<=user )(?:types|enters)\b|\b(?:ketik|mengetik|tippe|tippt)\b"
    r"|\b(?:escrib[oe]|tecle[oa]|digit[oa]|escrev[oe]|tape)\b|打(?:ち|つ)|入力|输入|輸入|입력|친다|쳐요"
)
_HAS_WAY_IN: Final = lazy_pattern(
    r"log|sign in|get in|unlock|masuk|buka|meld|sperr|entr[ae]r|bloque|sesi|connecter|verrou"
    r"|入る|ログ|解|登录|로그|잠금|들어|열|geht|öffn|open|abre|ouvre|abrir|ouvrir|acc|acess|kommen"
    r"|gelangen|で[開あ]|开|開"
)
_TYPED_TO_GET_IN: Final = lazy_pattern(
    rf"(?:{_GET_IN})[^.!?。\n]{{0,60}}(?:{_TYPE})[^.!?。\n]*"
    rf"|(?:{_TYPE})[^.!?。\n]{{0,60}}(?:{_GET_IN})[^.!?。\n]*"
    r"|\bopens? (?:\w+ ){0,3}(?:door|gate|garage|safe|lock|locker) with \d{4,8}\b"
    r"|\b(?:geht|öffnet|opens?|abre|ouvre|dibuka) (?:\w+ )?(?:mit|with|con|avec|com|dengan|pakai"
    r"|pake) (?:\w+ ){0,2}\d{4,8}\b"
    r"|\d{4,8}(?:とシャープ|と#|と井桁)?(?:で(?:開|あ)|번?으?로 열|开门|開門|打开)"
    r"|按\d{4,8}[^。！？\n]{0,12}[开開]|\d{4,8}[^.。!?\n]{0,10}(?:누르면|눌러)[^.。!?\n]{0,8}열",
    _ANY,
)
_HAS_LONG_WORD: Final = lazy_pattern(r"\S{14}")
_HAS_NUMBER: Final = lazy_pattern(r"\d(?:[ .-]?[a-z0-9]){6}", _ANY)
_LONG_RUN: Final = 32

_Reader = Callable[[str, re.Match[str]], Span | None]

# The same texts are shown again and again. What they say is not kept.
_MOST_KNOWN_TEXTS: Final = 8_192
_DIGEST_BYTES: Final = 16
_SALT: Final = os.urandom(_DIGEST_BYTES)
_known_spans: dict[bytes, tuple[Span, ...]] = {}


def _words(title: str) -> frozenset[str]:
    return word_lists("secret_words")[title]


def secrets_in(text: str) -> list[Span]:
    """The spans of secret values, in order, not nested."""
    encoded = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES, key=_SALT).digest()
    known = _known_spans.get(digest)
    if known is None:
        text = text.replace(MASK, _MASKED)
        known = tuple(merged({*_by_form(text), *_by_meaning(text)}))
        if len(_known_spans) >= _MOST_KNOWN_TEXTS:
            _known_spans.clear()
        _known_spans[digest] = known
    return list(known)


def has_secret(text: str) -> bool:
    return bool(secrets_in(text))


def without_secrets(text: str) -> str:
    return part_without_secrets(text, 0, len(text))


def part_without_secrets(text: str, first: int, last: int) -> str:
    """A part of a text without its secrets, which the text around it may tell."""
    pieces = []
    place = first
    for start, end in secrets_in(text):
        if start < last and end > first:
            pieces += [text[place : max(start, first)], MASK]
            place = min(end, last)
    return "".join([*pieces, text[place:last]])


# -- by form


def _by_form(text: str) -> Iterator[Span]:
    if "-----" in text:
        yield from (found.span() for found in _KEY_BLOCK.finditer(text))
    if _HAS_WAY_IN.search(text):
        yield from (found.span() for found in _TYPED_TO_GET_IN.finditer(text))
    if _HAS_LONG_WORD.search(text):
        yield from (found.span() for found in _TOKEN.finditer(text))
        yield from (found.span() for found in _RUN.finditer(text) if _is_random(found.group()))
    if not _HAS_NUMBER.search(text):
        return
    for found in _CARD.finditer(text):
        is_called_card = _CARD_WORD.search(text, max(0, found.start() - _NEAR), found.start())
        if is_called_card or (_begins_like_card(found.group()) and is_card(found.group())):
            yield found.span()
    for found in IBAN.finditer(text):
        if end := iban_end(found[1]):
            yield found.start(), found.start() + end


def _is_random(run: str) -> bool:
    """A random key: not a digest or an id, which are no secret, nor joined words."""
    if _HEX.fullmatch(run):
        return False
    digits = sum(map(str.isdigit, run))
    letters = sum(map(str.isalpha, run))
    if len(run) >= _LONG_RUN and digits >= 4 and letters >= 8 and _alternations(run.lower()) >= 6:
        return True
    is_mixed = any(map(str.isupper, run)) and any(map(str.islower, run))
    return is_mixed and digits >= 2 and _alternations(run) > len(run) * 0.4


def _alternations(run: str) -> int:
    """Changes between lower case, capitals and digits: frequent in random text."""
    kinds = [(sign.isdigit(), sign.isupper()) for sign in run if sign.isalnum()]
    return sum(one != other for one, other in pairwise(kinds))


def _begins_like_card(number: str) -> bool:
    digits = "".join(filter(str.isdecimal, number))
    if len(digits) == SHORTEST_CARD and digits[0] != "4":  # the number of a book, or a time
        return False
    return digits[0] != "2" or "22" <= digits[:2] <= "27"


# -- by meaning


def _by_meaning(text: str) -> Iterator[Span]:
    small = text.lower()
    for stems, (_, pattern, reads) in zip(_STEMS, _MEANINGS, strict=True):
        if any(stem in small for stem in stems):
            for word in pattern.finditer(text):
                if span := reads(text, word):
                    yield span
    if _HAS_NUMBER.search(text):
        yield from (found.span("value") for found in IDENTITIES.finditer(text))
    if not text.isascii():
        yield from (
            found.span("value" if found["value"] else "words") for found in EASTERN.finditer(text)
        )
    for found in JOINED.finditer(text):
        bare = found["value"].rstrip(_AFTER_VALUE)
        if _is_random_like(bare):
            yield found.start("value"), found.start("value") + len(bare)


def _password(text: str, word: re.Match[str]) -> Span | None:
    said = _TO_VALUE.match(text, word.end())
    if said and (value := _value_at(text, said.end())):
        first = _first_word(text, value)
        whole = _extended(text, value)
        if _may_be_password(first) or len(text[slice(*whole)].split()) >= _WORDS_OF_A_PHRASE:
            return whole
        if said.end() - word.end() < 8:  # the connector stood right after the word
            return None
    if unsaid := _UNSAID.match(text, word.end()):
        return unsaid.span("value")
    return _group(_LOOSE_PASSWORD, text, word, _is_random_like)


def _phrase(text: str, word: re.Match[str]) -> Span | None:
    said = _TO_VALUE.match(text, word.end())
    if not said or not (value := _value_at(text, said.end())):
        return None
    if _first_word(text, value).casefold() in _words("predicates"):
        return None
    end = re.compile(r"[^\n.!?;]{1,400}").match(text, value[0])
    return (value[0], end.end()) if end else value


def _code(text: str, word: re.Match[str]) -> Span | None:
    said = _TO_VALUE.match(text, word.end())
    if said and (value := _value_at(text, said.end())):
        first = _first_word(text, value)
        value = _extended(text, value)
        bare = text[slice(*value)]
        begins = any(map(str.isdigit, first)) and not _is_date_or_link(first)
        if begins and sum(map(str.isdigit, bare)) >= 3:
            return value
    if not _SHORT_CODES.isdisjoint(re.findall(r"[a-z0-9]+", word.group().casefold())):
        return _group(_LOOSE_PIN, text, word, lambda _: True)
    loose = _LOOSE_DIGITS.match(text, word.end())
    return None if loose is None or word.group().casefold() == "clave" else loose.span("value")


def _token(text: str, word: re.Match[str]) -> Span | None:
    said = _TO_VALUE.match(text, word.end())
    if said and (value := _value_at(text, said.end())):
        first = _first_word(text, value)
        if _is_random_like(first) and len(first) >= 5:
            return value
    grouped = _GROUPED.match(text, word.end())
    if grouped:
        return grouped.span("value")
    direct = re.compile(r"[ \t]+(?P<value>\S{6,200})").match(text, word.end())
    if direct and _is_random_like(bare := direct["value"].rstrip(_AFTER_VALUE)) and len(bare) >= 8:
        return direct.start("value"), direct.start("value") + len(bare)
    return None


def _login(text: str, word: re.Match[str]) -> Span | None:
    """A name and a password in either order, so all of it."""
    said = _TO_VALUE.match(text, word.end())
    if not said or not (value := _value_at(text, said.end())):
        return None
    extended = _extended(text, value, takes_pair=True)
    words = text[slice(*extended)].split()
    if not words or words[0].casefold() in _words("predicates") or len(words) > 6:
        return None
    is_pair = len(words) == 3 and words[1] in _SEPARATORS
    joined = re.fullmatch(r"[^\s/:@]{2,40}[/:][^\s/:@]{3,40}", words[0]) is not None
    if is_pair or joined or any(_is_random_like(one.strip(",;")) for one in words):
        return extended
    return None


def _entered(text: str, word: re.Match[str]) -> Span | None:
    value = _value_at(text, word.end())
    if value is None:
        return None
    if _MAIL.fullmatch(_first_word(text, value)):
        further = re.compile(r"(?: (?:and|/|with|dan|und)) ").match(text, value[1])
        value = _value_at(text, further.end()) if further else None
    if value is None or not _is_random_like(_first_word(text, value)):
        return None
    return value


_MEANINGS: Final[tuple[tuple[str, re.Pattern[str], _Reader], ...]] = (
    (
        "pass pw wi-fi wifi wlan master sandi kennwort zugang contrase mot\u00a0de mdp wachtwoord"
        " senha has\u0142 haslo ifre parol пароль senord salasana jelsz heslo clave",
        PASSWORDS,
        _password,
    ),
    ("phrase words frasa frase", PHRASES, _phrase),
    (
        "code pin combo combination puk cvv cvc otp tan geheim kode digo clave codice keypad",
        CODES,
        _code,
    ),
    ("key token secret schl code kunci kode clave chave cl\u00e9 digo", TOKENS, _token),
    ("credential creds login log-in log\u00a0in user zugangsdaten akun", LOGINS, _login),
    ("wifi wi-fi wlan hotspot ssid", NETWORKS, _login),
    (
        "log\u00a0in log\u00a0on login logon logge logs logg sign unlock get masuk melde",
        ENTERING,
        _entered,
    ),
)
"""How each kind of secret is found; its pattern runs only where a stem occurs."""
_STEMS: Final = [
    tuple(stem.replace("\u00a0", " ") for stem in stems.split(" ")) for stems, _, _ in _MEANINGS
]


def _group(
    pattern: re.Pattern[str], text: str, word: re.Match[str], fits: Callable[[str], bool]
) -> Span | None:
    found = pattern.match(text, word.end())
    if found is None:
        return None
    bare = found["value"].rstrip(_AFTER_VALUE)
    start = found.start("value")
    return (start, start + len(bare)) if bare and fits(bare) else None


def _value_at(text: str, place: int) -> Span | None:
    found = _VALUE.match(text, place)
    if found is None:
        return None
    if found["quoted"]:
        return found.span("quoted")
    bare = found["bare"].rstrip(_AFTER_VALUE).rstrip()
    return (found.start("bare"), found.start("bare") + len(bare)) if bare else None


def _extended(text: str, value: Span, *, takes_pair: bool = False) -> Span:
    """A value with its continuation: groups of digits, words of a phrase, a pair."""
    start, end = value
    is_words = text[start:end].isalpha() and text[start:end].islower()  # of a phrase
    for _ in range(12):
        following = _NEXT.match(text, end)
        if following is None:
            break
        bare = following["word"].rstrip(_AFTER_VALUE)
        label = bare.casefold().strip(":=")
        goes_on = (
            bare in _SEPARATORS
            or (any(map(str.isdigit, bare)) and not any(map(str.isalpha, bare)) and len(bare) >= 2)
            or (text[end - 1] in "/|\\+&" and bool(bare))
            or (takes_pair and (_is_random_like(bare) or label in _words("password labels")))
            or (is_words and bare.isalpha() and bare.islower() and not _ends_phrase(bare))
        )
        if not goes_on:
            break
        end = following.start("word") + len(bare)
        if len(bare) < len(following["word"]) and not takes_pair:
            break
    while end > start and text[end - 1] in " /|\\+&-–—":
        end -= 1
    return start, end


def _ends_phrase(word: str) -> bool:
    return word in _words("predicates") or word in _words("phrase ends")


def _first_word(text: str, value: Span) -> str:
    return text[slice(*value)].split(maxsplit=1)[0]


def _may_be_password(word: str) -> bool:
    """Any word that does not merely describe a password."""
    plain = word.casefold()
    if plain in _words("predicates") or not any(map(str.isalnum, word)):
        return False
    if plain.isdigit() and len(plain) < _FEWEST_DIGITS:  # "12 characters long"
        return False
    if (
        plain.isalpha()
        and plain.endswith(("ed", "ing", "bar", "lich", "able", "ible"))
        and len(plain) > 5
    ):
        return False
    return _MAIL.fullmatch(word) is None and _ADDRESS.match(word) is None


def _is_random_like(word: str) -> bool:
    plain = word.casefold()
    if len(word) < 4 or plain in _words("services") or plain in _words("predicates"):
        return False
    if _MEASURE.fullmatch(word) or _MAIL.fullmatch(word) or _ADDRESS.match(word):
        return False
    has_digit = any(map(str.isdigit, word))
    has_sign = any(sign in "!@#$%^&*_+=?" for sign in word[:-1])
    return any(map(str.isalpha, word)) and (has_digit or has_sign)


def _is_date_or_link(text: str) -> bool:
    return (
        re.fullmatch(r"(?:19|20)\d\d-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{1,2}:\d\d\S*", text)
        is not None
        or _ADDRESS.match(text) is not None
    )
