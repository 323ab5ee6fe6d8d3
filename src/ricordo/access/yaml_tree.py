"""A YAML text as a tree that knows its lines, without the parts of YAML that do harm or surprise.

Anchors, aliases and tags are refused: a policy needs none, and a few lines of aliases can stand
for millions of entries. Nothing is made of the values here; a reader looks at each itself.
"""

from typing import Any, Final

import yaml
from yaml.error import Mark, MarkedYAMLError
from yaml.reader import ReaderError

from ricordo.access.located import Kind, Node
from ricordo.errors import InvalidPolicy
from ricordo.limits import MAX_POLICY_DEPTH

_MAX_PROBLEM_CHARS: Final = 200
_QUOTE_HINT: Final = 'to mean all, write "*" in quotes'
_SCALAR_KINDS: Final = {
    "tag:yaml.org,2002:str": Kind.TEXT,
    "tag:yaml.org,2002:int": Kind.NUMBER,
    "tag:yaml.org,2002:null": Kind.NOTHING,
}


def compose(file: str, text: str) -> Node:
    """The one document in a text. ``file`` is its name in messages.

    Raises:
        InvalidPolicy: it is not YAML, not one document, or uses what is refused here.
    """
    try:
        loader = _StrictLoader(text)
    except ReaderError as problem:
        raise _unreadable(file, text, problem) from None
    try:
        root = loader.get_single_node()
    except _Refused as problem:
        raise InvalidPolicy(file, str(problem), *problem.place) from None
    except MarkedYAMLError as problem:
        raise _malformed(file, problem) from None
    except (ValueError, OverflowError) as problem:
        # PyYAML lets these through for escapes beyond Unicode and absurdly long version numbers.
        raise InvalidPolicy(
            file, f"not valid YAML ({_shortened(problem)})", loader.line + 1, loader.column + 1
        ) from None
    finally:
        loader.dispose()
    if root is None:
        raise InvalidPolicy(file, "the file is empty", 1, 1)
    return _node(file, root)


class _Refused(Exception):
    """Good YAML, but nothing that a policy may use."""

    def __init__(self, problem: str, mark: Any) -> None:
        self.place = _position(mark)
        super().__init__(problem)


class _StrictLoader(yaml.SafeLoader):
    """Stops at the first thing that is refused, before anything is built from it."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(f"aliases are not allowed; {_QUOTE_HINT}", event.start_mark)
        if event.anchor is not None:
            raise _Refused("anchors are not allowed", event.start_mark)
        if event.tag is not None:
            raise _Refused("tags are not allowed", event.start_mark)
        if self.depth >= MAX_POLICY_DEPTH:
            raise _Refused(
                f"nested too deeply; allowed: {MAX_POLICY_DEPTH} levels", event.start_mark
            )
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _node(file: str, found: yaml.Node) -> Node:
    line, column = _position(found.start_mark)
    if isinstance(found, yaml.MappingNode):
        pairs = tuple((_node(file, key), _node(file, value)) for key, value in found.value)
        return Node(file, line, column, Kind.MAPPING, pairs=pairs)
    if isinstance(found, yaml.SequenceNode):
        entries = tuple(_node(file, entry) for entry in found.value)
        return Node(file, line, column, Kind.LIST, entries=entries)
    kind = _SCALAR_KINDS.get(found.tag, Kind.OTHER)
    return Node(file, line, column, kind, text=found.value)


def _position(mark: Mark | None) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _malformed(file: str, problem: MarkedYAMLError) -> InvalidPolicy:
    line, column = _position(problem.problem_mark or problem.context_mark)
    said = ", ".join(part for part in (problem.context, problem.problem) if part)
    hint = f"; {_QUOTE_HINT}" if problem.context == "while scanning an alias" else ""
    return InvalidPolicy(file, f"not valid YAML ({_shortened(said)}{hint})", line, column)


def _unreadable(file: str, text: str, problem: ReaderError) -> InvalidPolicy:
    before = text[: problem.position]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    said = f"the character U+{ord(text[problem.position]):04X} is not allowed"
    return InvalidPolicy(file, said, line, column)


def _shortened(problem: object) -> str:
    said = str(problem)
    return said if len(said) <= _MAX_PROBLEM_CHARS else f"{said[: _MAX_PROBLEM_CHARS - 3]}..."
