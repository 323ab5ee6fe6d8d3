"""Tokenizers of real models whose vocabularies come with a package: no model hub is asked."""

import functools

from mistral_common.tokens.tokenizers.base import Tokenizer
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

from ricordo.text.tokens import TokenCounter


@functools.cache
def counters() -> dict[str, TokenCounter]:
    """By the name of the vocabulary: one of 32,000 pieces, and one of 131,000 for many languages.

    Pieces that the small one lacks fall into bytes, and it takes each digit for itself, so for most
    texts in Latin letters it is the dearest of the tokenizers in use.
    """
    small = MistralTokenizer.v1().instruct_tokenizer.tokenizer
    large = MistralTokenizer.v3(is_tekken=True).instruct_tokenizer.tokenizer
    return {"sentencepiece, 32k": _counter(small), "tekken, 131k": _counter(large)}


def _counter(tokenizer: Tokenizer) -> TokenCounter:
    return lambda text: len(tokenizer.encode(text, bos=False, eos=False))
