"""The policy file: YAML with ``categories``, ``allowlists`` and ``sharing``, reloaded on change."""

import re
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from ricordo import limits
from ricordo.access.policy import ALL_CATEGORIES, DEFAULT_AGENTS, AccessPolicy, CategoryRule, Pair
from ricordo.errors import InvalidPolicy, InvalidValue
from ricordo.frozen import dataclass
from ricordo.limits import MAX_POLICY_DEPTH
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.vocabulary import ContextPolicy

if TYPE_CHECKING:  # loaded on first use: most processes have no policy file
    import yaml
    from yaml.error import Mark, MarkedYAMLError
    from yaml.reader import ReaderError

_MAX_SHOWN_CHARS: Final = 60


class NodeKind(StrEnum):
    TEXT = "text"
    NUMBER = "a whole number"
    NOTHING = "nothing"
    OTHER = "a value that YAML does not take for text (put it in quotes)"
    LIST = "a list"
    MAPPING = "a mapping"


@dataclass(frozen=True, slots=True)
class PolicyNode:
    """A YAML value with its position. Uses one of ``text``, ``entries`` and ``pairs``."""

    file: str
    line: int
    column: int
    kind: NodeKind
    text: str = ""
    entries: tuple["PolicyNode", ...] = ()
    pairs: tuple[tuple["PolicyNode", "PolicyNode"], ...] = ()

    def wrong(self, problem: str) -> InvalidPolicy:
        return InvalidPolicy(self.file, problem, self.line, self.column)

    @property
    def shown(self) -> str:
        """The value in a message, or its kind."""
        if self.kind in (NodeKind.LIST, NodeKind.MAPPING, NodeKind.NOTHING):
            return self.kind.value
        rendered = repr(self.text)
        if len(rendered) > _MAX_SHOWN_CHARS:
            rendered = f"{rendered[: _MAX_SHOWN_CHARS - 3]}..."
        return f"{rendered}, {self.kind.value}" if self.kind is NodeKind.OTHER else rendered


# Anchors, aliases and tags are refused: a policy needs none, and a few aliases can expand to
# millions of entries.

_MAX_PROBLEM_CHARS: Final = 200
_QUOTE_HINT: Final = 'to mean all, write "*" in quotes'
_SCALAR_KINDS: Final = {
    "tag:yaml.org,2002:str": NodeKind.TEXT,
    "tag:yaml.org,2002:int": NodeKind.NUMBER,
    "tag:yaml.org,2002:null": NodeKind.NOTHING,
}


def compose(file: str, text: str) -> PolicyNode:
    """Parse the single document in a text. ``file`` is its name in messages. Raises InvalidPolicy:
    it is not YAML, not one document, or uses what is refused here."""
    from yaml.error import MarkedYAMLError
    from yaml.reader import ReaderError

    try:
        loader = _strict_loader()(text)
    except ReaderError as problem:
        raise _unreadable(file, text, problem) from None
    try:
        root = loader.get_single_node()
    except _Refused as problem:
        raise InvalidPolicy(file, str(problem), *problem.place) from None
    except MarkedYAMLError as problem:
        raise _malformed(file, problem) from None
    except (ValueError, OverflowError) as problem:
        # PyYAML raises these for escapes beyond Unicode and absurdly long version numbers.
        raise InvalidPolicy(
            file, f"not valid YAML ({_shortened(problem)})", loader.line + 1, loader.column + 1
        ) from None
    finally:
        loader.dispose()
    if root is None:
        raise InvalidPolicy(file, "the file is empty", 1, 1)
    return _node(file, root)


class _Refused(Exception):
    """Valid YAML that a policy may not use."""

    def __init__(self, problem: str, mark: Any) -> None:
        self.place = _position(mark)
        super().__init__(problem)


@cache
def _strict_loader() -> "type[yaml.SafeLoader]":
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """Stops at the first refused construct, before anything is built."""

        depth = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            problem = None
            if isinstance(event, yaml.AliasEvent):
                problem = f"aliases are not allowed; {_QUOTE_HINT}"
            elif event.anchor is not None:
                problem = "anchors are not allowed"
            elif event.tag is not None:
                problem = "tags are not allowed"
            elif self.depth >= MAX_POLICY_DEPTH:
                problem = f"nested too deeply; allowed: {MAX_POLICY_DEPTH} levels"
            if problem is not None:
                raise _Refused(problem, event.start_mark)
            self.depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

    return StrictLoader


