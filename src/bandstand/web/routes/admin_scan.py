"""The library, for whoever looks after it: scans, files that failed, the state of the server."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from bandstand import __version__
from bandstand._util.process_memory import memory_bytes
from bandstand.errors import ConflictError
from bandstand.music.library.scanner import Progress
from bandstand.music.library.walk import shown
from bandstand.store import accounts
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.sqlite_file import sqlite_warning
from bandstand.store.songs import files
from bandstand.web.http.queries import Whole
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import ADMIN, visitor

router = APIRouter(tags=["admin"])

_LOOK_EVERY: Final = 0.5  # seconds
_COME_BACK_AFTER: Final = 10_000  # milliseconds
_ALIVE_EVERY: Final = 15.0  # seconds; proxies cut a connection on which nothing is said
_MOST_PROBLEMS: Final = 1_000_000


class ScanRequest(Body):
    """What a scan shall do beside its usual work."""

    retry: bool = False  # also read again the files that failed before


@router.get("/api/admin/scan", dependencies=[ADMIN], operation_id="scan_progress")
async def scan_progress(context: ContextDep) -> JSONResponse:
    """Tell how far the scan is, or what the last one found."""
    return JSONResponse(_progress(context).as_json())


@router.post("/api/admin/scan", dependencies=[ADMIN], operation_id="start_scan", status_code=202)
async def start_scan(
    context: ContextDep, body: Annotated[ScanRequest, JsonBody(ScanRequest)]
) -> JSONResponse:
    """Begin a scan of the library; one that is under way goes on."""
    scanner = context.scanner
    if scanner is None or not scanner.has_folders:
        msg = "the server must have folders of music to scan, and was started without"
        raise ConflictError(msg)
    started = scanner.request(retry=body.retry)
    return JSONResponse({"started": started, **scanner.progress.as_json()}, 202)


@router.get(
    "/api/admin/scan/progress",
    dependencies=[ADMIN],
    operation_id="follow_scan",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def follow_scan(request: Request, context: ContextDep) -> StreamingResponse:
    """Follow the scan: its progress as server-sent events, until it is over."""
    stream = _events(request, context)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/api/admin/problems", dependencies=[ADMIN], operation_id="problems")
async def problems(
    context: ContextDep,
    offset: Annotated[Whole, Query(ge=0, le=_MOST_PROBLEMS)] = 0,
    limit: Annotated[Whole, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List the files that cannot be read, each with the reason."""
    return JSONResponse(await context.workers.run(_problems, context, offset, limit))


@router.get("/api/admin/status", dependencies=[ADMIN], operation_id="status")
async def status(context: ContextDep) -> JSONResponse:
    """Tell how the server is."""
    return JSONResponse(await context.workers.run(_status, context))


async def _events(request: Request, context: Context) -> AsyncIterator[bytes]:
    """Yield the progress whenever it has changed, until the scan is over.

    A browser comes back by itself a while after the end, and so meets the next scan too.
    """
    yield f"retry: {_COME_BACK_AFTER}\n\n".encode()
    told, spoken = -1, time.monotonic()
    while not context.stopping.is_set() and await _is_still_admin(request, context):
        is_over = context.scanner is None or not context.scanner.is_busy
        progress = _progress(context)
        if progress.change != told:
            told, spoken = progress.change, time.monotonic()
            data = json.dumps(progress.as_json(), separators=(",", ":"))
            yield f"event: progress\nid: {told}\ndata: {data}\n\n".encode()
        elif time.monotonic() - spoken > _ALIVE_EVERY:
            spoken = time.monotonic()
            yield b": still here\n\n"
        if is_over:
            return
        await asyncio.sleep(_LOOK_EVERY)


async def _is_still_admin(request: Request, context: Context) -> bool:
    """Return whether whoever began to listen may still do so: accounts and sessions end."""
    account = await visitor(request, context)
    return account is not None and account.role == "admin"


def _progress(context: Context) -> Progress:
    return Progress() if context.scanner is None else context.scanner.progress


def _problems(context: Context, offset: int, limit: int) -> dict[str, Any]:
    with context.store.reading() as connection:
        found = list(islice(files.problems(connection), offset, offset + limit))
        total = files.counts(connection).problems
    listed = [{"path": shown(path), "reason": reason} for path, reason in found]
    folders = [shown(os.fsencode(os.path.realpath(name))) for name in context.settings.folders]
    return {"total": total, "offset": offset, "folders": folders, "problems": listed}


def _status(context: Context) -> dict[str, Any]:
    store, scanner = context.store, context.scanner
    with store.reading() as connection:
        counts = files.counts(connection)
        people = accounts.count(connection)
    is_sqlite = isinstance(store.location, SqliteLocation)
    return {
        "version": __version__,
        "store": "sqlite" if is_sqlite else "postgresql",
        "store_warning": sqlite_warning() if is_sqlite else None,
        "store_failure": context.radio.failure,
        "isolation": None if scanner is None else scanner.progress.isolation,
        "songs": counts.songs,
        "missing_songs": counts.missing,
        "failed_files": counts.problems,
        "accounts": people,
        "uptime_seconds": max(0, context.clock() - context.started_at) // 1_000,
        "memory_bytes": memory_bytes(),
    }
