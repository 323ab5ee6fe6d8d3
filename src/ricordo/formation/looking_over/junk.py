"""Memories that look as if they should never have been stored."""

import re
from typing import Final

from ricordo.formation.consent.phrases import words_of
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.model.vocabulary import MemoryType
from ricordo.text.folding import fold_letters, is_dense
from ricordo.text.normalise import lazy_pattern

_FEWEST_WORDS: Final = 2
_FEWEST_DENSE_SIGNS: Final = 3  # of a script without spaces
_QUOTED: Final = lazy_pattern(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|«[^»]{1,300}»|「[^」]{1,300}」")
_SUSPECTS: Final = (
    (
        "code or markup",
        lazy_pattern(
            r"```|</?[a-z][a-z0-9]{0,15}(?: [^<>]{0,200})?>|^\s*[{\[].{0,500}[}\]]\s*$|\);\s*$"
            r"|^(?:import|from|def|class|function|const|let|var|select|insert into) [\w{*(].{0,200}"
            r"(?:[;(){}=]|import )|^#{1,6} |\|\s*-{3,}\s*\|",
            re.DOTALL,
        ),
    ),
    (
        "placeholder",
        lazy_pattern(
            r"\{\{|\}\}|\$\{|%[sd]\b|\[(?:[a-z_ ]{0,20}(?:name|city|date|place|value|insert|your"
            r"|user|email|nama)[a-z_ ]{0,20})\]|<(?:[a-z_ ]{0,20}(?:name|city|date|place|value"
            r"|insert|your|nama)[a-z_ ]{0,20})>|\blorem ipsum\b|\b(?:todo|tbd|xxx+|placeholder)\b"
            r"|^(?:n/?a|none|null|nil|unknown|undefined|test|tidak ada|keine)\W*$"
        ),
    ),
    (
        "boot text",
        lazy_pattern(
            r"\byou are (?:a|an) (?:\w{1,20} ){0,3}(?:assistant|agent|model|chatbot)\b"
            r"|\bsystem prompt\b|\bsession (?:started|ended|resumed)\b|\binitiali[sz](?:ing|ed)\b"
            r"|\bloading (?:model|memory|config)|\bmemory tools unavailable\b|^\[?(?:info|debug"
            r"|warn|warning|error|trace)\]?[: ]|\bas an ai\b|\bknowledge cutoff\b"
        ),
    ),
    (
        "greeting or talk about the conversation",
        lazy_pattern(
            r"^(?:hello|hi|hey|thanks|thank you|ok|okay|sure|great|good (?:morning|evening|night)"
            r"|you're welcome|no problem|halo|hai|terima kasih|makasih|selamat (?:pagi|siang|sore"
            r"|malam)|oke|baik|hallo|danke|guten (?:morgen|tag|abend)|こんにちは|ありがとう)\b"
            r"|^here (?:is|are) |\b(?:the )?(?:user|assistant) (?:greeted|thanked|said (?:hello|hi"
            r"|thanks)|asked (?:a question|for help|about)|is asking|wants to know)\b"
            r"|\b(?:in|during) this (?:conversation|chat|session)\b|\bpengguna (?:menyapa|bertanya"
            r"|mengucapkan terima kasih)\b"
        ),
    ),
    ("question", lazy_pattern(r"[?？]\s*$")),
)
_FIRST_OR_SECOND_PERSON: Final = frozenset(
    {"i", "me", "my", "mine", "myself", "we", "our", "ours", "you", "your", "yours"}
    | {"saya", "aku", "gue", "gua", "kami", "kamu", "anda", "ich", "mein", "meine", "wir", "du"}
)
_MAY_ADDRESS: Final = frozenset(
    {MemoryType.INSTRUCTION, MemoryType.PROCEDURE, MemoryType.SUMMARY, MemoryType.OTHER}
)


def junk_reason(content: str, type: MemoryType) -> str | None:
    """Why a memory looks like junk; None where it does not.

    Instructions and procedures may say "you" and "me": they are addressed to the assistant.
    """
    plain = fold_letters(content[:MAX_CONTENT_CHARS]).strip()
    for reason, pattern in _SUSPECTS:
        if pattern.search(plain):
            return reason
    words = words_of(plain)
    dense = sum(is_dense(sign) for sign in plain)
    if len(words) < _FEWEST_WORDS and dense < _FEWEST_DENSE_SIGNS:
        return "shorter than two words"
    if type not in _MAY_ADDRESS:
        said = set(words_of(_QUOTED.sub(" ", plain)))
        if not said.isdisjoint(_FIRST_OR_SECOND_PERSON):
            return "first or second person"
    return None
