"""Themes, and what has happened since."""

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, QueryAsked
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routing import router_for, showing
from ricordo.model.item import Changes, Theme
from ricordo.model.vocabulary import ContextPolicy

router = router_for("Themes and changes", "/v1")

ThemeName = Annotated[
    str, Path(min_length=1, description="The theme, in any spelling.", examples=["drinks"])
]


class ThemeAsked(Asked):
    """What to change of a theme; what is not given stays."""

    display_name: str | None = Field(
        default=None,
        max_length=limits.MAX_THEME_CHARS,
        description="What it is called.",
        examples=["Food and drink"],
    )
    description: str | None = Field(
        default=None,
        max_length=limits.MAX_THEME_DESCRIPTION_CHARS,
        description="What belongs under it.",
    )
    context: str | None = Field(
        default=None,
        description=f"What prompts show of it: {', '.join(ContextPolicy)}.",
        examples=[ContextPolicy.ALL.value],
    )
    rag_length: int | None = Field(
        default=None,
        ge=1,
        le=limits.MAX_RAG_LENGTH,
        description="How many of its memories prompts show.",
    )


class ChangesAsked(QueryAsked):
    """Which stretch of the change feed."""

    since: int = Field(
        default=0, ge=0, le=limits.MAX_ID, description="The last revision that you know of."
    )
    limit: int = Field(
        default=limits.DEFAULT_CHANGES,
        ge=1,
        le=limits.MAX_CHANGES,
        description="How many changes at most.",
    )


class Revision(BaseModel):
    """Where a user's change feed stands."""

    revision: int


@router.get("/themes", response_model=list[Theme], responses=showing([examples.THEME]))
def list_themes(user: Acting) -> Response:
    """List the headings with the number of active memories under each, most used first."""
    return answer(user.themes())


@router.patch("/themes/{theme}", response_model=Theme, responses=showing(examples.THEME))
def describe_theme(theme: ThemeName, asked: ThemeAsked, user: Acting) -> Response:
    """Change a theme's name, description and context policy."""
    return answer(user.describe_theme(theme, **asked.given()))


@router.get("/changes", response_model=Changes, responses=showing(examples.CHANGES))
def list_changes(asked: Annotated[ChangesAsked, Query()], user: Acting) -> Response:
    """Tell what happened to memories after a revision, oldest first.

    Ask again with `since` set to the revision of the last change; `more` says that there is more.
    """
    return answer(user.changes(asked.since, limit=asked.limit))


@router.get("/revision", response_model=Revision, responses=showing({"revision": 12}))
def get_revision(user: Acting) -> Response:
    """Tell where the change feed stands: it grows by one with each change of a memory."""
    return answer({"revision": user.revision()})
