"""What capital letters say in running text."""

from typing import Final

_OPENING: Final = " \t\"'“”‘’«»(["
_ENDING: Final = ".!?:…\r\n"
_LOOK_BACK_CHARS: Final = 64


def capitalised_inside_sentence(text: str, start: int, end: int) -> bool:
    """Whether the word at this place has a capital that the start of a sentence does not explain.

    A word in capitals only says nothing: the whole text may be shouted.
    """
    if not (text[start : start + 1].isupper() and text[start + 1 : end].islower()):
        return False
    before = text[max(0, start - _LOOK_BACK_CHARS) : start].rstrip(_OPENING)
    return bool(before) and before[-1] not in _ENDING
