"""The policy file: YAML with ``categories``, ``allowlists`` and ``sharing``, every word checked.

What is not understood is refused with its line. A policy that was half understood could let an
agent read what its author meant to keep from it.
"""

import re
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final, TypeVar, overload

from ricordo import limits
from ricordo.access.located import Kind, Node
from ricordo.access.policy import ALL_CATEGORIES, DEFAULT_AGENTS, AccessPolicy, CategoryRule, Pair
from ricordo.errors import InvalidPolicy, InvalidValue
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.vocabulary import ContextPolicy

_MAX_LISTED: Final = 20  # names that a message gives before it says how many more there are

_PLAIN_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")
_KEYS: Final = ("categories", "allowlists", "sharing")
_SHARING_KEYS: Final = ("groups", "pairs")
_PAIR_KEYS: Final = ("from", "to")
_CATEGORY_KEYS: Final = ("display_name", "description", "context", "rag_length")

Value = TypeVar("Value")


def read_policy(path: Path) -> bytes:
    """What stands in a policy file, not looked at yet.

    Raises:
        InvalidPolicy: it cannot be read, is not a file, or is too large.
    """
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        # Only then: opening a pipe would wait for ever.
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
    """The whole file, or a byte more than is allowed."""
    with path.open("rb") as file:
        return file.read(limits.MAX_POLICY_FILE_BYTES + 1)


