"""The service together with its web page."""

from typing import Final

from fastapi import APIRouter, FastAPI

from ricordo.http.app import create_app
from ricordo.memory import Memory
from ricordo.web import (
    activity,
    changes,
    consent,
    conversations,
    graph,
    keys,
    login,
    memories,
    memory,
    projects,
    proposals,
    rendering,
    settings,
)
from ricordo.web.sessions import SessionCookies

ROUTERS: Final[tuple[APIRouter, ...]] = (
    login.router,
    rendering.router,
    memories.router,
    graph.themes_router,
    graph.router,
    activity.router,
    memory.router,
    changes.router,
    conversations.router,
    projects.router,
    proposals.router,
    settings.router,
    keys.router,
    consent.router,
    login.missing_router,  # the last: it takes every address that is left
)


def create_site(memory: Memory) -> FastAPI:
    """The service over an open store, with the web page unless it is disabled."""
    app = create_app(memory)
    if memory.settings.page:
        app.state.session_cookies = SessionCookies(memory.recall.embedders.secrets, memory.settings)
        app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    return app
