"""The words by which a line is known that is about a text, and a voice that is not the user's.

All of it is for plain views: small letters, straight quotation marks, ``:`` and ``?`` for their
full-width forms. English and Indonesian are covered best; for German, Spanish, French, Portuguese,
Italian, Dutch, Japanese and Chinese there are the commonest words.
"""

from typing import Final

from ricordo.text.normalise import lazy_pattern

_TEXTS: Final = (
    r"\b(?:texts?|messages?|msgs?|e-?mails?|mails?|letters?|sms|dms?|posts?|tweets?|articles?|blog|"
    r"paragraphs?|essays?|drafts?|documents?|docs?|pdf|contracts?|clauses?|reviews?|comments?|"
    r"transcripts?|minutes|(?:meeting|call|lecture|class) notes|reports?|newsletters?|notices?|"
    r"announcements?|invoices?|offers?|listings?|job (?:ad|description)|cover letter|cv|resume|bio|"
    r"speech|poem|lyrics|quotes?|passages?|excerpts?|snippets?|logs?|chats?|tickets?|"
    r"complaints?|repl(?:y|ies)|responses?|voicemails?|captions?|scripts?|abstracts?|sentences?|"
    r"screenshots?|statements?|brief|flyer|leaflet|"
    r"teks|pesan|surel|surat|artikel|dokumen|kontrak|komentar|ulasan|kalimat|tulisan|paragraf|"
    r"wa|berita|pengumuman|"
    r"nachrichten?|brief|schreiben|texte?|mensajes?|correos?|cartas?|textos?|courriels?|lettres?|"
    r"mensage(?:m|ns)|messagg[io]|letter[ae]|testo|bericht(?:en)?|tekst(?:en)?)\b"
    r"|メール|メッセージ|手紙|文章|記事|本文|邮件|郵件|短信|消息|文章|来信|这封信"
)
# Not "this week", and not "this problem": only what can stand for a text.
_DEICTIC: Final = (
    r"\b(?:this|these)(?=\W*$|\s*[,;:.!?(]| (?:is|was|are|were|look|looks|looking|sound|sounds|"
    r"seem|seems|mean|"
    r"means|say|says|real|legit|true|safe|correct|right|accurate|an?|the|to|for|from|in|into|of|"
    r"one|"
    r"on|at|up|out|please|pls|bit|any|as|so|through|over|and|but|or|come|came|just|yesterday|today|"
    r"earlier|by|via|with|guy|person|stuff|points?|piece|page|bill|form|claims?|terms))"
    r"|\b(?:this|these|that|those) (?:[\w-]+ ){0,2}?" + _TEXTS.partition("|メール")[0] + r""
    r"|\b(?:the following|see below|(?:the )?\w+ below|below is|the above|quoted|attached|pasted)\b"
    r"|\bhere(?=\W*$)"
    r"|(?<!hari )(?<!minggu )(?<!bulan )(?<!tahun )(?<!saat )(?<!malam )(?<!pagi )(?<!kali )"
    r"(?<!siang )(?<!sore )(?<!selama )\bini\b|\b(?:berikut|begini|gini|kayak gini|di bawah)\b"
    r"|\bdas(?=\W*$| (?:echt|ein|eine|für|bitte|mir|mich|hat|kam|ist|heißt|bedeutet|nach|zusammen|"
    r"mal|so|hier|seriös|wahr|was)\b)|\b(?:dazu|folgendes?|folgenden?|unten)\b"
    r"|\bdiese[rsnm]?\b(?! (?:woche|jahr|monat|wochenende|abend|morgen|sommer|winter))"
    r"|\b(?:esto|eso|lo siguiente|abajo)\b|\best[ea]s?\b(?! (?:fin|semana|mes|año|noche|tarde|"
    r"mañana))"
    r"|\b(?:ça|ceci|cela|ci-dessous)\b|\bc'est\b|\bc(?:e|et|ette|es)\b(?! (?:week|soir|semaine|"
    r"mois|"
    r"matin|été|hiver|que|qui))|\b(?:isto|isso|abaixo|o seguinte)\b"
    r"|\bess[ea]s?\b(?! (?:fim|semana|mês|ano))|\bquest[oaei]\b(?! (?:fine|settimana|mese|anno|"
    r"sera))"
    r"|\b(?:dit|deze|hieronder|het volgende)\b(?! (?:week|weekend|maand|jaar|avond))"
    r"|これ|この(?!週|月|年|夏|冬|前|頃)|次の|以下|下記|こんな|こういう|这(?!周|个月|年|几天)|這|"
    r"下面|如下"
)
# Without anything before it, only a text can be meant; not where the user asks for themselves.
_UNEXPLAINED: Final = (
    r"\bthis (?!week|month|year|morning|afternoon|evening|summer|winter|spring|autumn|fall|time|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday)[\w-]+\W*$"
    r"|\b(?:he|him|his|she|her|they|them|their|the (?:sender|author|writer))\b|\b(?:it|in here)\W*$"
    r"|\b(?:dia|mereka|pengirim\w{0,3})\b|\b(?:er|ihm|der|ihnen)\b"
)
_FIRST_PERSON: Final = (
    r"\b(?:i|i'm|i've|i'd|i'll|im|me|my|mine|myself|we|us|our|saya|aku|gue|gw|kami|kita|ku|ich|"
    r"mir|mich|"
    r"mein\w{0,2}|wir|uns|yo|mi|mis|je|j'ai|moi|mon|ma|mes|nous|eu|meu|minha|io|mio|mia|ik|mij|"
    r"mijn)\b"
    r"|私|僕|俺|我"
)
_SCAM: Final = (
    r"\b(?:scam\w{0,4}|spam|phishing|smishing|legit|legitimate|fake|fraud\w{0,5}|hoax|genuine|"
    r"for real|sketchy|fishy|suspicious|trustworthy|red flags?|authentic|"
    r"penipuan|penipu|hoaks?|asli|resmi|beneran|betrug|abzocke|fälschung|seriös|estafa|timo|"
    r"arnaque|golpe|burla|fraude|truffa|oplichting|nep)\b|詐欺|怪しい|诈骗|詐騙|骗子|骗局|真的吗"
)
_POLITE: Final = (
    r"^(?:(?:hi|hey|hello|ok|okay|so|and|now|please|pls|plz|kindly|quick(?:ly)?|just|also|can you|"
    r"could you|would you|will you|can u|could u|help me(?: to)?|i need you to|i want you to|"
    r"i'd like you to|i need|need|give me|want|let's|you|me|an?|the|some|your|any|"
    r"tolong|mohon|bantu(?:in)?(?: saya| aku)?|bisa(?:kah)?|coba|minta|kamu)[,!]?\s+){0,6}"
)
# Said of nothing but texts.
_TEXT_TASK: Final = (
    r"(?:summari[sz]e|summari[sz]ing|summary|sum (?:this|it|that) up|sum up|tl;?dr|translat(?:e|"
    r"ing|"
    r"ion)|proof-?read(?:ing)?|rewrite|re-write|rephrase|reword|paraphrase|shorten|condense|polish|"
    r"transcribe|copy-?edit|gist|eli5|"
    r"terjemah\w{0,5}|artikan|parafrase(?:kan)?|ringkas(?:kan|in)?|rangkum(?:kan|in)?|tulis ulang|"
    r"intinya)\b"
)
# "A résumé" is English for a CV, and no request to sum something up.
_FOREIGN_TASK: Final = (
    r"\b(?!(?<=\ba )r[eé]sum[eé]\b)"
    r"(?:übersetz\w{0,4}|zusammenfass\w{0,4}|fass\w{0,2} [\w ]{0,30}zusammen|kürz\w{0,3}|"
    r"korrigier\w{0,3}|überarbeit\w{0,3}|tradu(?:ce|cir|cí|cen|zca|zir|za|z|is|ire|ci|rre|"
    r"isez)\w{0,4}|"
    r"resum(?:e|ir|a|en|í)\w{0,3}|corrig\w{1,4}|acort\w{1,4}|résum\w{1,4}|raccourci\w{0,3}|"
    r"reformul\w{1,4}|"
    r"riassum\w{1,4}|corregg\w{1,4}|abbrevi\w{1,4}|vertaal|vertalen|samenvat\w{0,4}|"
    r"herschrijf\w{0,3})\b"
    r"|翻訳|要約|添削|校正|訳し|短くし|返信|翻译|翻譯|总结|總結|润色|改写|概括|校对|回复"
)
_TASK: Final = (
    r"(?:check|fix|correct|review|rate|grade|critique|improve|edit|explain|interpret|decode|"
    r"decipher|"
    r"analy[sz]e|simplify|convert|format|clean up|tidy|extract|classify|read|have a look at|"
    r"look at|"
    r"look over|go (?:over|through)|take a look at|reply|respond|answer|react|comment|make|turn|"
    r"put|draft a (?:reply|response)|write (?:back|a reply|a response)|feedback|opinion|compare|"
    r"find|"
    r"list|tell me|what|how|"
    r"perbaiki|koreksi|periksa|cek|rapi(?:kan|in)|balas(?:kan|in)?|jawab|baca(?:kan|in)?|"
    r"jelas(?:kan|"
    r"in)|benerin|edit)\b"
)
_WRITING: Final = (
    r"\b(?:grammar|spelling|typos?|wording|punctuation|plain english|simple (?:words|terms)|"
    r"main points?|key (?:points?|takeaways?)|takeaways?|tata bahasa\w{0,3}|ejaan\w{0,3}|poin)\b"
)
_SENT: Final = (
    r"\b(?:wrote|writes|says|said|sent|sends|posted|texted|e-?mailed|messaged|forwarded|replied|"
    r"answered|asked|told|shared|tweeted|commented|reads|goes|got|received|came|arrived|saw|found|"
    r"stumbled|came across|pasted|copied|landed|popped up|(?:in|into|to) my (?:inbox|mailbox|dms|"
    r"feed|"
    r"messages)|"
    r"bilang|kata|katanya|kirim(?:kan|in)?|mengirim(?:kan)?|menulis|nulis|tulis|dapat|dapet|terima|"
    r"menerima|nerima|masuk|"
    r"bekommen|erhalten|geschickt|gesendet|schreibt|schrieb|geschrieben|kam|sagt|meint|"
    r"recib[íi]\w{0,2}|lleg[óo]|mand[óo]|envi[óo]|escribi[óo]|dice|escribe|"
    r"reçu|envoyé|écrit|dit|arrivée?|recebi|chegou|mandou|enviou|escreveu|diz|"
    r"ricevuto|arrivat[oa]|mandato|inviato|scritto|scrive|kreeg|ontving|stuurde|schreef|schrijft|"
    r"zegt)\b"
    r"|届いた|届きました|来ました|来た|送られ|送って|もらい|受け取|言って|書いて|收到|发来|發來|"
    r"发给|写道|写的|说的"
)
_SHOWN: Final = (
    r"^(?:(?:so|ok|hi|hey|well)[,\s]+)?(?:here(?:'s| is| are| comes)|this is|these are|that's|"
    r"below is|"
    r"ini(?:lah)?|berikut(?: ini)?(?: adalah)?)\b"
)
_FROM_ANOTHER: Final = r"\bwhat (?:he|she|they|the|my|our|your|some)\b"
_ASKS: Final = (
    r"^(?:(?:so|and|hey|hi|ok|but|wait|hmm|um|guys)[,\s]+)?(?:what|what's|how|is|does|do|are|was|"
    r"any|"
    r"anything|should|can|could|would|which|who|why|has|have|did|apa|apakah|gimana|bagaimana|"
    r"menurut)\b"
)
# Asked of one's own life as often as of a text.
_OF_LIFE: Final = (
    r"\b(?:help|normal|do about|deal with|good idea|make sense|because of|like this|"
    r"think about moving)"
    r"\b|^(?:can|could) (?:you|we|i) (?:do|talk)"
)
_LABELS: Final = (
    r"(?:tl;?dr|eli5|fyi|fwd?|fw|wdyt|thoughts|any thoughts|your thoughts|thoughts on (?:this|it|"
    r"that)|"
    r"opinions?|your (?:opinion|take)|what do you think|what(?:'s| is) your (?:take|opinion)|"
    r"feedback|"
    r"any feedback|comments|see below|look|look at this|check this(?: out)?|"
    r"read this|legit|scam|real|real or fake|true|summary|gist|key (?:points?|takeaways?)|"
    r"takeaways?|"
    r"main points?|meaning|translation|forwarded|as discussed|pasted|attached|reaction|reactions|"
    r"bagaimana menurut(?:mu| kamu| anda)|gimana menurut(?:mu| kamu)|menurut(?:mu| kamu)|"
    r"intinya(?: apa)?|"
    r"artinya(?: apa)?|maksudnya(?: apa)?|apa (?:arti|maksud)nya|pendapat(?:mu)?|"
    r"was meinst du(?: dazu)?|was denkst du|meinung|zusammenfassung|qué opinas|¿qué opinas|"
    r"qué te parece|"
    r"¿qué te parece|opiniones|resumen|tu en penses quoi|qu'en penses-tu|un avis|ton avis|résumé|"
    r"o que (?:você )?acha|opinião|resumo|che ne pensi|cosa ne pensi|riassunto|"
    r"wat vind je(?: hiervan)?|"
    r"wat denk je|mening|どう思う|どう思いますか|你怎么看|怎么看)"
)
_LABEL = lazy_pattern(
    rf"{_LABELS}(?:[,\s]+(?:please|pls|plz|thanks|thx|dong|ya|bitte|guys|on this|about this|"
    rf"of this|"
    r"here|for me))*[\s:?.!…]*"
)
_OWN_LEADS: Final = (
    r"^(?:please |pls )?(?:save|store|keep|note|memori[sz]e|write down|simpan|merk\w{0,2} dir) "
    r"(?:this|these|the following|down|ini|das|folgendes)\b|"
    r"\b(?:i|i'm|i've|i'd|i'll|im|me|myself|my|mine|our|we|us|context|background|updates?|"
    r"situation|"
    r"questions?|things?|facts?|details?|infos?|intro|introduction|remember|notes?|reminders?|"
    r"list|todo|to-do|plans?|goals?|preferences|ps|p\.s|btw|also|heads[- ]up|story short|problem|"
    r"issue|"
    r"saya|aku|gue|gw|diriku|tentang|ingat|catat|konteks|latar belakang|rencana|pertanyaan|soal|"
    r"über mich|zu mir|von mir|merk\w{0,2}|hintergrund|kontext|sobre m[íi]m?|recuerda|contexto|"
    r"(?:à propos de|sur) moi|retiens|souviens|contexte|lembr\w{1,4}|su di me|ricorda|contesto|"
    r"over mij|onthoud)\b|自己紹介|私について|覚え|关于我|自我介绍|记住"
)
# A line that states something of the user leads to nothing.
_STATEMENTS: Final = (
    r"^(?:(?:so|and|but|well|hi|hey|ok|okay|also|oh|yes|no|btw|anyway)[,\s]+){0,2}(?:i|i'm|i've|"
    r"i'd|"
    r"i'll|im|my|we|we're|we've|our|name|city|job|saya|aku|gue|gw|nama|kami|kita|ich|wir|mein|"
    r"meine|"
    r"yo|soy|tengo|je|j'ai|nous|eu|sou|tenho|io|sono|ho|ik|wij)\b|^(?:私|僕|俺|我)|"
    r"\bremember\b|\bingat\b|\bfrom now on\b|\bmulai sekarang\b|\balways\b|\bnever\b"
)
_GREETINGS: Final = (
    r"(?:(?:hi|hey|hello|hiya|yo|good (?:morning|afternoon|evening)|morning|ok|okay|ok so|so|"
    r"thanks|"
    r"thank you|great|cool|nice|perfect|sure|yes|no|yep|well|alright|what's up|"
    r"(?:how are you(?: doing| today)?|how's it going|apa kabar|wie geht(?:'s| es dir))\??|"
    r"halo|hai|selamat (?:pagi|"
    r"siang|sore|malam)|pagi|makasih|terima kasih|oke|hallo|guten (?:morgen|tag|abend)|moin|hola|"
    r"buenos días|buenas|bonjour|salut|olá|oi|bom dia|ciao|buongiorno|hoi|goedemorgen|there|again|"
    r"everyone|all|claude|chatgpt|assistant)[\s,!.]*){1,4}|こんにちは|おはよう(?:ございます)?|你好"
)
_THANKS: Final = (
    r"(?:(?:thanks|thank you|thx|ty|cheers|many thanks|please|a lot|so much|in advance|makasih|"
    r"terima kasih|danke|vielen dank|gracias|merci|obrigad[oa]|grazie|bedankt|ありがとう|"
    r"谢谢)[\s,!.]*){1,4}"
)
_FORMAL: Final = (
    r"^[ \t]*+(?:dear\b|to whom it may concern|yth\b|kepada yth|dengan hormat|bapak/ibu|"
    r"sehr geehrte|"
    r"estimad[oa]s?\b|cher(?:s)? (?:client|monsieur|madame)|chère (?:cliente|madame)|"
    r"madame, monsieur|"
    r"prezad[oa]s?\b|gentile (?:cliente|signor)|spett|geachte\b|beste klant|拝啓|尊敬的|"
    r"亲爱的(?:客户|用户))"
    r"|^[^\n]{1,20}様[ \t]*+$"
)
_SALUTATIONS: Final = (
    r"[ \t]*+(?:hi|hello|hey|halo|hai|liebe[rs]?|hallo|hola|querid[oa]|bonjour|cher|chère|salut|"
    r"olá|"
    r"car[oa]|ciao|beste|hoi|good (?:morning|afternoon|evening))(?: [\w.'-]{1,30}){1,3},[ \t]*+"
)
_CLOSINGS: Final = (
    r"[ \t]*+(?:(?:(?:best|kind|warm|warmest|with best|with kind|many)? ?(?:regards|wishes)|best|"
    r"sincerely|yours|cheers|yours (?:sincerely|faithfully|truly)|sincerely yours|respectfully|"
    r"salam(?: hormat)?|hormat (?:saya|kami)|terima kasih|love|xoxo|"
    r"mit freundlichen grüßen|(?:viele|liebe|beste|herzliche) grüße|mfg|saludos(?: cordiales)?|"
    r"atentamente|un saludo|cordialement|bien à vous|bien cordialement|atenciosamente|abraços?|"
    r"cordiali saluti|distinti saluti|met vriendelijke groet(?:en)?|groetjes|敬具|此致|敬上),?|"
    r"sent from my\b[^\n]*|--)[ \t]*+"
)
_ADDRESSED_NOUNS: Final = (
    r"(?:account|parcel|package|order|card|payment|subscription|delivery|shipment|password|bank|"
    r"mailbox|membership|invoice|application|refund|booking|reservation|policy number|contract|"
    r"bill|"
    r"tax return|device|identity|wallet|winnings|prize)"
)
ADDRESSED: Final = lazy_pattern(
    rf"\b(?<!i )(?<!about )(?:your|ur) (?:\w+ ){{0,2}}?{_ADDRESSED_NOUNS}\b(?! (?:model|window))"
    r"|\bdear (?:customer|client|user|member|sir|madam|valued|tenant|friend)\b"
    r"|\b(?:click|tap) (?:here|below|the link|on the link|this link)\b"
    r"|\b(?:verify|confirm|update) your (?:identity|details|information|data)\b"
    r"|\b(?:rekening|akun|paket|pesanan|kartu|pembayaran|tagihan) anda\b|\bnasabah (?:yth|"
    r"terhormat)\b"
    r"|\bihre? (?:konto|paket|bestellung|karte|zahlung|sendung|rechnung)\b"
    r"|\bsu (?:cuenta|paquete|pedido|tarjeta|pago)\b|\bvotre (?:compte|colis|commande|carte|"
    r"paiement)\b"
    r"|\bsua (?:conta|encomenda|compra)\b|\bseu (?:pedido|cartão|pagamento|pacote)\b"
    r"|\b(?:il suo|la sua) (?:conto|pacco|ordine|carta)\b|\buw (?:rekening|pakket|bestelling|"
    r"account)\b"
    r"|お客様|您的(?:账户|帐户|包裹|订单|银行卡)"
)

