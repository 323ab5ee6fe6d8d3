"""Requests that may take long, in threads of their own.

What asks a language model, or works through a whole file or store, can take minutes. In the threads
that all requests share, a few of those would keep everybody else waiting, ``/readyz`` included.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar
from fastapi.responses import Response

from ricordo.limits import MAX_LENGTHY_REQUESTS

Given = ParamSpec("Given")
Found = TypeVar("Found")

_threads: Final[RunVar[anyio.CapacityLimiter]] = RunVar("ricordo_lengthy_threads")


def lengthy(
    endpoint: Callable[Given, Response],
) -> Callable[Given, Coroutine[Any, Any, Response]]:
    """Let an endpoint run beside the threads that all requests share."""

    @functools.wraps(endpoint)
    async def call(*args: Given.args, **kwargs: Given.kwargs) -> Response:
        return await at_length(endpoint, *args, **kwargs)

    return call


async def at_length(
    work: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs
) -> Found:
    """Do something that may take long. Where too much of that is done already, it waits."""
    doing = functools.partial(work, *args, **kwargs)
    return await anyio.to_thread.run_sync(doing, limiter=_limiter())


def _limiter() -> anyio.CapacityLimiter:
    """That of the running event loop."""
    try:
        return _threads.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(MAX_LENGTHY_REQUESTS)
        _threads.set(limiter)
        return limiter
