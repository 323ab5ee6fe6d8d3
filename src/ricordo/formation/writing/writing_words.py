"""The words by which the writing rules recognise what they forbid. Small letters throughout.

Patterns are searched in a text in small letters whose quotations were taken out, unless a comment
says otherwise.
"""

import re
from typing import Final


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


LABEL: Final = re.compile(
    r"(?:memory|memories|fact|preference|note|insight|episode|event|summary|content|instruction"
    r"|reminder|ingatan|memori|fakta|catatan|preferensi|erinnerung|fakt|notiz|merke"
    r"|記憶|メモ|事実)\s*[:：]\s*",
    re.IGNORECASE,
)
BULLET: Final = re.compile(r"(?:[-*•‣▪+–—]|\(?[0-9]{1,2}[.)])\s+")

# By language: words that make a sentence the first or second person's.
PERSONS: Final = {
    "en": _words(
        "i i'm i've i'd i'll my me myself we we're we've our ours ourselves you you're you've your"
        " yours yourself us let's"
    ),
    "id": _words("saya aku gue gua kami kita kamu anda engkau kau lu elo kalian"),
    "de": _words(
        "ich mich mir mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren"
        " unserer du dich dir dein deine deinem deinen deiner euch euer eure"
    ),
}
# Of these, what means nothing else in the other languages: looked for where the language is unsure.
SURE_PERSONS: Final = _words(
    "i i'm i've i'd i'll my me myself we we're our you you're your yours saya aku gue kamu ich mich"
    " mein meine wir unser unsere dich dein deine"
)
JAPANESE_PERSONS: Final = re.compile(
    r"私(?![立服鉄物費有生的])|僕(?<!下僕)(?<!公僕)|俺|あなた|貴方"
)

# At the start of a content they point to something that is not there.
POINTERS: Final = {
    "en": _words(
        "he she it they this that these those his her hers its their theirs him them there here"
        " he's she's it's they're that's there's another"
    ),
    "id": _words("dia ia mereka beliau ini itu tersebut hal situ sana sini"),
    "de": _words("er sie es dies diese dieser dieses dort hier ihr ihre sein seine jener jene"),
}
# Sure in any language; "es", "er", "sie", "die", "hal", "sein" and the like are not.
SURE_POINTERS: Final = _words(
    "he she it they this that these those his their he's she's it's they're that's dia mereka"
    " beliau ini itu dies diese dieser dieses"
)
JAPANESE_POINTERS: Final = re.compile(
    r"(?:ユーザーは)?(?:彼女?[はがのも]|彼ら|それ|これ|あれ|そこ[にでは]|ここ[にでは]|あそこ)"
)
# "User lives there." says nothing; "User moved to Rome and works there." does.
POINTING_END: Final = re.compile(
    r"(?<=\s)(?:here|there|it|this|that|them|him|those|these|too|so|di sana|di sini|di situ|itu"
    r"|ini|dort"
    r"|hier|das|es|ihn)[.\s]*$"
)
POINTING_INSIDE: Final = re.compile(
    r"\b(?:this|that|the same|the other|the first|the second) ones?\b|\bthe (?:former|latter)\b"
    r"|\b(?:mentioned|stated|described) (?:above|below|earlier|before)\b|\b(?:as|see) above\b"
    r"|\byang (?:ini|itu|tadi)\b|\btersebut di atas\b|\boben genannt\w*|\b(?:obige|besagte)\w*"
    r"|上記の|前述の"
)
MAX_WORDS_WITH_POINTING_END: Final = 5

NOT_NEUTRAL: Final = re.compile(
    r"\b(?:wow|omg|lol|lmao|haha\w*|hehe\w*|yay|woohoo|wkwk\w*|anjir|mantap banget|krass|boah)\b"
    r"|笑笑|ｗｗ|わーい"
)
HYPE: Final = re.compile(  # in the text as given, before exclamation marks are taken away
    r"\b(?:amazing|awesome|incredible|fantastic|wonderful|unbelievable|epic|luar biasa|keren"
    r"|mantap|dahsyat|geil|krass|unglaublich|fantastisch|wahnsinn)[\s.]*[!！]|(?:すごい|最高|すばらしい)[!！]",
    re.IGNORECASE,
)

