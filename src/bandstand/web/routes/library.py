"""How much music there is, and whether more is being read: for everybody who listens."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from bandstand.music.library.scanner import Progress
from bandstand.web.requests.context import ContextDep
from bandstand.web.requests.guards import LISTENER

router = APIRouter(tags=["songs"])


@router.get("/api/library", dependencies=[LISTENER], operation_id="library")
async def library(context: ContextDep) -> Response:
    """Tell how many songs can be played now, and how far a scan is.

    It reads nothing from the store, so that a page can ask every second while it waits for songs.
    What only administrators may know, paths and problems, is not in it.
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
