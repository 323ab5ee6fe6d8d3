"""Tasks whose text is material: translate this, write a story, play a role."""

import re
from typing import Final

_GIVEN_TEXT = re.compile(
    r"\b(?:translat\w{1,6}|proof-?read\w{0,3}|rewrit\w{1,4}|re-?writ\w{1,4}|rephrase\w{0,2}|"
    r"paraphras\w{1,4}|reword\w{0,3}|transcrib\w{1,4}|summari[sz]\w{1,4}|shorten|edit this|"
    r"polish (?:this|my|the|it)|(?:correct|fix|check|review|improve|is) (?:this|that|the|my|these|"
    r"following) ?(?:\w{1,20} ){0,2}(?:grammar|english|spelling|sentences?|text|paragraph|essay|"
    r"letter|e-?mail|bio|cv|resume|writing|indonesian|message|speech|translation|correct|right)|"
    r"(?:make|does) (?:this|it) sound|how (?:do|would|can) (?:you|i|we) say|"
    r"what does .{0,80}\bmean|sentiment (?:of|analysis)|classify|label (?:this|these|the)|"
    r"parse (?:this|these|the)|test (?:sentences?|cases?|data|inputs?)|"
    r"(?:sample|example|dummy) (?:sentences?|text|data|inputs?)|lyrics?|terjemah\w{0,5}|artikan|"
    r"parafrase|ringkas(?:kan)?|rangkum(?:kan)?|(?:perbaiki|koreksi|periksa|cek|perbaikin|"
    r"benerin) (?:\w{1,20} ){0,2}(?:kalimat|tulisan|teks|tata bahasa|grammar|paragraf|surat|esai)|"
    r"tulis ulang|kalimat (?:berikut|ini|contoh)|contoh kalimat|lirik|"
    r"(?:is|could|whether|if) (?:this|that|it)(?: (?:text|message|e-?mail|sms|call|offer|"
    r"letter))? (?:is |be )?(?:an? )?(?:scam|spam|phishing|legit|fake|genuine|hoax|fraud)|"
    r"(?:got|received|found) this (?:\w{1,20} )?(?:text|message|e-?mail|sms|letter|comment|review|"
    r"post)|(?:(?:sms|pesan|chat|email|wa|surat|telepon) )?(?:ini|itu|"
    r"berikut) (?:\w{1,12} )?(?:penipuan|penipu|hoax|hoaks|spam|scam|phishing)|"
    r"ini (?:asli|resmi|beneran) (?:ga|gak|nggak|bukan|tidak|kan|atau)|"
    r"(?:dapat|dapet|terima|nerima) (?:sms|pesan|chat|email|wa|surat) (?:ini|begini|gini|"
    r"kayak gini))\b",
    re.IGNORECASE,
)
_MADE_TEXT = re.compile(
    r"\b(?:(?:write|make|draft|compose|create|generate|make up|continue|finish|complete|"
    r"help me (?:write|draft)) (?:\w{1,20} ){0,5}(?:story|poem|novel|song|script|dialogue|dialog|"
    r"e-?mail|mail|letter|essay|speech|post|tweet|bio|biography|message|caption|monologue|scene|"
    r"chapter|diary|review|cover letter|introduction|statement|paragraph|haiku|rap|toast|text|"
    r"profile|ad|advert|article|fanfic|plot|joke|sentences?)|"
    r"(?:tulis|buat|bikin|buatin|tuliskan|buatkan|bikinin|lanjutkan|"
    r"karang) (?:\w{1,20} ){0,5}(?:cerita|puisi|novel|lagu|naskah|dialog|e-?mail|surat|esai|"
    r"pidato|caption|cerpen|pantun|pesan|paragraf|artikel|biodata|status|teks|dongeng|drama|"
    r"skenario|kalimat))\b",
    re.IGNORECASE,
)
_PLAYED_ROLE = re.compile(
    r"\b(?:role-?\s?play\w{0,4}|pretend\w{0,3}|act (?:as|like)|act out|imagine|let'?s play|"
    r"play (?:the|a) (?:role|game|part|character)|you(?: are|'re|’re) (?:now )?(?:a|an|the|my) |"
    r"once upon a time|in (?:this|the|my) (?:story|novel|game|role|scenario|scene|dream)|"
    r"(?:my|the|main) characters?\b|dungeon|for fun,? let|from the (?:perspective|point of view)|"
    r"in (?:the )?first person|berpura-?pura|pura-?pura|bermain peran|main peran|"
    r"anggap(?:lah)? (?:saja |aja )?(?:saya|aku|kamu|gue)|bayangkan|bayangin|seolah-?olah|"
    r"kamu (?:adalah|jadi|berperan)|jadilah|berperan(?:lah)?|pada suatu hari|alkisah|"
    r"dalam (?:cerita|novel|mimpi|game))\b",
    re.IGNORECASE,
)
# A role play goes on in the following turns; "act as a translator" is just a way to ask.
_SCENE = re.compile(
    r"\b(?:role-?\s?play\w{0,4}|let['’]?s (?:play|pretend|act)|"
    r"pretend (?:that |to be |(?:you|i|we)\b)|(?:you(?: are|['’]re)|u r|"
    r"you (?:play|be)) (?:now )?(?:an?|the|my) [^.!?\n]{2,60}?\b(?:and|,|"
    r"while)\W+(?:and )?i(?: am|['’]m|['’]ll be| play) |"
    r"i(?: am|['’]m|['’]ll be| play) [^.!?\n]{2,60}?\b(?:and|,|while)\W+(?:and )?you(?: are|"
    r"['’]re|['’]ll be| play) (?:an?|the|my) |(?:text )?adventure game|dungeon master|"
    r"(?:ber)?main peran|berpura-?pura|pura-?pura(?:nya)?|ceritanya (?:aku|gue|saya) jadi|"
    r"(?:aku|gue|saya) jadi [^.!?\n]{2,40}?[, ]+(?:kamu|lo|lu) (?:jadi|yang jadi))\b|"
    r"\bkamu (?:jadi|adalah) [^.!?\n]{2,40}?[, ]+(?:aku|gue|saya) (?:jadi|adalah)\b",
    re.IGNORECASE,
)
_SCENE_OVER = re.compile(
    r"\b(?:end (?:of )?(?:the )?(?:scene|role-?\s?play|game)|"
    r"(?:stop|quit|enough) (?:the )?(?:role-?\s?play\w*|pretending|playing|game)|out of character|"
    r"ooc|(?:for|in) real(?: life)?(?: now)?|back to (?:reality|normal)|seriously now|game over|"
    r"(?:selesai|udahan|stop|berhenti) (?:main|peran|pura-?pura)\w*|di dunia nyata|serius nih)\b",
    re.IGNORECASE,
)
_INJECTION = re.compile(
    r"\b(?:(?:ignore|disregard|forget|override|bypass) (?:\w{1,20} ){0,4}(?:instructions?|"
    r"prompts?|rules|guidelines|directives)|system prompt|developer mode|jailbreak|"
    r"you are (?:now )?(?:dan|unrestricted|root|admin)|new instructions?:|"
    r"(?:abaikan|lupakan|hiraukan) (?:\w{1,20} ){0,4}(?:instruksi|perintah|aturan|prompt))|"
    r"<\|?\s{0,3}(?:system|im_start|assistant)|\[(?:system|inst)\]|"
    r"^[ \t]*(?:###? ?)?(?:system|assistant)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_TAKEN_BACK = re.compile(
    r"(?:\b(?:just kidding|jk|j/k|kidding|not really|only joking|i'?m joking|yeah right|"
    r"said no one|as if|sarcas\w{1,3}|(?:cuma |hanya )?bercanda|becanda|canda (?:doang|deh|ya))\b|"
    r"(?<!\S)/s\b|🙄|😏|🙃)",
    re.IGNORECASE,
)
_LOOKING_BACK = re.compile(
    r"\b(?:the above|above|that|it|previous|preceding|what i (?:wrote|said)|my (?:last )?(?:text|"
    r"sentence|paragraph|message|grammar|english|spelling|writing)|di ?atas|tadi|tersebut|itu)\b",
    re.IGNORECASE,
)
_END_OF_SENTENCE: Final = re.compile(r"[.!?\n]")
_REACH_CHARS: Final = 300
_SCENE_CHARS: Final = 4_000


