"""The routes of the API."""

from fastapi import APIRouter

from ricordo.http import (
    admin,
    chat,
    checkpoints,
    health,
    manual,
    oauth,
    tool_server,
    tools,
    transfer,
)
from ricordo.http.operations import routers


def all_routers() -> tuple[APIRouter, ...]:
    """In the order of the OpenAPI document."""
    return (
        *routers(),
        tools.router,
        tool_server.router,
        tool_server.calls,
        checkpoints.router,
        transfer.router,
        chat.router,
        admin.router,
        admin.keys_router,
        oauth.router,
        manual.router,
        health.router,
    )
