"""Asking before something that cannot be taken back."""

import sys

from ricordo.errors import InvalidInput


def confirm(consequence: str, expected: str) -> None:
    """Let a person type a word to say that they mean it.

    Raises:
        InvalidInput: they typed something else, or nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise InvalidInput(f"this {consequence}; without a terminal it needs --yes")
    sys.stderr.write(f"This {consequence}.\nType {expected} to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != expected:
        raise InvalidInput("not confirmed; nothing was done")
