"""Which project a folder belongs to, read from the files of git without running it."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ricordo.frozen import dataclass
from ricordo.limits import MAX_REFERENCE_CHARS

_MAX_FILE_BYTES: Final = 4_000_000  # packed-refs of a large repository
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[^\]]+\]|[^:/\s]{2,}):(?P<path>(?!//).+)")
_SECTION: Final = re.compile(r'\s*\[\s*(?P<name>[\w.-]+)(?:\s+"(?P<of>(?:[^"\\]|\\.)*)")?\s*\]')
_ALSO_CALLED: Final = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Hosts that serve the same repositories by ssh under another name."""


@dataclass(frozen=True, slots=True)
class Project:
    """A repository, or a folder that is in none.

    ``id`` is the same in every clone and worktree. ``root`` is the folder that paths are relative
    to: of a linked worktree its own. ``commit`` has all its digits; None before the first one.
    """

    id: str
    root: Path
    branch: str | None = None
    commit: str | None = None


def project_of(folder: Path) -> Project:
    """The project of a folder, which need not exist any more."""
    place = _absolute(folder)
    for root in (place, *place.parents):
        found = _git_folders(root)
        if found is not None:
            own, common = found
            branch, commit = _head(own, common)
            return Project(_id_of(root, own, common), root, branch, commit)
    return Project(_fitting(place.as_posix()), place)


def relative_to_root(project: Project, path: str) -> str:
    """A path as memories name it: from the project's root with slashes, or as it is outside."""
    given = Path(path)
    if not given.is_absolute():
        return given.as_posix()
    for root in (project.root, _absolute(project.root)):
        try:
            return given.relative_to(root).as_posix()
        except ValueError:
            continue
    return given.as_posix()


def normalised_remote(url: str, base: Path | None = None) -> str | None:
    """``host/owner/name`` of a remote's address, the same for all ways to reach it.

    A repository on the same machine is its path. Names and passwords in the address are dropped.
    None where the address says nothing.
    """
    text = url.strip()
    if not text:
        return None
    parts = _split(text)
    if parts is None:
        return _local(text, base)
    host, path = parts
    host = _ALSO_CALLED.get(host.casefold(), host.casefold())
    pieces = [piece for piece in path.split("/") if piece not in ("", ".", "..")]
    if host == "dev.azure.com":
        pieces = [piece for piece in pieces if piece not in ("v3", "_git")]
    if not pieces:
        return None
    pieces[-1] = pieces[-1].removesuffix(".git") or pieces[-1]
    name = "/".join([host, *pieces]).casefold()
    return "".join(sign for sign in name if sign.isprintable()).strip() or None


def _split(text: str) -> tuple[str, str] | None:
    """Host and path of an address; None for a path on this machine."""
    if "://" in text:
        try:
            address = urlsplit(text)
            host = address.hostname
        except ValueError:
            return None
        if address.scheme == "file" or not host:
            return None
        return host, unquote(address.path)
    if found := _SCP.fullmatch(text):
        return found["host"].strip("[]"), found["path"]
    return None


def _local(text: str, base: Path | None) -> str | None:
    path = Path(unquote(urlsplit(text).path) if text.startswith("file://") else text)
    if not path.is_absolute():
        if base is None:
            return None
        path = base / path
    name = Path(os.path.normpath(path)).as_posix()
    return name.removesuffix("/.git").removesuffix(".git") or None


def _absolute(folder: Path) -> Path:
    try:
        return folder.expanduser().resolve()
    except (OSError, RuntimeError):  # a loop of links, or no home folder
        return Path(os.path.abspath(folder))  # noqa: PTH100 - resolves no links


def _git_folders(root: Path) -> tuple[Path, Path] | None:
    """The git folder of a working tree, and the one it shares with others; None for no tree."""
    marker = root / ".git"
    try:
        if marker.is_dir():
            own = marker
        elif marker.is_file():
            line = _read(marker).strip()
            if not line.startswith("gitdir:"):
                return None
            own = _absolute(root / line.removeprefix("gitdir:").strip())
        else:
            return None
        shared = _read(own / "commondir").strip()
        common = _absolute(own / shared) if shared else own
        return (own, common) if (own / "HEAD").is_file() else None
    except OSError:
        return None


def _id_of(root: Path, own: Path, common: Path) -> str:
    main = root if own == common else common.parent if common.name == ".git" else common
    remotes = dict(_remotes(common / "config"))
    chosen = remotes.get("origin") or next(iter(remotes.values()), None)
    found = normalised_remote(chosen, main) if chosen else None
    return _fitting(found or main.as_posix())


def _remotes(config: Path) -> Iterator[tuple[str, str]]:
    """Names and addresses of remotes, after the replacements that the same file names."""
    replaced: list[tuple[str, str]] = []
    found: list[tuple[str, str]] = []
    section, of = "", ""
    for line in _read(config).splitlines():
        if start := _SECTION.match(line):
            section, of = start["name"].lower(), (start["of"] or "").replace('\\"', '"')
        name, sign, value = line[start.end() if start else 0 :].partition("=")
        name, value = name.strip().lower(), _unquoted(value)
        if not sign or not value:
            continue
        if section == "remote" and name == "url":
            found.append((of, value))
        elif section == "url" and name == "insteadof":
            replaced.append((value, of))
    replaced.sort(key=lambda pair: -len(pair[0]))
    for remote, address in found:
        long = next((by + address[len(of) :] for of, by in replaced if address.startswith(of)), "")
        yield remote, long or address


def _unquoted(value: str) -> str:
    text = value.strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return re.split(r"\s[#;]", text)[0].strip()


def _head(own: Path, common: Path) -> tuple[str | None, str | None]:
    """The branch that is checked out and its commit."""
    head = _read(own / "HEAD").strip()
    if _HASH.fullmatch(head):
        return None, head
    reference = head.removeprefix("ref:").strip()
    if not reference.startswith("refs/") or ".." in reference:
        return None, None
    branch = reference.removeprefix("refs/heads/")
    for folder in (own, common):
        loose = _read(folder / reference).strip()
        if _HASH.fullmatch(loose):
            return branch, loose
    for line in _read(common / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and _HASH.fullmatch(commit):
            return branch, commit
    return branch, None


def _read(path: Path) -> str:
    """A small file's text; nothing for one that is missing, or is no file to be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _fitting(name: str) -> str:
    """A name as an identifier: of a very long one the end, and a digest of the whole."""
    printable = "".join(sign if sign.isprintable() else "�" for sign in name).strip()
    if len(printable) <= MAX_REFERENCE_CHARS:
        return printable
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{digest}…{printable[-(MAX_REFERENCE_CHARS - len(digest) - 1) :].lstrip()}"
