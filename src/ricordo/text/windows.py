"""The end of a text, as context for what follows it."""

from typing import Final

# A word is about this long in the languages that write spaces.
_CHARS_PER_WORD: Final = 4


def tail_words(text: str, count: int) -> str:
    """The last ``count`` words with single spaces; of a text without spaces, its last characters.

    Nothing when ``count`` is not positive.
    """
    if count <= 0:
        return ""
    words = text.rsplit(None, count)
    if len(words) == 1:
        return words[0].strip()[-count * _CHARS_PER_WORD :]
    return " ".join(words[-count:])
