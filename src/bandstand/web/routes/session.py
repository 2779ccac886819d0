"""Login and logout, the first account, passwords and devices."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand.radio import demo_history
from bandstand.store import accounts, sessions
from bandstand.store.accounts import Account
from bandstand.web.http.problems import Problem, not_found, too_many
from bandstand.web.http.request_input import Body, JsonBody
from bandstand.web.requests.authentication import (
    LISTENER,
    PUBLIC,
    READ,
    CallerDep,
    Me,
    Proof,
    authenticate,
    confirm,
    note_failure,
)
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.security import browser_sessions
from bandstand.web.security.passwords import checked_password

router = APIRouter(tags=["session"])

_DAY_MS = 86_400_000

Name = Annotated[str, Field(min_length=1, max_length=200)]
Password = Annotated[str, Field(max_length=1_024)]


class Credentials(Body):
    """A name and its password."""

    name: Name
    password: Password


class FirstAccount(Credentials):
    """The first account, and the token that the console shows."""

    token: Annotated[str, Field(max_length=200)]


class PasswordChange(Body):
    """The old password and the new one."""

    old: Password
    new: Password


@router.post("/api/session", dependencies=[PUBLIC], operation_id="log_in")
async def log_in(
    request: Request, context: ContextDep, body: Annotated[Credentials, JsonBody(Credentials)]
) -> Response:
    """Begin a session: the answer sets its cookie."""
    address = request.state.address
    proof = await authenticate(context, address, body.name, body.password)
    return await _begin(context, request, proof)


@router.get("/api/session", dependencies=[READ], operation_id="session")
async def session(context: ContextDep, me: Me, caller: CallerDep) -> Response:
    """Return the account that is logged in, and whether there is a study to take part in.

    `scope` is that of the app that asks, null for a browser.
    """
    membership = await context.read_pool.run(context.study.membership, me.id)
    is_guest = context.guest == me.name
    return JSONResponse(
        {
            **account_json(me),
            "scope": caller.scope,
            "guest": is_guest,
            "made_up": is_guest and await context.read_pool.run(_is_made_up, context, me.id),
            "study": None if membership is None else asdict(membership),
        }
    )


@router.delete("/api/session", dependencies=[LISTENER], operation_id="log_out", status_code=204)
async def log_out(request: Request, context: ContextDep, me: Me) -> Response:
    """End this session."""
    token = browser_sessions.session_token(request, context.access)
    if token is not None:
        await context.write(lambda store: sessions.delete(store, token))
        context.sessions.forget(me.id)
    response = Response(status_code=204)
    browser_sessions.clear_cookie(response, context.access)
    return response


@router.post("/api/session/setup", dependencies=[PUBLIC], operation_id="set_up", status_code=201)
async def set_up(
    request: Request, context: ContextDep, body: Annotated[FirstAccount, JsonBody(FirstAccount)]
) -> Response:
    """Make the first account, an administrator, with the token that the console shows."""
    if not context.setup.is_open:
        raise not_found()
    address = request.state.address
    slot = context.throttle.take(address, f"set-up from {address}")
    if isinstance(slot, float):
        raise too_many(slot)
    if not context.setup.matches(body.token):
        note_failure(address, "set-up")
        raise Problem(401, "wrong_token", "this is not the token that the console shows")
    context.throttle.succeed(slot)
    kept = await context.password_pool.hashed(checked_password(body.password, name=body.name))
    account = await context.write(lambda store: _create_first(store, context, body.name, kept))
    context.setup.close()
    return await _begin(context, request, Proof(account=account, kept=kept), status=201)


@router.put(
    "/api/session/password",
    dependencies=[LISTENER],
    operation_id="change_password",
    status_code=204,
)
async def change_password(
    request: Request,
    context: ContextDep,
    me: Me,
    body: Annotated[PasswordChange, JsonBody(PasswordChange)],
) -> Response:
    """Change your password; every other session of the account ends."""
    checked_password(body.new, name=me.name)
    proof = await confirm(context, request.state.address, me, body.old)
    kept = await context.password_pool.hashed(body.new)
    token = browser_sessions.session_token(request, context.access)

    def change(store: Connection) -> None:
        proof.check(store)
        accounts.set_password(store, me.id, kept, keep=token)

    await context.write(change)
    context.sessions.forget(me.id)
    return Response(status_code=204)


@router.get("/api/session/devices", dependencies=[LISTENER], operation_id="devices")
async def devices(request: Request, context: ContextDep, me: Me) -> Response:
    """List the devices on which you are logged in."""
    token = browser_sessions.session_token(request, context.access)
    found = await context.pool.run(_devices, context, me.id, token)
    return JSONResponse({"devices": found})


@router.delete(
    "/api/session/devices", dependencies=[LISTENER], operation_id="end_devices", status_code=204
)
async def end_devices(request: Request, context: ContextDep, me: Me) -> Response:
    """Log out on all other devices."""
    token = browser_sessions.session_token(request, context.access)
    await context.write(lambda store: sessions.delete_all(store, me.id, keep=token))
    context.sessions.forget(me.id)
    return Response(status_code=204)


def account_json(account: Account) -> dict[str, Any]:
    """Return an account as its owner sees it."""
    return {"id": account.id, "name": account.name, "role": account.role}


async def _begin(
    context: Context, request: Request, proof: Proof, *, status: int = 200
) -> Response:
    """Begin a session and set its cookie; the session of the request ends."""
    before = browser_sessions.session_token(request, context.access)
    client = request.headers.get("user-agent", "")
    token = await context.write(
        lambda store: _create_session(store, context, proof, client, before)
    )
    if before is not None:
        context.sessions.forget_all()
    response = JSONResponse(account_json(proof.account), status)
    browser_sessions.set_cookie(
        response, context.access, token, seconds=context.settings.session_days * 86_400
    )
    return response


def _create_session(
    connection: Connection, context: Context, proof: Proof, client: str, before: str | None
) -> str:
    proof.check(connection)
    now = context.clock()
    expires_at = now + context.settings.session_days * _DAY_MS
    sessions.prune(connection, now)
    if before is not None:
        sessions.delete(connection, before)
    return sessions.create(
        connection, account=proof.account.id, now=now, expires_at=expires_at, client=client
    )


def _create_first(connection: Connection, context: Context, name: str, kept: str) -> Account:
    # Checked inside the transaction: of two requests at once, one makes the first account.
    if accounts.count(connection) > 0:
        raise not_found()
    return accounts.create(
        connection, name=name, role="admin", password_hash=kept, now=context.clock()
    )


def _is_made_up(context: Context, account: str) -> bool:
    with context.store.reading() as connection:
        return demo_history.is_made_up(connection, account)


def _devices(context: Context, account: str, token: str | None) -> list[dict[str, Any]]:
    with context.store.reading() as connection:
        found = sessions.of(connection, account, current=token)
    return [
        {
            "client": one.client,
            "created_at": one.created_at,
            "expires_at": one.expires_at,
            "is_current": one.is_current,
        }
        for one in found
    ]
