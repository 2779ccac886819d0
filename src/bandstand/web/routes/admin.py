"""Administration: scans, unreadable files, the server's status, accounts, the study's progress."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field, model_validator
from sqlalchemy import Connection

from bandstand import __version__
from bandstand._util.process_memory import memory_bytes
from bandstand.errors import ConflictError
from bandstand.music.library.scanner import Progress
from bandstand.music.library.walk import shown
from bandstand.store import accounts
from bandstand.store.accounts import Account
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.sqlite_file import sqlite_warning
from bandstand.store.songs import files
from bandstand.web.http.problems import not_found
from bandstand.web.http.request_input import Body, JsonBody, Whole
from bandstand.web.requests.authentication import ADMIN, Me, visitor
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.security.passwords import checked_password

router = APIRouter(tags=["admin"])

_POLL_SECONDS: Final = 0.5
_RECONNECT_MS: Final = 10_000
_HEARTBEAT_SECONDS: Final = 15.0  # proxies cut silent connections
_MAX_OFFSET: Final = 1_000_000
_TEXT: Final = {"type": "string"}
_JSON: Final = {"contentMediaType": "application/json"}
_PROGRESS: Final = {**_TEXT, **_JSON, "contentSchema": {"$ref": "#/components/schemas/Progress"}}
_SCAN_EVENT: Final = {
    "type": "object",
    "required": ["event", "id", "data"],
    "properties": {"event": {"const": "progress"}, "id": _TEXT, "data": _PROGRESS},
}


class ScanRequest(Body):
    """Options of a scan."""

    retry: bool = False  # also read again the files that failed before


@router.get("/api/admin/scan", dependencies=[ADMIN], operation_id="scan_progress")
async def scan_progress(context: ContextDep) -> JSONResponse:
    """Return the progress of the scan, or the result of the last one."""
    return JSONResponse(_scan_progress(context).as_json())


@router.post("/api/admin/scan", dependencies=[ADMIN], operation_id="start_scan", status_code=202)
async def start_scan(
    context: ContextDep, body: Annotated[ScanRequest, JsonBody(ScanRequest)]
) -> JSONResponse:
    """Begin a scan of the library, unless one is under way."""
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
    responses={200: {"content": {"text/event-stream": {"itemSchema": _SCAN_EVENT}}}},
)
async def follow_scan(request: Request, context: ContextDep) -> StreamingResponse:
    """Follow the scan: its progress as server-sent events, until it is over."""
    stream = _events(request, context)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/api/admin/problems", dependencies=[ADMIN], operation_id="problems")
async def problems(
    context: ContextDep,
    offset: Annotated[Whole, Query(ge=0, le=_MAX_OFFSET)] = 0,
    limit: Annotated[Whole, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List the files that cannot be read, each with the reason."""
    return JSONResponse(await context.pool.run(_problems, context, offset, limit))


@router.get("/api/admin/status", dependencies=[ADMIN], operation_id="status")
async def status(context: ContextDep) -> JSONResponse:
    """Return the state of the server."""
    return JSONResponse(await context.pool.run(_status, context))


async def _events(request: Request, context: Context) -> AsyncIterator[bytes]:
    """Yield the progress whenever it has changed, until the scan is over.

    A browser reconnects by itself after the end, and so follows the next scan too.
    """
    yield f"retry: {_RECONNECT_MS}\n\n".encode()
    sent, spoken = -1, time.monotonic()
    while not context.stopping.is_set() and await _is_still_admin(request, context):
        is_over = context.scanner is None or not context.scanner.is_busy
        progress = _scan_progress(context)
        if progress.change != sent:
            sent, spoken = progress.change, time.monotonic()
            data = json.dumps(progress.as_json(), separators=(",", ":"))
            yield f"event: progress\nid: {sent}\ndata: {data}\n\n".encode()
        elif time.monotonic() - spoken > _HEARTBEAT_SECONDS:
            spoken = time.monotonic()
            yield b": still here\n\n"
        if is_over:
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _is_still_admin(request: Request, context: Context) -> bool:
    """Return whether the request's account is still an administrator with a session."""
    account = await visitor(request, context)
    return account is not None and account.role == "admin"


def _scan_progress(context: Context) -> Progress:
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