def is_untrusted(text: str) -> bool:
    """Whether a passage tries to control the assistant, or takes back what it says."""
    return bool(_INJECTION.search(text) or _TAKEN_BACK.search(text))


def starts_role_play(text: str) -> bool:
    """Whether a role play starts that goes on in the following turns."""
    return bool(_SCENE.search(text[:_SCENE_CHARS]))


def ends_role_play(text: str) -> bool:
    return bool(_SCENE_OVER.search(text[:_SCENE_CHARS]))


def without_given_text(text: str) -> str:
    """The text with the material of a task blanked out, of the same length.

    Everything from the task on is material; the text before it stays, unless the task refers back
    to it ("translate the above") or is a role play.
    """
    if is_untrusted(text) or _PLAYED_ROLE.search(text):
        return _blank(text)
    starts = [
        found.start() for found in (_GIVEN_TEXT.search(text), _MADE_TEXT.search(text)) if found
    ]
    if not starts:
        return text
    start = _start_of_sentence(text, min(starts))
    task = text[start : start + _REACH_CHARS]
    end = _END_OF_SENTENCE.search(task, min(starts) - start)
    own_sentence = task[: end.start()] if end else task
    if ":" not in own_sentence and _LOOKING_BACK.search(own_sentence):
        return _blank(text)
    return text[:start] + _blank(text[start:])


def _start_of_sentence(text: str, place: int) -> int:
    low = max(0, place - _REACH_CHARS)
    before = [found.end() for found in _END_OF_SENTENCE.finditer(text, low, place)]
    return before[-1] if before else low


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
