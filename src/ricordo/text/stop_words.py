"""Words that say nothing about what a text is about, for the languages most asked for.

Short on purpose: a word that is left in costs a little speed, a word that is left out cannot be
found. "May" and "no" stay searchable for that reason. A language without a list drops nothing.
"""

from typing import Final

_ENGLISH = """
a about after all also am an and any are arent as at be because been before being both but by can
cant could couldnt did didnt do does doesnt doing dont during each e.g few for from further had
hadnt has hasnt have havent having he her here hers herself him himself his how i i.e if in into is
isnt it its itself just me more most mustnt my myself nor not of on once only or other ought our
ours ourselves out over own same shall shant she should shouldnt so some such than that the their
theirs them themselves then there these they this those through to too under until up us very was
wasnt we were werent what when where which while who whom whose why will with wont would wouldnt
you your yours yourself yourselves
"""

_INDONESIAN = """
ada adalah agar akan aku anda antara apa apakah atas atau bagaimana bagi bahwa banyak beberapa
begitu belum bila bisa bukan dalam dan dapat dari dengan di dia dimana hal hanya harus ia ini itu
jadi jika juga kah kalau kami kamu kapan karena ke kepada ketika kita lagi lain lalu lebih maka
masih mana mengapa mereka nya oleh pada para pernah saat saja sambil sampai sangat saya seorang
sebagai sebuah secara sedang sehingga sejak seluruh semua seperti serta siapa suatu sudah supaya
tapi telah tentang terhadap tetapi tersebut untuk yaitu yakni yang
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch
auf aus bei bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der
des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
einen einer eines er es etwas euch euer eure für gegen hab habe haben hat hatte hatten hier hin
hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes
jene kann kein keine keinem keinen keiner können könnte man mein meine meinem meinen meiner mich
mir mit muss musste nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit
selbst sich sie sind so solche soll sollte sondern sonst über um und uns unser unsere unter vom von
vor wann war waren warum was weil welche welcher welches wem wen wenn wer werde werden wie wieder
will wir wird wo wollte würde würden zu zum zur zwar zwischen
"""

_SPANISH = """
a al algo algunas algunos ante antes aquel aquella aquello aquí así aun aunque cada como cómo con
contra cual cuál cuando cuándo de del desde donde dónde dos durante e el él ella ellas ellos en
entre era eran eres es esa esas ese eso esos esta está están estar estas este esto estos estoy fue
fueron ha había habían han hasta hay he la las le les lo los más me mi mí mis mucho muchos muy nada
ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque qué que
quién quien se sea ser si sí sin sobre son soy su sus también tan tanto te tengo tiene tienen todo
todos tu tú tus un una uno unos vosotros y ya yo
"""

_FRENCH = """
à ai as au aucun aussi autre aux avait avec avez avoir avons c ça car ce cela ces cet cette ceux
chez ci comme comment d dans de des donc dont du elle elles en entre es est et étaient était être
eu eux fait il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre
nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se
sera ses si sont sous sur suis t ta te tes toi ton tous tout toute toutes très tu un une vers vos
votre vous y
"""

_ITALIAN = """
a ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciò coi col come con contro
cosa così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dove due
e è ed era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia
mie miei mio molto ne negli nei nel nell nella nelle nello noi non nostra nostro o ogni per perché
perciò più poi quale quali quando quanto quella quelle quelli quello questa queste questi questo se
sei senza si sia siamo solo sono sta stata stato su sua sue sugli sui sul sull sulla sulle suo suoi
tra tu tua tue tuo tuoi tutti tutto un una uno v vi voi
"""

_DUTCH = """
aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een
en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jullie
kan kon kunnen maar me meer men met mij mijn moet na naar niet nog nu of om omdat onder ons ook op
over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we
welke wel werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
"""

_PORTUGUESE = """
a à ao aos aquela aquele aquilo as às até com como cada da das de dela dele deles depois do dos e é
ela elas ele eles em entre era eram essa esse esta está estão estas este eu foi foram há isso isto
já lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num
numa o os ou onde para pela pelas pelo pelos por porque quais qual quando que quê quem são se sem
ser será seu seus sim só sobre sua suas também te tem têm ter teu tinha tu tua tudo um uma umas uns
você vocês
"""

_WORDS: Final = {
    "english": _ENGLISH,
    "porter": _ENGLISH,
    "indonesian": _INDONESIAN,
    "german": _GERMAN,
    "spanish": _SPANISH,
    "french": _FRENCH,
    "italian": _ITALIAN,
    "dutch": _DUTCH,
    "dutch_porter": _DUTCH,
    "portuguese": _PORTUGUESE,
}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language as usually written; contractions stand without apostrophe."""
    return frozenset(_WORDS.get(language, "").split())
