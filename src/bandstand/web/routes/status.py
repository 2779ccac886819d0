"""Health, the size of the library, the API's description, and the reset of a demo."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from bandstand.music.library.scanner import Progress
from bandstand.radio import demo_history
from bandstand.web.http.problems import Problem
from bandstand.web.requests.authentication import LISTENER, PUBLIC, READ, Me
from bandstand.web.requests.context import ContextDep

router = APIRouter()


@router.api_route("/health", methods=["GET", "HEAD"], dependencies=[PUBLIC], operation_id="health")
async def health(context: ContextDep) -> Response:
    """Say whether songs can be played and ratings be stored."""
    failure = context.radio.failure
    if failure is not None:
        return JSONResponse({"status": "failed", "writable": False}, 503)
    return JSONResponse({"status": "ok", "writable": True})


@router.get("/api/library", tags=["songs"], dependencies=[READ], operation_id="library")
async def library(context: ContextDep) -> Response:
    """Return how many songs can be played now, and the progress of a scan.

    It reads nothing from the store, so that a page can ask every second while it waits for songs.
    Paths and problems are for administrators only (`/api/admin/problems`).
    """
    tally, scanner = context.radio.catalogue.tally, context.scanner
    progress = Progress() if scanner is None else scanner.progress
    return JSONResponse(
        {
            "songs": tally.songs,
            "artists": tally.artists,
            "albums": tally.albums,
            "genres": tally.genres,
            "duration": tally.duration,
            "is_scanning": scanner is not None and scanner.is_busy,
            "state": progress.state,
            "done": progress.done,
            "total": progress.total,
            "change": progress.change,
        }
    )


@router.api_route(
    "/openapi.json", methods=["GET", "HEAD"], dependencies=[PUBLIC], operation_id="description"
)
async def description(request: Request) -> Response:
    """Describe every route (OpenAPI 3.1)."""
    return JSONResponse(request.app.openapi())


@router.delete(
    "/api/demo/history",
    tags=["demo"],
    dependencies=[LISTENER],
    operation_id="start_afresh",
    status_code=204,
)
async def start_afresh(context: ContextDep, me: Me) -> Response:
    """Erase everything that is stored about the demo's listener; a new one takes the name."""
    if me.name != context.guest:
        raise Problem(403, "forbidden", "only the listener of a demo can start afresh")
    now = context.clock()
    await context.write(lambda store: demo_history.start_afresh(store, me.id, now=now))
    context.forget_account(me.id)
    return Response(status_code=204)
