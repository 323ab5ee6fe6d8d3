"""Speaking over the streams of this process, for one user, until the client is gone.

Standard output carries the protocol and nothing else: whatever else is printed in the meantime goes
to standard error.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from typing import Final, cast

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from ricordo.mcp.threads import Threads

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_READ_BYTES: Final = 65_536


def serve_streams(server: Server[Threads]) -> None:
    """Answer until the client is gone, or SIGINT or SIGTERM comes. Requests under way are finished,
    whether or not somebody is left to hear of it."""
    try:
        anyio.run(_serve, server)
    except* BrokenPipeError:  # nobody reads what is said, which is as good as the end of the input
        pass


async def _serve(server: Server[Threads]) -> None:
    lines = cast("anyio.AsyncFile[str]", _Lines(sys.stdin.fileno()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, tasks)
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_on_signal(tasks: TaskGroup) -> None:
    with anyio.open_signal_receiver(*_STOP_SIGNALS) as signals:
        async for _ in signals:
            tasks.cancel_scope.cancel()
            return


class _Lines:
    """The lines of a file descriptor.

    They are read by a thread that nobody waits for. The library's own way would hold up the end of
    the process, after a signal, until one more line comes; a thread that reads ``sys.stdin`` would
    hold its lock, without which Python cannot end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[bytes] = asyncio.Queue()
        taken = threading.Semaphore()  # one chunk at a time: who sends much has to wait

        def read() -> None:
            while taken.acquire():
                try:
                    chunk = os.read(self._descriptor, _READ_BYTES)
                except OSError:  # the client's end is gone
                    chunk = b""
                try:
                    loop.call_soon_threadsafe(chunks.put_nowait, chunk)
                except RuntimeError:  # the loop has ended
                    return
                if not chunk:
                    return

        threading.Thread(target=read, name="ricordo-mcp-input", daemon=True).start()
        begun = bytearray()
        while chunk := await chunks.get():
            taken.release()
            begun += chunk
            if b"\n" in chunk:  # else nothing is copied, so that a long line takes no longer
                *whole, begun = begun.split(b"\n")
                for line in whole:
                    yield line.decode("utf-8", "replace")
        if begun:
            yield begun.decode("utf-8", "replace")
