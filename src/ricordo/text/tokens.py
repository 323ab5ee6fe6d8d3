"""Estimates the tokens of a text without a tokenizer, and cuts texts to a token budget."""

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from ricordo.text.folding import is_dense

# Derived from the vocabularies of fourteen tokenizers; see
# docs/decisions/0025-tokens-are-estimated-upwards.md.

UNITS: Final = 9
"""Units of letter prices per token."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"

# The price of a letter after another, in units: one line per preceding letter, in alphabetical
# order. Frequent pairs share a token. The prices come from a linear program: natural words of 27
# languages are as cheap as possible, while nearly each of them and many random words cost at least
# as much as with the most expensive tokenizer.
_AFTER: Final = """
77769868486261979143579856
27990979199398299279299939
29891990491589199482499957
29991999299999399379589849
39857879699472998136899879
39981389299899399397499379
49993985499599399279599939
19990899199999199599599948
69574868887680488744889898
39992999575999399989599999
39991988397999399967499989
39931989198599499945768919
14980979199657439639599549
59613808598997799922789939
98979769687550679057276988
29990977298298269073499679
89999999999799996999399999
39871989298897799847889949
59692993396998459960699969
39991990198879299395589948
69656959685252989245999667
39970999299999299769899939
27992997199898489779897849
89988899699899899999899579
49995999999999699769999999
49992999399999899999799936
"""

# A first letter costs a whole token. These are often a token apart from the space before them.
_DEAR_FIRST: Final = {
    "e": 10,
    "l": 10,
    "n": 10,
    "o": 10,
    "r": 10,
    "s": 10,
    "t": 10,
    "u": 10,
    "y": 10,
    "z": 10,
}

# Words that are one token in every tokenizer, after a space and without.
_WHOLE_IN_EITHER_CASE: Final = """
about abs abstract acc access account act action active activity ad add address admin after agent
air all allow alpha alt am an and any app application apply arch are area arg argument arm array
art as at audio author auto av back background bad band bank bar base based basic be because before
begin ben best bet bi big bin bit black block board body bon book bot box br branch bro bu build
built bus but button by cal call cam camp can cap car card cart case cast cat category cell cent
center cert ch chain change channel character chart chat check child children city cl class clean
clear click client close cloud co code col coll collect collection color column com come command
comment commit common comp complete complex component con conf configuration connect connection
cons constant construct cont contact container content control controller convert cop copy cor core
cost could count country cr create created cross cur current custom customer cut dam dan dark data
database date day de dead dec deep default definition del delete delta dem den description details
dev device di did die dig dir direct dis display dist div do doc document does double down download
dr draw driver drop du each edge edit editor effect element email enable end enter entity entry
environment error even event events every ex example exp expression ext extension extra face
factory fall false family fast fi field fig figure file files fill filter fin final find fire first
fl flag float flow focus follow font foot for force form format found fr frame free from front full
fun function future game gate gen general generate get go god gold good gr graph green grid group
gu ha hand handle hard has have he head health help her here hi high his history hit home hor host
hot how http hub icon id identity if im image images import in index info information initial input
insert install int inter internal is it item je job join journal just key kind king kit la label
land language large last lat layout leave left leg len length less let level library life light
like line link list listen live lo load loc local location lock log long look love low lower mac
machine mad mag mail main make mal man management manager many map mark mask mass master mat match
material math matrix max may me med media mem member members memory men menu message met meta
method mil mill min miss mo mobile mod mode model month more most mount move ms mu multi must my
name names native nav need net never new news next no non none norm normal not note now num number
ob object oct of off oh ok old on once one only op open operation operations opt option options or
order organ origin original other our out output over own pack package pad page pal pan panel par
parameters parent part pass pat path pattern pay pe pen per period person pet ph phone photo pi pin
pl place plan play player plus po point points pol policy pool pop port pos position post power pr
pre press price print pro process product profile program progress project prop properties property
protocol pub public put py qu qual quant quest question quick rad radio random range rank rate raw
ray re read real red ref reference reg region register rel release remote remove rep report request
required res resource resources response rest result results ret rev review rich right role rom
room root rot round row rule rules run running safe sal sample save sc score screen script search
sec second secret section security see seg select selection self send sep ser serial series server
service session set sets setting settings setup share she shell short should show si side sig sign
sim simple since single site size skip small so soft some something sort sound source sp space
special speed spring stack stage stand standard star start stat state statement station status step
stop storage store str stream string student style su sub subject success such sum sun super
support sur sw switch symbol system tab table tag take target task tax tele ten term test tests
text that the then there they this thread three time times tip title to too tool tools top total tr
trace track trans transaction transport tree tri true try turn two typ type types un under union
unit up update updated upper us use used user users using val value var vector ver version very vi
video view virtual vis vol wait walk wall war was watch water we web week weight well west what
when where which while white who why will win window windows with without word work world write
writer year yes you your zero zone
"""

_WHOLE_IN_SMALL_LETTERS: Final = """
abilities ability absolute accept ace actions actor actual added adding ads again age aged ages
aging ago aid aim ale alert algorithm allowed alone also alter although always amount analysis
anchor angel anger angle answer ante anti api apple apps arc archive arguments armed arms around
arr arrow article arts ash ask assembly asset assets atomic aux available aware away axis backs bag
balance ball ban bands bars bat bean beans beat bed being bell bench beta between bid binary
binding bio bird bis bits bl blank blocks blog blue boards boat bold bone books boost boot bor
border born both bottom bound bow boy boys bra brand bread break bridge brief bucket bud bug
building burn business ca called cancel caps cards care cases catch categories cd chair changed
charge checked chip choice circle cit claim classes clip clock closed club cluster cm cod codes
coin colors columns comfort coming commands comments commerce company compare components condition
conditions conduct confirm connected console construction contains contents context contract cookie
correct cos counter course court cover covered craft cre crit cu cup currency cycle das dat dated
dates dating days db dc deck define defined deg degree delay demo dependent depth der des
destination destroy det detail dialog diff direction directory disk distance dog domain done door
dot drive dt due dump duration dw dynamic ear ears echo edges eg elect elements else emp empty
ended ending ends energy engine ensure entities entries equal era err errors escape esp et etc eu
ever except exception execute exist existing exists exit expand expect expected export external
faces fact factor fail failed failure fake falls fan far fare father fed fee feed fields fil filled
film finished fish fit five fix fixed flags flash flat floor flu fly fn fold folk food forced
formation formed former forming forms fort forward four frames framework frequency friend ft fu
fully func functions fund fur gain gal gang gas gel gender gent girl gl glass global going got grad
grade grades graduate grand gray ground groups gun had hal half hall ham handler hang hat heading
heads heart height held hem hen hero hidden hide hill him hip hire ho hold holder hole hon hood
hook horn hour house hr https hum human ice idea ignore ill important inc inch include includes
including init ink inner instance interest interface into iron issue issues items its jar jet joint
joy js keep keeping keys kg km kn know known lab labels lad lag lands lane lang lap las late latest
law lay layer lb leading leaf lean learn learning lease led legal les lets letter license lie
lights limit linear lined lines linked links listed lists lit loaded loading locked loop lord los
loss lot lung lying made major maker making managed maps margin market marks mas matched matches
mate md mean measure medium merge messages methods mg mi mic mid middle mile mind mine mir missing
mission mit mk mm models modified moment mor mot mother mouse mouth mt mul multiple mut named nat
natural negative night nom nor notes nr nu null nut objects odd offset older ones online onto
operator oral ordered others ought outer owe owned owner owners oz pa pace pages paid pair panic
paper para paragraph parallel parents park parts party pas password patch paths patient pause
payment pc peer pending people percent perform perm phase phones phrase pic pick picture pie piece
pipe pit placement plain plane plant platform plot plug pm pod poll por ports pose possible posts
pot pow pp predict present prev previous prim primary prime prints priority priv private prob proc
processing production products prof profit projects prom proof proto provider pu published pull
push quality quote rage raid raise raising ram ran rap rat rated rating ratio reader ready reason
record records reduce regular related relation relative rent repeat replace reply require resolve
resp respect respond return returns reverse rh rib rice rid ride rig ring rip rise river road rock
rod roll rolling rooms rose rotation rough route rub rug rum rust same sat say scale scan scene
school scope sea season secondary seconds secure seed seek seen segment selected sem sender sent
sequence services sf shape shared sheet shift shine ship shop shore shot shots signal sin six ski
skill skin sky sleep slice slot sm social sole solid son span specific spin split spot square
stable staff stairs standing states static stats steps stick stock stone storm story strict strings
strip stroke strong styles submit suite summary sup supported surface swap syn tail talk tan tar
tasks team tech teen testing than theme thing think third though threshold through thumb thy ties
timer tiny tons topic touch town train training transfer transform transition tre trigger trim tu
tv tx una und une uniform unique units unknown until upload usage uses valid values van variable
variables vec vent venue verse versions vertical vest vet via views vin vir visible vision visit vm
voice void volt volume vor vote vs ward warning wave way ways weak wealth wear were wheel wide
width wind wing wire wise woman won wood words worker working works worth worthy wrap writing
written ya yard ye zu
"""

# Characters beyond ASCII that cost less than their UTF-8 bytes.
_ONE: Final = (
    "£§©«®°±²³´µ·¹º»¿ÂÃÉ×ßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýāăćčęğīıłńōœśşšūžαβγεθικλμνοπρστφωВабвгдеж"
    "зийклмнопрстуфхцчшщыьюяі\u05d0\u05d1\u05d3\u05d4\u05d5\u05d9\u05dc\u05de\u05e0\u05e8\u05e9"
    "\u05ea\u0627\u0628\u0629\u062a\u062d\u062f\u0631\u0633\u0639\u0641\u0642\u0643\u0644\u0645"
    "\u0646\u0647\u0648\u064a\u06cc\u0902कतनमरस\u093e\u093f\u0940\u0947\u094b\u094dา‐‑–—‘’“”†•…′₂"
    "€→−─█、。いしすにのるをンー一上下不个中为了人以件作使例信分列到参取可号和数最有本点生用的能"
    "行表这量（），：�"
)

_TWO: Final = (
    "¨¯¸Ŀŀǅǆ˘˙˚˛˜˝΄अआइईउएखगचजटडणथदधपफबभयलवशषह\u093c\u0941\u0942\u0948।\u0982অআইএকগচজটডতদনপবভমযরলশ"
    "ষসহ\u09bc\u09be\u09bf\u09c0\u09c1\u09c7\u09cb\u09cdகசடணதநனபமயரறலளவ\u0bbe\u0bbf\u0bc1\u0bc6"
    "\u0bc7\u0bc8\u0bcdക\u0d3e\u0d3fกขคฆงจฉชซญฐณดตถทธนบปผฝพฟภมยรลวศษสหอะ\u0e31\u0e34\u0e35\u0e36"
    "\u0e37\u0e38\u0e39เแโใไ\u0e47\u0e48\u0e49\u0e4c๏๐აბგდევზთიკლმნოპრსტუფქღყშჩცძწხẓạảấầẩậắằặẽếềể"
    "ễệỉịọỏốồổỗộớờởợụủứừửữựỳỹ‒―‚„‟‡‰″‹›※⁄₁₃₄℃ℓ№™←↵∂∆∈∑∗∙√∞∪∼≈≠≡≤≥≮≯━│┃┈┌┐└┘├┬┴═║╔╗╚╝▀▁▄▌░▒▓■□▪▬▲▶"
    "▸►▼◄◆○●◦◼♀♂♠♡♣♥♦♪♭♯《》「」『』【】〜あうえおかがきくけげこごさじずせそただちっつてでとどな"
    "ねはばひびふへべほまみむめもゃやょよらりれろわんァアィイウェエォオカガキギクグケゲコゴサザシ"
    "ジスズセゼソタダチッツテデトドナニネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョラリ"
    "ルレロワヴ・丁七万三与专且世业东丝丢两严並丰串临丶丹主丽举久么义之乌乎乐乘九也习乡书买乱予争"
    "事二于云互五井亚些亞亡交产享京亮亲什仁仅今介仍从仓他付仙代令仪们价任份企伊休众优会伝传伤似但"
    "位低住佐体何余佛你佳來供依侧便保修個倍們倒候借値值允元兄充先光克免党入內全八公六兰共关兴兵其"
    "具典养兼内册再写军农冰冲决况冷准减几処出击函刀切划刘则刚创初删判別利刪别制刷券刻則削前剑剩剪"
    "副割力办功加务动助励効势包化北匹区医區十千升午半华协单卖南博占卡卫印即却卷厂历压原去县參又叉"
    "及友双反发受变口古句另只叫台史右叶司吃各合吉同名后向吗君否吧含听启吴告员呢周味呼命四回因团园"
    "围固国图圆圈國園圖土圣在地场址均坐块型处备変复夏外多夜够夢大天太夫央失头夹奇奈奖套奥女她好如"
    "始姓委子字存孙孝季学孩學宁它宇守安宋完宏宗官定宜宝实実审客宣室宫宮害家容宽宿寄密富察實寶寸对"
    "寺寻导対封射将將尊對小少尔尚尝就尺尼尽尾局层居屋屏展属山川州工左巨差己已巴币市布师希帐帖帝带"
    "帧師帮常幅幕干平年并幸广庄庆序库应底店府度座庫庭康延建开异弃式引弟张張強弹强归当录形彩影往征"
    "径待很律後徐得從御復循微德心必志忘応忠快念忽态怎思急性怪总恋恢恩息戏成我或战戦截戰戳戶户房所"
    "手才打托扣执扩扫批找承技把投折抛択护报抽担拉拍拒拖招拟拥拦择括拳拷拼拿持挂指按振损换据捷授掉"
    "排探接控推描提插換支收改攻放政故效敏敗教散整數文斗料断斯新方於施旅旋族旗无既日旧早时昌明易星"
    "映春昭是显時曲更書曹曾替會月服望朝期木未末术朱机杀杂权李材村束条来杨東松板极构析林枚果架查标"
    "栈栏树校株样核根格概模歌止正此步武死毁母每比毕毛毫泉法波注泰流测济浏浪浮海片版牌牙牛物特率玉"
    "王玩环现球理甘產田由甲申电男町画皇皮益监盖盘盟目直相知码示礼社秀私秋种科秒秘积称移立站章端竹"
    "笑笔符第等答策签简算管箱米类红约级纪纳线练组细织终绍经绑结绘给络绝统继续维网罗置署老考者而耗"
    "自至致获血術街衛衡衣补要覆見規視覧親见观规视览觉角解触言計訊記設許証變计订认让训议讯记讲许论"
    "设访证评识诉词译试话询该详语误说请诸读课贝负财责败账货质购贴贵费轉车轩转轮软轴轻载较辑输边込"
    "达过迎运近返还进远连迟迭述追退送适逆选透递途這通速造連進逻遇運遍過道達遗遠選避都采释里重野金"
    "關门闭问闲间闻附际陆陈降限院除险陳陵陽雄雅集離雨雪雲零雷電青静非面題額類顯页顶项顺须预领频题"
    "颜额風니다단달담답당사은을음의이인일읽필하학한할함합항해！－．；？"
)

WHOLE_WORDS: Final = frozenset(
    space + word
    for space in ("", " ")
    for word in (
        *_WHOLE_IN_EITHER_CASE.split(),
        *_WHOLE_IN_SMALL_LETTERS.split(),
        *map(str.capitalize, _WHOLE_IN_EITHER_CASE.split()),
    )
)

CHARACTERS: Final = dict.fromkeys(_ONE, 1) | dict.fromkeys(_TWO, 2)
"""Prices of these characters; all others cost their bytes."""


def letter_prices() -> dict[tuple[str, str], int]:
    """The price of each letter after a letter or a space, in units."""
    prices = {}
    for before, row in zip(_LETTERS, _AFTER.split(), strict=True):
        prices[" ", before] = _DEAR_FIRST.get(before, UNITS)
        prices[" ", before.upper()] = _DEAR_FIRST.get(before.upper(), UNITS)
        for after, price in zip(_LETTERS, row, strict=True):
            prices[before, after] = int(price)
            prices[before.upper(), after] = max(int(price), 1)  # no two such letters for one token
            prices[before.upper(), after.upper()] = UNITS
    return prices


# The estimate errs upwards (see :func:`estimate_tokens`), because the model must stay within the
# budget. A :data:`TokenCounter` with the model's tokenizer can replace it.

TokenCounter = Callable[[str], int]
"""Counts the tokens of a text; an empty text costs 0."""

# Letters include the space before them, as in tokenizers; a new word starts where a capital follows
# a lower-case letter.
_WORD = re.compile(r" ?(?:[a-z]+|[A-Z]+[a-z]*)")
_LETTER_PRICES: Final = letter_prices()
_PAIR_TWICE = re.compile(r"([A-Za-z]{2})\1")
_REPEAT_COST: Final = 4  # units; twice as many are less than a token

_START_COST: Final = 1  # some tokenizers mark the start of a text
_CUT_MARK: Final = "…"
_SPACE_OR_BEYOND_ASCII = re.compile(r"\s+|[^\x00-\x7f]")


def estimate_tokens(text: str) -> int:
    """An upward estimate of the tokens of a text.

    A common English word with the space before it costs one token. Letters of other words cost less
    the more frequent their pairs are; capitals after a capital, digits, signs, line breaks and
    further spaces cost one each. Characters beyond ASCII cost their bytes, common ones less. The
    start of a text costs one more.

    Linear time; never more for two joined texts than for both apart.
    """
    if not text:
        return 0
    words = _WORD.findall(text)
    cost, in_words = _START_COST + _cost_at_ends(text, words), 0
    for word, times in Counter(words).items():
        cost += _word_cost(word) * times
        in_words += len(word) * times
    return cost + _characters_cost(text) - in_words


def _word_cost(word: str) -> int:
    return 1 if word in WHOLE_WORDS else _letters_cost(word)


def _letters_cost(word: str) -> int:
    letters = word if word[0] == " " else " " + word
    units = sum(map(_LETTER_PRICES.__getitem__, itertools.pairwise(letters)))
    if _PAIR_TWICE.search(word):
        units += _repeats_cost(letters)
    return -(-units // UNITS)


def _repeats_cost(letters: str) -> int:
    """The extra cost, in units, of repeated pairs as in "hahaha".

    Tokenizers have frequent pairs, but not their repeats. No letter costs more than a first one,
    and joining texts raises the cost of at most two: less than the start of a text.
    """
    return sum(
        min(_REPEAT_COST, UNITS - _LETTER_PRICES[letters[place - 1], letters[place]])
        for place in range(4, len(letters))
        if letters[place - 3 : place - 1] == letters[place - 1 : place + 1]
    )


def _cost_at_ends(text: str, words: Sequence[str]) -> int:
    """The extra cost of words at the start and end.

    They may continue in a text joined to this one, and then their letters count.
    """
    ends = set()
    if words and text[0] != " " and text.startswith(words[0]):
        ends.add(0)
    if words and text.endswith(words[-1]):
        ends.add(len(words) - 1)
    return sum(_letters_cost(words[place]) - _word_cost(words[place]) for place in ends)


def _characters_cost(text: str) -> int:
    """The cost when each character is paid for, ASCII ones with one token."""
    if text.isascii():
        return len(text)
    return sum(_character_cost(one) * times for one, times in Counter(text).items())


@functools.lru_cache(maxsize=4096)
def _character_cost(character: str) -> int:
    """The price of one character: at most its bytes, also after normalisation."""
    if character.isascii():
        return 1
    unfolded = unicodedata.normalize("NFKC", character)
    return CHARACTERS.get(character) or max(
        len(form.encode("utf-8", "surrogatepass")) for form in (character, unfolded)
    )


def fit_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """The text if it fits the budget, else its longest head of whole words plus "…".

    Scripts without spaces can be cut after any character. Empty if not even one word fits. Never
    costs more than the budget by ``count``, which is called O(log n) times.
    """
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def head(words: int) -> str:
        return text[: cuts[words - 1]].rstrip() + _CUT_MARK

    kept = _most(len(cuts), lambda words: count(head(words)) <= budget)
    return head(kept) if kept else ""


def fit_tail_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """Like :func:`fit_tokens` for the tail, after "…"."""
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def tail(words: int) -> str:
        return _CUT_MARK + text[cuts[-words] :].lstrip()

    kept = _most(len(cuts), lambda words: count(tail(words)) <= budget)
    return tail(kept) if kept else ""


def _cuts(text: str) -> list[int]:
    """The positions where the text can be cut into two non-blank parts."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    cuts = set()
    for found in _SPACE_OR_BEYOND_ASCII.finditer(text, start, end):
        if found.group()[0].isspace():
            cuts.add(found.start())
        elif is_dense(found.group()):
            cuts.update(found.span())
    return sorted(cuts - {start, end})


def _most(steps: int, fits: Callable[[int], bool]) -> int:
    """The largest number of steps that fits, by doubling and bisection; 0 for none."""
    fitting, beyond = 0, 1
    while beyond <= steps and fits(beyond):
        fitting, beyond = beyond, 2 * beyond
    beyond = min(beyond, steps + 1)
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if fits(middle):
            fitting = middle
        else:
            beyond = middle
    return fitting
