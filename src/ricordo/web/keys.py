"""The keys of the service. A secret is shown once, in the response that created the key: in no URL,
cookie, notice or log."""

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Self

from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import Conflict, InvalidValue, PermissionMissing
from ricordo.http.auth import check_may_give
from ricordo.http.problems import status_of
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import Permission
from ricordo.web.forms import Fields, OneTimeForms, Posted
from ricordo.web.rendering import PRIVATE, address
from ricordo.web.routing import SIGN_IN, page_router
from ricordo.web.visitors import Visiting, Visitor

_PATH: Final = "/ui/settings/keys"
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_SENT_BEFORE: Final = (
    "This form was sent before, so no second key was made. A key is shown once only: if you missed"
    " it, revoke it below and make another."
)
FIELD_NAMES: Final = {
    "name": "Name",
    "user": "User",
    "user_id": "User",
    "agent": "Agent",
    "categories": "Categories",
    "permissions": "Permissions",
    "expires_days": "Days",
}
"""Field names in errors, and their labels."""
PERMISSIONS: Final = {
    Permission.READ_ALL: "read all users' memories",
    Permission.MANAGE: "manage keys, jobs and users",
    Permission.SHARE: "share memories with other users without their consent",
}
"""What each permission allows a service."""

router = page_router()
_forms: Final = OneTimeForms()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyForm:
    name: str = ""
    user: str = ""
    agent: str = ""
    categories: str = ""
    expires_days: str = ""
    permissions: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, given: Fields) -> Self:
        typed = {
            name: given.get(name, "")
            for name in ("name", "user", "agent", "categories", "expires_days")
        }
        return cls(**typed, permissions=given.several("permissions"))

    def wanted(self) -> dict[str, Any]:
        """The fields as the library takes them.

        Raises:
            InvalidValue: the days are not a number.
        """
        if self.expires_days and not _NUMBER.fullmatch(self.expires_days):
            raise InvalidValue("expires_days", "is no whole number")
        categories = [one.strip() for one in self.categories.split(",") if one.strip()]
        return {
            "name": self.name,
            "user": self.user or None,
            "agent": self.agent or None,
            "categories": categories or None,
            "permissions": self.permissions,
            "expires_days": int(self.expires_days) if self.expires_days else None,
        }


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Why no key was created; ``field`` is the field that is wrong, if any."""

    detail: str
    field: str | None = None

    @property
    def field_name(self) -> str | None:
        return None if self.field is None else FIELD_NAMES.get(self.field, self.field)


@router.get("/settings/keys")
def list_keys(visit: Visiting, revoked: str = "", cursor: str | None = None) -> Response:
    _check_manages(visit)
    if visit.is_partial:
        return visit.fragment("_keys.html", **_listed(visit, bool(revoked), cursor))
    return _page(visit, include_revoked=bool(revoked), cursor=cursor)


@router.post("/settings/keys")
def create_key(visit: Visiting, form: Posted) -> Response:
    _check_manages(visit)
    typed = KeyForm.of(form)
    check_may_give(visit.caller, typed.permissions)
    if not _forms.take(form.get("form_id")):
        problem = KeyProblem(_SENT_BEFORE)
        return _page(visit, status=int(HTTPStatus.CONFLICT), problem=problem)
    try:
        made = visit.store.create_key(**typed.wanted())
    except InvalidValue as error:
        problem = KeyProblem(error.problem, error.field)
        return _page(visit, status=int(status_of(error)), typed=typed, problem=problem)
    except Conflict as error:
        problem = KeyProblem(str(error))
        return _page(visit, status=int(status_of(error)), typed=typed, problem=problem)
    return _page(visit, made=made)


@router.get("/settings/keys/{id}")
def show_key(visit: Visiting, id: str) -> Response:
    """The user of the key is shown only to visitors who may read it over the API."""
    _check_manages(visit)
    key = visit.store.key(id)
    is_own = _is_own(visit, key)
    shows_user = is_own or visit.may(Permission.READ_ALL)
    return visit.page("key.html", key=key, is_own=is_own, shows_user=shows_user, **_naming(visit))


@router.post("/settings/keys/{id}/revoke")
def revoke_key(visit: Visiting, form: Posted, id: str) -> Response:
    """Revoke a key, once its own page, which explains the effect, was confirmed."""
    _check_manages(visit)
    if "confirm" not in form:
        return visit.back_to(f"{_PATH}/{visit.store.key(id).id}")
    key = visit.store.revoke_key(id)
    if not _is_own(visit, key):
        return visit.back_to(_PATH, notice="The key is revoked: it is refused from now on.")
    response = RedirectResponse(SIGN_IN, int(HTTPStatus.SEE_OTHER), PRIVATE)
    visit.cookies.drop(visit.request, response)
    return response


def _check_manages(visit: Visitor) -> None:
    if not visit.may(Permission.MANAGE):
        raise PermissionMissing(
            "keys are for who manages this service: sign in with a key that has the permission"
            " manage"
        )


def _is_own(visit: Visitor, key: ApiKey) -> bool:
    return visit.key is not None and visit.key.id == key.id


def _listed(visit: Visitor, include_revoked: bool, cursor: str | None) -> dict[str, Any]:
    if not visit.may(Permission.READ_ALL):
        return {"keys": None, "more": None, "is_first": True, **_naming(visit)}
    page = visit.store.keys(
        include_revoked=include_revoked, limit=limits.PAGE_ROWS, cursor=cursor or None
    )
    more = None
    if page.next_cursor is not None:
        more = address(_PATH, revoked="1" if include_revoked else "", cursor=page.next_cursor)
    return {"keys": page.items, "more": more, "is_first": not cursor, **_naming(visit)}


def _naming(visit: Visitor) -> dict[str, Any]:
    return {"now": visit.store.database.clock(), "permission_names": PERMISSIONS}


def _page(
    visit: Visitor,
    *,
    status: int = 200,
    include_revoked: bool = False,
    cursor: str | None = None,
    typed: KeyForm | None = None,
    made: CreatedKey | None = None,
    problem: KeyProblem | None = None,
) -> Response:
    can_give = [one for one in Permission if one is Permission.SHARE or visit.may(one)]
    return visit.page(
        "keys.html",
        status=status,
        **_listed(visit, include_revoked, cursor),
        include_revoked=include_revoked,
        typed=typed or KeyForm(),
        made=made,
        problem=problem,
        can_give=can_give,
        form_id=_forms.new_id(),
        max_days=limits.MAX_KEY_DAYS,
        max_name_chars=limits.MAX_KEY_NAME_CHARS,
        service_url=str(visit.request.base_url).rstrip("/"),
    )
