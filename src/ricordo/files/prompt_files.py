"""The prompt files ``SOUL.md``, ``RULES.md`` and ``USER.md``, read for every prompt."""

from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.disk import read_file
from ricordo.files.folder import FilesFolder
from ricordo.files.sync import Unreadable
from ricordo.frozen import dataclass
from ricordo.model.group import is_person

_START: Final = "<!--"
_END: Final = "-->"

Span = tuple[int, int]

SOUL_FILE: Final = "SOUL.md"
RULES_FILE: Final = "RULES.md"


def comment_spans(text: str) -> list[Span]:
    """The positions of comments. An unclosed one is none, or a typo would hide the whole file."""
    found: list[Span] = []
    start = text.find(_START)
    while start >= 0:
        end = text.find(_END, start + len(_START))
        if end < 0:
            break
        found.append((start, end + len(_END)))
        start = text.find(_START, end + len(_END))
    return found


def without_comments(text: str) -> str:
    kept, place = [], 0
    for start, end in comment_spans(text):
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]])


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """The prompt files without their comments; empty where there is no such file.

    ``problems`` says, one line each, which files were left out and why.
    """

    soul: str = ""
    rules: str = ""
    user: str = ""
    problems: tuple[str, ...] = ()


class PromptFiles:
    """Reads the prompt files of any user; an edit applies to the next prompt."""

    def __init__(self, folder: FilesFolder | None) -> None:
        self._folder = folder

    def read(
        self, user_id: str, *, with_persona: bool = True, with_user: bool = True
    ) -> PromptTexts:
        """The shared texts, which are the persona, and the user's own; never raises."""
        if self._folder is None:
            return PromptTexts()
        problems: list[str] = []
        soul = rules = user = None
        if with_persona:
            soul = _text_of(self._folder.prompts / SOUL_FILE, problems)
            rules = _text_of(self._folder.prompts / RULES_FILE, problems)
        if with_user and is_person(user_id):
            files = self._folder.of(user_id)
            try:
                files.profile_sync.check_owner()
                user = _text_of(files.profile, problems)
            except FilesUnavailable as problem:
                problems.append(f"left out {problem}")
        return PromptTexts(soul or "", rules or "", user or "", tuple(problems))


def _text_of(path: Path, problems: list[str]) -> str | None:
    """The text of a file; None where there is none, or it is left out with a problem."""
    try:
        contents = read_text(path)
    except FilesUnavailable as problem:
        problems.append(f"left out {problem}")
        return None
    return None if contents is None else without_comments(contents.removeprefix("\ufeff")).strip()


def read_text(path: Path) -> str | None:
    """A prompt file, byte for byte; None where there is none. Raises FilesUnavailable."""
    contents = read_file(path, limits.MAX_PROMPT_FILE_BYTES)
    try:
        return None if contents is None else decoded(contents)
    except Unreadable as problem:
        raise FilesUnavailable(f"{path}: {problem}") from None


def decoded(contents: bytes) -> str:
    """The text of a prompt file. Raises Unreadable."""
    try:
        text = contents.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = contents.count(b"\n", 0, problem.start) + 1
        raise Unreadable(f"is not UTF-8 text (line {line})") from None
    if "\x00" in text:
        raise Unreadable("holds NUL characters")
    return text
