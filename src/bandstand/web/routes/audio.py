"""The sound of a song, in parts as a player asks for them."""

import asyncio
from concurrent.futures import Future
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from bandstand.errors import UnreadableAudioError
from bandstand.media.conversion import BusyError
from bandstand.media.media import Audio, Media, MissingFileError
from bandstand.media.playlist_formats import full_title
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.download_names import disposition
from bandstand.web.http.file_response import FileResponse
from bandstand.web.http.problems import Problem, busy, not_found
from bandstand.web.http.queries import Text
from bandstand.web.http.ranges import Entity, plan
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER

router = APIRouter(tags=["songs"])

SongId = Annotated[Text, Path(description="the id of a song")]

_ENDINGS: Final = {
    "audio/aac": ".aac",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/webm": ".webm",
}
_NOT_STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    206: {"description": "the part that Range asks for"},
    304: {"description": "the client has it already"},
    412: {"description": "it is not the version that the client means"},
    415: {"description": "the file cannot be played, nor converted"},
    416: {"description": "there is no such part"},
}
# Looking into the file, converting it, and once more if the cache was emptied meanwhile.
_MOST_WAITS: Final = 4


@router.api_route(
    "/api/songs/{song_id}/audio",
    methods=["GET", "HEAD"],
    dependencies=[LISTENER],
    operation_id="audio",
    response_class=Response,
    responses={200: {"content": {"audio/*": {}}}, **_NOT_STREAMED},
)
async def audio(request: Request, context: ContextDep, song_id: SongId) -> Response:
    """Send a song's sound: as its file has it, or as Opus where browsers could not play that.

    One Range is answered with that part; several, or none, with everything.
    """
    song = await context.workers.run(found_song, context, song_id)
    sound = await _sound(context, song)
    try:
        entity = Entity(size=sound.size, tag=sound.tag, modified=max(0, sound.modified_ns // 10**9))
        headers = {name: ",".join(request.headers.getlist(name)) for name in request.headers}
        part = plan(entity, request.method, headers, now=context.clock() // 1_000)
        return FileResponse(sound.file, part, _headers(song, sound))
    except BaseException:
        sound.file.close()
        raise


def found_song(context: Context, song_id: str) -> SongRecord:
    """Return the song with an id; 404 where there is none."""
    with context.store.reading() as connection:
        song = songs.get(connection, song_id)
    if song is None:
        raise not_found(what="song")
    return song


def media_of(context: Context) -> Media:
    """Return what opens the files; 503 on a server that was started without it."""
    if context.media is None:
        raise busy(message="this server sends no files")
    return context.media


async def waited(future: Future[None]) -> None:
    """Wait for what others may be waiting for too, so that who hangs up does not end it."""
    await asyncio.shield(asyncio.wrap_future(future))


async def _sound(context: Context, song: SongRecord) -> Audio:
    media = media_of(context)
    try:
        for _ in range(_MOST_WAITS):
            sound = await context.workers.run(media.audio, song)
            if isinstance(sound, Audio):
                return sound
            await waited(sound)
    except BusyError:
        raise busy(message="too many songs are waiting to be converted; try again") from None
    except UnreadableAudioError as problem:
        raise _unplayable(problem) from None
    raise busy(message="the song could not be made ready; try again")


def _unplayable(problem: UnreadableAudioError) -> Problem:
    if isinstance(problem, MissingFileError):
        return Problem(404, "file_missing", f"the song's file cannot be sent: {problem}"[:300])
    return Problem(415, "unplayable", f"this song cannot be played: {problem}"[:300])


def _headers(song: SongRecord, sound: Audio) -> dict[str, str]:
    return {
        "Content-Type": sound.media_type,
        "Content-Disposition": disposition("inline", full_title(song), _ENDINGS[sound.media_type]),
        "Cache-Control": "private, max-age=0, must-revalidate",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
