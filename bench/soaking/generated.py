"""Requests made up from the OpenAPI document: right, nearly right, and wrong."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

_METHODS: Final = ("get", "put", "post", "patch", "delete")
_OTHER_PATHS: Final = ("/", "/ui", "/ui/memories", "/ui/search?q=tea", "/nothing", "/mcp", "/docs")
_WORDS: Final = (
    "tea",
    "Jakarta",
    "Prefers",
    "работает",
    "猫",
    "naïve",
    "🙂",
    "sn#104",
    "monday",
    "a",
)
_ODD_TEXTS: Final = (
    "",
    " ",
    "\x00",
    "\ud7ff\uffff",
    "'; DROP TABLE memories; --",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%00%ff",
    "y" * 9_000,
    "2026-02-30",
    "9" * 400,
)
_ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    2**63,
    10**30,
    1e308,
    0.1,
    [],
    {},
    [[[[[]]]]],
    {"a": {"a": {"a": None}}},
    *_ODD_TEXTS,
)
_WORKING_OFF: Final = "/v1/admin/jobs/run"
_MOST_LEVELS: Final = 6
_RIGHT: Final = 0.6  # of all values are what the document asks for


@dataclass(frozen=True, slots=True)
class Generated:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(slots=True)
class Requests:
    """An endless series of requests, the same for the same seed. ``users`` are whom they name."""

    document: Mapping[str, Any]
    users: list[str]
    chance: random.Random
    _operations: list[tuple[str, str, Mapping[str, Any]]] = field(init=False)

    def __post_init__(self) -> None:
        """Which operations there are."""
        self._operations = [
            (method, path, operation)
            for path, operations in self.document["paths"].items()
            for method, operation in operations.items()
            if method in _METHODS
        ]

    def next(self) -> Generated:
        """The next request; every operation comes in turn with paths that no document has."""
        if self.chance.random() < 0.05:
            path = self.chance.choice(_OTHER_PATHS)
            return Generated(self.chance.choice(("GET", "POST", "HEAD")), path, self._headers())
        method, path, operation = self.chance.choice(self._operations)
        query = []
        for parameter in operation.get("parameters", ()):
            value = self._value(parameter.get("schema", {}))
            if parameter["in"] == "path":
                if parameter["name"] in ("user", "viewer"):
                    value = self.chance.choice(self.users)
                text = quote(_text(value), safe="") or "0"
                path = path.replace(f"{{{parameter['name']}}}", text)
            elif parameter["in"] == "query" and self.chance.random() < 0.3:
                query.append(f"{parameter['name']}={quote(_text(value), safe='')}")
        path = f"{path}?{'&'.join(query)}" if query else path
        headers = self._headers()
        content: Mapping[str, Any] = operation.get("requestBody", {}).get("content", {})
        if path.startswith(_WORKING_OFF):  # all that waits: it may take longer than the run
            headers["Content-Type"] = "application/json"
            return Generated("POST", _WORKING_OFF, headers, b'{"limit": 1}')
        if method == "get" or (not content and self.chance.random() < 0.8):
            return Generated(method.upper(), path, headers)
        kind = next(iter(content), "application/json")
        schema = content.get(kind, {}).get("schema", {})
        headers["Content-Type"] = kind if self.chance.random() < 0.95 else "text/plain"
        return Generated(method.upper(), path, headers, self._body(kind, schema))

    def _headers(self) -> dict[str, str]:
        headers = {"X-Ricordo-User": self.chance.choice(self.users)}
        odd = self.chance.random()
        if odd < 0.03:
            del headers["X-Ricordo-User"]
        elif odd < 0.06:
            headers["Idempotency-Key"] = f"key-{self.chance.randrange(20)}"
        elif odd < 0.09:
            headers["If-Match"] = self.chance.choice(('"1-0000000000000000"', "*", '"', "x" * 300))
        elif odd < 0.12:
            headers["X-Ricordo-Thread"] = "t" * self.chance.choice((1, 250))
        return headers

    def _body(self, kind: str, schema: Mapping[str, Any]) -> bytes:
        shape = self.chance.random()
        if shape < 0.05:
            return self.chance.randbytes(self.chance.randrange(2_000))
        if shape < 0.08:
            return b"[" * self.chance.choice((10, 1_000, 100_000))
        if shape < 0.1:
            return b'{"content": "' + b"y" * self.chance.choice((100_000, 3_000_000)) + b'"}'
        body = json.dumps(self._value(schema)).encode()
        if kind != "application/json":
            rows = [{"kind": "header", "format": 1}, self._value({}), {"kind": "memory"}]
            body = b"\n".join(json.dumps(row).encode() for row in rows)
        return body[: len(body) // 2] if shape < 0.15 else body

    def _value(self, schema: Mapping[str, Any], level: int = 0) -> Any:
        """Something that the schema allows, or by chance something else."""
        if level > _MOST_LEVELS or self.chance.random() > _RIGHT + 0.05 * level:
            return self.chance.choice(_ODD_VALUES)
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self._value(self.document["components"]["schemas"][name], level)
        for choices in ("anyOf", "oneOf", "allOf"):
            if choices in schema:
                return self._value(self.chance.choice(schema[choices]), level)
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            required = schema.get("required", ())
            return {
                name: self._value(inner, level + 1)
                for name, inner in schema.get("properties", {}).items()
                if name in required or self.chance.random() < 0.4
            }
        if kind == "array":
            number = self.chance.choice((0, 1, 2, 5))
            return [self._value(schema.get("items", {}), level + 1) for _ in range(number)]
        return self._plain_value(kind)

    def _plain_value(self, kind: object) -> Any:
        if kind == "integer":
            return self.chance.choice((1, 2, 3, 10, self.chance.randrange(500)))
        if kind == "number":
            return self.chance.random()
        if kind == "boolean":
            return self.chance.random() < 0.5
        return " ".join(self.chance.choices(_WORDS, k=self.chance.randrange(1, 8)))


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:4_000]
