"""What the service offers, a module for each kind of thing."""

from typing import Final

from fastapi import APIRouter

from ricordo.http.routes import (
    activity,
    admin,
    admin_jobs,
    admin_keys,
    admin_memories,
    changing,
    chat,
    checkpoints,
    consent,
    conversations,
    embeddings,
    graphs,
    health,
    manual,
    memories,
    origins,
    prompting,
    searching,
    sharing,
    themes,
    tools,
    transfer,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    searching.router,  # before the single memories, whose ids could be any word
    memories.router,
    changing.router,
    sharing.router,
    graphs.router,
    themes.router,
    prompting.router,
    tools.router,
    conversations.router,
    origins.router,
    consent.router,
    activity.router,
    checkpoints.router,
    embeddings.router,
    transfer.router,
    chat.router,
    admin.router,
    admin_jobs.router,
    admin_keys.router,
    admin_memories.router,
    manual.router,
    health.router,
)
"""In the order in which the OpenAPI document lists them."""
