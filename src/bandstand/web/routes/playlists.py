"""Playlists: those of a listener, and one of the songs that the radio would play next."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand.media.playlist_formats import MEDIA_TYPES, by_address, by_path, write
from bandstand.radio.selection.filters import Station, Years
from bandstand.radio.service import Offer
from bandstand.store import playlists
from bandstand.store.accounts import Account
from bandstand.store.playlists import Playlist, PlaylistSummary
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.concurrency import connected
from bandstand.web.http.files import disposition
from bandstand.web.http.problems import Problem, not_found
from bandstand.web.http.request_input import Body, Id, JsonBody, Text, Whole, Year
from bandstand.web.requests.authentication import RATE, READ, Me
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import audio_address, songs_json
from bandstand.web.routes.listening import TagName, offers_json

PlaylistFormat = Annotated[
    Literal["json", "m3u8", "xspf", "jspf"], Query(alias="format", description="how it is written")
]
Paths = Annotated[
    Literal["true", "false"],
    Query(description="paths of files instead of addresses, for administrators"),
]
DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/json": {}, **{kind: {} for kind in MEDIA_TYPES.values()}}}
}


def check_paths(me: Account, paths: str) -> None:
    """Refuse paths of files to anyone but administrators."""
    if paths == "true" and me.role != "admin":
        raise Problem(403, "forbidden", "only an administrator may see where files are")


def playlist_file(
    context: Context,
    request: Request,
    songs: Sequence[SongRecord],
    *,
    form: str,
    title: str,
    paths: str,
) -> Response:
    """Return a playlist as a file for another player, without songs whose files are gone."""
    there = [song for song in songs if song.is_present]
    base = context.access.public_url or f"http://{request.headers['host']}"
    entries = (
        by_path(there)
        if paths == "true"
        else by_address(there, lambda song: base + audio_address(song))
    )
    headers = {
        "Content-Type": MEDIA_TYPES[form],
        "Content-Disposition": disposition("attachment", title, f".{form}"),
    }
    return Response(write(form, entries, title=title), headers=headers)


router = APIRouter(tags=["playlists"])

PlaylistId = Annotated[Text, Path(description="the id of a playlist")]
PlaylistName = Annotated[str, Field(min_length=1, max_length=playlists.MAX_NAME_CHARS)]
SongIds = Annotated[
    list[Annotated[str, Field(max_length=64)]], Field(max_length=playlists.MAX_SONGS)
]

_ADDRESS: Final = "/api/playlists/{playlist_id}"


class NewPlaylist(Body):
    """A playlist that is to be saved."""

    name: PlaylistName
    songs: SongIds = Field(default_factory=list)


class PlaylistChange(Body):
    """What is to be different: the name, the songs, or both."""

    name: PlaylistName | None = None
    songs: SongIds | None = None


@router.get("/api/playlists", dependencies=[READ], operation_id="playlists")
async def list_playlists(context: ContextDep, me: Me) -> Response:
    """List your playlists."""
    found = await context.pool.run(_all, context, me.id)
    return JSONResponse({"playlists": [_summary(one) for one in found]})


@router.post("/api/playlists", dependencies=[RATE], operation_id="save_playlist", status_code=201)
async def save(
    context: ContextDep, me: Me, body: Annotated[NewPlaylist, JsonBody(NewPlaylist)]
) -> Response:
    """Save a playlist."""

    def create(connection: Connection) -> Playlist:
        return playlists.create(
            connection, account=me.id, name=body.name, songs=body.songs, now=context.clock()
        )

    saved = await asyncio.wrap_future(context.radio.write(create, order=me.id))
    return JSONResponse(_without_songs(saved), 201, headers={"Location": _address(saved.id)})


@router.get(_ADDRESS, dependencies=[READ], operation_id="saved_playlist", responses=DESCRIBED)
async def show(
    request: Request,
    context: ContextDep,
    me: Me,
    playlist_id: PlaylistId,
    form: PlaylistFormat = "json",
    paths: Paths = "false",
) -> Response:
    """Show one of your playlists with its songs, as JSON or as a file for another player."""
    check_paths(me, paths)
    found, inside = await context.pool.run(_found, context, me.id, playlist_id)
    if form == "json":
        shown = await context.pool.run(songs_json, context, me.id, inside)
        return JSONResponse({**_without_songs(found), "songs": shown})
    return playlist_file(context, request, inside, form=form, title=found.name, paths=paths)


@router.put(_ADDRESS, dependencies=[RATE], operation_id="change_playlist")
async def change(
    context: ContextDep,
    me: Me,
    playlist_id: PlaylistId,
    body: Annotated[PlaylistChange, JsonBody(PlaylistChange)],
) -> Response:
    """Give one of your playlists another name, other songs, or both."""
    if body.name is None and body.songs is None:
        raise Problem(422, "invalid", "a name or songs must be given")

    def replace(connection: Connection) -> Playlist:
        if body.name is not None:
            playlists.rename(connection, me.id, playlist_id, body.name)
        if body.songs is not None:
            playlists.replace_songs(connection, me.id, playlist_id, body.songs)
        return _existing(connection, me.id, playlist_id)

    changed = await asyncio.wrap_future(context.radio.write(replace, order=me.id))
    return JSONResponse(_without_songs(changed))


@router.delete(_ADDRESS, dependencies=[RATE], operation_id="delete_playlist", status_code=204)
async def remove(context: ContextDep, me: Me, playlist_id: PlaylistId) -> Response:
    """Delete one of your playlists; the songs stay in the library."""

    def delete(connection: Connection) -> None:
        playlists.delete(connection, me.id, playlist_id)

    await asyncio.wrap_future(context.radio.write(delete, order=me.id))
    return Response(status_code=204)


def _all(context: Context, account: str) -> list[PlaylistSummary]:
    with context.store.reading() as connection:
        return playlists.all_of(connection, account)


def _found(context: Context, account: str, playlist: str) -> tuple[Playlist, list[SongRecord]]:
    with context.store.reading() as connection:
        found = _existing(connection, account, playlist)
        return found, songs.many(connection, found.songs)


def _existing(connection: Connection, account: str, playlist: str) -> Playlist:
    found = playlists.get(connection, account, playlist)
    if found is None:
        raise not_found(what="playlist")
    return found


def _summary(one: PlaylistSummary) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "created_at": one.created_at, "count": one.count}


def _without_songs(one: Playlist) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "created_at": one.created_at,
        "count": len(one.songs),
    }


def _address(playlist: str) -> str:
    return _ADDRESS.format(playlist_id=playlist)


_MAX_PLANNED: Final = 100  # some seconds of work for a listener of whom little is known
_TITLE: Final = "Bandstand"


@router.get("/api/playlist", dependencies=[READ], operation_id="playlist", responses=DESCRIBED)
async def playlist(
    request: Request,
    context: ContextDep,
    me: Me,
    count: Annotated[Whole, Query(ge=1, le=_MAX_PLANNED)] = 20,
    form: PlaylistFormat = "json",
    after: Annotated[list[Id], Query(max_length=50)] = [],  # noqa: B006  # FastAPI copies it
    song: Id | None = None,
    artist: TagName | None = None,
    genre: TagName | None = None,
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
    async with connected(request) as is_here:
        offers = await context.ask(
            context.queue, me.id, _offers, context, me.id, count, after, station, is_here
        )
    if form == "json":
        body = await context.pool.run(offers_json, context, me.id, offers)
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
    # A page asks again after every rating and hangs up; its next song must not wait for a list
    # that is no longer wanted.
    return context.radio.playlist(
        account, count=count, after=after, station=station, is_wanted=is_here
    )
