"""The prompt files ``SOUL.md``, ``RULES.md`` and ``USER.md``, read anew for every prompt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import read_file
from ricordo.files.comments import without_comments
from ricordo.files.folder import FilesFolder
from ricordo.files.profile_notes import check_whose
from ricordo.model.vocabulary import GLOBAL_OWNER

SOUL_FILE: Final = "SOUL.md"
RULES_FILE: Final = "RULES.md"


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """What the prompt files say, without their comments; empty where there is no such file.

    ``problems`` says, one line each, which files were left out and why.
    """

    soul: str = ""
    rules: str = ""
    user: str = ""
    problems: tuple[str, ...] = ()


class PromptFiles:
    """Reads the prompt files of any user. An edit holds from the next prompt on."""

    def __init__(self, folder: FilesFolder | None) -> None:
        self._folder = folder

    def read(self, user_id: str, *, with_persona: bool = True) -> PromptTexts:
        """The user's own text, and with the persona those of all users; it never fails."""
        if self._folder is None:
            return PromptTexts()
        problems: list[str] = []
        soul = rules = user = None
        if with_persona:
            soul = _text_of(self._folder.prompts / SOUL_FILE, problems)
            rules = _text_of(self._folder.prompts / RULES_FILE, problems)
        if user_id != GLOBAL_OWNER:
            user = _own_text(self._folder.of(user_id).profile, user_id, problems)
        return PromptTexts(soul or "", rules or "", user or "", tuple(problems))


def _own_text(path: Path, user_id: str, problems: list[str]) -> str | None:
    """The same of a file that is for one user alone."""
    try:
        check_whose(path, user_id)
    except FilesUnavailable as problem:
        problems.append(f"left out {problem}")
        return None
    return _text_of(path, problems)


def _text_of(path: Path, problems: list[str]) -> str | None:
    """What a file says; None where there is none, or where it has to be left out."""
    try:
        held = read_text(path)
    except FilesUnavailable as problem:
        problems.append(f"left out {problem}")
        return None
    return None if held is None else without_comments(held.removeprefix("\ufeff")).strip()


def read_text(path: Path) -> str | None:
    """A prompt file as it is, byte for byte; None where there is none.

    Raises:
        FilesUnavailable: it cannot be read, is too large, or is no text.
    """
    held = read_file(path, limits.MAX_PROMPT_FILE_BYTES)
    if held is None:
        return None
    try:
        text = held.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = held.count(b"\n", 0, problem.start) + 1
        raise FilesUnavailable(f"{path}: is not UTF-8 text (line {line})") from None
    if "\x00" in text:
        raise FilesUnavailable(f"{path}: holds NUL characters")
    return text
