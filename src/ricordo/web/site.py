"""The service together with its web page."""

from fastapi import FastAPI

from ricordo.http.app import create_app
from ricordo.memory import Memory
from ricordo.web.pages import ROUTERS
from ricordo.web.sessions import SessionCookies


def create_site(memory: Memory) -> FastAPI:
    """The service over an open store, with the page unless that is switched off."""
    app = create_app(memory)
    if memory.settings.page:
        app.state.session_cookies = SessionCookies(memory.recall.embedders.secrets, memory.settings)
        app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    return app