_FEWEST_STATED_WORDS: Final = 4
_SINGULAR = lazy_pattern(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|saya|aku|gue|ich|mich|mir|mein\w{0,2}|yo|mi|mis|me|je|j'|mon|ma|"
    r"mes|eu|meu|minha|io|mio|mia|ik|mij|mijn)\b"
)
# Somebody speaks for several people to the reader, as no user does to an assistant.
_PLURAL_TO_READER = lazy_pattern(
    r"\b(?:we|we're|we've|we'll|our|us)\b[^\n?]{0,200}\b(?:you|your|yours)\b"
    r"|\b(?:you|your|yours)\b[^\n?]{0,200}\b(?:we|we're|we've|we'll|our|us)\b"
    r"|\b(?:thanks|thank you) for your (?:\w+ ){0,2}?(?:patience|interest|understanding|business|"
    r"order|purchase|payment|loyalty|cooperation|attention|feedback|support|trust|message|inquiry)\b"
    r"|\b(?:wir|unser\w{0,2}|uns)\b[^\n?]{0,200}\b(?:sie|ihnen|ihr\w{0,2})\b"
    r"|\bkami\b[^\n?]{0,200}\b(?:anda|kamu|bapak|ibu)\b"
    r"|\b(?:hemos|queremos|nuestr[oa]s?|nos)\b[^\n?]{0,200}\b(?:le|les|usted(?:es)?|su|sus|te|tu)\b"
    r"|\b(?:nous|notre|nos)\b[^\n?]{0,200}\b(?:vous|votre|vos)\b"
    r"|\b(?:nós|nosso|nossa|temos|queremos)\b[^\n?]{0,200}\b(?:você|vocês|sua|seu|lhe)\b"
    r"|\b(?:abbiamo|nostr[oa]|vogliamo|siamo)\b[^\n?]{0,200}\b(?:lei|le|vi|suo|sua|vostr[oa])\b"
    r"|\b(?:wij|we|ons|onze)\b[^\n?]{0,200}\b(?:u|uw)\b"
)