PLACEHOLDER: Final = re.compile(
    r"\[[^\]\n]{0,60}\]|\{[^}\n]{0,60}\}|\bx{3,}\b|\bn/a\b|\bunknown\b|\bunspecified\b|\btbd\b"
    r"|\bnot (?:specified|mentioned|provided|stated|known|available|given|disclosed)\b"
    r"|\bno (?:information|details?|data|relevant (?:facts|information|memories)|facts"
    r"|new (?:facts|information|memories))\b|\bnone\b[.\s]*$|\bnull\b|\bundefined\b|\blorem ipsum\b"
    r"|\.\.\.|…|___|\?\?|\btidak (?:diketahui|disebutkan|ada informasi)\b"
    r"|\bnicht (?:angegeben|bekannt|genannt)\b|\bunbekannt\b|\bkeine (?:angaben?|informationen)\b"
    r"|不明|未定義|情報なし|該当なし|○○|〇〇"
)

_USER = r"^(?:the )?user(?: \w+)? (?:has |have |is |was |just |also |again )*"
ABOUT_THE_CONVERSATION: Final = re.compile(
    rf"{_USER}(?:ask(?:s|ed|ing)? (?:about|whether|if|for|how|what|why|when|where|who|which|a "
    r"|several|some|the assistant|the ai|questions?)|want(?:s|ed)? to know|wonder(?:s|ed|ing)?"
    r"|inquir(?:es|ed|ing)|request(?:s|ed|ing)|greet(?:s|ed|ing)|thank(?:s|ed|ing)"
    r"|sa(?:id|ys|ying) (?:hi|hello|hey|thanks|thank|bye|goodbye|yes|no|ok|okay|good)\b"
    r"|test(?:s|ed|ing)?\b(?: (?:the|this|memory|whether|if|out)\b.*)?[.\s]*$"
    r"|chat(?:s|ted|ting) with|talk(?:s|ed|ing) (?:to|with) the (?:assistant|ai|bot)"
    r"|convers(?:es|ed|ing)|acknowledg|interact(?:s|ed|ing) with the|repl(?:ies|ied)\b"
    r"|respond(?:s|ed)\b|seek(?:s|ing)? (?:help|advice|information|clarification))"
    r"|\b(?:this|the|our|current) (?:conversation|chat|session|dialogue|exchange|transcript)\b"
    r"|^(?:pengguna|user) (?:sedang |telah |sudah )?(?:bertanya|menanyakan|menyapa|mengobrol"
    r"|menguji|mengucapkan (?:terima|salam)|berterima kasih"
    r"|meminta (?:bantuan|informasi|penjelasan))"
    r"|\b(?:percakapan|obrolan) ini\b"
    r"|^(?:der |die )?(?:be)?nutzer(?:in)? (?:hat )?(?:fragt|fragte|gefragt|grüßt|grüßte|begrüßt"
    r"|bedankt|bedankte|testet|bittet um (?:hilfe|auskunft|informationen))"
    r"|\bdieses? (?:gespräch|unterhaltung|chat)\w*"
    r"|^ユーザーは.{0,60}(?:質問し|尋ね|挨拶し|聞いてい|感謝し|お礼を|テストし|依頼し)|この(?:会話|チャット)"
)
ASSISTANT_FIRST: Final = re.compile(
    r"^(?:the |an? )?(?:ai |virtual )?(?:assistant|ai|chatbot|language model)\b|^(?:si )?asisten\b"
    r"|^(?:der |die )?(?:assistent(?:in)?|ki)\b|^(?:アシスタント|ai)[はが]"
)
ADDRESSES_THE_MODEL: Final = re.compile(
    r"^(?:ignore|disregard|forget|override|bypass|abaikan|lupakan|ignoriere?|missachte|vergiss)\b"
    r"|\b(?:always|must) (?:obey|comply)\b|\bno restrictions\b|無視して"
)
