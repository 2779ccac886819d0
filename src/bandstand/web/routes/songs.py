"""The library: songs by name, names by letters, and one song as it stands with a listener."""

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
from bandstand.web.http.queries import Text, Whole, Year
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._event_json import told_json
from bandstand.web.routes._song_json import song_json
from bandstand.web.routes.audio import SongId

router = APIRouter(tags=["songs"])

_MOST: Final = 200
_MOST_NAMES: Final = 500
_MOST_EVENTS: Final = 100

Words = Annotated[Text, Query(max_length=500)]
Called = Annotated[Text, Query(min_length=1, max_length=500)]


@router.get("/api/songs", dependencies=[LISTENER], operation_id="songs")
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
    sort: Order | Literal["expected"] = "artist",
    limit: Annotated[Whole, Query(ge=1, le=_MOST)] = 50,
    after: Annotated[Text | None, Query(max_length=64)] = None,
) -> Response:
    """List the songs that can be played.

    `q` are words that must all be there: in the artist, the title, the album or the file's name.
    `artist`, `album`, `album_artist` and `genre` are whole names. What comes after a page is
    asked for with its `next` as `after`; the first one also tells how many songs there are, and
    how many seconds they last together. `sort=expected` begins with what you should like best
    now, and leaves out what is banned or snoozed.
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
    )
    if sort == "expected":
        best = await context.ask(context.turns, me.id, _best, context, me.id, wanted, after, limit)
        return JSONResponse(best)
    body = await context.workers.run(_page, context, wanted, after, limit, sort)
    return JSONResponse(body)


@router.get("/api/songs/names", dependencies=[LISTENER], operation_id="names")
async def list_names(
    context: ContextDep,
    of: Of,
    q: Words = "",
    limit: Annotated[Whole, Query(ge=1, le=_MOST_NAMES)] = 100,
    after: Annotated[Text, Query(max_length=500)] = "",
) -> Response:
    """List the artists, albums or genres that there are songs of, by name.

    `q` are words that must all be in the name. What comes after a page is asked for with its
    `next` as `after`.
    """
    return JSONResponse(await context.workers.run(_names, context, of, q, limit, after))


@router.get("/api/songs/{song_id}", dependencies=[LISTENER], operation_id="song")
async def one_song(context: ContextDep, me: Me, song_id: SongId) -> Response:
    """Show a song: its tags, what you said of it, and what is expected of it now."""
    return JSONResponse(await context.ask(context.turns, me.id, _song, context, me.id, song_id))


def _page(
    context: Context, wanted: Filter, after: str | None, limit: int, order: Order
) -> dict[str, Any]:
    with context.store.reading() as connection:
        # One more than is shown tells whether there is a next page.
        found = song_pages.page(connection, wanted, after=after, limit=limit + 1, order=order)
        size = song_pages.size(connection, wanted) if after is None else None
    shown = found[:limit]
    return {
        "songs": [song_json(song, context.media) for song in shown],
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
        # Those of which nothing is known come last; equal ones stay in the order of their names.
        ranked = sorted(found, key=lambda song: _falling(expected[song]))
        start = _place_behind(connection, ranked, after)
        shown = songs.many(connection, ranked[start : start + limit])
    size = (len(found), sum(durations[song] for song in found)) if after is None else None
    return {
        "songs": [song_json(song, context.media) for song in shown],
        "next": ranked[start + limit - 1] if start + limit < len(ranked) else None,
        "expected": {song.id: expected[song.id] for song in shown},
        **_size_json(size),
    }


def _size_json(size: tuple[int, float] | None) -> dict[str, Any]:
    return {} if size is None else {"total": size[0], "duration": size[1]}


def _falling(stars: float | None) -> float:
    return inf if stars is None else -stars


def _place_behind(connection: Connection, ranked: list[str], after: str | None) -> int:
    """Return where the list goes on; at its beginning behind a song that has left it since."""
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
        said = events.page(connection, account, before=None, limit=_MOST_EVENTS, song=song_id)
        history = told_json(connection, account, said)
    return {
        "song": song_json(view.song, context.media),
        "expected": view.expected,
        "standard_deviation": view.standard_deviation,
        "novelty": view.novelty,
        "heard_at": view.heard_at,
        "seq": view.seq,
        "history": history,
    }
