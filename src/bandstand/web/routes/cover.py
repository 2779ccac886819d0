"""The cover of a song: the picture inside its file, or one beside it."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from bandstand.errors import UnreadableAudioError
from bandstand.media.conversion import BusyError
from bandstand.media.covers import Picture
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.problems import busy, not_found
from bandstand.web.http.ranges import Entity, plan
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER
from bandstand.web.routes.audio import SongId, found_song, media_of, waited

router = APIRouter(tags=["songs"])

Side = Literal["64", "256", "512"]

_MOST_WAITS: Final = 3
_HEADERS: Final = {
    # A picture is shown, and can do nothing else, whatever is in it.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "Cache-Control": "private, max-age=3600",
}


@router.api_route(
    "/api/songs/{song_id}/cover",
    methods=["GET", "HEAD"],
    dependencies=[LISTENER],
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
    """Send a song's cover: as a JPEG of some size, or as it is where no size is asked for."""
    song = await context.workers.run(found_song, context, song_id)
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
        for _ in range(_MOST_WAITS):
            picture = await context.workers.run(media.cover, song, side)
            if picture is None or isinstance(picture, Picture):
                return picture
            await waited(picture)
    except UnreadableAudioError:  # the file is gone
        return None
    except BusyError:
        raise busy(message="too many covers are being looked for; try again") from None
    return None
