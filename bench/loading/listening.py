"""A server that says where it listens."""

import json
from typing import Any

import uvicorn


class Listening(uvicorn.Server):
    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"listening": f"http://127.0.0.1:{port}"}), flush=True)
