"""The prompt files ``SOUL.md``, ``RULES.md`` and ``USER.md``, read for every prompt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.disk import read_file, remove_drafts, replace_file
from ricordo.files.folder import FilesFolder
from ricordo.limits import MAX_PROMPT_FILE_BYTES
from ricordo.model.vocabulary import GLOBAL_OWNER

_START: Final = "<!--"
_END: Final = "-->"

Span = tuple[int, int]

_USER: Final = "user"
_FIELDS: Final = "fields"
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


# The notes hold the user and hashes of the values: enough to see whether a line or a memory has
# changed, without leaking either.


def notes_beside(profile: Path) -> Path:
    return profile.with_name(".profile.json")


def lock_beside(profile: Path) -> Path:
    """The lock for syncing a ``USER.md``."""
    return profile.with_name(".profile.lock")


def noted_user(profile: Path) -> str | None:
    """The user of a ``USER.md`` by its notes, None where unknown. Raises FilesUnavailable."""
    user_id = _noted(profile).get(_USER)
    return user_id if isinstance(user_id, str) else None


def check_owner(profile: Path, user_id: str) -> None:
    """Refuse the ``USER.md`` of another user. Raises FilesUnavailable."""
    if noted_user(profile) not in (None, user_id):
        notes = notes_beside(profile).name
        raise FilesUnavailable(
            f"{profile}: is another user's; move it away, or remove {notes} beside it to keep it"
        )


def read_notes(profile: Path) -> dict[str, str]:
    """The hash of each field's value; empty without usable notes. Raises FilesUnavailable."""
    fields = _noted(profile).get(_FIELDS)
    if not isinstance(fields, dict):
        return {}
    return {key: value for key, value in fields.items() if isinstance(value, str)}


def _noted(profile: Path) -> dict[str, object]:
    contents = read_file(notes_beside(profile), MAX_PROMPT_FILE_BYTES)
    try:
        noted = {} if contents is None else json.loads(contents)
    except (ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def write_notes(profile: Path, user_id: str, fields: Mapping[str, str]) -> None:
    """Save the user and the hash of each field's value. The file must be locked. Raises
    FilesUnavailable."""
    noted = {_USER: user_id, _FIELDS: dict(fields)}
    contents = json.dumps(noted, ensure_ascii=False, sort_keys=True)
    remove_drafts(notes_beside(profile))
    replace_file(notes_beside(profile), contents.encode("utf-8"))


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

    def read(self, user_id: str, *, with_persona: bool = True) -> PromptTexts:
        """The user's own text, and with the persona the shared ones; never raises."""
        if self._folder is None:
            return PromptTexts()
        problems: list[str] = []
        soul = rules = user = None
        if with_persona:
            soul = _text_of(self._folder.prompts / SOUL_FILE, problems)
            rules = _text_of(self._folder.prompts / RULES_FILE, problems)
        if user_id != GLOBAL_OWNER:
            profile = self._folder.of(user_id).profile
            try:
                check_owner(profile, user_id)
                user = _text_of(profile, problems)
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
    if contents is None:
        return None
    try:
        text = contents.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = contents.count(b"\n", 0, problem.start) + 1
        raise FilesUnavailable(f"{path}: is not UTF-8 text (line {line})") from None
    if "\x00" in text:
        raise FilesUnavailable(f"{path}: holds NUL characters")
    return text
