"""Whether whoever asked is still there to hear the answer."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request


@asynccontextmanager
async def while_here(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Give a function that says whether the client is still there; any thread may call it."""
    gone = threading.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    watching = asyncio.create_task(watch())
    try:
        yield lambda: not gone.is_set()
    finally:
        watching.cancel()
