"""The API documentation as an HTML page without scripts."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from ricordo.http.routing import operation_id

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
h2 { border-bottom: 1px solid #8888; margin-top: 3rem }
h3 code { background: #8882; border-radius: 4px; font-size: .9em; padding: .15rem .4rem }
table { border-collapse: collapse; margin: .5rem 0; width: 100% }
td { border-bottom: 1px solid #8884; padding: .25rem .5rem; vertical-align: top }
pre { white-space: pre-wrap }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } a { color: #8bf } }
"""


def style_source(style: str) -> str:
    """The CSP source that allows one inline style, by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"'sha256-{digest}'"


HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src {style_source(_STYLE)};"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_METHODS: Final = ("get", "post", "put", "patch", "delete")

Document = Mapping[str, Any]


def page(document: Document) -> str:
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<pre>{escape(document['info'].get('description', ''))}</pre>"
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>'
        f"{''.join(_sections(document))}</body></html>"
    )


def _sections(document: Document) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = methods[method]
                tag = (operation.get("tags") or ["Other"])[0]
                by_tag.setdefault(tag, []).append(_operation(document, method, path, operation))
    for tag, operations in by_tag.items():
        yield f"<section><h2>{escape(tag)}</h2>{''.join(operations)}</section>"
    shapes = "".join(
        _shape(*named) for named in document.get("components", {}).get("schemas", {}).items()
    )
    yield f"<section><h2>Shapes</h2>{shapes}</section>"


def _shape(name: str, schema: Document) -> str:
    about = schema.get("description") or f"{_kind(schema)}: {', '.join(schema.get('enum', ()))}"
    heading = f"<h3><code>{escape(name)}</code></h3>"
    return f"<article>{heading}<p>{escape(about)}</p>{_fields(schema)}</article>"


def _operation(document: Document, method: str, path: str, operation: Document) -> str:
    name = escape(operation["operationId"], quote=True)
    parts = [
        f'<article id="{name}"><h3><code>{method.upper()} {escape(path)}</code></h3>',
        f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>",
        _table("Parameters", map(_parameter, operation.get("parameters", ()))),
        _body(document, operation.get("requestBody")),
        _table("Answers", _answers(operation.get("responses", {}))),
        "</article>",
    ]
    return "".join(parts)


def _parameter(parameter: Document) -> tuple[str, ...]:
    needed = ", needed" if parameter.get("required") else ""
    schema = parameter.get("schema", {})
    about = parameter.get("description") or schema.get("description", "")
    return parameter["name"], f"{parameter['in']}{needed}", _kind(schema), about


def _body(document: Document, body: Document | None) -> str:
    if body is None:
        return ""
    needed = "needed" if body.get("required") else "may be left out"
    parts = []
    for content_type, content in body["content"].items():
        shape = _resolved(document, content.get("schema", {}))
        about = body.get("description") or shape.get("description", "")
        parts.append(f"<p>Body ({needed}): {escape(content_type)}. {escape(about)}</p>")
        parts.append(_fields(shape))
    return "".join(parts)


def _fields(schema: Document) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (name, "needed" if name in required else "", _kind(field), field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]
    return _table("Fields", rows)


def _answers(responses: Document) -> Iterator[tuple[str, ...]]:
    for status, response in responses.items():
        contents = response.get("content", {})
        kinds = ", ".join(
            f"{name}: {_kind(what.get('schema', {}))}" for name, what in contents.items()
        )
        yield status, response.get("description", ""), kinds


def _resolved(document: Document, schema: Document) -> Document:
    """The schema itself, where it is nullable or a reference."""
    for option in schema.get("anyOf", ()):
        if "$ref" in option:
            return _resolved(document, option)
    if "$ref" in schema:
        found: Document = document["components"]["schemas"][_referred(schema)]
        return found
    return schema


def _kind(schema: Document) -> str:
    if "$ref" in schema:
        return _referred(schema)
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any JSON"))


def _referred(schema: Document) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _table(title: str, rows: Iterable[tuple[str, ...]]) -> str:
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<p>{escape(title)}:</p><table>{lines}</table>" if lines else ""


router = APIRouter(tags=["Service"], generate_unique_id_function=operation_id)


@router.get("/docs", response_class=HTMLResponse)
def read_docs(request: Request) -> Response:
    """Read this document as a page. Needs no key; `/openapi.json` is the same for programs."""
    return HTMLResponse(page(request.app.openapi()), headers=HEADERS)


@router.get("/openapi.json", include_in_schema=False)
def read_openapi(request: Request) -> Response:
    """Read what the service offers as an OpenAPI document."""
    return JSONResponse(request.app.openapi())
