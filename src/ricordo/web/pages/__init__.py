"""The pages, a module each."""

from typing import Final

from fastapi import APIRouter

from ricordo.web import static_files
from ricordo.web.pages import (
    activity,
    changes,
    choices,
    conversations,
    entrance,
    graph,
    keys,
    memories,
    memory,
    missing,
    settings,
    themes,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    entrance.router,
    static_files.router,
    memories.router,
    themes.router,
    graph.router,
    activity.router,
    memory.router,
    changes.router,
    conversations.router,
    choices.router,
    settings.router,
    keys.router,
    missing.router,  # the last: it takes every address that is left
)
