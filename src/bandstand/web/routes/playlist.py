"""What the radio would play next, as a playlist."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from bandstand.music.catalogue.years import Years
from bandstand.radio.selection.stations import Station
from bandstand.radio.service import Offer
from bandstand.web.http.disconnect import while_here
from bandstand.web.http.queries import Id, Whole, Year
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._playlist_file import (
    DESCRIBED,
    Paths,
    PlaylistFormat,
    check_paths,
    playlist_file,
)
from bandstand.web.routes.next import Name, offer_json

router = APIRouter(tags=["playlists"])

_MOST: Final = 100  # some seconds of work for a listener of whom little is known
_TITLE: Final = "Bandstand"


@router.get("/api/playlist", dependencies=[LISTENER], operation_id="playlist", responses=DESCRIBED)
async def playlist(
    request: Request,
    context: ContextDep,
    me: Me,
    count: Annotated[Whole, Query(ge=1, le=_MOST)] = 20,
    form: PlaylistFormat = "json",
    after: Annotated[list[Id], Query(max_length=50)] = [],  # noqa: B006  # FastAPI copies it
    song: Id | None = None,
    artist: Name | None = None,
    genre: Name | None = None,
    year_from: Year | None = None,
    year_to: Year | None = None,
    paths: Paths = "false",
) -> Response:
    """Name the songs to play next, each as if those before it had been heard.

    As JSON with the reasons, or as a file for another player. The addresses in such a file need
    this browser's login; `paths=true`, for administrators, names the files instead, for a player
    on the same computer.
    """
    check_paths(me, paths)
    years = Years(first=year_from, last=year_to)
    station = Station(song=song, artist=artist, genre=genre, years=years)
    async with while_here(request) as is_here:
        offers = await context.ask(
            context.turns, me.id, _offers, context, me.id, count, after, station, is_here
        )
    if form == "json":
        body = await context.workers.run(_json, context, offers)
        return JSONResponse({"songs": body})
    songs = [offer.song for offer in offers]
    return playlist_file(context, request, songs, form=form, title=_TITLE, paths=paths)


def _offers(
    context: Context,
    account: str,
    count: int,
    after: list[str],
    station: Station,
    is_here: Callable[[], bool],
) -> list[Offer]:
    # A page asks anew after every rating and hangs up; its next song must not wait for a list
    # that nobody will see.
    return context.radio.playlist(
        account, count=count, after=after, station=station, is_wanted=is_here
    )


def _json(context: Context, offers: list[Offer]) -> list[dict[str, Any]]:
    return [offer_json(offer, context) for offer in offers]
