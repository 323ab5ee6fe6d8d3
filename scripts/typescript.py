"""Write what the TypeScript client derives from the service; with --check, only say what is stale.

`clients/typescript/src/generated` has the operations of a user, as a table and with their
signatures, the errors as classes, and the types of the OpenAPI document. These are made by
openapi-typescript, which `npm ci` installs in `clients/typescript`.
"""

import copy
import functools
import hashlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ricordo
from ricordo import errors
from ricordo.http import problems
from ricordo.http.app import create_app
from ricordo.http.operations import SEARCHES
from ricordo.model.vocabulary import GroupRole
from ricordo.operations.operation import USER_OPERATIONS, Operation, Route

CLIENT: Final = Path(__file__).parents[1] / "clients" / "typescript"
GENERATED: Final = CLIENT / "src" / "generated"
COMMAND: Final = "make client-typescript"
NOTE: Final = f"// Written by scripts/typescript.py: {COMMAND}. Change what it reads, not this.\n"
LEFT_OUT: Final = frozenset({"Chat proxy", "Service"})
BY_HAND: Final = "Export and import"
"""The topic whose routes are streams."""
CONDITIONS: Final = {"if-match": "if_match", "if-none-match": "if_none_match"}
DERIVED: Final = {
    route.name: operation for operation in USER_OPERATIONS.values() for route in operation.routes
}

Json = dict[str, Any]


