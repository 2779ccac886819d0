"""What was told: reading it, taking it with you, taking a stretch of it back."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field

from bandstand.store.accounts import Account
from bandstand.store.events import events
from bandstand.store.events.events import KINDS, Kind
from bandstand.web.http.queries import Id, Whole
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._event_json import told_json

router = APIRouter(tags=["history"])

_LARGEST: Final = 2**53
_MOST_KINDS: Final = 2 * len(KINDS)

Moment = Annotated[int, Field(ge=0, le=_LARGEST)]


class Stretch(Body):
    """From when, and to when (not included): UTC, in milliseconds."""

    start: Annotated[Moment, Field(alias="from")]
    end: Annotated[Moment, Field(alias="to")]


@router.get("/api/history", dependencies=[LISTENER], operation_id="history")
async def history(
    context: ContextDep,
    me: Me,
    before: Annotated[Whole, Query(ge=1, le=_LARGEST)] | None = None,
    limit: Annotated[Whole, Query(ge=1, le=500)] = 50,
    song: Id | None = None,
    kind: Annotated[list[Kind], Query(max_length=_MOST_KINDS)] = [],  # noqa: B006  # it is copied
) -> Response:
    """List one's events, newest first; `next_before` is the next page's `before`.

    With `song` only those that rate, skip or listen to it, with `kind` only those of some kinds.
    """
    kinds = kind or KINDS
    body = await context.workers.run(_page, context, me.id, before, limit, song, kinds)
    return JSONResponse(body)


@router.post("/api/history/forget", dependencies=[LISTENER], operation_id="forget")
async def forget(
    context: ContextDep, me: Me, body: Annotated[Stretch, JsonBody(Stretch)]
) -> Response:
    """Take back everything heard in a stretch of time, as if it had never been told."""
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
    """Give everything that is stored about oneself, as JSON lines."""
    lines = await context.workers.run(_lines, context, me)
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
        shown = told_json(connection, account, found[:limit])
    return {
        "events": shown,
        "next_before": found[limit - 1].seq if len(found) > limit else None,
    }


def _lines(context: Context, me: Account) -> str:
    from bandstand.store.transfer import jsonl  # noqa: PLC0415  # only this needs it

    return "".join(f"{line}\n" for line in jsonl.export_lines(context.store, account=me.id))
