"""App passwords: making, listing and revoking them."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand.store import app_passwords
from bandstand.store.accounts import MAX_NAME_CHARS
from bandstand.store.app_passwords import AppPassword, AppScope
from bandstand.web.http.request_input import Body, JsonBody, Text
from bandstand.web.requests.authentication import LISTENER, Me, confirm
from bandstand.web.requests.context import Context, ContextDep

router = APIRouter(tags=["session"])

AppId = Annotated[Text, Path(description="the id of an app password")]


class NewApp(Body):
    """An app that is to get a password; `password` is that of your account."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    scope: AppScope
    password: Annotated[str, Field(max_length=1_024)]


@router.get("/api/session/apps", dependencies=[LISTENER], operation_id="apps")
async def list_apps(context: ContextDep, me: Me) -> Response:
    """List the apps that have a password of their own, without these passwords."""
    found = await context.pool.run(_all, context, me.id)
    return JSONResponse({"apps": [asdict(one) for one in found]})


@router.post("/api/session/apps", dependencies=[LISTENER], operation_id="add_app", status_code=201)
async def add_app(
    request: Request, context: ContextDep, me: Me, body: Annotated[NewApp, JsonBody(NewApp)]
) -> Response:
    """Make a password for one app or device. Only this answer has it: `secret`.

    `read` looks at the library and at your own lists; `play` also streams and notes what was heard;
    `rate` also rates, marks, bans, takes back and changes playlists.
    """
    proof = await confirm(context, request.state.address, me, body.password)

    def create(store: Connection) -> tuple[AppPassword, str]:
        proof.check(store)
        return app_passwords.create(
            store, account=me.id, name=body.name, scope=body.scope, now=context.clock()
        )

    made, secret = await context.write(create)
    return JSONResponse({**asdict(made), "secret": secret}, 201)


@router.delete(
    "/api/session/apps/{app_id}",
    dependencies=[LISTENER],
    operation_id="revoke_app",
    status_code=204,
)
async def revoke_app(context: ContextDep, me: Me, app_id: AppId) -> Response:
    """Revoke an app's password: it opens nothing from now on."""
    await context.write(lambda store: app_passwords.delete(store, me.id, app_id))
    return Response(status_code=204)


def _all(context: Context, account: str) -> list[AppPassword]:
    with context.store.reading() as connection:
        return app_passwords.all_of(connection, account)