_TEXT_NOUN = lazy_pattern(_TEXTS)
_POINTS = lazy_pattern(_DEICTIC)
_SUSPECTS = lazy_pattern(_SCAM)
_GIVES_TASK = lazy_pattern(rf"{_POLITE}{_TEXT_TASK}")
_FOREIGN = lazy_pattern(_FOREIGN_TASK)
_ON_TEXT = lazy_pattern(rf"{_POLITE}{_TASK}")
_ABOUT_WRITING = lazy_pattern(_WRITING)
_SAYING = lazy_pattern(_SENT)
_SHOWS = lazy_pattern(_SHOWN)
_ANOTHER = lazy_pattern(_FROM_ANOTHER)
_QUESTION = lazy_pattern(_ASKS)
_LIFE = lazy_pattern(_OF_LIFE)
_OWN = lazy_pattern(_OWN_LEADS)
_STATES = lazy_pattern(_STATEMENTS)
_GREETING = lazy_pattern(_GREETINGS)
_THANK = lazy_pattern(_THANKS)
_FORMAL_SALUTATION = lazy_pattern(_FORMAL)
_SALUTATION = lazy_pattern(_SALUTATIONS)
_CLOSING = lazy_pattern(_CLOSINGS)
_SELF = lazy_pattern(_FIRST_PERSON)
_UNNAMED = lazy_pattern(_UNEXPLAINED)
_ABOUT_USER = lazy_pattern(
    r"\b(?:about me|about myself|tentang (?:saya|aku|gue|diri\w{0,5})|remember|ingat|catat)\b"
)


