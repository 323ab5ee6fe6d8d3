"""What may be captured and shown: ``agents.toml``, ``.ricordoignore`` and projects turned off."""

import functools
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from ricordo import limits
from ricordo.coding_agents.entry import Entry
from ricordo.coding_agents.projects import Project, relative_to_root
from ricordo.errors import FilesUnavailable, InvalidValue, UnknownField
from ricordo.files.disk import file_errors, make_folder, replace_file
from ricordo.frozen import dataclass, field

SETTINGS_FILE: Final = "agents.toml"
IGNORE_FILE: Final = ".ricordoignore"
FOLDER: Final = "agents"
"""In the home folder: what hooks and the process behind them keep."""

_OFF_FILE: Final = "off.json"
_MAX_FILE_BYTES: Final = 1_000_000
_ALL: Final = frozenset({"*", "/*", "**", "/**", "**/*"})
_SECRET_FILES: Final = (
    *(".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", ".netrc", ".pgpass"),
    *(
        "*.pem",
        "*.key",
        "*.p12",
        "*.pfx",
        "*.keystore",
        "id_rsa",
        "id_ed25519",
        "**/.aws/credentials",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The file ``agents.toml`` of the home folder. What it does not name is as here."""

    user: str | None = None
    url: str | None = None
    prompts: bool = True
    answers: bool = True
    tools: bool = True
    brief: bool = True
    recall: bool = True
    brief_tokens: int = 1_200
    recall_tokens: int = 500
    ignore: tuple[str, ...] = field(default=_SECRET_FILES)


SETTINGS: Final[Mapping[str, str]] = {
    "user": "Whose memory it is. Default: RICORDO_USER, or me.",
    "url": "The store, as in RICORDO_URL. Default: that variable, or the home folder's.",
    "prompts": "Capture what the user writes.",
    "answers": "Capture what the agent answers.",
    "tools": "Capture calls of tools: names, files, commands, errors, two ends of the output.",
    "brief": "Show what is known of the project at the start of a session.",
    "recall": "Show at each prompt what matters for it.",
    "brief_tokens": "How long that brief may be.",
    "recall_tokens": "How much may be shown at one prompt.",
    "ignore": "Files whose tool calls are not captured, as in .gitignore, in every project.",
}
_TOKENS: Final = (100, limits.MAX_CONTEXT_TOKENS)


def read_settings(home: Path) -> AgentSettings:
    """The settings of a home folder.

    Raises:
        UnknownField, InvalidValue: the file names something that there is not, or is not TOML.
        FilesUnavailable: it cannot be read.
    """
    path = home / SETTINGS_FILE
    text = _text(path)
    if text is None:
        return AgentSettings()
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidValue(str(path), f"is not TOML: {problem}") from None
    kinds = get_type_hints(AgentSettings)
    for name, value in given.items():
        if name not in kinds:
            raise UnknownField(f"setting of {path}", [name], SETTINGS)
        _check(f"{path}: {name}", kinds[name], value)
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return AgentSettings(**{**given, **lists})


def name_settings(home: Path, **given: str) -> bool:
    """Write the file where there is none, naming all settings, and put texts into it; whether that
    changed anything.

    Raises:
        UnknownField, InvalidValue: the file is not as it should be; it stays as it is.
        FilesUnavailable: it cannot be written.
    """
    path = home / SETTINGS_FILE
    before = _text(path)
    if before is not None:
        read_settings(home)
    text = _all_settings() if before is None else before
    for name, value in given.items():
        line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        named = re.compile(rf"^#? ?{name}[ \t]*=.*$", re.MULTILINE)
        found = named.search(text)
        start, end = found.span() if found else (0, 0)
        text = f"{text[:start]}{line}{'' if found else chr(10)}{text[end:]}"
    try:
        if any(tomllib.loads(text).get(name) != value for name, value in given.items()):
            raise InvalidValue(str(path), f"write {', '.join(given)} into it by hand")
    except tomllib.TOMLDecodeError as problem:
        raise InvalidValue(str(path), f"is not TOML: {problem}") from None
    if text == before:
        return False
    make_folder(home)
    replace_file(path, text.encode())
    return True


def _all_settings() -> str:
    lines = ["# What ricordo captures of coding agents, and shows them.", ""]
    for name, about in SETTINGS.items():
        default = getattr(AgentSettings(), name)
        shown = json.dumps(list(default) if isinstance(default, tuple) else default)
        lines += [f"# {about}", f'# {name} = ""' if default is None else f"{name} = {shown}", ""]
    return "\n".join(lines)


def _check(field: str, kind: Any, value: Any) -> None:
    if kind is bool:
        fits, allowed = isinstance(value, bool), "true or false"
    elif kind is int:
        low, high = _TOKENS
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        allowed = f"a number from {low} to {high}"
    elif kind == (str | None):
        fits, allowed = isinstance(value, str) and bool(value.strip()), "a text"
    else:
        fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        allowed = "a list of texts"
    if not fits:
        raise InvalidValue(field, f"expected {allowed}")


# -- projects turned off


def projects_off(home: Path) -> frozenset[str]:
    """Raises FilesUnavailable."""
    path = home / FOLDER / _OFF_FILE
    text = _text(path)
    if text is None:
        return frozenset()
    try:
        return frozenset(map(str, json.loads(text)["projects"]))
    except (ValueError, KeyError, TypeError):
        raise FilesUnavailable(
            f"{path}: is damaged; remove it, and turn projects off again"
        ) from None


def turn(home: Path, project_id: str, *, off: bool) -> bool:
    """Turn a project off or on; whether that changed anything. Raises FilesUnavailable."""
    before = projects_off(home)
    after = before | {project_id} if off else before - {project_id}
    if after == before:
        return False
    make_folder(home / FOLDER)
    content = json.dumps({"projects": sorted(after)}, ensure_ascii=False, indent=1)
    replace_file(home / FOLDER / _OFF_FILE, content.encode())
    return True


# -- files that are not captured


class Ignored:
    """Patterns of files as in ``.gitignore``; the last that fits decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        cleaned = [line for line in map(_pattern, lines) if line]
        self._rules = [
            (not line.startswith("!"), _expression(line.lstrip("!"))) for line in cleaned
        ]
        last = max((place for place, line in enumerate(cleaned) if line in _ALL), default=None)
        self.everything = last is not None and not any(
            line.startswith("!") for line in cleaned[last:]
        )

    def covers(self, path: str) -> bool:
        """Whether a path from the root, or a folder that it is in, is meant."""
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
        ignored = False
        for length in range(1, len(parts) + 1):
            name = "/".join(parts[:length]) + ("/" if length < len(parts) else "")
            for says, expression in self._rules:
                if expression.fullmatch(name):
                    ignored = says
            if ignored and length < len(parts):
                return True
        return ignored


def _pattern(line: str) -> str:
    text = line.rstrip("\r\n")
    if text.startswith("#"):
        return ""
    stripped = text.rstrip(" \t")
    return f"{stripped} " if stripped.endswith("\\") and stripped != text else stripped


@functools.lru_cache(maxsize=512)
def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression for paths; folders end in a slash."""
    text = pattern
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    text = text.lstrip("/")
    built = "" if anchored else "(?:.*/)?"
    place = 0
    while place < len(text):
        sign = text[place]
        if text.startswith("**/", place):
            built += "(?:.*/)?"
            place += 3
            continue
        if text.startswith("**", place):
            built += ".*"
            place += 2
            continue
        if sign == "[" and (end := text.find("]", place + 2)) > 0:
            inside = text[place + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            built += f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            place = end + 1
            continue
        if sign == "\\" and place + 1 < len(text):
            place += 1
            built += re.escape(text[place])
        else:
            built += {"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign))
        place += 1
    try:
        return re.compile(built + ("/" if only_folders else "/?"), re.DOTALL)
    except re.error:  # a set that is none
        return re.compile(re.escape(text))


@dataclass(frozen=True, slots=True)
class Rules:
    """What of one project may be captured."""

    settings: AgentSettings
    project: Project
    ignored: Ignored
    is_off: bool

    @classmethod
    def of(cls, home: Path, settings: AgentSettings, project: Project) -> "Rules":
        """Raises FilesUnavailable."""
        own = (_text(project.root / IGNORE_FILE) or "").splitlines()
        ignored = Ignored([*settings.ignore, *own])
        return cls(
            settings, project, ignored, ignored.everything or project.id in projects_off(home)
        )

    def allow(self, entry: Entry) -> bool:
        """Whether an entry may be captured at all."""
        if self.is_off:
            return False
        named = {"user": "prompts", "assistant": "answers", "tool": "tools"}[entry.role]
        if not getattr(self.settings, named):
            return False
        call = entry.call
        if call is None:
            return True
        paths = [*call.files, *_paths_in(call.command or "")]
        return not any(self.ignored.covers(relative_to_root(self.project, one)) for one in paths)


def _paths_in(command: str) -> list[str]:
    """The words of a command, each of which may name a file."""
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    parts = [part for word in words for part in re.split(r"[=:,;<>|&()'\"`\s]+", word)]
    return [part for part in {*words, *parts} if part and not part.startswith("-")]


def _text(path: Path) -> str | None:
    with file_errors(path):
        try:
            with path.open("rb") as file:
                return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
