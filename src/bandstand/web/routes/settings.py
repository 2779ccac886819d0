"""How a listener wants the radio; what is banned or snoozed; leaving for good."""

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
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.authentication import confirm
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._event_json import told_json
from bandstand.web.security import cookies

router = APIRouter(tags=["settings"])

_ALSO: Final = frozenset({"at", "title", "artist"})  # what a rule has from its event


class Wanted(Body):
    """What is to be different; the rest stays."""

    algorithm: Annotated[str, Field(max_length=100)] | None = None
    dial: Annotated[float, Field(ge=-1, le=1)] | None = None
    intercept: bool | None = None
    private: bool | None = None


class Farewell(Body):
    """The password of whoever leaves."""

    password: Annotated[str, Field(max_length=1_024)]


@router.get("/api/settings", dependencies=[LISTENER], operation_id="settings")
async def settings(context: ContextDep, me: Me) -> Response:
    """Tell how one's radio is set, which algorithms there are, and which Bandstand this is."""
    found = await context.workers.run(context.radio.settings, me.id)
    return JSONResponse(_described(found))


@router.patch("/api/settings", dependencies=[LISTENER], operation_id="change_settings")
async def change_settings(
    context: ContextDep, me: Me, body: Annotated[Wanted, JsonBody(Wanted)]
) -> Response:
    """Change some settings; null stands for no change."""
    changes = body.model_dump(exclude_none=True)
    changed = await asyncio.wrap_future(context.radio.change_settings(me.id, changes))
    return JSONResponse(_described(changed))


@router.get("/api/settings/rules", dependencies=[LISTENER], operation_id="rules")
async def rules(context: ContextDep, me: Me) -> Response:
    """List what is banned or snoozed now; `seq` is what to retract to end it."""
    return JSONResponse({"rules": await context.turns.run(me.id, _rules, context, me.id)})


@router.delete(
    "/api/settings/account", dependencies=[LISTENER], operation_id="leave", status_code=204
)
async def leave(
    request: Request, context: ContextDep, me: Me, body: Annotated[Farewell, JsonBody(Farewell)]
) -> Response:
    """Remove one's own account with everything that is known of it, for good."""
    if me.name == context.guest:
        raise Problem(403, "forbidden", "the demo's listener cannot be removed")
    proof = await confirm(context, request.state.address, me, body.password)

    def remove(store: Connection) -> None:
        proof.check(store)
        accounts.delete(store, me.id)

    await context.write(remove)
    context.sessions.forget(me.id)
    context.radio.drop(me.id)
    context.study.drop(me.id)
    response = Response(status_code=204)
    cookies.take_back(response, context.access)
    return response


def _described(settings: ListenerSettings) -> dict[str, Any]:
    return {
        **as_json(settings),
        "algorithms": list(ALGORITHMS),
        "summaries": {name: algorithm.summary for name, algorithm in ALGORITHMS.items()},
        "version": __version__,
    }


def _rules(context: Context, account: str) -> list[dict[str, Any]]:
    """Return what holds now, each rule with when it was made and what its song is called."""
    active = context.radio.ledger(account).rules_at(context.clock())
    with context.store.reading() as connection:
        found = events.many(connection, account, [rule.seq for rule in active])
        told = {event["seq"]: event for event in told_json(connection, account, [*found.values()])}
    return [
        {
            "scope": rule.scope,
            "target": rule.target,
            "until": rule.until,
            "seq": rule.seq,
            **{name: value for name, value in told[rule.seq].items() if name in _ALSO},
        }
        for rule in active
        if rule.seq in told  # or the account has gone meanwhile
    ]
