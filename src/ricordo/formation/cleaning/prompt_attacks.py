"""Text that talks to a model instead of telling something: attacks, boot text, orders in results.

Patterns are searched in a plain view (see ``plain_view.py``). What follows an attack is often the
very thing that it wants remembered, so the rest of the paragraph goes with it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ricordo.formation.cleaning.text_spans import Paragraphs, Sentences, Span
from ricordo.text.normalise import lazy_pattern

_DROP_VERBS: Final = (
    r"ignor(?:e|ing)|disregard(?:ing)?|forget|overlook|override|bypass|skip|neglect|drop"
)
_RULES: Final = (
    r"(?:instruction|prompt|rule|guideline|direction|command|message|context|polic(?:y|ie)|order"
    r"|constraint|restriction|safet)"
)
_EARLIER: Final = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|existing|original|your|system|current)"
)
_ENGLISH: Final = (
    rf"\b(?:{_DROP_VERBS})\b(?:\s+\S{{1,15}}){{0,4}}?\s+{_EARLIER}(?:\s+\S{{1,15}}){{0,2}}?\s+{_RULES}",
    rf"\b(?:{_DROP_VERBS})\b\s+(?:all|any|every|these|those|the)(?:\s+of)?(?:\s+(?:the|your))?\s+{_RULES}",
    rf"\b(?:{_DROP_VERBS})\b\s+(?:everything|anything|all(?:\s+that)?|what(?:ever)?)\s+"
    r"(?:(?:you|i|we)\s+)?(?:above|before|previous|earlier|prior|were|was|have been|said|know)",
    r"\bnew\s+(?:system\s+)?(?:instructions?|rules|prompt|directives?)\s*(?::|-|are\b|follow)",
    r"\b(?:from\s+now\s+on|now)\s*,?\s+you\s+(?:are|will|must|act|behave)\b",
    r"\byou\s+are\s+now\b|\byou\s+are\s+no\s+longer\s+(?:an?|bound|restricted)\b",
    r"\b(?:system|developer|initial|hidden)\s+(?:prompt|message|instructions?)\b",
    r"\b(?:developer|debug|god|admin|dan|sudo|jailbreak|unrestricted|root)\s+mode\b",
    r"\bjail-?break(?:ed|ing|s)?\b|\bdo\s+anything\s+now\b|\bprompt\s+injection\b",
    r"\b(?:pretend|act\s+as\s+if|imagine)\s+(?:that\s+)?you(?:'re|\s+are|\s+have)\b",
    r"\b(?:reveal|print|repeat|show|output|leak)\s+(?:me\s+)?(?:your|the)\s+(?:\S{1,15}\s+){0,2}"
    r"(?:prompt|instructions)\b",
    r"\bwithout\s+(?:any\s+)?(?:restrictions|filters|censorship)\b",
    r"<\|?\s*(?:im_start|im_end|endoftext|system|begin_of_text|start_header_id)\b",
    r"\[/?inst\]|<<\s*/?\s*sys\s*>>",
)
# A line that claims to come from above the conversation.
_FORGED: Final = (
    r"(?:^|\n)[ \t#*\[<(]{0,8}(?:system|developer|administrator|sistem|システム)"
    r"(?:\s+(?:note|override|notice|update))?[ \t\])>*]{0,4}:",
)
_INDONESIAN: Final = (
    r"\b(?:abaikan|lupakan|hiraukan|langgar|kesampingkan)\b(?:\s+\S{1,15}){0,4}?\s+"
    r"(?:instruksi|perintah|aturan|petunjuk|arahan|pesan|prompt|konteks)",
    r"\b(?:abaikan|lupakan)\s+(?:semua|segala|apa)\S{0,5}\s+(?:yang\s+)?(?:sebelumnya|di\s*atas)",
    r"\binstruksi\s+baru\s*(?::|-|adalah)|\bprompt\s+sistem\b|\bmode\s+(?:pengembang|developer)\b",
    r"\b(?:mulai\s+)?sekarang\s+(?:kamu|anda)\s+adalah\b|\b(?:kamu|anda)\s+sekarang\s+adalah\b",
    r"\bberpura-?pura(?:lah)?\s+(?:kamu|anda|menjadi)\b",
)
_GERMAN: Final = (
    r"\b(?:ignoriere?n?|missachten?|vergiss|vergessen|übergehen?|überschreiben?)\b"
    r"(?:\s+\S{1,15}){0,4}?\s+"
    r"(?:anweisung|instruktion|befehl|regel|vorgabe|vorschrift|nachricht|prompt|kontext)",
    r"\b(?:ignoriere?|vergiss)\s+alles\s+(?:bisherige|vorherige|davor|zuvor|oben|was)\b",
    r"\bneue\s+(?:anweisung|instruktion|regel)(?:en|n)?\s*(?::|-)|\bsystem-?prompt\b",
    r"\bdu\s+bist\s+(?:jetzt|nun|ab\s+sofort)\b|\bab\s+(?:jetzt|sofort)\s+bist\s+du\b"
    r"|\bvon\s+(?:jetzt|nun)\s+an\s+bist\s+du\b",
    r"\bentwickler-?modus\b|\btu\s+so,?\s+als\s+(?:ob|wärst)\b",
)
_JAPANESE: Final = (
    r"(?:指示|命令|指令|ルール|プロンプト|制約|設定|文脈|会話)[^\n。]{0,12}(?:無視|忘れ|破棄|取り消)",
    r"(?:以前|これまで|今まで|上記|前)の[^\n。]{0,15}(?:無視|忘れ)",
    r"新しい(?:指示|命令|ルール)\s*(?::|は)|システムプロンプト|開発者モード|脱獄",
    r"(?:あなた|君|お前)は(?:今|これ|いま)から|これから(?:あなた|君)は",
)
# What programs put in front of a conversation: who the model is, what time it is, what to load.
_BOOT: Final = (
    r"\byou\s+are\s+(?:an?|the)\s+(?:\S{1,20}\s+){0,5}?"
    r"(?:assistant|ai|chatbot|language\s+model|bot|agent|copilot)\b",
    r"\bas\s+an\s+(?:ai|artificial|assistant)\b|\byour\s+(?:task|job|role|goal)\s+is\s+to\b",
    r"(?:^|\n)[ \t#*\[-]*+(?:(?:the\s+)?current\s+(?:date|time|datetime|user)|today's\s+date"
    r"|session\s+(?:started|id|start)|new\s+session|knowledge\s+cutoff|system\s+(?:info|time)"
    r"|working\s+directory|environment|available\s+tools|timestamp)\b[^\n]{0,60}?(?::|\bis\b|\bat\b)",
    r"(?:^|\n)[ \t]*+\[?[ \t]*+(?:a\s+)?(?:new\s+)?session\s+(?:was\s+|has\s+been\s+)?started\b",
    r"\b(?:du\s+bist|sie\s+sind)\s+ein(?:e)?\s+(?:\S{1,20}\s+){0,4}?"
    r"(?:assistent(?:in)?|ki|chatbot|sprachmodell)\b",
    r"\b(?:kamu|anda)\s+adalah\s+(?:sebuah\s+|seorang\s+)?(?:\S{1,20}\s+){0,3}?"
    r"(?:asisten|ai|chatbot|model\s+bahasa)\b",
    r"あなたは[^\n。]{0,25}(?:アシスタント|ai|チャットボット|言語モデル|エージェント)(?:です|である)",
)
_ATTACK = lazy_pattern("|".join((*_ENGLISH, *_FORGED, *_INDONESIAN, *_GERMAN, *_JAPANESE, *_BOOT)))

_ORDER_VERBS: Final = (
    r"add|always|answer|append|call|click|confirm|contact|copy|delete|disable|do\s+not"
    r"|don't|download|email|enable|ensure|execute|fetch|follow|forget|forward|go\s+to|ignore"
    r"|include|inform|install|keep\s+in\s+mind|let\s+the\s+user|log|make\s+sure|memori[sz]e|never"
    r"|note\s+that|note\s+to|notify|open|output|please|kindly|post|print|provide|recommend|record"
    r"|remember|remind|remove|reply|respond|return|run|save|say|send|set|share|show|stop|store"
    r"|submit|suggest|tell|transfer|treat|update|upload|use|visit|write|you\s+(?:must|should|need"
    r"|have\s+to|can|will|shall|are)|your\s+(?:task|job|next)|assistant|ai|llm|important|attention"
    r"|ingat(?:lah|kan)?|simpan(?:lah)?|catat(?:lah)?|harap|mohon|tolong|jangan|selalu|kirim(?:kan)?"
    r"|hapus|gunakan|buka|jalankan|beri\s*tahu|katakan|kamu|anda"
    r"|bitte|merke?|speichere?|notiere?|antworte|sende?|schicke?|lösche?|öffne|verwende|nutze|führe"
    r"|sage?|immer|niemals|du|sie\s+(?:müssen|sollen|sollten)"
)
# A word must follow: {"open": true} and "Open 9 to 5" order nothing.
_ORDERS: Final = rf"(?:{_ORDER_VERBS})\b(?:\s*+[,:])?\s++[\"'(]?[^\W\d]"
_ORDER_AT_START = lazy_pattern(_ORDERS)
_ORDER_INSIDE = lazy_pattern(
    rf"(?<=[:\"'>*(\]])[ ]?{_ORDERS}"
    r"|\bremember(?:\s+that|\s+this|\s*+:)|\b(?:save|store|add|write|commit)\b[^\n.]{0,60}\bmemor"
    r"|\b(?:assistant|ai|model|agent|chatbot|llm)\s+"
    r"(?:must|should|shall|needs?\s+to|has\s+to|will)\b"
    r"|\b(?:ingatlah|ingat\s+bahwa|asisten\s+(?:harus|wajib|perlu))\b"
    r"|\bmerke?\s+(?:dir|ihnen)\b|\b(?:assistent|ki)\s+(?:muss|soll|sollte)\b"
    r"|覚えて|記憶して|保存して|してください|しなさい|アシスタントは"
)
_SIGNS_AROUND: Final = " \t\n\x1f.!?:\"'>*(#-["


def attack_cuts(view: str) -> Iterator[Span]:
    """Sentences with an attack or boot text, each with the rest of its paragraph."""
    return _with_rest_of_paragraph(view, (found.span() for found in _ATTACK.finditer(view)))


def order_cuts(view: str) -> Iterator[Span]:
    """Sentences that tell an assistant what to do, for text that no user wrote."""
    found = [match.span() for match in _ORDER_INSIDE.finditer(view)]
    for start, end in Sentences(view).spans():
        first = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        if match := _ORDER_AT_START.match(view, first):
            found.append(match.span())
    return _with_rest_of_paragraph(view, found)


def has_attack(view: str) -> bool:
    """Whether a plain view holds an attack or boot text."""
    return _ATTACK.search(view) is not None


def _with_rest_of_paragraph(view: str, found: Iterable[Span]) -> Iterator[Span]:
    sentences = Sentences(view)
    paragraphs = Paragraphs(view)
    for start, end in found:
        # Past the sign or line break of the sentence before, which a pattern may begin with.
        place = end - len(view[start:end].lstrip(_SIGNS_AROUND))
        first, last = sentences.around(place, end)
        yield first, max(last, paragraphs.end_after(end))
