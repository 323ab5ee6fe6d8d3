"""What ``USER.md`` and the store last agreed on, kept beside the file.

Whose it is, and of the values only hashes: enough to tell whether a line or a memory has changed
since, and nothing to leak.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import read_file, remove_drafts, replace_file
from ricordo.limits import MAX_PROMPT_FILE_BYTES

_USER: Final = "user"
_FIELDS: Final = "fields"


def notes_beside(profile: Path) -> Path:
    """Where the notes on a ``USER.md`` lie."""
    return profile.with_name(".profile.json")


def lock_beside(profile: Path) -> Path:
    """Held by whoever brings a ``USER.md`` and the store together."""
    return profile.with_name(".profile.lock")


def noted_user(profile: Path) -> str | None:
    """Whose ``USER.md`` this is by its notes; None where they do not tell.

    Raises:
        FilesUnavailable: they cannot be read.
    """
    user_id = _noted(profile).get(_USER)
    return user_id if isinstance(user_id, str) else None


def check_whose(profile: Path, user_id: str) -> None:
    """Refuse a ``USER.md`` that was kept for somebody else.

    Raises:
        FilesUnavailable: it is another user's, or that cannot be told.
    """
    if noted_user(profile) not in (None, user_id):
        notes = notes_beside(profile).name
        raise FilesUnavailable(
            f"{profile}: is another user's; move it away, or remove {notes} beside it to keep it"
        )


def read_notes(profile: Path) -> dict[str, str]:
    """The hash of each field's value; nothing where there are no notes, or none of use.

    Raises:
        FilesUnavailable: they cannot be read.
    """
    fields = _noted(profile).get(_FIELDS)
    if not isinstance(fields, dict):
        return {}
    return {key: value for key, value in fields.items() if isinstance(value, str)}


def _noted(profile: Path) -> dict[str, object]:
    held = read_file(notes_beside(profile), MAX_PROMPT_FILE_BYTES)
    try:
        noted = {} if held is None else json.loads(held)
    except (ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def write_notes(profile: Path, user_id: str, fields: Mapping[str, str]) -> None:
    """Keep whose profile it is and the hash of each field's value. The lock must be held.

    Raises:
        FilesUnavailable: they cannot be written.
    """
    noted = {_USER: user_id, _FIELDS: dict(fields)}
    held = json.dumps(noted, ensure_ascii=False, sort_keys=True)
    remove_drafts(notes_beside(profile))
    replace_file(notes_beside(profile), held.encode("utf-8"))
