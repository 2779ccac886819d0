"""A listener's settings, their bans and snoozes, and the removal of their account."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand import __version__
from bandstand.core.registry import ALGORITHMS
from bandstand.radio.listener_settings import ListenerSettings, as_json
from bandstand.store import accounts
from bandstand.store.events import events
from bandstand.web.http.problems import Problem
from bandstand.web.http.request_input import Body, JsonBody
from bandstand.web.requests.authentication import LISTENER, READ, Me, confirm
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import history_json
from bandstand.web.security import browser_sessions

router = APIRouter(tags=["settings"])

_EXTRA_FIELDS: Final = frozenset({"at", "title", "artist"})  # of a rule's event


class Wanted(Body):
    """What is to be different; the rest stays."""

    algorithm: Annotated[str, Field(max_length=100)] | None = None
    dial: Annotated[float, Field(ge=-1, le=1)] | None = None
    intercept: bool | None = None
    private: bool | None = None


class Farewell(Body):
    """The password of the account to remove."""

    password: Annotated[str, Field(max_length=1_024)]


@router.get("/api/settings", dependencies=[LISTENER], operation_id="settings")
async def settings(context: ContextDep, me: Me) -> Response:
    """Return your settings, the algorithms there are, and the version of Bandstand."""
    found = await context.pool.run(context.radio.settings, me.id)
    return JSONResponse(_described(found))


@router.patch("/api/settings", dependencies=[LISTENER], operation_id="change_settings")
async def change_settings(
    context: ContextDep, me: Me, body: Annotated[Wanted, JsonBody(Wanted)]
) -> Response:
    """Change some of your settings; null stands for no change."""
    changes = body.model_dump(exclude_none=True)
    changed = await asyncio.wrap_future(context.radio.change_settings(me.id, changes))
    return JSONResponse(_described(changed))


@router.get("/api/settings/rules", dependencies=[READ], operation_id="rules")
async def rules(context: ContextDep, me: Me) -> Response:
    """List what you have banned or snoozed; retract `seq` to end it."""
    return JSONResponse({"rules": await context.queue.run(me.id, _rules, context, me.id)})


@router.delete(
    "/api/settings/account", dependencies=[LISTENER], operation_id="leave", status_code=204
)
async def leave(
    request: Request, context: ContextDep, me: Me, body: Annotated[Farewell, JsonBody(Farewell)]
) -> Response:
    """Remove your account permanently, with everything that is stored about you."""
    if me.name == context.guest:
        raise Problem(403, "forbidden", "the demo's listener cannot be removed")
    proof = await confirm(context, request.state.address, me, body.password)

    def remove(store: Connection) -> None:
        proof.check(store)
        accounts.delete(store, me.id)

    await context.write(remove)
    context.forget_account(me.id)
    response = Response(status_code=204)
    browser_sessions.clear_cookie(response, context.access)
    return response


def _described(settings: ListenerSettings) -> dict[str, Any]:
    return {
        **as_json(settings),
        "algorithms": list(ALGORITHMS),
        "summaries": {name: algorithm.summary for name, algorithm in ALGORITHMS.items()},
        "version": __version__,
    }


def _rules(context: Context, account: str) -> list[dict[str, Any]]:
    """Return the active rules, each with the time of its event and the names of its song."""
    active = context.radio.ledger(account).rules_at(context.clock())
    with context.store.reading() as connection:
        found = events.many(connection, account, [rule.seq for rule in active])
        listed = history_json(connection, account, [*found.values()])
    described = {event["seq"]: event for event in listed}
    return [
        {
            "scope": rule.scope,
            "target": rule.target,
            "until": rule.until,
            "seq": rule.seq,
            **{name: value for name, value in described[rule.seq].items() if name in _EXTRA_FIELDS},
        }
        for rule in active
        if rule.seq in described  # or the account has gone meanwhile
    ]