def speaks_of_user(said: str) -> bool:
    """Whether the user is in it."""
    return _SELF.search(said) is not None


def speaks_to_reader(said: str) -> bool:
    """Whether a sentence speaks for several people to who reads it: another's voice."""
    if said.endswith("?") or _SINGULAR.search(said) or _GIVES_TASK.match(said):
        return False
    return _PLURAL_TO_READER.search(said) is not None


def tells_of_others(said: str) -> bool:
    """Whether a sentence states something in which the user does not come up."""
    if said.endswith(("?", ":")) or len(said.split()) < _FEWEST_STATED_WORDS:
        return False
    if _SELF.search(said) or _STATES.search(said) or _GIVES_TASK.match(said):
        return False
    return not (_ON_TEXT.match(said) or _GREETING.match(said) or _THANK.match(said))


def is_label(said: str) -> bool:
    """Whether a line is nothing but a short word for "say something about this"."""
    return _LABEL.fullmatch(said) is not None


def is_about_text(said: str) -> bool:
    """Whether a sentence asks something of a text, or about one."""
    if _ABOUT_USER.search(said):
        return False
    if _GIVES_TASK.match(said) or (_FOREIGN.search(said) and not _STATES.match(said)):
        return True
    points = _POINTS.search(said) is not None
    if _ON_TEXT.match(said) and (points or _ABOUT_WRITING.search(said)) and not _LIFE.search(said):
        return True
    if not (said.endswith("?") or _QUESTION.match(said)):
        return False
    return bool(
        (points and not _LIFE.search(said))
        or _SUSPECTS.search(said)
        or (_ABOUT_WRITING.search(said) and not _STATES.match(said))
    )