Name = Annotated[str, Field(min_length=1, max_length=64)]
Password = Annotated[str, Field(min_length=1, max_length=1_024)]
Role = Literal["listener", "admin"]


class NewUser(Body):
    """A new account."""

    name: Name
    password: Password
    role: Role = "listener"


class UserChange(Body):
    """The changes; the rest stays."""

    name: Name | None = None
    password: Password | None = None
    role: Role | None = None
    disabled: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "UserChange":
        if all(value is None for value in (self.name, self.password, self.role, self.disabled)):
            msg = "at least one of name, password, role and disabled must be given"
            raise ValueError(msg)
        return self


@router.get("/api/admin/users", dependencies=[ADMIN], operation_id="users")
async def users(context: ContextDep) -> Response:
    """List the accounts."""
    found = await context.pool.run(_all_users, context)
    return JSONResponse({"users": [user_json(one) for one in found]})


@router.post("/api/admin/users", dependencies=[ADMIN], operation_id="add_user", status_code=201)
async def add_user(context: ContextDep, body: Annotated[NewUser, JsonBody(NewUser)]) -> Response:
    """Make an account."""
    name = accounts.checked_name(body.name)
    kept = await context.password_pool.hashed(checked_password(body.password, name=name))
    account = await context.write(
        lambda store: accounts.create(
            store, name=name, role=body.role, password_hash=kept, now=context.clock()
        )
    )
    return JSONResponse(user_json(account), 201)


@router.patch("/api/admin/users/{user_id}", dependencies=[ADMIN], operation_id="change_user")
async def change_user(
    context: ContextDep, user_id: str, body: Annotated[UserChange, JsonBody(UserChange)]
) -> Response:
    """Change an account: all of what is asked, or nothing."""
    account = await context.pool.run(_existing_user, context, user_id)
    kept = None
    if body.password is not None:
        name = account.name if body.name is None else body.name
        kept = await context.password_pool.hashed(checked_password(body.password, name=name))
    changed = await context.write(lambda store: _change_user(store, user_id, body, kept))
    context.sessions.forget(user_id)
    return JSONResponse(user_json(changed))


@router.delete(
    "/api/admin/users/{user_id}", dependencies=[ADMIN], operation_id="remove_user", status_code=204
)
async def remove_user(context: ContextDep, user_id: str) -> Response:
    """Remove an account with everything that is stored about it."""
    await context.write(lambda store: accounts.delete(store, user_id))
    context.forget_account(user_id)
    return Response(status_code=204)


def user_json(account: Account) -> dict[str, Any]:
    """Return an account as administrators see it."""
    return {
        "id": account.id,
        "name": account.name,
        "role": account.role,
        "disabled": account.disabled,
        "has_password": account.has_password,
        "created_at": account.created_at,
    }


def _all_users(context: Context) -> list[Account]:
    with context.store.reading() as connection:
        return accounts.all_accounts(connection)


def _existing_user(context: Context, user_id: str) -> Account:
    with context.store.reading() as connection:
        account = accounts.get(connection, user_id)
    if account is None:
        raise not_found(what="account")
    return account


def _change_user(
    connection: Connection, user_id: str, change: UserChange, kept: str | None
) -> Account:
    if change.name is not None:
        accounts.rename(connection, user_id, change.name)
    if kept is not None:
        accounts.set_password(connection, user_id, kept)
    if change.role is not None:
        accounts.set_role(connection, user_id, change.role)
    if change.disabled is not None:
        accounts.set_disabled(connection, user_id, disabled=change.disabled)
    return accounts.existing(connection, user_id)


@router.get("/api/admin/study", dependencies=[ADMIN], operation_id="study_progress")
async def progress(context: ContextDep, me: Me) -> Response:
    """Return the progress of all participants; null where no study is open."""
    return JSONResponse({"study": await context.pool.run(_study_progress, context, me.id)})


def _study_progress(context: Context, account: str) -> dict[str, Any] | None:
    status = context.study.status(account)
    if status is None:
        return None
    return {
        "title": status.title,
        "parts": status.facts.parts,
        "ratings_per_arm": status.facts.ratings_per_arm,
        "participants": [
            {
                "number": one.number,
                "joined_at": one.joined_at,
                "parts_done": one.arms_done,
                "ratings": one.ratings,
                "last_at": one.last_at,
            }
            for one in context.study.progress()
        ],
    }
