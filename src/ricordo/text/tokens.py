"""How many tokens a text may cost, without any tokenizer.

The rule is made to err upwards for the byte-pair tokenizers in common use (see
:func:`estimate_tokens`), because a budget that is kept by the estimate must be kept by the model.
"""

import re
from typing import Final

from ricordo.text.splitting import is_dense

# One match per piece. Letters take the space before them along, as the tokenizers do, and a new
# piece begins where a capital follows a small letter.
_PIECE = re.compile(
    r"(?P<word> ?[A-Z]*[a-z]+| ?[A-Z]+)"
    r"|(?P<one>[\x00-\x7f\u0400-\u052f\u0600-\u06ff\u2010-\u2027])"
    r"|(?P<two>[\u0080-\u07ff\u0900-\u0e7f\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef])"
    r"|(?P<three>[\u0800-\uffff])"
    r"|(?P<four>[\U00010000-\U0010ffff])"
)
_FLAT_COSTS: Final = {"one": 1, "two": 2, "three": 3, "four": 4}

_START_COST: Final = 1  # some tokenizers mark the start of a text
_CUT_MARK: Final = "…"
_CUT_MARK_COST: Final = 1

# Letters and the space before them weigh one each and capitals two, because words in capitals
# fall into small pieces; this much weight makes a token.
_WEIGHT_PER_TOKEN: Final = 3


def estimate_tokens(text: str) -> int:
    """An upward estimate of the tokens of a text.

    ASCII letters come in words: a word with the space before it costs one token per started three
    units of weight, a small letter or space weighing one and a capital two. Each digit, sign, line
    break and further space costs one. Beyond ASCII each character has a price: Cyrillic, Arabic
    and typographic signs 1; accented Latin, Greek, Hebrew, the scripts of India, Thai, Han, kana
    and Hangul 2; other scripts 3; emoji and rare characters 4. The start
    of a text costs one more.

    Takes linear time, and never gives more for two texts joined than for the two apart. For
    ordinary English it is nearly twice the true count, for other languages closer to it. It is no
    strict bound: random letters and encoded data can cost more.
    """
    return _START_COST + sum(map(_cost, _PIECE.finditer(text))) if text else 0


def _cost(piece: re.Match[str]) -> int:
    kind = piece.lastgroup
    if kind != "word":
        return _FLAT_COSTS[kind or "one"]
    word = piece.group()
    capitals = sum(map(str.isupper, word)) if not word.islower() else 0
    return -(-(len(word) + capitals) // _WEIGHT_PER_TOKEN)


def fit_tokens(text: str, budget: int) -> str:
    """The text if it fits the budget, else its longest head of whole words and "…" that does.

    Scripts without spaces can be cut after any character. Nothing if not even one word fits.
    """
    if estimate_tokens(text) <= budget:
        return text
    spent, cut = _START_COST, 0
    for piece in _PIECE.finditer(text):
        start = piece.start()
        if text[start].isspace() or is_dense(text[start]) or (start and is_dense(text[start - 1])):
            cut = start
        spent += _cost(piece)
        if spent + _CUT_MARK_COST > budget:
            break
    head = text[:cut].rstrip()
    return head + _CUT_MARK if head else ""
