"""A playlist as a file for another player."""

# FastAPI reads these annotations when the program runs.
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Query, Request
from fastapi.responses import Response

from bandstand.media.playlist_formats import MEDIA_TYPES, by_address, by_path, write
from bandstand.store.accounts import Account
from bandstand.store.songs.songs import SongRecord
from bandstand.web.http.download_names import disposition
from bandstand.web.http.problems import Problem
from bandstand.web.requests.context import Context
from bandstand.web.routes._song_json import audio_address

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
    """Refuse to tell anybody but administrators where files are."""
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
    """Return a playlist to be saved; songs whose files are gone are left out."""
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
