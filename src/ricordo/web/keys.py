"""The keys of the service. A secret is shown once, in the response that created the key: in no URL,
cookie, notice or log."""

from http import HTTPStatus
from typing import Any, Final, Self

from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import Conflict, InvalidValue, PermissionMissing
from ricordo.frozen import dataclass, field
from ricordo.http.auth import check_may_give
from ricordo.http.problems import status_of
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import Permission
from ricordo.web.forms import Fields, OneTimeForms, Posted, whole_number
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.rendering import PRIVATE, next_page
from ricordo.web.routing import SIGN_IN, page_router

_PATH: Final = "/ui/settings/keys"
_SENT_BEFORE: Final = (
    "This form was sent before, so no second key was created. A key is shown only once: if you"
    " missed it, revoke it below and create another."
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
        categories = [one.strip() for one in self.categories.split(",") if one.strip()]
        return {
            "name": self.name,
            "user": self.user or None,
            "agent": self.agent or None,
            "categories": categories or None,
            "permissions": self.permissions,
            "expires_days": whole_number("expires_days", self.expires_days),
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
def list_keys(page: Page, revoked: str = "", cursor: str | None = None) -> Response:
    _check_manages(page)
    if page.is_partial:
        return page.fragment("_keys.html", **_listed(page, bool(revoked), cursor))
    return _show(page, include_revoked=bool(revoked), cursor=cursor)


@router.post("/settings/keys")
def create_key(page: Page, form: Posted) -> Response:
    _check_manages(page)
    typed = KeyForm.of(form)
    check_may_give(page.caller, typed.permissions)
    if not _forms.take(form.get("form_id")):
        problem = KeyProblem(_SENT_BEFORE)
        return _show(page, status=int(HTTPStatus.CONFLICT), problem=problem)
    try:
        created = page.store.create_key(**typed.wanted())
    except (InvalidValue, Conflict) as error:
        problem = KeyProblem(str(error))
        if isinstance(error, InvalidValue):
            problem = KeyProblem(error.problem, error.field)
        return _show(page, status=int(status_of(error)), typed=typed, problem=problem)
    return _show(page, created=created)


@router.get("/settings/keys/{id}")
def show_key(page: Page, id: str) -> Response:
    """The user of the key is shown only to callers who may read it over the API."""
    _check_manages(page)
    key = page.store.key(id)
    is_own = _is_own(page, key)
    shows_user = is_own or page.may(Permission.READ_ALL)
    return page.render("key.html", key=key, is_own=is_own, shows_user=shows_user, **_naming(page))


@router.post("/settings/keys/{id}/revoke")
def revoke_key(page: Page, form: Posted, id: str) -> Response:
    """Revoke a key, once its own page, which explains the effect, was confirmed."""
    _check_manages(page)
    if "confirm" not in form:
        return page.redirect(f"{_PATH}/{page.store.key(id).id}")
    key = page.store.revoke_key(id)
    if not _is_own(page, key):
        return page.redirect(_PATH, notice="The key is revoked: it is refused from now on.")
    response = RedirectResponse(SIGN_IN, int(HTTPStatus.SEE_OTHER), PRIVATE)
    page.cookies.drop(page.request, response)
    return response


def _check_manages(page: PageRequest) -> None:
    if not page.may(Permission.MANAGE):
        raise PermissionMissing(
            "keys are for managers of this service: sign in with a key that has the permission"
            " manage"
        )


def _is_own(page: PageRequest, key: ApiKey) -> bool:
    return page.key is not None and page.key.id == key.id


def _listed(page: PageRequest, include_revoked: bool, cursor: str | None) -> dict[str, Any]:
    if not page.may(Permission.READ_ALL):
        return {"keys": None, "more": None, "is_first": True, **_naming(page)}
    found = page.store.keys(
        include_revoked=include_revoked, limit=limits.PAGE_ROWS, cursor=cursor or None
    )
    more = next_page(_PATH, found.next_cursor, revoked="1" if include_revoked else "")
    return {"keys": found.items, "more": more, "is_first": not cursor, **_naming(page)}


def _naming(page: PageRequest) -> dict[str, Any]:
    return {"now": page.store.database.clock(), "permission_names": PERMISSIONS}


def _show(
    page: PageRequest,
    *,
    status: int = 200,
    include_revoked: bool = False,
    cursor: str | None = None,
    typed: KeyForm | None = None,
    created: CreatedKey | None = None,
    problem: KeyProblem | None = None,
) -> Response:
    can_give = [one for one in Permission if one is Permission.SHARE or page.may(one)]
    return page.render(
        "keys.html",
        status=status,
        **_listed(page, include_revoked, cursor),
        include_revoked=include_revoked,
        typed=typed or KeyForm(),
        created=created,
        problem=problem,
        can_give=can_give,
        form_id=_forms.new_id(),
        max_days=limits.MAX_KEY_DAYS,
        max_name_chars=limits.MAX_KEY_NAME_CHARS,
        service_url=str(page.request.base_url).rstrip("/"),
    )
