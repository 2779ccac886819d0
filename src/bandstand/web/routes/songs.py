"""The library: songs by name, and one song as it stands with a listener."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from bandstand.store import events, songs
from bandstand.store.songs import Filter
from bandstand.web.context import Context, ContextDep
from bandstand.web.event_json import event_json
from bandstand.web.guards import LISTENER, Me
from bandstand.web.queries import Text, Whole
from bandstand.web.routes.audio import SongId
from bandstand.web.song_json import song_json

router = APIRouter(tags=["songs"])

Name = Annotated[Text, Query(min_length=1, max_length=500)]

_MOST: Final = 200
_MOST_EVENTS: Final = 100


@router.get("/api/songs", dependencies=[LISTENER], operation_id="songs")
async def list_songs(
    context: ContextDep,
    q: Annotated[Text | None, Query(max_length=500)] = None,
    artist: Name | None = None,
    album: Name | None = None,
    genre: Name | None = None,
    limit: Annotated[Whole, Query(ge=1, le=_MOST)] = 50,
    after: Annotated[Text | None, Query(max_length=64)] = None,
) -> Response:
    """List the songs that can be played, by artist and title.

    `q` are words that must all be there: in the artist, the title, the album or the file's name.
    `artist`, `album` and `genre` are whole names. What comes after a page is asked for with its
    `next` as `after`.
    """
    wanted = Filter(text=q, artist=artist, album=album, genre=genre)
    body = await context.workers.run(_page, context, wanted, after, limit)
    return JSONResponse(body)


@router.get("/api/songs/{song_id}", dependencies=[LISTENER], operation_id="song")
async def one_song(context: ContextDep, me: Me, song_id: SongId) -> Response:
    """Show a song: its tags, what you said of it, and what is expected of it now."""
    return JSONResponse(await context.turns.run(me.id, _song, context, me.id, song_id))


def _page(context: Context, wanted: Filter, after: str | None, limit: int) -> dict[str, Any]:
    with context.store.reading() as connection:
        # One more than is shown tells whether there is a next page.
        found = songs.page(connection, wanted, after=after, limit=limit + 1)
    shown = found[:limit]
    return {
        "songs": [song_json(song, context.media) for song in shown],
        "next": shown[-1].id if len(found) > limit else None,
    }


def _song(context: Context, account: str, song_id: str) -> dict[str, Any]:
    view = context.radio.view(account, song_id)
    with context.store.reading() as connection:
        history = events.page(connection, account, before=None, limit=_MOST_EVENTS, song=song_id)
    return {
        "song": song_json(view.song, context.media),
        "expected": view.expected,
        "standard_deviation": view.standard_deviation,
        "novelty": view.novelty,
        "heard_at": view.heard_at,
        "seq": view.seq,
        "history": [event_json(event) for event in history],
    }