def main() -> int:
    """Write or check every file; the exit code."""
    stale = [name for name, is_fresh in FRESH.items() if not is_fresh(content(name))]
    for name in stale:
        if "--check" in sys.argv[1:]:
            print(f"clients/typescript/src/generated/{name} is out of date: {COMMAND}")
        else:
            GENERATED.mkdir(parents=True, exist_ok=True)
            (GENERATED / name).write_text(FILES[name](), encoding="utf-8")
            print(f"wrote clients/typescript/src/generated/{name}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


def content(name: str) -> str:
    path = GENERATED / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


# -- types -----------------------------------------------------------------------------------------


@functools.cache
def document() -> Json:
    """The OpenAPI document of what a user can do, without what the client takes care of: problems,
    the headers that name the user, keys of idempotency."""
    with ricordo.open(":memory:", run_jobs=False, upkeep=False) as memory:
        whole: Json = copy.deepcopy(create_app(memory).openapi())
    paths: Json = {}
    for path, methods in whole["paths"].items():
        for method, one in methods.items():
            topic = one["tags"][0]
            if topic in LEFT_OUT or topic.startswith("Administration"):
                continue
            # What is derived from an operation takes expected_updated_at instead of an ETag.
            is_derived = one["operationId"] in DERIVED
            headers = () if method == "get" or is_derived else CONDITIONS
            given = {
                "parameters": [
                    _given(part)
                    for part in one.get("parameters", ())
                    if part["in"] != "header" or part["name"].lower() in headers
                ]
            }
            if "requestBody" in one:
                given["requestBody"] = _given(one["requestBody"])
            answers = {
                status: {name: said for name, said in answer.items() if name != "headers"}
                for status, answer in one["responses"].items()
                if status < "300"
            }
            kept = {name: one[name] for name in ("operationId", "description", "tags")}
            paths.setdefault(path, {})[method] = {**kept, **given, "responses": _bare(answers)}
    schemas = whole["components"]["schemas"]
    named = {name: _untitled(schemas[name]) for name in sorted(_named_in(paths, schemas))}
    info = {"title": "ricordo", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": named}}


def _given(described: Any) -> Any:
    """Without defaults: what has one is always there in answers, and need not be given."""
    if isinstance(described, list):
        return [_given(one) for one in described]
    if not isinstance(described, dict):
        return described
    is_schema = not described.keys().isdisjoint({"type", "anyOf", "$ref"})
    return {
        name: _given(one)
        for name, one in described.items()
        if not (is_schema and name == "default")
    }


def _bare(answers: Any) -> Any:
    """Without examples, which are longer than the types."""
    if not isinstance(answers, dict):
        return answers
    return {name: _bare(one) for name, one in answers.items() if name != "example"}


def _named_in(described: Any, schemas: Json) -> set[str]:
    """The schemas that something refers to, and those that they refer to."""
    found = {"Problem"}
    waiting = [described]
    while waiting:
        text = json.dumps(waiting.pop())
        for name in set(re.findall(r'"#/components/schemas/([^"]+)"', text)) - found:
            found.add(name)
            waiting.append(schemas[name])
    return found


def _untitled(schema: Any) -> Any:
    """Without titles, which only say the names once more."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _untitled(one)
        for name, one in schema.items()
        if name != "title" or not isinstance(one, str)
    }


def types_file() -> str:
    """The types. A line names the document, so that it can be seen without openapi-typescript
    whether they are those of the present one."""
    made = subprocess.run(
        [
            "node",
            "node_modules/openapi-typescript/bin/cli.js",
            "--root-types",
            "--root-types-no-schema-prefix",
            "--empty-objects-unknown",
        ],
        cwd=CLIENT,
        input=json.dumps(_undescribed(document())),
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise SystemExit(f"openapi-typescript: {made.stderr}\nIs it installed? {COMMAND} does it.")
    types = re.sub(r"\A/\*\*.*?\*/\n", "", made.stdout, flags=re.DOTALL)
    return f"{NOTE}{digest()}\n\n{types.strip()}\n"


def _undescribed(described: Json) -> Json:
    """The document without what the signatures say of each operation."""
    paths = {
        path: {
            method: {
                name: said for name, said in one.items() if name not in ("description", "tags")
            }
            for method, one in ways.items()
        }
        for path, ways in described["paths"].items()
    }
    return {**described, "paths": paths}


def digest() -> str:
    described = json.dumps(document()).encode()
    return f"// OpenAPI document: sha256 {hashlib.sha256(described).hexdigest()}"


# -- operations ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A method of the client, and the route that it calls."""

    name: str
    route: Route
    described: Json
    placed: Mapping[str, bool]
    reads: bool

    @property
    def positions(self) -> Mapping[str, bool]:
        """The arguments that have a place of their own, and whether they must be given."""
        return {**self.placed, **({self.whole_body: True} if self.whole_body else {})}

    @property
    def others(self) -> Mapping[str, bool]:
        """The arguments that are given by name, and whether each must be."""
        found = {
            one["name"]: one["required"]
            for one in self.described["parameters"]
            if one["in"] != "header"
        }
        schema = self._body or {}
        if "$ref" in schema:
            schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        needed = schema.get("required", ())
        found |= {name: name in needed for name in schema.get("properties", ())}
        return {name: needed for name, needed in found.items() if name not in self.positions}

    @property
    def _body(self) -> Json | None:
        content = self.described.get("requestBody", {}).get("content", {})
        found: Json | None = content.get("application/json", {}).get("schema")
        return found

    @property
    def whole_body(self) -> str | None:
        """The argument that is the body by itself, where that may be any JSON."""
        return "state" if self._body == {} else None

    @property
    def headers(self) -> Mapping[str, str]:
        """The arguments that are headers."""
        names = [one["name"] for one in self.described["parameters"] if one["in"] == "header"]
        return {CONDITIONS[name.lower()]: name.lower() for name in names}

    @property
    def is_tagged(self) -> bool:
        """Whether the ETag of the answer is needed to change what is there."""
        return self.route.topic == "Checkpoints" and "{" in self.route.path and not self.is_empty

    @property
    def is_empty(self) -> bool:
        return list(self.described["responses"]) == ["204"]

    def in_table(self) -> str:
        said: Json = {
            "method": self.route.method,
            "path": re.sub(r":\w+\}", "}", self.route.path),
            "positions": list(self.positions),
            "body": self.whole_body,
            "headers": self.headers,
            "paged": "cursor" in self.others,
            "tagged": self.is_tagged,
            "answers": self.route.answers,
            "lengthy": self.route.is_lengthy,
            "once": self.route.method != "GET" and not self.reads,
        }
        parts = [
            f"{name}: {json.dumps(value)}" for name, value in said.items() if value or value == []
        ]
        return f"  {self.name}: {{ {', '.join(parts)} }},"

    def signature(self) -> str:
        one = json.dumps(self.route.name)
        arguments = []
        for name, needed in self.positions.items():
            kind = f"Body<{one}>" if name == self.whole_body else f'Given<{one}>["{name}"]'
            arguments.append(f"{camel(name)}{'' if needed else '?'}: {kind}")
        if self.others or self.headers:
            placed = " | ".join(map(json.dumps, self.positions))
            kind = f"Omit<Given<{one}>, {placed}>" if placed else f"Given<{one}>"
            if self.headers:
                kind = "{ " + "; ".join(f"{name}?: string" for name in self.headers) + " }"
            arguments.append(f"more{'' if any(self.others.values()) else '?'}: {kind}")
        answer = f"Answer<{one}>"
        if self.route.answers:
            answer += f'["{self.route.answers}"]'
        if self.is_tagged:
            answer += " & { etag: string }"
        result = f"Pages<{answer}>" if "cursor" in self.others else f"Promise<{answer}>"
        said = self.described["description"].replace("*/", "* /").strip().splitlines()
        about = "\n".join(f"   * {line}".rstrip() for line in said)
        return f"  /**\n{about}\n   */\n  {self.name}({', '.join(arguments)}): {result};"


def methods() -> Iterator[Method]:
    """What the client can do. Where an operation has several routes, the one that takes all of its
    arguments is called."""
    for path, ways in document()["paths"].items():
        for method, described in ways.items():
            name = described["operationId"]
            operation = DERIVED.get(name)
            if described["tags"] == [BY_HAND]:
                continue
            if operation is None:
                route = Route(method.upper(), path, name, described["tags"][0])
                in_path = [one["name"] for one in described["parameters"] if one["in"] == "path"]
                yield Method(camel(name), route, described, dict.fromkeys(in_path, True), False)
                continue
            route = min(
                operation.routes, key=lambda one: (one.path.count("{"), one.method != "POST")
            )
            if route.name == name:
                reads = operation.in_group is GroupRole.READ or operation.name in SEARCHES
                placed = _positions(operation, route)
                yield Method(camel(operation.name), route, described, placed, reads)


def _positions(operation: Operation[..., Any], route: Route) -> Mapping[str, bool]:
    """As in Python; but what need not be given and stands before what must is given by name."""
    placed = {
        one.name: one.is_required or f"{{{one.name}" in route.path
        for one in operation.parameters.values()
        if one.is_positional
    }
    needed = [name for name in placed if placed[name]]
    behind = list(placed)[list(placed).index(needed[-1]) :] if needed else placed
    return {name: must for name, must in placed.items() if must or name in behind}


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def operations_file() -> str:
    found = sorted(methods(), key=lambda one: one.name)
    return "\n".join(
        [
            NOTE,
            'import type { Pages } from "../pages.js";',
            'import type { Answer, Body, Given, Operation } from "../types.js";',
            "",
            "/** Where each operation is, and where its arguments go. */",
            "export const OPERATIONS = {",
            *(one.in_table() for one in found),
            "} as const satisfies Record<string, Operation>;",
            "",
            "/** What one user's memory can do. */",
            "export interface UserOperations {",
            "\n\n".join(one.signature() for one in found),
            "}",
            "",
        ]
    )


# -- errors ----------------------------------------------------------------------------------------


def errors_file() -> str:
    found = {
        name: kind
        for module in (errors, problems)
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, errors.RicordoError)
    }
    del found["RicordoError"]
    ordered = sorted(found.values(), key=lambda one: (len(one.__mro__), one.__name__))
    classes = [
        f"/** {inspect.cleandoc(one.__doc__ or one.__name__).replace('``', '`')} */\n"
        f"export class {one.__name__} extends {one.__bases__[0].__name__} {{}}"
        for one in ordered
    ]
    names = ",\n".join(f"  {one.__name__}" for one in ordered)
    return (
        "\n\n".join(
            [
                NOTE + '\nimport { RicordoError } from "../errors.js";',
                *classes,
                "/** The errors by the `type` of a problem. */",
                f"export const ERRORS = {{\n{names},\n}};",
            ]
        )
        + "\n"
    )


FILES: Final[dict[str, Callable[[], str]]] = {
    "operations.ts": operations_file,
    "errors.ts": errors_file,
    "types.ts": types_file,
}
FRESH: Final[dict[str, Callable[[str], bool]]] = {
    "operations.ts": lambda text: text == operations_file(),
    "errors.ts": lambda text: text == errors_file(),
    "types.ts": lambda text: digest() in text.splitlines()[:3],
}
"""Types are compared by the document that they are of: making them takes openapi-typescript."""

if __name__ == "__main__":
    sys.exit(main())
