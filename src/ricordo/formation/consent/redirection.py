"""Standing wishes that lead money, mail, credentials or tools somewhere: they always need consent.

Who can make an assistant copy in an address, pay to an account or run a command from now on has
taken more than any fact would give. So such a wish waits for the user whoever seems to have said
it, whoever read it, and even where it was asked for in so many words.
"""

import re
from typing import Final

from ricordo.formation.candidate import Candidate
from ricordo.model.vocabulary import MemoryType
from ricordo.text.normalise import lazy_pattern

MONEY: Final = "redirects_money"
MAIL: Final = "redirects_mail"
CREDENTIALS: Final = "redirects_credentials"
TOOLS: Final = "redirects_tools"
REDIRECTIONS: Final = frozenset({MONEY, MAIL, CREDENTIALS, TOOLS})
"""Fields of proposals: what a wish would lead elsewhere."""

_WISHES: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PROCEDURE, MemoryType.PREFERENCE})
# A wish that a reader took for a fact: "User wants invoices sent to …".
_WISHED: Final = lazy_pattern(
    r"\b(?:wants?|wishes|would like|asks?|asked|expects?|instructs?|prefers?|should|must|always|"
    r"never|"
    r"from now on|going forward|every time|whenever|by default|"
    r"ingin|mau|minta|meminta|harus|selalu|mulai sekarang|setiap kali|"
    r"möchte|will|immer|ab jetzt|ab sofort|soll|quiere|siempre|a partir de ahora|debe|"
    r"veut|toujours|désormais|doit|quer|sempre|a partir de agora|vuole|d'ora in poi|wil|altijd|"
    r"voortaan)\b"
    r"|必ず|常に|今後|これから|总是|今后|从现在|一律",
    re.IGNORECASE,
)

