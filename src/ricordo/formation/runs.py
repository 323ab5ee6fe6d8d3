"""What was run in a session: calls of tools as they were recorded."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ricordo.formation.candidate import TOOL_ROLE
from ricordo.formation.resources import lines, pattern
from ricordo.frozen import dataclass
from ricordo.model.thread import Turn
from ricordo.text.secrets import without_secrets


def _words(section: str) -> re.Pattern[str]:
    return pattern("work", section, re.IGNORECASE)


TRIVIAL: Final = _words("trivial error")
_ERROR: Final = _words("error line")
_SUMMARY: Final = _words("summary line")
_FAILED_OUTPUT: Final = pattern("work", "failed output", re.IGNORECASE | re.MULTILINE)
LOOKS_ONLY: Final = _words("looks only")
TAKES_BACK: Final = _words("takes back")
_FILE_TOOLS: Final = _words("file tools")
_EDITS: Final = _words("edits")
_CHANGE_OF_FOLDER: Final = re.compile(r"^(?:cd \S+ *(?:&&|;) *)+")
_SETTINGS: Final = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S* +)+")
_CUT_OUTPUT: Final = re.compile(r"\s*(?:2>&1)?\s*\|\s*(?:tail|head|grep|rg|less|cat|tee)\b.*$")
_REDIRECTED: Final = re.compile(r"\s*2>&1\s*$")
_MOST_COMMAND_CHARS: Final = 200
MOST_ERROR_CHARS: Final = 200
_FEWEST_WORDS: Final = 3
PURPOSES: Final = {
    purpose: (_words(f"purpose {purpose}"), title)
    for purpose, title in (row.split(": ") for row in lines("work", "purposes"))
}
COMMITTED: Final = re.compile(r"\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\]")
COMMIT_SUBJECT: Final = re.compile(r"\bgit commit\b.*?-\w*m\s*(['\"])(?P<said>.+?)\1", re.DOTALL)
_PARTIAL: Final = re.compile(
    r"\s(?:-(?:k|t|run|m|p)\b|--(?:filter|grep|package|testNamePattern)\b|\S*::|\S+\.\w{1,5}(?:\s|$)"
    r"|(?!\./\.\.\.)[\w.-]+/\S*)"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as recorded. ``failed`` is None where it cannot be known.

    ``blobs`` are the hashes of what it left in its files, where they were noted.
    """

    turn: Turn
    name: str
    command: str
    failed: bool | None
    output: str
    files: tuple[str, ...]
    blobs: Mapping[str, str]

    @property
    def is_edit(self) -> bool:
        return bool(self.files) and edits(self.name)

    @property
    def is_routine(self) -> bool:
        """Whether it only looks, or handles files: nothing to know of a project."""
        return bool(LOOKS_ONLY.match(self.command) or _FILE_TOOLS.match(self.command))

    @property
    def purpose(self) -> str | None:
        if _FILE_TOOLS.match(self.command):
            return None
        for purpose, (said, _) in PURPOSES.items():
            if said.search(self.command):
                return purpose
        return None


def edits(tool: str) -> bool:
    """Whether a tool of this name changes files."""
    return _EDITS.search(tool) is not None


def calls_in(turns: Iterable[Turn]) -> list[Call]:
    found = []
    for turn in turns:
        if turn.role == TOOL_ROLE:
            found += [_call(turn, one) for one in turn.tool_calls or () if isinstance(one, dict)]
    return found


def _call(turn: Turn, given: Mapping[str, Any]) -> Call:
    raw = given.get("command")
    command = raw.strip() if isinstance(raw, str) else ""
    code, error = given.get("exit_code"), given.get("error")
    output = "\n".join(one for one in (given.get("output"), error) if isinstance(one, str))
    failed = bool(error) if code is None and error is not None else None
    if isinstance(code, int):
        failed = code != 0
    if failed is False and _CUT_OUTPUT.search(command) and _FAILED_OUTPUT.search(output):
        failed = None  # it is the exit code of what cut the output
    listed = given.get("files")
    files = tuple(one for one in listed if _is_inside(one)) if isinstance(listed, list) else ()
    name = given.get("name")
    noted = given.get("blobs")
    blobs = (
        {one: str(noted[one]) for one in files if one in noted} if isinstance(noted, dict) else {}
    )
    return Call(turn, str(name or ""), plain_command(command), failed, output, files, blobs)


def _is_inside(path: object) -> bool:
    if not isinstance(path, str) or not path or "\n" in path:
        return False
    return not (path.startswith(("/", "~", "..")) or ":" in path[:3] or ".." in path.split("/"))


def plain_command(command: str) -> str:
    """Without a change of folder, settings before it, and what only cuts its output."""
    if "\n" in command:
        return ""
    plain = _SETTINGS.sub("", _CHANGE_OF_FOLDER.sub("", " ".join(command.split())))
    plain = _REDIRECTED.sub("", _CUT_OUTPUT.sub("", plain)).strip()
    return plain if len(plain) <= _MOST_COMMAND_CHARS else ""


def essential_line(output: str) -> str:
    """The line of an output that says what went wrong; else the last that is no summary."""
    best, most = "", 0
    last = ""
    for line in output.splitlines():
        text = " ".join(line.split()).removeprefix("E ").strip()
        if not text or _SUMMARY.match(text):
            continue
        last = text if len(text.split()) >= _FEWEST_WORDS else last
        score = len(_ERROR.findall(text)) + (
            2 if re.search(r"\w(?:Error|Exception)\b", text) else 0
        )
        if score >= most and score:
            best, most = text, score
    shown = without_secrets(best or last)
    return shown if len(shown) <= MOST_ERROR_CHARS else f"{shown[: MOST_ERROR_CHARS - 1]}…"


def is_same_run(before: str, after: str) -> bool:
    """The same command, maybe in another environment: ``pytest -q``, ``uv run pytest -q``."""
    if before == after:
        return True
    shorter, longer = sorted((before.split(), after.split()), key=len)
    if len(shorter) > 1 and longer[-len(shorter) :] == shorter:
        return True
    tail = shorter[1:]
    return len(tail) > 1 and longer[-len(tail) :] == tail


def is_whole(command: str) -> bool:
    """Whether a command is not about some files or tests only."""
    return _PARTIAL.search(f" {command.partition(' ')[2]}") is None
