"""The audio of a song, in the parts that a player asks for, and its cover."""

import asyncio
from concurrent.futures import Future
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from bandstand.errors import UnreadableAudioError
from bandstand.media.conversion import BusyError
from bandstand.media.covers import Picture
from bandstand.media.media import Audio, Media, MissingFileError
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.files import Entity, FileResponse, disposition, plan
from bandstand.web.http.problems import Problem, busy, not_found
from bandstand.web.http.request_input import Text
from bandstand.web.requests.authentication import PLAY, READ
from bandstand.web.requests.context import Context, ContextDep

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
    206: {"description": "the part that Range asks for", "content": {"audio/*": {}}},
    304: {"description": "the client has it already"},
    412: {"description": "it is not the version that the client means"},
    415: {"description": "the file cannot be played, nor converted"},
    416: {"description": "there is no such part"},
}
# Probing the file, converting it, and once more if the cache was emptied meanwhile.
_MAX_AUDIO_WAITS: Final = 4


@router.api_route(
    "/api/songs/{song_id}/audio",
    methods=["GET", "HEAD"],
    dependencies=[PLAY],
    operation_id="audio",
    response_class=Response,
    responses={200: {"content": {"audio/*": {}}}, **_NOT_STREAMED},
)
async def audio(request: Request, context: ContextDep, song_id: SongId) -> Response:
    """Send a song's audio: its file, or Opus where browsers cannot play that.

    One Range is answered with that part; several, or none, with everything.
    """
    song = await context.pool.run(existing_song, context, song_id)
    sound = await _sound(context, song)
    try:
        entity = Entity(size=sound.size, tag=sound.tag, modified=max(0, sound.modified_ns // 10**9))
        headers = {name: ",".join(request.headers.getlist(name)) for name in request.headers}
        part = plan(entity, request.method, headers, now=context.clock() // 1_000)
        return FileResponse(sound.file, part, _headers(song, sound))
    except BaseException:
        sound.file.close()
        raise


def existing_song(context: Context, song_id: str) -> SongRecord:
    """Return the song with an id; 404 where there is none."""
    with context.store.reading() as connection:
        song = songs.get(connection, song_id)
    if song is None:
        raise not_found(what="song")
    return song


def media_of(context: Context) -> Media:
    """Return the media service; 503 on a server that was started without it."""
    if context.media is None:
        raise busy(message="this server sends no files")
    return context.media


async def wait_shielded(future: Future[None]) -> None:
    """Wait for shared work, which goes on when this client hangs up."""
    await asyncio.shield(asyncio.wrap_future(future))


async def _sound(context: Context, song: SongRecord) -> Audio:
    media = media_of(context)
    try:
        for _ in range(_MAX_AUDIO_WAITS):
            sound = await context.pool.run(media.audio, song)
            if isinstance(sound, Audio):
                return sound
            await wait_shielded(sound)
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
        "Content-Disposition": disposition("inline", song.full_title, _ENDINGS[sound.media_type]),
        "Cache-Control": "private, max-age=0, must-revalidate",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }


Side = Literal["64", "256", "512"]

_MAX_COVER_WAITS: Final = 3
_HEADERS: Final = {
    # A picture can only be shown, whatever it holds.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "Cache-Control": "private, max-age=3600",
}


@router.api_route(
    "/api/songs/{song_id}/cover",
    methods=["GET", "HEAD"],
    dependencies=[READ],
    operation_id="cover",
    response_class=Response,
    responses={
        200: {"content": {"image/jpeg": {}, "image/png": {}, "image/webp": {}}},
        304: {"description": "the client has it already"},
    },
)
async def cover(
    request: Request,
    context: ContextDep,
    song_id: SongId,
    size: Annotated[Side | None, Query(description="pixels of the longer side")] = None,
) -> Response:
    """Send a song's cover: as a JPEG of the given size, or unchanged without one."""
    song = await context.pool.run(existing_song, context, song_id)
    picture = await _picture(context, song, None if size is None else int(size))
    if picture is None:
        raise not_found(what="cover")
    entity = Entity(size=len(picture.content), tag=picture.tag, modified=0)
    tag = ",".join(request.headers.getlist("if-none-match"))
    part = plan(entity, "HEAD", {"if-none-match": tag} if tag else {}, now=0)
    headers = {**_HEADERS, "ETag": entity.etag}
    if part.status == 304:
        return Response(status_code=304, headers=headers)
    content = b"" if request.method == "HEAD" else picture.content
    headers["Content-Length"] = str(len(picture.content))
    return Response(content, media_type=picture.media_type, headers=headers)


async def _picture(context: Context, song: SongRecord, side: int | None) -> Picture | None:
    media = media_of(context)
    try:
        for _ in range(_MAX_COVER_WAITS):
            picture = await context.pool.run(media.cover, song, side)
            if picture is None or isinstance(picture, Picture):
                return picture
            await wait_shielded(picture)
    except UnreadableAudioError:  # the file is gone
        return None
    except BusyError:
        raise busy(message="too many covers are being looked for; try again") from None
    return None