_ADDRESS: Final = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_MAIL = lazy_pattern(
    r"\b(?:b?cc|carbon[- ]copy|in cop(?:y|ies)|cop(?:y|ies) (?:of|in|to)|blind copy|forward(?:s|"
    r"ed|ing)?|"
    r"redirect\w{0,3}|reroute\w{0,2}|reply-to|tembusan|teruskan|meneruskan|salinan|in kopie|"
    r"weiterleit\w{0,4}|"
    r"en copia|copia oculta|reenv[íi]\w{1,4}|en copie|transf[ée]r\w{1,4}|em cópia|encaminh\w{1,4}|"
    r"in copia|"
    r"inoltr\w{1,4}|doorstu\w{1,4}|in cc)\b|転送|抄送|转发|轉發"
    rf"|(?:send|mail|e-?mail|share|deliver|submit|post|upload|report|kirim\w{{0,4}}|"
    rf"schick\w{{0,3}}|send\w{{0,4}}|"
    rf"env[ií]\w{{0,4}}|envoy\w{{0,4}}|mand\w{{1,4}}|invi\w{{1,4}}|"
    rf"stu{{1,2}}r\w{{0,3}})\b(?:[^.\n]|\.(?=\S)){{0,80}}"
    rf"(?:{_ADDRESS}|https?://)|{_ADDRESS}",
    re.IGNORECASE,
)
_MONEY_NOUNS: Final = (
    r"(?:pay(?:s|ing|ments?)?|paid|invoices?|bills?|money|funds?|salar(?:y|ies)|wages?|refunds?|"
    r"transfers?|"
    r"deposits?|donations?|rent|fees?|orders?|purchases?|iban|bitcoin|crypto|wallet|"
    r"bayar\w{0,4}|pembayaran|faktur|tagihan|uang|gaji|dana|transfer|rechnung(?:en)?|zahl\w{1,6}|"
    r"überweis\w{1,4}|"
    r"geld|factur\w{1,3}|pag(?:o|os|ar|amentos?|amenti)|dinero|paie\w{0,4}|argent|fatur\w{1,3}|"
    r"dinheiro|"
    r"fattur\w{1,3}|soldi|betal\w{1,4}|factu\w{1,4})"
)
_MONEY = lazy_pattern(
    rf"\b{_MONEY_NOUNS}\b(?:[^.\n]|\.(?=\S)){{0,80}}\b(?:to|into|onto|via|through|account|with|"
    rf"from|ke|lewat|"
    rf"melalui|an|auf|"
    r"über|a|en|sur|à|para|na|su|naar|op)\b|"
    r"\b(?:use|using|used|gunakan|pakai|menggunakan|verwende\w{0,2}|usa|usar|utilise\w{0,2}|"
    r"gebruik\w{0,2})\b(?:[^.\n]|\.(?=\S)){0,40}"
    r"\b(?:account|iban|card|bank|wallet|supplier|rekening|kartu|konto|karte|cuenta|tarjeta|"
    r"compte|carte|conta|"
    r"cartão|conto|carta)\b|\biban\b|\b[a-z]{2}[0-9]{2}(?: ?[0-9a-z]{4}){3,7}\b|送金|振り?込|支払|"
    r"付款|汇款|转账",
    re.IGNORECASE,
)
_CREDENTIALS = lazy_pattern(
    r"\b(?:passwords?|passcodes?|pins?|credentials?|log-?ins?|api[- ]?keys?|keys?|tokens?|"
    r"secrets?|2fa|otp|"
    r"verification codes?|security codes?|one-time codes?|kata sandi|sandi|passwort\w{0,3}|"
    r"zugangsdaten|"
    r"contraseñas?|mots? de passe|senhas?|credenziali|wachtwoord\w{0,2})\b|パスワード|暗証番号|"
    r"密码|验证码",
    re.IGNORECASE,
)
_HANDED_OVER = lazy_pattern(
    r"\b(?:send|share|give|forward|include|add|tell|paste|put|use|log|store|post|upload|accept|"
    r"approve|skip|"
    r"kirim\w{0,4}|berikan|pakai|gunakan|schick\w{0,3}|gib|nutze|env[ií]\w{0,4}|usa|envoie\w{0,2}|"
    r"donne\w{0,2}|"
    r"mand\w{1,4}|stuur\w{0,2})\b|送|发送|使用",
    re.IGNORECASE,
)
_TOOLS = lazy_pattern(
    r"\b(?:run|runs|running|execute\w{0,2}|install\w{0,4}|download\w{0,3}|launch|invoke|call the|"
    r"curl|wget|sudo|"
    r"bash|powershell|npm|pip|ssh|eval|click|visit|open|fetch|browse to|load|connect to|"
    r"jalankan|instal|unduh|buka|führe|ausführ\w{0,4}|installier\w{0,3}|öffne|ejecut\w{1,4}|"
    r"instal\w{1,4}|descarg\w{1,4}|"
    r"exécut\w{1,4}|télécharg\w{1,4}|execut\w{1,4}|baix\w{1,4}|esegui\w{0,4}|scaric\w{1,4}|"
    r"voer\w{0,2}|download)\b"
    r"(?:[^.\n]|\.(?=\S)){0,80}\b(?:before|after|first|every|each|whenever|command\w{0,3}|"
    r"script\w{0,2}|code|"
    r"tools?|"
    r"programs?|packages?|plugins?|extensions?|links?|files?|urls?|sites?|server|"
    r"sebelum|setelah|perintah|skrip|vor|bevor|befehl|skript|antes|comando|avant|commande|prima|"
    r"voor|curl|wget|sudo|bash)\b"
    r"|\b(?:curl|wget|sudo|ssh|rm -rf|npx|pip install|npm install)\b|https?://|\b(?:use|call|"
    r"trust)\b(?:[^.\n]|\.(?=\S)){0,30}"
    r"\b(?:tools?|mcp|plugins?|webhooks?|endpoints?|proxy|server|api)\b"
    r"|\b(?:without|never|don't|not|stop|skip) (?:\w+ ){0,3}(?:confirmation|confirming|approval|"
    r"permission|consent)\b"
    r"|実行|インストール|运行|执行|安装",
    re.IGNORECASE,
)


def redirections(candidate: Candidate) -> tuple[str, ...]:
    """What a standing wish would lead elsewhere; empty for facts and for harmless wishes."""
    said = f"{candidate.content}\n{candidate.quote}"
    if candidate.type not in _WISHES and not _WISHED.search(said):
        return ()
    if candidate.type is MemoryType.PREFERENCE and not _WISHED.search(said):
        return ()
    found = [
        (MONEY, _MONEY.search(said)),
        (MAIL, _MAIL.search(said)),
        (CREDENTIALS, _CREDENTIALS.search(said) and _HANDED_OVER.search(said)),
        (TOOLS, _TOOLS.search(said)),
    ]
    return tuple(name for name, met in found if met)
