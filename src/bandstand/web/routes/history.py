"""The history: reading it, exporting it, forgetting a period of it, importing others."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field

from bandstand.music.histories.matching import Library
from bandstand.music.histories.reading import read_upload
from bandstand.store.accounts import Account
from bandstand.store.events import events, imports
from bandstand.store.events.events import KINDS, Kind
from bandstand.store.songs import songs
from bandstand.web.http.request_input import Body, FileReader, Id, JsonBody, Text, Whole
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


@router.get("/api/history/imports", dependencies=[READ], operation_id="imports")
async def list_imports(context: ContextDep, me: Me) -> Response:
    """List the imports that count, oldest first; each is taken back as the event `seq`."""
    return JSONResponse({"imports": await context.pool.run(_imports, context, me.id)})


@router.post(
    "/api/history/imports",
    dependencies=[LISTENER],
    operation_id="import_history",
    status_code=201,
    responses={200: {"description": "The same import counts already."}},
)
async def import_history(
    context: ContextDep,
    me: Me,
    file: Annotated[Path, Depends(FileReader())],
    name: Annotated[Text, Query(min_length=1, max_length=200)] = "a file",
    listener: Annotated[Text, Query(min_length=1, max_length=200)] | None = None,
) -> Response:
    """Teach your radio what you heard and rated elsewhere: the export of another service.

    `name` is what the file is called; `listener` is whose plays are wanted of a file that has
    several people's.
    """
    read = partial(_segment, context, file, name, listener)
    segment = await context.slow_queue.run(me.id, read)
    appended = await context.write(
        lambda store: imports.save(store, me.id, segment, now=context.clock())
    )
    answer = {"seq": appended.event.seq, "at": appended.event.at, "report": segment.report}
    return JSONResponse(answer, 201 if appended.is_new else 200)


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


def _imports(context: Context, account: str) -> list[dict[str, Any]]:
    with context.store.reading() as connection:
        found = imports.all_of(connection, account)
    return [{"seq": each.seq, "at": each.at, "report": each.report} for each in found]


def _segment(context: Context, file: Path, name: str, listener: str | None) -> imports.Segment:
    with context.store.reading(limit=None) as connection:
        library = Library(songs.facts(connection))
    return read_upload(file, name, library, now=context.clock(), listener=listener)


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