def _node(file: str, found: "yaml.Node") -> PolicyNode:
    import yaml

    line, column = _position(found.start_mark)
    if isinstance(found, yaml.MappingNode):
        pairs = tuple((_node(file, key), _node(file, value)) for key, value in found.value)
        return PolicyNode(file, line, column, NodeKind.MAPPING, pairs=pairs)
    if isinstance(found, yaml.SequenceNode):
        entries = tuple(_node(file, entry) for entry in found.value)
        return PolicyNode(file, line, column, NodeKind.LIST, entries=entries)
    kind = _SCALAR_KINDS.get(found.tag, NodeKind.OTHER)
    return PolicyNode(file, line, column, kind, text=found.value)


def _position(mark: "Mark | None") -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _malformed(file: str, problem: "MarkedYAMLError") -> InvalidPolicy:
    line, column = _position(problem.problem_mark or problem.context_mark)
    said = ", ".join(part for part in (problem.context, problem.problem) if part)
    hint = f"; {_QUOTE_HINT}" if problem.context == "while scanning an alias" else ""
    return InvalidPolicy(file, f"not valid YAML ({_shortened(said)}{hint})", line, column)


def _unreadable(file: str, text: str, problem: "ReaderError") -> InvalidPolicy:
    before = text[: problem.position]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    said = f"the character U+{ord(text[problem.position]):04X} is not allowed"
    return InvalidPolicy(file, said, line, column)


def _shortened(problem: object) -> str:
    said = str(problem)
    return said if len(said) <= _MAX_PROBLEM_CHARS else f"{said[: _MAX_PROBLEM_CHARS - 3]}..."


_MAX_LISTED: Final = 20  # names that a message gives before it says how many more there are

_PLAIN_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")
_KEYS: Final = ("categories", "allowlists", "sharing")
_SHARING_KEYS: Final = ("groups", "pairs")
_PAIR_KEYS: Final = ("from", "to")
_CATEGORY_KEYS: Final = ("display_name", "description", "context", "rag_length")
_CATEGORY_GROUPS: Final = ("system", "custom")

Value = TypeVar("Value")


def read_policy(path: Path) -> bytes:
    """The bytes of a policy file. Raises InvalidPolicy: it cannot be read, is not a file, or is too
    large."""
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        # Checked first: opening a pipe would block.
        raw = _beginning(path) if is_file else b""
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = getattr(problem, "strerror", None) or problem
        raise InvalidPolicy(str(path), f"cannot be read ({reason})") from None
    if not is_file:
        raise InvalidPolicy(str(path), "is not a file")
    if len(raw) > limits.MAX_POLICY_FILE_BYTES:
        raise InvalidPolicy(
            str(path),
            f"larger than {limits.MAX_POLICY_FILE_BYTES} bytes, the most allowed for a policy",
        )
    return raw


def _beginning(path: Path) -> bytes:
    """The whole file, or one byte more than is allowed."""
    with path.open("rb") as file:
        return file.read(limits.MAX_POLICY_FILE_BYTES + 1)


def parse_policy(path: Path, raw: bytes) -> AccessPolicy:
    """Parse a policy; ``path`` only names it in messages.

    Anything unknown is refused: a policy understood by half could allow what its author forbade.
    Raises InvalidPolicy: the text is not a valid policy; names the file, line and column.
    """
    root = compose(str(path), _decoded(path, raw))
    parts = _fields(root, "a policy", _KEYS)
    if "allowlists" not in parts:
        # Not "everything is allowed": a truncated file must not open what it should close.
        raise root.wrong(
            'allowlists is missing; to let every agent read everything, say default: ["*"] there'
        )
    described = parts.get("categories")
    categories = {} if described is None else _categories(described)
    # Groups describe some categories; other notations describe all, so that a slip is noticed.
    known = None if described is not None and _is_grouped(described) else categories
    shared = parts.get("sharing")
    sharing = {} if shared is None else _fields(shared, "sharing", _SHARING_KEYS)
    return AccessPolicy(
        categories,
        _allowlists(parts["allowlists"], known),
        sharing_groups=_groups(sharing["groups"]) if "groups" in sharing else {},
        sharing_pairs=_pairs(sharing["pairs"]) if "pairs" in sharing else frozenset(),
    )


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise InvalidPolicy(
            str(path), "not text in UTF-8; save the file as UTF-8", line, column
        ) from None


def _categories(node: PolicyNode) -> dict[str, CategoryRule]:
    if _is_grouped(node):
        groups = _fields(node, "categories", _CATEGORY_GROUPS)
        return _category_list([entry for group in groups.values() for entry in group.entries])
    if node.kind is NodeKind.LIST:
        return _category_list(node.entries)
    if node.kind is not NodeKind.MAPPING:
        raise node.wrong(f"categories: expected a list or a mapping, got {node.shown}")
    return {slug: _category(slug, value) for slug, value in _named(node, _slug, "category").items()}


