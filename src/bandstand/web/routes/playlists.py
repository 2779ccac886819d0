"""Playlists that a listener has saved; those of others do not exist."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand.store import playlists
from bandstand.store.playlists import Playlist, PlaylistSummary
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.problems import Problem, not_found
from bandstand.web.http.queries import Text
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._playlist_file import (
    DESCRIBED,
    Paths,
    PlaylistFormat,
    check_paths,
    playlist_file,
)
from bandstand.web.routes._song_json import song_json

router = APIRouter(tags=["playlists"])

PlaylistId = Annotated[Text, Path(description="the id of a playlist")]
Name = Annotated[str, Field(min_length=1, max_length=playlists.MAX_NAME_CHARS)]
SongIds = Annotated[
    list[Annotated[str, Field(max_length=64)]], Field(max_length=playlists.MAX_SONGS)
]

_ADDRESS: Final = "/api/playlists/{playlist_id}"


class NewPlaylist(Body):
    """A playlist that is to be saved."""

    name: Name
    songs: SongIds = Field(default_factory=list)


class PlaylistChange(Body):
    """What is to be different: the name, the songs, or both."""

    name: Name | None = None
    songs: SongIds | None = None


@router.get("/api/playlists", dependencies=[LISTENER], operation_id="playlists")
async def list_playlists(context: ContextDep, me: Me) -> Response:
    """List your playlists."""
    found = await context.workers.run(_all, context, me.id)
    return JSONResponse({"playlists": [_summary(one) for one in found]})


@router.post(
    "/api/playlists", dependencies=[LISTENER], operation_id="save_playlist", status_code=201
)
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


@router.get(_ADDRESS, dependencies=[LISTENER], operation_id="saved_playlist", responses=DESCRIBED)
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
    found, inside = await context.workers.run(_found, context, me.id, playlist_id)
    if form == "json":
        shown = await context.workers.run(_songs, context, inside)
        return JSONResponse({**_without_songs(found), "songs": shown})
    return playlist_file(context, request, inside, form=form, title=found.name, paths=paths)


@router.put(_ADDRESS, dependencies=[LISTENER], operation_id="change_playlist")
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


@router.delete(_ADDRESS, dependencies=[LISTENER], operation_id="delete_playlist", status_code=204)
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


def _songs(context: Context, found: list[SongRecord]) -> list[dict[str, Any]]:
    return [song_json(song, context.media) for song in found]


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
