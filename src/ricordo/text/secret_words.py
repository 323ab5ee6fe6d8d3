"""Words for a secret, in the languages that people say them in; :mod:`secrets` reads the values."""

import re
from typing import Final

from ricordo.text.patterns import lazy_pattern

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
    r"|client[ _-]?secret|secrets?|recovery codes?|backup codes?|2fa codes?"
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
    r"|비밀번호|암호|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน)[^\n。.!?0-9a-z]{0,12}?"
    r"(?P<value>[!-~]{3,60})",
    _ANY,
)
