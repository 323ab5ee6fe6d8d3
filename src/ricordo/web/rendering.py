"""Templates, static files and security headers. Values are escaped automatically."""

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, JSONResponse, Response

from ricordo.frozen import dataclass, replace
from ricordo.model.checks import format_moment
from ricordo.model.group import group_of, is_person
from ricordo.model.vocabulary import GLOBAL_OWNER, Ownership
from ricordo.text.pieces import clean_cut
from ricordo.version import __version__
from ricordo.web.sessions import PATH

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "manifest-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

SECURITY: Final = {
    "Content-Security-Policy": "; ".join(f"{what} {where}" for what, where in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer`, forms would be sent with the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
PRIVATE: Final = {**SECURITY, "Cache-Control": "no-store"}
"""For pages, which no cache may store."""
FOREVER: Final = {**SECURITY, "Cache-Control": "public, max-age=31536000, immutable"}
"""For static files, whose URL contains their hash."""


_TYPE_OF: Final = {
    "ricordo.css": "text/css; charset=utf-8",
    "ricordo.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    content: bytes
    media_type: str
    address: str


@cache
def static_file(name: str) -> StaticFile:
    """A static file.

    Raises:
        KeyError: there is no such file.
    """
    media_type = _TYPE_OF[name]
    content = resources.files("ricordo.web").joinpath("static", name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, media_type, f"{PATH}/static/{digest}/{name}")


router: Final = APIRouter(include_in_schema=False)


@router.get(PATH + "/static/{digest}/{name}")
def get_static(digest: str, name: str) -> Response:
    """404 for the hash of another version."""
    if name not in _TYPE_OF or static_file(name).address.split("/")[-2] != digest:
        return Response(status_code=404, headers=FOREVER | {"Cache-Control": "no-store"})
    file = static_file(name)
    return Response(file.content, media_type=file.media_type, headers=FOREVER)


@router.get(f"{PATH}/manifest.webmanifest")
def get_manifest() -> Response:
    """What browsers need to install the page as a program."""
    icon = {"src": static_file("icon.svg").address, "sizes": "any", "type": "image/svg+xml"}
    manifest = {
        "id": f"{PATH}/",
        "name": "ricordo",
        "short_name": "ricordo",
        "description": "What your assistants remember, and what becomes of it",
        "start_url": f"{PATH}/memories",
        "scope": f"{PATH}/",
        "display": "standalone",
        "background_color": "#fbfaf8",
        "theme_color": "#0f766e",
        "icons": [icon],
    }
    return JSONResponse(manifest, 200, SECURITY, "application/manifest+json")


@lru_cache(maxsize=1)
def environment() -> Environment:
    templates = Environment(
        loader=PackageLoader("ricordo.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(
        when=when,
        day=_day,
        count=_count,
        share="{:.0%}".format,
        plural=_plural,
        shortened=_shortened,
        words=lambda name: name.replace("_", " "),
        listed=listed,
        isolated=isolated,
        from_whom=_from_whom,
        ownership=_ownership,
    )
    templates.globals.update(
        static=lambda name: static_file(name).address, version=__version__, address=address
    )
    return templates


def rendered(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    html = environment().get_template(template).render(values)
    return HTMLResponse(html, status_code=status, headers=PRIVATE)


def address(path: str, /, **parameters: Any) -> str:
    """A URL with its parameters, without empty ones."""
    given = {name: value for name, value in parameters.items() if value not in (None, "", (), [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def next_page(path: str, cursor: str | None, /, **parameters: Any) -> str | None:
    """The URL of the next page of a list; None at its end."""
    return None if cursor is None else address(path, **parameters, cursor=cursor)


def when(moment: datetime) -> Markup:
    """A time in UTC; the script converts it to the reader's time zone."""
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        format_moment(moment),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        f"{moment.day} {moment:%b %Y, %H:%M} UTC",
    )


def _day(day: date) -> str:
    """A day (UTC); the script names the reader's own ones."""
    return f"{day.day} {day:%b %Y}"


def listed(tag: str) -> str:
    """A tag in a comma-separated list, quoted where it contains a comma."""
    if tag.isprintable() and not {",", '"'} & set(tag):
        return tag
    return '"' + tag.replace('"', '""') + '"'


def isolated(text: str) -> str:
    """A text that runs in its own direction, where there can be no element around it."""
    return text if text.isascii() else f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


def _from_whom(owner_id: str) -> str:
    """Whose a memory is that is not one's own."""
    group = group_of(owner_id)
    if group is not None:
        return f"from group {group}"
    return "global" if owner_id == GLOBAL_OWNER else f"shared by {isolated(owner_id)}"


def _ownership(owner_id: str) -> Ownership:
    """What the memory of another owner is to the user whose page it is on."""
    if owner_id == GLOBAL_OWNER:
        return Ownership.GLOBAL
    return Ownership.RECEIVED if is_person(owner_id) else Ownership.GROUP


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _plural(number: int, one: str, several: str | None = None) -> str:
    return f"{_count(number)} {one if number == 1 else several or one + 's'}"


def _shortened(text: str, length: int) -> str:
    """Truncate a text, at a word boundary where one is near."""
    if len(text) <= length:
        return text
    cut = text[: clean_cut(text, length)]
    at_word = cut.rpartition(" ")[0]
    return f"{at_word if len(at_word) > length // 2 else cut}…"


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """A page in the navigation. ``is_filed``: it shows only what is filed under themes, so agents
    restricted to some themes may see it. Where there is little room, only what ``is_often_used``
    has a tab."""

    name: str
    path: str
    is_filed: bool
    is_often_used: bool = False


NAVIGATION: Final = (
    NavigationItem("Memories", "/ui/memories", is_filed=True, is_often_used=True),
    NavigationItem("Themes", "/ui/themes", is_filed=True),
    NavigationItem("Conversations", "/ui/conversations", is_filed=False, is_often_used=True),
    NavigationItem("Projects", "/ui/projects", is_filed=False),
    NavigationItem("Changes", "/ui/changes", is_filed=False),
    NavigationItem("Proposals", "/ui/proposals", is_filed=False, is_often_used=True),
    NavigationItem("Graph", "/ui/graph", is_filed=True),
    NavigationItem("Activity", "/ui/activity", is_filed=False),
    NavigationItem("Settings", "/ui/settings", is_filed=False),
)
GLOBAL_NAVIGATION: Final = tuple(
    replace(one, is_often_used=True)
    for one in NAVIGATION
    if one.name in ("Memories", "Themes", "Changes", "Graph")
)
"""The pages of the global memories, which are about nobody."""
