"""What was told: reading it, taking it with you, taking a stretch of it back."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field

from bandstand.store import events, songs
from bandstand.store.accounts import Account
from bandstand.web.context import Context, ContextDep
from bandstand.web.event_json import event_json
from bandstand.web.guards import LISTENER, Me
from bandstand.web.queries import Id, Whole
from bandstand.web.strict_json import Body, JsonBody

router = APIRouter(tags=["history"])

_LARGEST = 2**53

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
) -> Response:
    """List one's events, newest first; `next_before` is the next page's `before`."""
    return JSONResponse(await context.workers.run(_page, context, me.id, before, limit, song))


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
    context: Context, account: str, before: int | None, limit: int, song: str | None
) -> dict[str, Any]:
    with context.store.reading() as connection:
        found = events.page(connection, account, before=before, limit=limit, song=song)
        named = {event.song: None for event in found if event.song is not None}
        names = {one: songs.get(connection, one) for one in named}
    return {
        "events": [{**event_json(event), **_named(names.get(event.song or ""))} for event in found],
        "next_before": found[-1].seq if len(found) == limit and found[-1].seq > 1 else None,
    }


def _named(record: songs.SongRecord | None) -> dict[str, Any]:
    return {} if record is None else {"title": record.tags.title, "artist": record.tags.artist}


def _lines(context: Context, me: Account) -> str:
    from bandstand.store import exchange  # noqa: PLC0415  # only this needs it

    return "".join(f"{line}\n" for line in exchange.export_lines(context.store, account=me.id))
