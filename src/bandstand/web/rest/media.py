"""Sound and covers for apps. A stream is never a play: apps load songs in advance.

asked for                          sent
nothing, `raw`, or a `download`    the file as it is
`mp3`, `opus` (or `ogg`)           converted, unless the file is that and small enough
another format                     MP3
`maxBitRate` below the file's      MP3 of at most that, or what `format` says
"""

from typing import Any, Final

from starlette.responses import Response

from bandstand.media.conversion import Target
from bandstand.media.covers import SIDES, Picture
from bandstand.store import playlists
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.rest.answers import not_found
from bandstand.web.rest.browsing import View, store_id
from bandstand.web.rest.calls import Call, endpoint
from bandstand.web.rest.entries import CONTENT_TYPES, suffix_of
from bandstand.web.rest.lists import LISTS, radio_list
from bandstand.web.routes.media import media_of, picture_of, send_audio, send_picture, sound_of

_DEFAULT_KILOBITS: Final = {"mp3": 192, "opus": 128}
_KILOBITS: Final = (32, 48, 64, 96, 128, 160, 192, 256, 320)
_FORMS: Final = {"mp3": "mp3", "opus": "opus", "ogg": "opus", "oga": "opus"}
_MAX_COVER_SONGS: Final = 3


@endpoint("stream", scope="play")
async def _stream(call: Call) -> Response:
    song = await call.context.pool.run(_song, call)
    target = target_for(call.params.text("format"), call.params.whole("maxBitRate", 0), song)
    return await _sent(call, song, target)


@endpoint("download", scope="play")
async def _download(call: Call) -> Response:
    return await _sent(call, await call.context.pool.run(_song, call), None, "attachment")


async def _sent(
    call: Call, song: SongRecord, target: Target | None, kind: Any = "inline"
) -> Response:
    context, media = call.context, media_of(call.context)
    if target is None:
        original = CONTENT_TYPES.get(suffix_of(song), "application/octet-stream")
        sound = await sound_of(context, media.original, song, original)
    else:
        sound = await sound_of(context, media.converted, song, target)
    return send_audio(call.request, context, song, sound, kind)


def target_for(wanted: str | None, most: int, song: SongRecord) -> Target | None:
    """Return what a song is converted to; None where its file is sent."""
    kilobits = song.size * 8 / max(song.duration, 1) / 1_000
    is_small = not most or kilobits <= most
    if wanted == "raw" or (wanted is None and is_small):
        return None
    form = _FORMS.get((wanted or "mp3").lower(), "mp3")
    if is_small and _FORMS.get(suffix_of(song)) == form:
        return None
    limit = min(most or _KILOBITS[-1], _DEFAULT_KILOBITS[form])
    return Target(form, max((rate for rate in _KILOBITS if rate <= limit), default=_KILOBITS[0]))


def _song(call: Call) -> SongRecord:
    with call.context.store.reading() as connection:
        found = songs.get(connection, store_id(call.params.required("id")))
    if found is None:
        raise not_found(what="song")
    return found


@endpoint("getCoverArt", scope="read")
async def _get_cover_art(call: Call) -> Response:
    size = call.params.optional_whole("size")
    side = None if size is None else next((side for side in SIDES if side >= size), None)
    wanted = call.params.required("id")
    kept = (await radio_list(call, wanted)).songs if wanted in LISTS else None
    for song in await call.context.pool.run(_pictured, call, wanted, kept):
        picture: Picture | None = await picture_of(call.context, song, side)
        if picture is not None:
            return send_picture(call.request, picture)
    raise not_found(what="cover")


def _pictured(call: Call, wanted: str, kept: tuple[str, ...] | None) -> list[SongRecord]:
    """Return the songs that a cover can come from, the most likely ones first."""
    with call.context.store.reading() as connection:
        view = View(call, connection)
        if wanted.startswith("pl-"):
            own = playlists.get(connection, call.account, wanted.removeprefix("pl-"))
            ids = kept if kept is not None else () if own is None else own.songs
            found = songs.many(connection, ids[:50])
        elif wanted.startswith("al-"):
            found = view.songs_of(view.album(wanted))
        elif wanted.startswith("ar-"):
            albums = view.albums(view.library.albums_by(view.artist(wanted))[:_MAX_COVER_SONGS])
            found = [song for album in albums for song in view.songs_of(album)[:1]]
        else:
            found = [view.song(wanted)]
    likely = sorted(
        (song for song in found if song.is_present), key=lambda it: it.tags.cover is None
    )
    return likely[:_MAX_COVER_SONGS]
