"""A small application behind the observing middleware, and a way to call it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, StreamingResponse

from ricordo.errors import StorageUnavailable
from ricordo.memory import Memory
from ricordo.observability.logs import note_error, note_key
from ricordo.observability.metrics import ServiceMetrics, watch_steps
from ricordo.observability.middleware import ObservingMiddleware
from ricordo.observability.traces import Tracing


class Service:
    """An application that searches, fails and streams."""

    def __init__(self, memory: Memory, tracing: Tracing | None = None) -> None:
        self.memory = memory
        self.metrics = ServiceMetrics(memory)
        self.tracing = tracing or Tracing()
        watch_steps(memory, self.metrics, self.tracing)
        inner = FastAPI()
        inner.include_router(self._routes())
        self.app = ObservingMiddleware(inner, self.metrics, self.tracing)

    def _routes(self) -> APIRouter:
        routes = APIRouter(prefix="/v1")

        @routes.get("/users/{user_id}/search")
        def search(user_id: str, query: str) -> list[str]:
            note_key("key-7")
            return [hit.content_snippet for hit in self.memory.user(user_id).search(query)]

        @routes.post("/fail")
        def fail(text: str) -> None:
            raise ValueError(text)

        @routes.get("/refused")
        def refused(text: str) -> JSONResponse:
            note_error(ValueError(text))
            return JSONResponse({}, 404)

        @routes.get("/down")
        def down() -> JSONResponse:
            try:
                raise StorageUnavailable("somewhere: cannot be reached")
            except StorageUnavailable as error:
                note_error(error)
            return JSONResponse({}, 503)

        @routes.get("/stream")
        async def stream(breaks: bool = False) -> StreamingResponse:
            async def parts() -> AsyncIterator[bytes]:
                yield b"one"
                if breaks:
                    raise RuntimeError("in the middle")
                yield b"two"

            return StreamingResponse(parts())

        return routes

    async def call(self, method: str, url: str, **more: Any) -> httpx2.Response:
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://ricordo") as client:
            return await client.request(method, url, **more)
