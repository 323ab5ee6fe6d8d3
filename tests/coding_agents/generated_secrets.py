"""Secrets as they come along in sessions of coding agents, made by a seed; none is anybody's."""

import base64
import random
import string
from collections.abc import Callable
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits


class Told(NamedTuple):
    """A text, and the secret in it."""

    text: str
    secret: str


def _of(random_: random.Random, signs: str, length: int) -> str:
    while True:
        made = "".join(random_.choice(signs) for _ in range(length))
        if any(map(str.isdigit, made)) and any(map(str.isalpha, made)):
            return made


def _password(r: random.Random) -> str:
    return _of(r, ALNUM + "!#%^*_+", r.randint(9, 18)).strip("#!%^*_+") + "7k"


def _block(r: random.Random, kind: str) -> tuple[str, str]:
    lines = [_of(r, ALNUM + "+/", 64) for _ in range(6)]
    text = "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])
    return text, lines[2]


def _pem(r: random.Random) -> Told:
    text, line = _block(r, r.choice(["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY"]))
    return Told(f"$ cat key.txt\n{text}\n", line)


def _json_key(r: random.Random) -> Told:
    text, line = _block(r, "PRIVATE KEY")
    escaped = text.replace("\n", "\\n")
    return Told(f'{{"type": "service_account", "private_key": "{escaped}\\n"}}', line)


def _with(form: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Told]:
    def told(r: random.Random) -> Told:
        secret = make(r)
        return Told(form.replace("@@", secret), secret)

    return told


def _basic(r: random.Random) -> Told:
    code = base64.b64encode(f"deploy:{_password(r)}".encode()).decode()
    return Told(f'curl -H "Authorization: Basic {code}" https://ci.example.org/run', code)


def _hex(length: int) -> Callable[[random.Random], str]:
    return lambda r: _of(r, "0123456789abcdef", length)


def _token(prefix: str, length: int, signs: str = ALNUM) -> Callable[[random.Random], str]:
    return lambda r: prefix + _of(r, signs, length)


def _jwt(r: random.Random) -> str:
    return f"eyJhbGciOiJIUzI1NiJ9.eyJ{_of(r, ALNUM, 40)}.{_of(r, ALNUM + '-_', 43)}"


FORMS: list[Callable[[random.Random], Told]] = [
    _pem,
    _json_key,
    _basic,
    _with("AWS_SECRET_ACCESS_KEY=@@", _token("", 40, ALNUM + "/+")),
    _with("aws_access_key_id = @@", _token("AKIA", 16, string.ascii_uppercase + string.digits)),
    _with("export GITHUB_TOKEN=@@", _token("ghp_", 36)),
    _with("the token @@ is for CI, put it into the workflow", _token("github_pat_", 60)),
    _with("git clone https://oauth2:@@@gitlab.example.org/acme/shop.git", _token("glpat-", 20)),
    _with('SLACK = "@@"', _token("xoxb-", 40, string.digits + "-" + string.ascii_letters)),
    _with("stripe.api_key = '@@'", _token("sk_live_", 24)),
    _with("OPENAI_API_KEY: @@", _token("sk-proj-", 48)),
    _with("use @@ for the tests", _token("sk-ant-api03-", 80, ALNUM + "-_")),
    _with("maps key @@", _token("AIza", 35, ALNUM + "-_")),
    _with("//registry.npmjs.org/:_authToken=@@", _token("npm_", 36)),
    _with("password = @@", _token("pypi-", 100)),
    _with("hf login with @@", _token("hf_", 34)),
    _with("SENDGRID_API_KEY=SG.@@", lambda r: f"{_of(r, ALNUM, 22)}.{_of(r, ALNUM, 43)}"),
    _with("TWILIO_AUTH_TOKEN=@@", _hex(32)),
    _with("SECRET_KEY = '@@'", _hex(64)),
    _with('JWT_SECRET="@@"', _password),
    _with("Authorization: Bearer @@", _jwt),
    _with("the session cookie was session=@@; Path=/", _jwt),
    _with("DATABASE_URL=postgresql://shop:@@@db.example.org:5432/shop", _password),
    _with("redis://:@@@cache:6379/0", _password),
    _with("mongodb+srv://app:@@@cluster0.example.net/?retryWrites=true", _password),
    _with("amqp://guest:@@@queue//", _password),
    _with("Server=db;Database=shop;User Id=sa;Password=@@;", _password),
    _with("AccountName=shop;AccountKey=@@;EndpointSuffix=core", _token("", 86, ALNUM + "+/")),
    _with("curl -u deploy:@@ https://ci.example.org/run", _password),
    _with("mysql -h db -u root -p@@ shop", _password),
    _with("PGPASSWORD=@@ psql -h db shop", _password),
    _with("docker login -u ana --password @@ registry.example.org", _password),
    _with("vault login --token=@@", _token("hvs.", 24)),
    _with('{"user": "ana", "password": "@@"}', _password),
    _with("db:\n  user: shop\n  password: @@\n", _password),
    _with("connect(host, user='ana', password='@@')", _password),
    _with("const client = new Client({ apiKey: '@@' })", _hex(40)),
    _with('resource "x" "y" {\n  master_password = "@@"\n}', _password),
    _with("machine api.example.org login ana password @@", _password),
    _with("The admin password is @@, try again with it.", _password),
    _with("log in with the password @@ on staging", _password),
    _with("https://hooks.slack.com/services/T0AB12CD3/B0EF45GH6/@@", _token("", 24)),
    _with("https://api.example.org/v1/items?api_key=@@&page=2", _hex(32)),
    _with("X-Api-Key: @@", _hex(32)),
    _with("kubectl create secret generic db --from-literal=password=@@", _password),
    _with("data:\n  password: @@", lambda r: base64.b64encode(_password(r).encode()).decode()),
    _with("client_secret=@@&grant_type=client_credentials", _token("", 40)),
    _with("ENCRYPTION_KEY=@@", lambda r: base64.b64encode(r.randbytes(32)).decode()),
    _with("signing_key: '@@'", _token("", 43, ALNUM + "-_")),
    _with("passphrase: @@", _password),
]


def generated(count: int, seed: int = 28) -> list[Told]:
    """So many texts, every form about as often."""
    r = random.Random(seed)
    return [FORMS[number % len(FORMS)](r) for number in range(count)]