def _is_grouped(node: PolicyNode) -> bool:
    """Whether categories are in lists of ``system`` and ``custom`` ones."""
    kinds = {value.kind for _, value in node.pairs}
    return NodeKind.LIST in kinds and kinds <= {NodeKind.LIST, NodeKind.NOTHING}


def _category_list(nodes: Sequence[PolicyNode]) -> dict[str, CategoryRule]:
    """Categories by a name alone, or with their rules and a name among them."""
    keys = ("name", *_CATEGORY_KEYS)

    def slug(node: PolicyNode) -> str:
        if node.kind is not NodeKind.MAPPING:
            return _slug(node)
        given = _fields(node, "a category", keys)
        if "name" not in given:
            raise node.wrong("a category needs a name")
        return _slug(given["name"])

    slugs = _unique(nodes, slug, "category")
    return {
        slug: _category(slug, node, keys) if node.kind is NodeKind.MAPPING else CategoryRule(slug)
        for slug, node in zip(slugs, nodes, strict=True)
    }


def _category(slug: str, node: PolicyNode, keys: tuple[str, ...] = _CATEGORY_KEYS) -> CategoryRule:
    if node.kind is NodeKind.NOTHING:  # "tasks:" with nothing after it
        return CategoryRule(slug)
    given = _fields(node, f"category {slug!r}", keys)

    def text(field: str, most: int) -> str | None:
        return _checked(given.get(field), lambda one: checks.text(field, _text(field, one), most))

    def choice(one: PolicyNode) -> ContextPolicy:
        return checks.choice("context", _text("context", one), ContextPolicy)

    context = _checked(given.get("context"), choice) or ContextPolicy.RAG
    rag_length = _checked(given.get("rag_length"), _rag_length)
    if rag_length is not None and context is not ContextPolicy.RAG:
        raise given["rag_length"].wrong(
            f"rag_length: allowed only with context: {ContextPolicy.RAG.value}"
        )
    return CategoryRule(
        slug,
        display_name=text("display_name", limits.MAX_THEME_CHARS),
        description=text("description", limits.MAX_THEME_DESCRIPTION_CHARS),
        context=context,
        rag_length=rag_length,
    )


def _rag_length(node: PolicyNode) -> int:
    # Decimal digits only: to YAML 010 is eight and 1:30 is ninety.
    plain = node.kind is NodeKind.NUMBER and _PLAIN_NUMBER.fullmatch(node.text)
    value = int(node.text) if plain else node.text or node.shown
    return checks.integer("rag_length", value, 1, limits.MAX_RAG_LENGTH)


def _allowlists(node: PolicyNode, categories: Collection[str] | None) -> dict[str, frozenset[str]]:
    """The categories of each agent, which have to be among those that are given."""
    if node.kind is not NodeKind.MAPPING:
        raise node.wrong(
            f"allowlists: expected a mapping of agents to their categories, got {node.shown}"
        )
    return {
        agent: _allowlist(agent, entries, categories)
        for agent, entries in _named(node, _agent, "agent").items()
    }


def _allowlist(agent: str, node: PolicyNode, categories: Collection[str] | None) -> frozenset[str]:
    if node.kind is not NodeKind.LIST:
        raise node.wrong(
            f"agent {agent!r}: expected a list of categories, got {node.shown};"
            " write [] to allow none"
        )
    if len(node.entries) > limits.MAX_FILTER_VALUES:  # together they become one filter
        raise node.wrong(
            f"agent {agent!r}: {len(node.entries)} categories;"
            f" allowed: at most {limits.MAX_FILTER_VALUES}"
        )

    def known(entry: PolicyNode) -> str:
        if entry.kind is NodeKind.TEXT and entry.text == ALL_CATEGORIES:
            return ALL_CATEGORIES
        slug = _slug(entry)
        if categories is not None and slug not in categories:
            raise entry.wrong(
                f"category {slug!r} is not among categories; allowed:"
                f" {_listed((repr(ALL_CATEGORIES), *categories))}"
            )
        return slug

    return frozenset(_unique(node.entries, known, "category"))


def _groups(node: PolicyNode) -> dict[str, frozenset[str]]:
    if node.kind is not NodeKind.MAPPING:
        raise node.wrong(f"groups: expected a mapping of names to users, got {node.shown}")
    return {
        name: _group(name, members)
        for name, members in _named(node, lambda one: _text("group", one), "group").items()
    }


