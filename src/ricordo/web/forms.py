"""Form fields, checked to come from one of our own pages."""

import hmac
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final

from fastapi import Depends, Request

from ricordo.errors import InvalidValue, PermissionMissing
from ricordo.http.form_body import urlencoded_fields
from ricordo.web.page_request import Page, PageRequest

TOKEN_FIELD: Final = "token"  # noqa: S105 - the name of the field, not what is in it
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_LISTED: Final = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|$)|([^,]+)')
_FORM_ID_BYTES: Final = 16
_MAX_FORM_ID_CHARS: Final = 64  # ours are shorter
_MAX_FORM_IDS: Final = 1_000


class FormExpired(PermissionMissing):
    """The CSRF token is not the one of this session."""


class Fields(Mapping[str, str]):
    """The non-empty fields of a form, stripped."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if value.strip():
                self._values.setdefault(name, []).append(value.strip())

    def __getitem__(self, name: str) -> str:
        return self._values[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def several(self, name: str) -> list[str]:
        """All values of a field."""
        return self._values.get(name, [])


def whole_number(field: str, typed: str) -> int | None:
    """The number in a field; None where it is empty.

    Raises:
        InvalidValue: it is not a whole number.
    """
    if typed and not _NUMBER.fullmatch(typed):
        raise InvalidValue(field, "is not a whole number")
    return int(typed) if typed else None


def tags_in(typed: str) -> list[str]:
    """Tags separated by commas, in quotes where one contains a comma."""
    tags = [quoted.replace('""', '"') or plain for quoted, plain in _LISTED.findall(typed)]
    return [tag.strip() for tag in tags if tag.strip()]


async def checked_fields(request: Request, page: PageRequest) -> Fields:
    """The fields of a form, after checking its CSRF token.

    Raises:
        FormExpired: the token is not the one of this session.
        InvalidInput: not a urlencoded form, or too large.
    """
    fields = Fields(await urlencoded_fields(request))
    shown = fields.get(TOKEN_FIELD, "")
    if not hmac.compare_digest(shown.encode("utf-8"), page.session.token.encode("utf-8")):
        raise FormExpired(
            "this page is too old, from before you signed in or chose another user: open it again"
        )
    return fields


async def _posted(request: Request, page: Page) -> Fields:
    return await checked_fields(request, page)


Posted = Annotated[Fields, Depends(_posted)]


class OneTimeForms:
    """Remembers the ids of submitted forms in the memory of this process.

    A form without a valid id counts as submitted. After a restart, or in another process, only the
    browser itself asks before it sends a form again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: OrderedDict[str, None] = OrderedDict()

    @staticmethod
    def new_id() -> str:
        return secrets.token_urlsafe(_FORM_ID_BYTES)

    def take(self, form_id: str | None) -> bool:
        """Use an id; False where it was used before."""
        if not form_id or len(form_id) > _MAX_FORM_ID_CHARS:
            return False
        with self._lock:
            if form_id in self._used:
                return False
            self._used[form_id] = None
            if len(self._used) > _MAX_FORM_IDS:
                self._used.popitem(last=False)
            return True
