"""Administration of the service's keys."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, PageAsked
from ricordo.http.callers import Calling, Managing, ReadingAll, check_may_give
from ricordo.http.gating import GatedRoute
from ricordo.http.routing import router_for
from ricordo.model.record import Page
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import Permission

# Without idempotency keys: answers to requests that have one are kept, and secrets must not be.
router = router_for("Administration: keys", "/v1/admin/keys", route_class=GatedRoute)


class NewKeyAsked(Asked):
    """A key of a user, of an agent of one (with `agent`), or of a service (without `user`)."""

    name: str = Field(
        max_length=limits.MAX_KEY_NAME_CHARS, description="For people.", examples=["chat front end"]
    )
    user: str | None = Field(default=None, description="The one user whom it acts for.")
    agent: str | None = Field(default=None, description="The agent of that user whose key it is.")
    categories: list[str] | None = Field(
        default=None, description="All that an agent's key can read and write."
    )
    permissions: list[str] = Field(
        default=[],
        description=f"Of a service's key: {', '.join(Permission)}; of an agent's: share.",
    )
    expires_days: int | None = Field(
        default=None, ge=1, le=limits.MAX_KEY_DAYS, description="How long it is good."
    )


class KeysAsked(PageAsked):
    """Which keys."""

    user: str | None = Field(default=None, description="Only those of this user.")
    include_revoked: bool = Field(default=False, description="Also those that were revoked.")


@router.post("", status_code=HTTPStatus.CREATED, response_model=CreatedKey)
def create_key(asked: NewKeyAsked, store: Managing, caller: Calling) -> Response:
    """Make a key. Its secret is in this answer, and nowhere else ever after.

    Nobody can give a permission that they do not have.
    """
    check_may_give(caller, asked.permissions)
    created = store.create_key(**asked.given())
    return answer(created, HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


@router.get("", response_model=Page[ApiKey])
def list_keys(asked: Annotated[KeysAsked, Query()], store: ReadingAll) -> Response:
    """List the keys, the newest first, without their secrets."""
    return answer(store.keys(**asked.given()))


@router.get("/{id}", response_model=ApiKey)
def read_key(id: Annotated[str, Path(description="The key.")], store: ReadingAll) -> Response:
    """Read one key, without its secret; also one that was revoked."""
    return answer(store.key(id))


@router.delete("/{id}", response_model=ApiKey)
def revoke_key(id: Annotated[str, Path(description="The key.")], store: Managing) -> Response:
    """End a key: it is refused from now on."""
    return answer(store.revoke_key(id))
