"""From what happened in sessions of coding agents to turns of the project's conversations.

Live capture and import come this way. What the settings do not name, what is private and what is a
secret is gone before anything is stored.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from ricordo import limits
from ricordo.coding_agents.entry import Entry, ToolCall, shortened
from ricordo.coding_agents.projects import relative_to_root
from ricordo.coding_agents.rules import Rules
from ricordo.coding_agents.staleness import blobs_of
from ricordo.formation.runs import edits
from ricordo.frozen import dataclass
from ricordo.model.thread import NewTurn
from ricordo.text.secrets import MASK, secrets_in, without_secrets

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

MAX_MESSAGE_CHARS: Final = 40_000
"""Of a longer prompt or answer, the two ends are kept."""

_MAX_ARGUMENTS: Final = 40
_MAX_DEPTH: Final = 5
_MAX_ERROR_CHARS: Final = 1_000
_MAX_TITLE_CHARS: Final = 80
_MAX_FILES: Final = 50
_PRIVATE: Final = re.compile(
    r"<private>(?:(?!<private>).)*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL
)
_PRIVATE_END: Final = re.compile(r"</private>", re.IGNORECASE)
_UNSTORABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_BINARY_SHARE: Final = 0.1
_MIN_BINARY: Final = 8
_BINARY: Final = "(binary output)"
_NAMED_SECRET: Final = re.compile(
    r"(?P<name>(?<![^\W_])[\w.-]{0,60}?"
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token(?!i[sz])|api[_-]?key|(?<![^\W_])_auth(?![a-z])"
    r"|(?:access|account|shared|private|signing|encryption|master)[_-]?key|credential)"
    r"[\w.-]{0,40}?(?<!name)(?<!path)(?<!file)(?<!type)(?<!_url)(?<!_ttl)(?<!count))"
    r"(?P<to>[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3}(?:(?:Bearer|Basic|Token)\s+)?)"
    r"(?P<value>\"[^\"\n]{4,4096}\"|'[^'\n]{4,4096}'|`[^`\n]{4,4096}`|[^\s\"'`,;(){}\[\]<>]{6,4096})",
    re.IGNORECASE,
)
"""What is assigned to a name as in code, files of settings and headers."""
_OPTION_SECRET: Final = re.compile(
    r"(?P<to>(?<!\S)(?:--?(?:password|passwd|pass|token|secret|api-?key|access-?key|auth)"
    r"(?:=|\s{1,3})|-p(?=\S{6})|(?:-u|--user)\s{1,3}[^\s:]{1,80}:|\bBasic\s{1,3}))"
    r"(?P<value>[^\s\"'-][^\s\"']{5,4096}|\"[^\"\n]{4,4096}\"|'[^'\n]{4,4096}')",
    re.IGNORECASE,
)
_IN_ADDRESS: Final = re.compile(
    r"(?P<to>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)(?P<value>[^\s/@\"']{3,200})(?=@)",
    re.IGNORECASE,
)
_WEBHOOK: Final = re.compile(
    r"(?P<to>\bhooks\.slack\.com/(?:services|workflows)/|\bdiscord(?:app)?\.com/api/webhooks/"
    r"|\b[\w.-]{1,60}\.webhook\.office\.com/webhookb2/|\bapi\.telegram\.org/bot)"
    r"(?P<value>[^\s\"'<>]{12,300})"
)
_NO_SECRET: Final = re.compile(
    r"[\"'`]?(?:true|false|null|none|undefined|required|optional|string|str|int(?:eger)?|bool(?:ean)?"
    r"|bytes|any|object|process\.env\b.*|os\.environ\b.*|os\.getenv\b.*|env\..*|config\..*|settings\..*"
    r"|self\..*|this\..*|request\..*|req\..*|args\..*|\$\{?\w+\}?|%\w+%|<[^>]*>|\*+|x{4,}|\.{3,}"
    r"|changeme|example|placeholder|your[\w-]*|[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+"
    r"|[a-z]+(?:\.[a-z_]+)+|\d{1,5})[\"'`]?",
    re.IGNORECASE,
)
"""A name of something else, a type or a placeholder, where code assigns it."""


@dataclass(frozen=True, slots=True)
class Captured:
    """How many entries were recorded, were there already, and were left out by the rules."""

    recorded: int = 0
    known: int = 0
    left_out: int = 0


def record(
    scope: "UserMemory",
    agent: str,
    entries: Iterable[Entry],
    rules: Rules,
    title: str | None = None,
) -> Captured:
    """Store what the rules allow in the conversations of a scope, each entry once.

    Entries of several sessions become several conversations; within one they come in order. Raises
    RicordoError: nothing of the present batch was stored; batches before it are.
    """
    recorded = known = left_out = 0
    waiting: list[NewTurn] = []
    present = ""

    def store() -> None:
        nonlocal recorded, known
        if waiting:
            done = scope.observe(waiting, thread=present, title=title or _title_of(waiting))
            recorded, known = recorded + done.recorded, known + done.known
            waiting.clear()

    for entry in entries:
        turn = turn_of(entry, rules)
        if turn is None:
            left_out += 1
            continue
        thread = thread_of(agent, entry.session_id)
        if thread != present or len(waiting) >= limits.MAX_OBSERVED_TURNS:
            store()
            present = thread
        waiting.append(turn)
    store()
    return Captured(recorded, known, left_out)


def thread_of(agent: str, session_id: str) -> str:
    return _reference(f"{agent}:{session_id}")


def turn_of(entry: Entry, rules: Rules) -> NewTurn | None:
    """An entry as it is stored; None where the rules or the text leave nothing of it."""
    if not rules.allow(entry):
        return None
    call = None if entry.call is None else _clean_call(entry.call, rules, entry.at)
    text = _rendered(call) if call else clean(entry.content, MAX_MESSAGE_CHARS)
    if not text:
        return None
    return NewTurn(
        role=entry.role,
        content=text,
        at=entry.at,
        message_id=_reference(entry.id),
        tool_calls=[call] if call else None,
    )


def clean(text: str, limit: int) -> str:
    """A text without what is private or secret, and without what cannot be read."""
    readable = _COLOURS.sub("", text.encode("utf-8", "replace").decode())
    if _is_binary(readable):
        return _BINARY
    kept = _without_private(_UNSTORABLE.sub("�", readable))
    return shortened(_without_secrets(_ends(kept, limit)), limit).strip()


def _ends(text: str, limit: int) -> str:
    """A long text as its beginning and end before secrets are looked for, cut between lines where
    that is possible, so that no half of a secret is left at the cut."""
    if len(text) <= 2 * limit:
        return text
    head, tail = text[:limit], text[-limit:]
    head = head[: head.rfind("\n") + 1] or head[: head.rfind(" ") + 1] or head
    cut = tail.find("\n") if "\n" in tail[:-1] else tail.find(" ")
    missing = len(text) - len(head) - len(tail[max(cut, 0) :])
    return f"{head}\n… {missing} characters left out …\n{tail[max(cut, 0) :]}"


def _is_binary(text: str) -> bool:
    start = text[:4_000]
    odd = len(_UNSTORABLE.findall(start)) + start.count("�")
    return odd > max(_MIN_BINARY, _BINARY_SHARE * len(start))


def _without_private(text: str) -> str:
    """Innermost spans first; one that is never closed reaches to the end."""
    if "private>" not in text.lower():
        return text
    before = None
    while before != text:
        before, text = text, _PRIVATE.sub("", text)
    return _PRIVATE_END.sub("", text)


def _without_secrets(text: str) -> str:
    for pattern in (_IN_ADDRESS, _NAMED_SECRET, _OPTION_SECRET, _WEBHOOK):
        text = pattern.sub(_masked, text)
    return without_secrets(text)


def _masked(found: re.Match[str]) -> str:
    value = found["value"]
    may_be_code = found.re in (_NAMED_SECRET, _OPTION_SECRET)
    if MASK in value or (may_be_code and _NO_SECRET.fullmatch(value)):
        return found.group()
    quote = value[0] if value[0] in "\"'`" else ""
    return f"{found.group()[: found.start('value') - found.start()]}{quote}{MASK}{quote}"


# -- calls of tools


def _clean_call(call: ToolCall, rules: Rules, at: datetime | None) -> dict[str, Any]:
    """A call as it is stored, of bounded size."""
    named = (relative_to_root(rules.project, one) for one in call.files[:_MAX_FILES])
    files = [clean(one, 500) for one in named if not PurePath(one).is_absolute()]
    stored: dict[str, Any] = {"name": clean(call.name, 200) or "tool"}
    if call.arguments:
        stored["arguments"] = _clean_value(call.arguments, 0)
    if files:
        stored["files"] = [one for one in files if one]
    if files and at is not None and edits(call.name):
        stored["blobs"] = blobs_of(rules.project.root, files, at)
    if call.command:
        stored["command"] = clean(call.command, 2_000)
    if call.exit_code is not None:
        stored["exit_code"] = call.exit_code
    output = clean(call.output, 2_000) if call.output else ""
    if error := _error_of(call, output):
        stored["error"] = error
    if output:
        stored["output"] = output
    if len(json.dumps(stored)) > limits.MAX_TOOL_CALLS_BYTES // 2:
        stored["arguments"] = dict.fromkeys(stored["arguments"], "…")
    return stored


def _error_of(call: ToolCall, output: str) -> str:
    """What went wrong. Where it is the end of the output it is taken from the cleaned one: what a
    line means, a secret above all, may be said by the line before."""
    if call.error and call.output.rstrip().endswith(call.error):
        return shortened(output.rpartition("\n")[2], _MAX_ERROR_CHARS)
    return clean(call.error, _MAX_ERROR_CHARS) if call.error else ""


def _clean_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value, 1_000)
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        items = islice(value.items(), _MAX_ARGUMENTS)
        return {clean(str(key), 100): _clean_member(key, one, depth) for key, one in items}
    if isinstance(value, list | tuple):
        return [_clean_value(one, depth + 1) for one in islice(value, _MAX_ARGUMENTS)]
    if value is None or isinstance(value, bool | int):
        return value
    return clean(str(value), 100)


def _clean_member(key: object, value: Any, depth: int) -> Any:
    """A value whose name may say that it is a secret."""
    if isinstance(value, str) and value:
        named = f"{key}: {value}"
        is_named = any(end > len(f"{key}: ") for _, end in secrets_in(named[:2_000]))
        if is_named or _without_secrets(f'{key}="{value[:200]}"') != f'{key}="{value[:200]}"':
            return clean(value, 1_000) if MASK in clean(value, 1_000) else MASK
    return _clean_value(value, depth + 1)


def _rendered(call: Mapping[str, Any]) -> str:
    """A call as text: what it was, what it touched, what came of it."""
    return "\n".join(_lines(call))


def _lines(call: Mapping[str, Any]) -> Iterator[str]:
    what = call.get("command") or ", ".join(call.get("files", ())[:10])
    yield f"{call['name']}: {what}" if what else str(call["name"])
    if call.get("exit_code"):
        yield f"exit code {call['exit_code']}"
    if call.get("error"):
        yield str(call["error"])
    if call.get("output"):
        yield str(call["output"])


def _title_of(turns: Iterable[NewTurn]) -> str | None:
    """The first line that the user wrote."""
    said = next((turn.content for turn in turns if turn.role == "user"), None)
    if said is None:
        return None
    line = " ".join(said.split("\n", 1)[0].split())
    return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1]}…"


def _reference(name: str) -> str:
    """A name of somebody else as an identifier, the same every time."""
    fitting = "".join(sign if sign.isprintable() else "�" for sign in name).strip()
    if fitting == name and 0 < len(name) <= limits.MAX_REFERENCE_CHARS:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{fitting[:100].strip()}#{digest}"