def parse_policy(path: Path, raw: bytes) -> AccessPolicy:
    """The policy in the bytes of a file; ``path`` only names it in messages.

    Raises:
        InvalidPolicy: the text is not a valid policy; names the file, line and column.
    """
    from ricordo.access import yaml_tree  # loads PyYAML, which most processes never need

    root = yaml_tree.compose(str(path), _decoded(path, raw))
    parts = _fields(root, "a policy", _KEYS)
    if "allowlists" not in parts:
        # Not "everything is allowed": a file that is cut off must not open what it should close.
        raise root.wrong(
            'allowlists is missing; to let every agent read everything, say default: ["*"] there'
        )
    described = parts.get("categories")
    categories = {} if described is None else _categories(described)
    shared = parts.get("sharing")
    sharing = {} if shared is None else _fields(shared, "sharing", _SHARING_KEYS)
    return AccessPolicy(
        categories,
        _allowlists(parts["allowlists"], categories),
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


# -- categories ----------------------------------------------------------------------------


def _categories(node: Node) -> dict[str, CategoryRule]:
    if node.kind is Kind.LIST:
        return {slug: CategoryRule(slug) for slug in _unique(node.entries, _slug, "category")}
    if node.kind is not Kind.MAPPING:
        raise node.wrong(f"categories: expected a list or a mapping, got {node.shown}")
    return {slug: _category(slug, value) for slug, value in _named(node, _slug, "category").items()}


def _category(slug: str, node: Node) -> CategoryRule:
    if node.kind is Kind.NOTHING:  # "tasks:" with nothing after it
        return CategoryRule(slug)
    given = _fields(node, f"category {slug!r}", _CATEGORY_KEYS)
    context = _checked(given.get("context"), _context) or ContextPolicy.RAG
    rag_length = _checked(given.get("rag_length"), _rag_length)
    if rag_length is not None and context is not ContextPolicy.RAG:
        raise given["rag_length"].wrong(
            f"rag_length: allowed only with context: {ContextPolicy.RAG.value}"
        )
    return CategoryRule(
        slug,
        display_name=_checked(given.get("display_name"), _display_name),
        description=_checked(given.get("description"), _description),
        context=context,
        rag_length=rag_length,
    )


def _context(node: Node) -> ContextPolicy:
    return checks.choice("context", _text("context", node), ContextPolicy)


def _rag_length(node: Node) -> int:
    # Only plain decimal digits: to YAML 010 is eight and 1:30 is ninety.
    plain = node.kind is Kind.NUMBER and _PLAIN_NUMBER.fullmatch(node.text)
    value = int(node.text) if plain else node.text or node.shown
    return checks.integer("rag_length", value, 1, limits.MAX_RAG_LENGTH)


def _display_name(node: Node) -> str:
    text = _text("display_name", node)
    return checks.text("display_name", text, limits.MAX_THEME_CHARS)


def _description(node: Node) -> str:
    text = _text("description", node)
    return checks.text("description", text, limits.MAX_THEME_DESCRIPTION_CHARS)


# -- allowlists ----------------------------------------------------------------------------


def _allowlists(node: Node, categories: Collection[str]) -> dict[str, frozenset[str]]:
    if node.kind is not Kind.MAPPING:
        raise node.wrong(
            f"allowlists: expected a mapping of agents to their categories, got {node.shown}"
        )
    return {
        agent: _allowlist(agent, entries, categories)
        for agent, entries in _named(node, _agent, "agent").items()
    }


def _allowlist(agent: str, node: Node, categories: Collection[str]) -> frozenset[str]:
    if node.kind is not Kind.LIST:
        raise node.wrong(
            f"agent {agent!r}: expected a list of categories, got {node.shown};"
            " write [] to allow none"
        )
    if len(node.entries) > limits.MAX_FILTER_VALUES:  # together they become one filter
        raise node.wrong(
            f"agent {agent!r}: {len(node.entries)} categories;"
            f" allowed: at most {limits.MAX_FILTER_VALUES}"
        )

    def known(entry: Node) -> str:
        if entry.kind is Kind.TEXT and entry.text == ALL_CATEGORIES:
            return ALL_CATEGORIES
        slug = _slug(entry)
        if slug not in categories:
            raise entry.wrong(
                f"category {slug!r} is not among categories; allowed:"
                f" {_listed((repr(ALL_CATEGORIES), *categories))}"
            )
        return slug

    return frozenset(_unique(node.entries, known, "category"))


# -- sharing -------------------------------------------------------------------------------


def _groups(node: Node) -> dict[str, frozenset[str]]:
    if node.kind is not Kind.MAPPING:
        raise node.wrong(f"groups: expected a mapping of names to users, got {node.shown}")
    return {
        name: _group(name, members)
        for name, members in _named(node, lambda one: _text("group", one), "group").items()
    }


def _group(name: str, node: Node) -> frozenset[str]:
    if node.kind is not Kind.LIST:
        raise node.wrong(f"group {name!r}: expected a list of users, got {node.shown}")
    return frozenset(_unique(node.entries, _user, "user"))


def _pairs(node: Node) -> frozenset[Pair]:
    if node.kind is not Kind.LIST:
        raise node.wrong(
            f"pairs: expected a list of pairs, such as {{from: ben, to: ana}}, got {node.shown}"
        )
    return frozenset(_pair(entry) for entry in node.entries)


def _pair(node: Node) -> Pair:
    given = _fields(node, "a pair", _PAIR_KEYS)
    if len(given) < len(_PAIR_KEYS):
        raise node.wrong("a pair has a from and a to, such as {from: ben, to: ana}")
    return _user(given["from"]), _user(given["to"])


def _user(node: Node) -> str:
    return _checked(node, lambda one: checks.user_id(_text("user", one)))


# -- names and values ----------------------------------------------------------------------


def _slug(node: Node) -> str:
    name = _text("category", node)
    if not name.strip():  # elsewhere that means "general"; here it is a slip of the pen
        raise node.wrong("category: must not be empty")
    return theme_slug(name)


def _agent(node: Node) -> str:
    name = _text("agent", node)
    return DEFAULT_AGENTS[0] if name in DEFAULT_AGENTS else checks.reference("agent", name)


def _fields(node: Node, what: str, allowed: tuple[str, ...]) -> dict[str, Node]:
    """The values of a mapping that has no keys but the allowed ones."""
    if node.kind is not Kind.MAPPING:
        raise node.wrong(f"{what}: expected a mapping of {', '.join(allowed)}, got {node.shown}")

    def known(key: Node) -> str:
        if key.kind is not Kind.TEXT or key.text not in allowed:
            raise key.wrong(f"{what} has no key {key.shown}; allowed: {', '.join(allowed)}")
        return key.text

    return _named(node, known, "key")


def _named(node: Node, name_of: Callable[[Node], str], what: str) -> dict[str, Node]:
    """The values of a mapping by the checked names of its keys."""
    names = _unique((key for key, _ in node.pairs), name_of, what)
    return dict(zip(names, (value for _, value in node.pairs), strict=True))


def _unique(nodes: Iterable[Node], name_of: Callable[[Node], str], what: str) -> list[str]:
    """The checked names in order; YAML itself would let the last of two equal ones win."""
    first: dict[str, Node] = {}
    for node in nodes:
        name = _checked(node, name_of)
        if name in first:
            raise node.wrong(f"{what} {name!r} is already on line {first[name].line}; name it once")
        first[name] = node
    return list(first)


def _text(field: str, node: Node) -> str:
    if node.kind is not Kind.TEXT:
        raise node.wrong(f"{field}: expected text, got {node.shown}")
    return node.text


@overload
def _checked(node: Node, check: Callable[[Node], Value]) -> Value: ...
@overload
def _checked(node: Node | None, check: Callable[[Node], Value]) -> Value | None: ...
def _checked(node: Node | None, check: Callable[[Node], Value]) -> Value | None:
    """What a check of the model says about a value, with the line; None where there is none."""
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
