"""A part of an open file as an answer: read by other threads, a block at a time.

The event loop never waits for a disk, and a stream holds one block in memory, however slowly
its client reads. Who hangs up ends the reading.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, Final

import anyio
import anyio.to_thread
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from bandstand.web.http.ranges import Plan

BLOCK: Final = 1 << 17  # bytes


class FileResponse(Response):
    """The part of `file` that `plan` says; the file is closed at the end, whatever happens."""

    def __init__(self, file: BinaryIO, plan: Plan, headers: dict[str, str]) -> None:
        super().__init__(status_code=plan.status, headers={**headers, **plan.headers})
        self._file = file
        self._plan = plan
        # A 304 and a 412 say nothing of a length that a body would have; 416 has no body.
        del self.headers["content-length"]
        if plan.status in {200, 206}:
            self.headers["content-length"] = str(plan.length)
        elif plan.status in {412, 416}:
            self.headers["content-length"] = "0"
            del self.headers["content-type"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the part, until it is sent or the client is gone."""
        try:
            head = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **head})
            if scope["method"] == "HEAD" or not self._plan.length:
                await send({"type": "http.response.body", "body": b""})
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                await self._send_part(send)
                tasks.cancel_scope.cancel()
        finally:
            self._file.close()

    async def _send_part(self, send: Send) -> None:
        place, end = self._plan.start, self._plan.start + self._plan.length
        handle = self._file.fileno()
        while place < end:
            wanted = min(BLOCK, end - place)
            block = await anyio.to_thread.run_sync(os.pread, handle, wanted, place)
            if not block:
                # The file became shorter. The connection ends short of its length, and the
                # client knows that it has not got everything.
                break
            place += len(block)
            await send({"type": "http.response.body", "body": block, "more_body": place < end})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