def asks_of_somebody(said: str) -> bool:
    """Whether a question is about a person or thing that nobody has named, and not about the "
    "user."""
    last = said.rpartition(", ")[2]
    if _ON_TEXT.match(last) and _UNNAMED.search(last) and not _SELF.search(last):
        return True
    asks = said.endswith("?") or _QUESTION.match(said)
    return bool(
        asks and _UNNAMED.search(said) and not _SELF.search(said) and not _LIFE.search(said)
    )


def announces(said: str, *, is_stopped: bool = False) -> bool:
    """Whether a line says that a text follows; one that ends in a full stop must point at it."""
    if _ABOUT_USER.search(said):
        return False
    noun = _TEXT_NOUN.search(said) is not None
    if _SHOWS.match(said) and (noun or _ANOTHER.search(said)):
        return True
    sent = _SAYING.search(said) is not None
    points = _POINTS.search(said) is not None
    if points and (sent or noun):
        return True
    if said.endswith(":"):
        return sent or points or noun
    return sent and not is_stopped and (noun or _saying_ends(said))


def _saying_ends(said: str) -> bool:
    """Whether the line ends with the word for saying: "the letter says"."""
    return any(len(said) - found.end() <= 3 for found in _SAYING.finditer(said))


def is_own_lead(said: str) -> bool:
    """Whether a line leads to what the user says themselves: "A bit about me:"."""
    return said.endswith(":") and _OWN.search(said) is not None


def is_statement(said: str) -> bool:
    """Whether a line states something of the user, or asks the assistant for something lasting."""
    return _STATES.search(said) is not None


def is_greeting(said: str) -> bool:
    """Whether it is a greeting and nothing else."""
    return _GREETING.fullmatch(said) is not None


def is_thanks(said: str) -> bool:
    """Whether it is thanks and nothing else."""
    return _THANK.fullmatch(said) is not None


def is_formal_salutation(line: str) -> bool:
    """A salutation that nobody uses for an assistant."""
    return _FORMAL_SALUTATION.match(line) is not None


def is_salutation(line: str) -> bool:
    """A salutation that may also be meant for an assistant."""
    return _SALUTATION.fullmatch(line) is not None


def is_closing(line: str) -> bool:
    """What stands above a signature, or the mark of one."""
    return _CLOSING.fullmatch(line) is not None
