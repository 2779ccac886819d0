"""The history: reading it, exporting it, forgetting a period of it."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field

from bandstand.store.accounts import Account
from bandstand.store.events import events
from bandstand.store.events.events import KINDS, Kind
from bandstand.web.http.request_input import Body, Id, JsonBody, Whole
from bandstand.web.requests.authentication import LISTENER, READ, Me
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import history_json

router = APIRouter(tags=["history"])

_MAX_NUMBER: Final = 2**53
_MAX_KINDS: Final = 2 * len(KINDS)

Moment = Annotated[int, Field(ge=0, le=_MAX_NUMBER)]


class Stretch(Body):
    """From when, and to when (not included): UTC, in milliseconds."""

    start: Annotated[Moment, Field(alias="from")]
    end: Annotated[Moment, Field(alias="to")]


@router.get("/api/history", dependencies=[READ], operation_id="history")
async def history(
    context: ContextDep,
    me: Me,
    before: Annotated[Whole, Query(ge=1, le=_MAX_NUMBER)] | None = None,
    limit: Annotated[Whole, Query(ge=1, le=500)] = 50,
    song: Id | None = None,
    kind: Annotated[list[Kind], Query(max_length=_MAX_KINDS)] = [],  # noqa: B006  # it is copied
) -> Response:
    """List your events, newest first; `next_before` is the next page's `before`.

    With `song` only those that rate, skip or listen to it, with `kind` only those of some kinds.
    """
    kinds = kind or KINDS
    body = await context.pool.run(_page, context, me.id, before, limit, song, kinds)
    return JSONResponse(body)


@router.post("/api/history/forget", dependencies=[LISTENER], operation_id="forget")
async def forget(
    context: ContextDep, me: Me, body: Annotated[Stretch, JsonBody(Stretch)]
) -> Response:
    """Retract everything that you heard in a period, as if it had never been sent."""
    key = f"forget/{body.start}/{body.end}"
    future = context.radio.forget(me.id, start=body.start, end=body.end, key=key)
    return JSONResponse({"forgotten": await asyncio.wrap_future(future)})


@router.get(
    "/api/history/export",
    dependencies=[LISTENER],
    operation_id="export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def export(context: ContextDep, me: Me) -> Response:
    """Export everything that is stored about you, as JSON lines."""
    lines = await context.pool.run(_lines, context, me)
    headers = {"Content-Disposition": 'attachment; filename="bandstand.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


def _page(
    context: Context,
    account: str,
    before: int | None,
    limit: int,
    song: str | None,
    kinds: Sequence[Kind],
) -> dict[str, Any]:
    with context.store.reading() as connection:
        # One more than is shown tells whether there is a next page.
        found = events.page(
            connection, account, before=before, limit=limit + 1, song=song, kinds=kinds
        )
        shown = history_json(connection, account, found[:limit])
    return {
        "events": shown,
        "next_before": found[limit - 1].seq if len(found) > limit else None,
    }


def _lines(context: Context, me: Account) -> str:
    from bandstand.store.transfer import jsonl  # noqa: PLC0415  # only this needs it

    return "".join(f"{line}\n" for line in jsonl.export_lines(context.store, account=me.id))
