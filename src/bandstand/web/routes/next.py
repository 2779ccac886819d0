"""The next song."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from bandstand.music.catalogue.years import Years
from bandstand.radio.explain.why import as_json
from bandstand.radio.selection.stations import Station
from bandstand.radio.service import Offer
from bandstand.web.http.queries import Id, Text, Year
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._song_json import song_json

router = APIRouter(tags=["listening"])

Name = Annotated[Text, Query(min_length=1, max_length=500)]


@router.get("/api/next", dependencies=[LISTENER], operation_id="next_song")
async def next_song(
    context: ContextDep,
    me: Me,
    after: Annotated[list[Id], Query(max_length=50)] = [],  # noqa: B006  # FastAPI copies it
    song: Id | None = None,
    artist: Name | None = None,
    genre: Name | None = None,
    year_from: Year | None = None,
    year_to: Year | None = None,
) -> Response:
    """Name the song to play now, and why.

    `after` are songs that are about to be heard before it. `song`, `artist` or `genre` is where
    to start from; only songs from the year `year_from` to `year_to` are played. Asking changes
    nothing: only what is told (`/api/events`) does.
    """
    years = Years(first=year_from, last=year_to)
    station = Station(song=song, artist=artist, genre=genre, years=years)
    offer = await context.ask(
        context.next_turns, me.id, context.radio.next, me.id, after=after, station=station
    )
    return JSONResponse(offer_json(offer, context))


def offer_json(offer: Offer, context: Context) -> dict[str, Any]:
    """Return an offer as it is told: song, why, for what moment, and what of the log it knows."""
    return {
        "song": song_json(offer.song, context.media),
        "why": as_json(offer.why),
        "step": offer.step,
        "seq": offer.seq,
        "mode": offer.how,
        "note": offer.note,
        "at": offer.at,
    }
