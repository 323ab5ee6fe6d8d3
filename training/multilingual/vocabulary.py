"""python -m training.multilingual.vocabulary TOKENIZER SENTENCES OUT [LANGUAGE …]: pieces of words.

The pieces of TOKENIZER, the English encoder's or what this has made of it, keep their numbers, so
that a word table stays of use; SENTENCES has a file LANGUAGE.txt.gz for each of 17 languages. A
piece that would cut English words in another way is left out.
"""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

PIECES = {
    "id": 4000, "es": 4500, "pt": 4000, "fr": 4500, "de": 5500, "it": 4000, "nl": 4000,
    "ru": 6500, "tr": 5500, "ar": 6000, "hi": 4500, "vi": 2500, "th": 4500, "zh": 6500,
    "ja": 5500, "ko": 9500,
}  # fmt: skip
CHARACTERS = {"zh": 6000, "ja": 3500, "ko": 2500}  # a word with one that has no piece is lost
LINES = 200_000
COMMON = 5  # times that an English word has to be said to be protected
MOST_CHARS = 400  # of what stands without a space, as Thai does
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def normalizer() -> normalizers.Normalizer:
    """Small letters. Accents stay: without them Hindi, Thai and Vietnamese lose their vowels."""
    plain = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True
    )
    return normalizers.Sequence([normalizers.NFKC(), plain])


def sentences(folder: Path, language: str) -> Iterator[str]:
    with gzip.open(folder / f"{language}.txt.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number == LINES:
                return
            yield line.rstrip("\n")


def pieces(folder: Path, language: str) -> list[str]:
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=MOST_CHARS))
    trained.normalizer = normalizer()
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES[language],
        special_tokens=SPECIAL,
        limit_alphabet=CHARACTERS.get(language, 400),
        show_progress=False,
    )
    trained.train_from_iterator(sentences(folder, language), trainer)
    found = trained.get_vocab()
    own_script = language in CHARACTERS
    return [
        piece
        for piece in sorted(found, key=found.__getitem__)
        if piece not in SPECIAL and not (own_script and piece.isascii())
    ]


def settings_with(settings: dict, vocabulary: dict[str, int]) -> dict:
    made = json.loads(Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]")).to_str())
    model = {**made["model"], "vocab": vocabulary, "max_input_chars_per_word": MOST_CHARS}
    normal = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    normal.normalizer = normalizer()
    return {**settings, "model": model, "normalizer": json.loads(normal.to_str())["normalizer"]}


def tokenizer_of(settings: dict) -> Tokenizer:
    made = Tokenizer.from_str(json.dumps(settings, ensure_ascii=False))
    made.no_truncation()
    return made


def english_words(folder: Path, before: Tokenizer) -> list[str]:
    counted: Counter[str] = Counter()
    for line in sentences(folder, "en"):
        counted.update(word for word, _ in before.pre_tokenizer.pre_tokenize_str(line.lower()))
    return [word for word, times in counted.items() if times >= COMMON and word.isascii()]


def main() -> None:
    tokenizer, folder, out = map(Path, sys.argv[1:4])
    settings = json.loads(tokenizer.read_text(encoding="utf-8"))
    vocabulary: dict[str, int] = dict(settings["model"]["vocab"])
    first = len(vocabulary)
    for language in sys.argv[4:] or PIECES:
        for piece in pieces(folder, language):
            vocabulary.setdefault(piece, len(vocabulary))
        print(language, len(vocabulary), flush=True)
    before = tokenizer_of(settings)
    words = english_words(folder, before)
    disturbing: set[str] = set()
    while True:
        kept = {piece: number for piece, number in vocabulary.items() if piece not in disturbing}
        after = tokenizer_of(settings_with(settings, kept))
        found = {
            piece
            for word in words
            if (now := after.encode(word, add_special_tokens=False).tokens)
            != before.encode(word, add_special_tokens=False).tokens
            for piece in now
            if vocabulary[piece] >= first
        }
        if not found:
            break
        disturbing |= found
    final = {piece: number for number, piece in enumerate(kept)}
    print(len(words), "English words,", len(disturbing), "pieces left out,", len(final), "pieces")
    made = settings_with(settings, final)
    out.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
