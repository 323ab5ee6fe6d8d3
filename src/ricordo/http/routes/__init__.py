"""The routes of the API."""

from typing import Final

from fastapi import APIRouter

from ricordo.http.routes import (
    activity,
    admin,
    chat,
    checkpoints,
    conversations,
    embeddings,
    health,
    manual,
    memories,
    proposals,
    recall,
    tools,
    transfer,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    recall.router,  # before memories.router, whose ids match any word
    memories.router,
    memories.changes_router,
    proposals.sharing_router,
    recall.graph_router,
    memories.themes_router,
    recall.context_router,
    tools.router,
    conversations.router,
    conversations.origins_router,
    proposals.router,
    activity.router,
    checkpoints.router,
    embeddings.router,
    transfer.router,
    chat.router,
    admin.router,
    admin.jobs_router,
    admin.keys_router,
    admin.memories_router,
    manual.router,
    health.router,
)
"""In the order of the OpenAPI document."""
