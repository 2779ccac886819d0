"""The library: songs by name, names of artists, albums and genres, and one song in detail."""

from math import inf
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from sqlalchemy import Connection

from bandstand.store.events import events
from bandstand.store.songs import pages as song_pages
from bandstand.store.songs import songs
from bandstand.store.songs.pages import Filter, Heard, Name, Of, Order
from bandstand.web.http.problems import not_found
from bandstand.web.http.request_input import Text, Whole, Year
from bandstand.web.requests.authentication import READ, Me
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import history_json, songs_json
from bandstand.web.routes.media import SongId

router = APIRouter(tags=["songs"])

_MAX_SONGS: Final = 200
_MAX_NAMES: Final = 500
_MAX_EVENTS: Final = 100

Words = Annotated[Text, Query(max_length=500)]
Called = Annotated[Text, Query(min_length=1, max_length=500)]


@router.get("/api/songs", dependencies=[READ], operation_id="songs")
async def list_songs(
    context: ContextDep,
    me: Me,
    q: Words | None = None,
    artist: Called | None = None,
    album: Called | None = None,
    album_artist: Called | None = None,
    genre: Called | None = None,
    year_from: Year | None = None,
    year_to: Year | None = None,
    heard: Literal["yes", "no"] | None = None,
    favourite: Literal["yes"] | None = None,
    sort: Order | Literal["expected"] = "artist",
    limit: Annotated[Whole, Query(ge=1, le=_MAX_SONGS)] = 50,
    after: Annotated[Text | None, Query(max_length=64)] = None,
) -> Response:
    """List the songs that can be played.

    `q` are words that must all occur: in the artist, the title, the album or the file's name.
    `artist`, `album`, `album_artist` and `genre` are whole names. A page's `next` is the
    `after` of the page behind it; the first page also says how many songs there are, and how many
    seconds they last together. `sort=expected` begins with what you will probably like most now,
    and leaves out what is banned or snoozed.
    """
    wanted = Filter(
        text=q,
        artist=artist,
        album=album,
        album_artist=album_artist,
        genre=genre,
        year_from=year_from,
        year_to=year_to,
        heard=None if heard is None else Heard(account=me.id, is_heard=heard == "yes"),
        favourite_of=None if favourite is None else me.id,
    )
    if sort == "expected":
        best = await context.ask(context.queue, me.id, _best, context, me.id, wanted, after, limit)
        return JSONResponse(best)
    body = await context.pool.run(_page, context, me.id, wanted, after, limit, sort)
    return JSONResponse(body)


@router.get("/api/songs/names", dependencies=[READ], operation_id="names")
async def list_names(
    context: ContextDep,
    of: Of,
    q: Words = "",
    limit: Annotated[Whole, Query(ge=1, le=_MAX_NAMES)] = 100,
    after: Annotated[Text, Query(max_length=500)] = "",
) -> Response:
    """List the artists, albums or genres that there are songs of, by name.

    `q` are words that must all be in the name. A page's `next` is the `after` of the page behind
    it.
    """
    return JSONResponse(await context.pool.run(_names, context, of, q, limit, after))


@router.get("/api/songs/{song_id}", dependencies=[READ], operation_id="song")
async def one_song(context: ContextDep, me: Me, song_id: SongId) -> Response:
    """Show a song: its tags, your events, and the rating that is expected now."""
    return JSONResponse(await context.ask(context.queue, me.id, _song, context, me.id, song_id))


def _page(
    context: Context, account: str, wanted: Filter, after: str | None, limit: int, order: Order
) -> dict[str, Any]:
    with context.store.reading() as connection:
        # One more than is shown tells whether there is a next page.
        found = song_pages.page(connection, wanted, after=after, limit=limit + 1, order=order)
        size = song_pages.size(connection, wanted) if after is None else None
    shown = found[:limit]
    return {
        "songs": songs_json(context, account, shown),
        "next": shown[-1].id if len(found) > limit else None,
        **_size_json(size),
    }


def _best(
    context: Context,
    account: str,
    wanted: Filter,
    after: str | None,
    limit: int,
) -> dict[str, Any]:
    expected = context.radio.expected(account)
    with context.store.reading() as connection:
        durations = song_pages.durations(connection, wanted)
        found = [song for song in durations if song in expected]
        # Songs without an expectation come last; equal ones stay in the order of their names.
        ranked = sorted(found, key=lambda song: _falling(expected[song]))
        start = _place_behind(connection, ranked, after)
        shown = songs.many(connection, ranked[start : start + limit])
    size = (len(found), sum(durations[song] for song in found)) if after is None else None
    return {
        "songs": songs_json(context, account, shown),
        "next": ranked[start + limit - 1] if start + limit < len(ranked) else None,
        "expected": {song.id: expected[song.id] for song in shown},
        **_size_json(size),
    }


def _size_json(size: tuple[int, float] | None) -> dict[str, Any]:
    return {} if size is None else {"total": size[0], "duration": size[1]}


def _falling(stars: float | None) -> float:
    return inf if stars is None else -stars


def _place_behind(connection: Connection, ranked: list[str], after: str | None) -> int:
    """Return where the list continues; at its beginning if the song has left it since."""
    if after in ranked:
        return ranked.index(after) + 1
    if after is not None and songs.get(connection, after) is None:
        raise not_found(what="song")
    return 0


def _names(context: Context, of: Of, text: str, limit: int, after: str) -> dict[str, Any]:
    with context.store.reading() as connection:
        found = song_pages.names(connection, of, text=text)
    behind = [name for name in found if name.key > after]
    return {
        "names": [_name_json(of, name) for name in behind[:limit]],
        "total": len(found),
        "next": behind[limit - 1].key if len(behind) > limit else None,
    }


def _name_json(of: Of, name: Name) -> dict[str, Any]:
    whose = {"artist": name.artist} if of == "album" else {}
    return {"name": name.name, **whose, "songs": name.songs}


def _song(context: Context, account: str, song_id: str) -> dict[str, Any]:
    view = context.radio.view(account, song_id)
    with context.store.reading() as connection:
        said = events.page(connection, account, before=None, limit=_MAX_EVENTS, song=song_id)
        history = history_json(connection, account, said)
    return {
        "song": songs_json(context, account, [view.song])[0],
        "expected": view.expected,
        "standard_deviation": view.standard_deviation,
        "rating_deviation": view.rating_deviation,
        "novelty": view.novelty,
        "heard_at": view.heard_at,
        "seq": view.seq,
        "history": history,
    }
