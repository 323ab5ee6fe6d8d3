"""What projects tell coding agents in files: ``CLAUDE.md``, ``AGENTS.md``, ``GEMINI.md``.

Each statement is a memory whose key is made of the file and the text. The files are never written.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo import limits
from ricordo.coding_agents.capture import clean
from ricordo.frozen import dataclass
from ricordo.model.draft import NewMemory
from ricordo.model.item import Item
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.text.secrets import MASK
from ricordo.transfer.markdown import BlockKind, blocks

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

OF_PROJECTS: Final = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md")
"""Where programs look for instructions, from the root of a project."""

_OF_THE_USER: Final[Mapping[str, str]] = {
    "claude-code": ".claude/CLAUDE.md",
    "codex": ".codex/AGENTS.md",
    "gemini-cli": ".gemini/GEMINI.md",
    "opencode": ".config/opencode/AGENTS.md",
}
_MAX_FILE_BYTES: Final = 1_000_000
_MAX_STATEMENTS: Final = 500
_KINDS: Final = (BlockKind.BULLET, BlockKind.PARAGRAPH)
_GONE: Final = "no longer in "


@dataclass(frozen=True, slots=True)
class TakenOver:
    """How many statements are new, are there again, are gone, and were left out."""

    added: int = 0
    restored: int = 0
    archived: int = 0
    with_secrets: int = 0


@dataclass(frozen=True, slots=True)
class _Statement:
    key: str
    text: str
    heading: str | None


def of_project(root: Path) -> dict[str, Path]:
    """The files of a project by the names that memories give them, missing ones included."""
    return {name: root / name for name in OF_PROJECTS} if root.is_dir() else {}


def of_user(agent: str, home: Path) -> dict[str, Path]:
    """The file in which the user tells an agent what holds in all projects."""
    name = _OF_THE_USER.get(agent)
    return {f"~/{name}": home / name} if name else {}


def take_over(
    scope: "UserMemory", files: Mapping[str, Path], within: Path, *, dry_run: bool = False
) -> TakenOver:
    """Make the memories of a scope say what these files say now.

    What a file no longer says is archived, and restored if it says so again; what the user changed,
    archived or forgot stays as it is. A link that leads out of ``within`` is not followed.

    Raises:
        RicordoError: the store; what was done before is done.
    """
    added = restored = archived = with_secrets = 0
    seen: set[Path] = set()
    for name, path in files.items():
        statements: dict[str, _Statement] = {}
        real = _real_path(path, within)
        if real is not None and real not in seen:
            seen.add(real)
            for one in _statements(name, real):
                if MASK in clean(one.text, limits.MAX_CONTENT_CHARS):
                    with_secrets += 1
                else:
                    statements[one.key] = one
        known = {item.key: item for item in _known(scope, name)}
        new = [one for key, one in statements.items() if key not in known]
        gone = [
            item
            for key, item in known.items()
            if key not in statements and item.status is Status.ACTIVE
        ]
        back = [item for key, item in known.items() if key in statements and _is_gone(scope, item)]
        added, restored, archived = added + len(new), restored + len(back), archived + len(gone)
        if not dry_run:
            _write(scope, name, new, back, gone)
    return TakenOver(added, restored, archived, with_secrets)


def _write(
    scope: "UserMemory",
    name: str,
    new: Iterable[_Statement],
    back: Iterable[Item],
    gone: Iterable[Item],
) -> None:
    for item in gone:
        scope.archive(item.id, reason=f"{_GONE}{name}")
    for item in back:
        scope.restore(item.id, reason=f"again in {name}")
    drafts = [
        NewMemory(
            content=one.text,
            type=MemoryType.INSTRUCTION,
            key=one.key,
            tags=("convention", f"file:{name}"),
            source=Source.FILE,
            source_context=name if one.heading is None else f"{name}, {one.heading}"[:200],
        )
        for one in new
    ]
    if drafts:
        scope.add_many(drafts)


def _known(scope: "UserMemory", name: str) -> Iterator[Item]:
    """The memories made of a file, whatever became of them, but for those of other projects."""
    cursor = None
    while True:
        page = scope.list(
            tags=[f"file:{name}"],
            source=Source.FILE,
            status=(Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED, Status.DELETED),
            cursor=cursor,
        )
        for item in page.items:
            is_of_file = item.key is not None and item.key.startswith(f"file:{name}#")
            if is_of_file and item.project_id == scope.scope.project_id:
                yield item
        cursor = page.next_cursor
        if cursor is None:
            return


def _is_gone(scope: "UserMemory", item: Item) -> bool:
    """Whether it was archived because its file did not say so any more."""
    if item.status is not Status.ARCHIVED:
        return False
    last = scope.history(item.id, limit=limits.MAX_CHANGES)[-1:]
    return any((one.reason or "").startswith(_GONE) for one in last)


def _real_path(path: Path, within: Path) -> Path | None:
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() and real.is_relative_to(within.resolve()) else None
    except (OSError, RuntimeError):
        return None


def _statements(name: str, path: Path) -> Iterator[_Statement]:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES).decode("utf-8", "replace").replace("\x00", "")
    except OSError:
        return
    found = (
        block
        for block in blocks(content)
        if block.kind in _KINDS
        and 0 < len(block.text) <= limits.MAX_CONTENT_CHARS
        and not block.text.startswith(("@", "<!--", "|"))  # what it includes, comments, tables
    )
    for block in islice(found, _MAX_STATEMENTS):
        plain = " ".join(block.text.split()).casefold()
        digest = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]
        yield _Statement(f"file:{name}#{digest}", block.text, block.heading)
