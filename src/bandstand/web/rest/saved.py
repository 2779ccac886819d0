"""Playlists: the listener's own, and the lists of the radio, which can only be read."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from bandstand.store import playlists
from bandstand.store.playlists import Playlist
from bandstand.store.songs import songs
from bandstand.web.rest.answers import (
    MISSING_PARAMETER,
    NOT_ALLOWED,
    Refusal,
    Tree,
    moment,
    not_found,
)
from bandstand.web.rest.browsing import View, store_id, viewing
from bandstand.web.rest.calls import Call, endpoint
from bandstand.web.rest.lists import COMMENTS, DAY_MS, LISTS, KeptList, radio_list


@endpoint("getPlaylists", scope="read")
async def _get_playlists(call: Call) -> Tree:
    made = {name: await radio_list(call, name) for name in LISTS}

    def look(call: Call, view: View) -> Tree:
        lists = [_list_tree(call, view, name, kept) for name, kept in made.items() if kept.songs]
        saved = playlists.all_of(view.connection, call.account)
        own = [_saved(view.connection, call.account, each.id) for each in saved]
        shown = [*lists, *(_own_tree(call, view, each) for each in own)]
        return {"playlists": {"playlist": shown}}

    return await call.context.pool.run(viewing(look), call)


@endpoint("getPlaylist", scope="read")
async def _get_playlist(call: Call) -> Tree:
    wanted = call.params.required("id")
    kept = await radio_list(call, wanted) if wanted in LISTS else None

    def look(call: Call, view: View) -> Tree:
        if kept is not None:
            tree = _list_tree(call, view, wanted, kept)
            return {"playlist": {**tree, "entry": view.children(kept.songs)}}
        return _whole(call, view, _saved(view.connection, call.account, _playlist_id(wanted)))

    return await call.context.pool.run(viewing(look), call)


@endpoint("createPlaylist", scope="rate")
async def _create_playlist(call: Call) -> Tree:
    wanted, name = call.params.text("playlistId"), call.params.text("name")
    ids = [store_id(song) for song in call.params.all("songId")]

    def create(store: Connection) -> Playlist:
        if wanted is None:
            if name is None:
                message = "required parameter is missing: name, or playlistId"
                raise Refusal(MISSING_PARAMETER, message)
            now = call.context.clock()
            return playlists.create(store, account=call.account, name=name, songs=ids, now=now)
        own = _playlist_id(wanted)
        playlists.replace_songs(store, call.account, own, ids)
        if name is not None:
            playlists.rename(store, call.account, own, name)
        return _saved(store, call.account, own)

    made = await _written(call, create)

    def look(call: Call, view: View) -> Tree:
        return _whole(call, view, made)

    return await call.context.pool.run(viewing(look), call)


@endpoint("updatePlaylist", scope="rate")
async def _update_playlist(call: Call) -> Tree:
    own, name = _playlist_id(call.params.required("playlistId")), call.params.text("name")
    more = [store_id(song) for song in call.params.all("songIdToAdd")]
    places = {int(place) for place in call.params.all("songIndexToRemove") if place.isdecimal()}

    def change(store: Connection) -> None:
        before = _saved(store, call.account, own)
        if name is not None:
            playlists.rename(store, call.account, own, name)
        if more or places:
            kept = _without(store, before.songs, places)
            playlists.replace_songs(store, call.account, own, [*kept, *more])

    await _written(call, change)
    return {}


def _without(store: Connection, ids: Sequence[str], places: set[int]) -> list[str]:
    """Return the songs but for those at some places, counted among the songs that are shown."""
    shown = {song.id for song in songs.many(store, ids) if song.is_present}
    kept, place = [], 0
    for song in ids:
        if song not in shown or place not in places:
            kept.append(song)
        place += song in shown
    return kept


@endpoint("deletePlaylist", scope="rate")
async def _delete_playlist(call: Call) -> Tree:
    own = _playlist_id(call.params.required("id"))
    await _written(call, lambda store: playlists.delete(store, call.account, own))
    return {}


async def _written(call: Call, work: Callable[[Connection], Any]) -> Any:
    return await asyncio.wrap_future(call.context.radio.write(work, order=call.account))


def _playlist_id(wanted: str) -> str:
    """Return the store's id of one of the listener's playlists."""
    if wanted in LISTS:
        raise Refusal(NOT_ALLOWED, "this list is made by the radio and can only be read")
    return wanted.removeprefix("pl-")


def _saved(connection: Connection, account: str, playlist: str) -> Playlist:
    found = playlists.get(connection, account, playlist)
    if found is None:
        raise not_found(what="playlist")
    return found


def _list_tree(call: Call, view: View, name: str, kept: KeptList) -> Tree:
    about = {
        "id": name,
        "name": LISTS[name],
        "comment": COMMENTS[name],
        "readonly": True,
        "created": moment(kept.made_at),
        "changed": moment(kept.made_at),
        "validUntil": moment(kept.made_at + DAY_MS),
    }
    return {**about, **_size(call, view, name, kept.songs)}


def _own_tree(call: Call, view: View, playlist: Playlist) -> Tree:
    about: Tree = {
        "id": f"pl-{playlist.id}",
        "name": playlist.name,
        "readonly": False,
        "created": moment(playlist.created_at),
        "changed": moment(playlist.created_at),
    }
    return {**about, **_size(call, view, about["id"], playlist.songs)}


def _whole(call: Call, view: View, playlist: Playlist) -> Tree:
    tree = _own_tree(call, view, playlist)
    return {"playlist": {**tree, "entry": view.children(playlist.songs)}}


def _size(call: Call, view: View, name: str, ids: Sequence[str]) -> Tree:
    """Return how many of the songs can be played, and for how long."""
    catalogue = view.library.catalogue
    rows = catalogue.ids.rows(ids)
    rows = rows[rows >= 0]
    return {
        "owner": call.app.account.name,
        "public": False,
        "songCount": len(rows),
        "duration": round(float(catalogue.columns.seconds[rows].sum(dtype="f8"))),
        "coverArt": name,
    }
