"""The few files that pages refer to. They are small and few, so they are kept in memory."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from ricordo.web.headers import FOREVER
from ricordo.web.sessions import PATH

_TYPE_OF: Final = {
    "ricordo.css": "text/css; charset=utf-8",
    "ricordo.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page, and the address under which it never changes."""

    content: bytes
    media_type: str
    address: str


@cache
def static_file(name: str) -> StaticFile:
    """One of the files.

    Raises:
        KeyError: there is no such file.
    """
    media_type = _TYPE_OF[name]
    content = resources.files("ricordo.web").joinpath("static", name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    return StaticFile(content, media_type, f"{PATH}/static/{digest}/{name}")


def address_of(name: str) -> str:
    """Where the page finds one of the files."""
    return static_file(name).address


router: Final = APIRouter(include_in_schema=False)


@router.get(PATH + "/static/{digest}/{name}")
def get_static(digest: str, name: str) -> Response:
    """One of the files; an address of another version has gone with that version."""
    if name not in _TYPE_OF or static_file(name).address.split("/")[-2] != digest:
        return Response(status_code=404, headers=FOREVER | {"Cache-Control": "no-store"})
    file = static_file(name)
    return Response(file.content, media_type=file.media_type, headers=FOREVER)