def _group(name: str, node: PolicyNode) -> frozenset[str]:
    if node.kind is not NodeKind.LIST:
        raise node.wrong(f"group {name!r}: expected a list of users, got {node.shown}")
    return frozenset(_unique(node.entries, _user, "user"))


def _pairs(node: PolicyNode) -> frozenset[Pair]:
    if node.kind is not NodeKind.LIST:
        raise node.wrong(
            f"pairs: expected a list of pairs, such as {{from: ben, to: ana}}, got {node.shown}"
        )
    return frozenset(_pair(entry) for entry in node.entries)


def _pair(node: PolicyNode) -> Pair:
    given = _fields(node, "a pair", _PAIR_KEYS)
    if len(given) < len(_PAIR_KEYS):
        raise node.wrong("a pair has a from and a to, such as {from: ben, to: ana}")
    return _user(given["from"]), _user(given["to"])


def _user(node: PolicyNode) -> str:
    return _checked(node, lambda one: checks.user_id(_text("user", one)))


def _slug(node: PolicyNode) -> str:
    name = _text("category", node)
    if not name.strip():  # elsewhere that means "general"; here it is a slip of the pen
        raise node.wrong("category: must not be empty")
    return theme_slug(name)


def _agent(node: PolicyNode) -> str:
    name = _text("agent", node)
    return DEFAULT_AGENTS[0] if name in DEFAULT_AGENTS else checks.reference("agent", name)


def _fields(node: PolicyNode, what: str, allowed: tuple[str, ...]) -> dict[str, PolicyNode]:
    if node.kind is not NodeKind.MAPPING:
        raise node.wrong(f"{what}: expected a mapping of {', '.join(allowed)}, got {node.shown}")

    def known(key: PolicyNode) -> str:
        if key.kind is not NodeKind.TEXT or key.text not in allowed:
            raise key.wrong(f"{what} has no key {key.shown}; allowed: {', '.join(allowed)}")
        return key.text

    return _named(node, known, "key")


def _named(
    node: PolicyNode, name_of: Callable[[PolicyNode], str], what: str
) -> dict[str, PolicyNode]:
    """The values of a mapping by their validated keys."""
    names = _unique((key for key, _ in node.pairs), name_of, what)
    return dict(zip(names, (value for _, value in node.pairs), strict=True))


def _unique(
    nodes: Iterable[PolicyNode], name_of: Callable[[PolicyNode], str], what: str
) -> list[str]:
    """The validated names in order; YAML itself would accept duplicates."""
    first: dict[str, PolicyNode] = {}
    for node in nodes:
        name = _checked(node, name_of)
        if name in first:
            raise node.wrong(f"{what} {name!r} is already on line {first[name].line}; name it once")
        first[name] = node
    return list(first)


def _text(field: str, node: PolicyNode) -> str:
    if node.kind is not NodeKind.TEXT:
        raise node.wrong(f"{field}: expected text, got {node.shown}")
    return node.text


@overload
def _checked(node: PolicyNode, check: Callable[[PolicyNode], Value]) -> Value: ...
@overload
def _checked(node: PolicyNode | None, check: Callable[[PolicyNode], Value]) -> Value | None: ...
def _checked(node: PolicyNode | None, check: Callable[[PolicyNode], Value]) -> Value | None:
    """Run a check of the model, adding the line to its error; None for None."""
    if node is None:
        return None
    try:
        return check(node)
    except InvalidValue as problem:
        raise node.wrong(str(problem)) from None


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_MAX_LISTED])
    more = len(names) - _MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


class PolicyFile:
    """The policy of a process; without a path, everything is allowed.

    The file is read at every call, which takes microseconds, and parsed again when its bytes have
    changed. Size and modification time do not suffice: two edits within one tick of the file
    system's clock can share both.

    Thread-safe without a lock: it only replaces one reference to an immutable pair.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._latest: tuple[bytes, AccessPolicy] | None = None
        self._open = AccessPolicy.open()

    def current(self) -> AccessPolicy:
        """The policy in the file now. Raises InvalidPolicy: the file is missing or not valid. The
        last good policy is not used: the edit may have revoked a permission."""
        if self._path is None:
            return self._open
        raw = read_policy(self._path)
        latest = self._latest
        if latest is None or latest[0] != raw:
            latest = (raw, parse_policy(self._path, raw))
            self._latest = latest
        return latest[1]

    def for_themes(self) -> AccessPolicy:
        """The policy that describes themes; while the file is not valid, one that describes none.

        Only for showing them: what may be read is decided by :meth:`current`.
        """
        try:
            return self.current()
        except InvalidPolicy:
            return self._open
