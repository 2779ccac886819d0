"""What a limited child finds out about one file for a player: its codec, its picture.

Both tasks take and give what JSON can carry; `path` and `root` are as `library.analyse` sends them.
"""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from bandstand.errors import BandstandError, UnreadableAudioError
from bandstand.music.audio.opus import codec_of
from bandstand.music.audio.picture_size import checked_picture
from bandstand.music.audio.pictures import embedded_cover, thumbnail
from bandstand.music.library.content import open_beneath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST_BESIDE: Final = 20_000_000  # bytes


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked for: the `codec`, or the `cover`, in a size or as it is."""
    root, path = wanted["root"].encode("latin-1"), wanted["path"].encode("latin-1")
    if wanted["do"] == "codec":
        with open_beneath(root, path) as file:
            return codec_of(file)._asdict()
    for picture in _pictures(root, path, wanted["names"]):
        shown = _shown(picture, wanted["side"], wanted["most"])
        if shown is not None:
            return {"image": b64encode(shown).decode()}
    return {"image": None}


def _shown(picture: bytes, side: int | None, most: int) -> bytes | None:
    """Return a picture in a size, or as it is if it is not too large; None if it is none."""
    try:
        checked_picture(picture)
        image = picture if side is None else thumbnail(picture, side)
    except UnreadableAudioError:
        return None
    return image if len(image) <= most else None


def _pictures(root: bytes, path: bytes, names: list[str]) -> Iterator[bytes]:
    """Yield the picture inside the file, then those beside it."""
    try:
        with open_beneath(root, path) as file:
            found = embedded_cover(file)
    except BandstandError:
        found = None
    if found is not None:
        yield found[1]
    for name in names:
        try:
            place = os.path.join(os.path.dirname(path), name.encode("latin-1"))
            with open_beneath(root, place) as file:
                yield _small_file(file)
        except BandstandError:
            continue


def _small_file(file: BinaryIO) -> bytes:
    if os.fstat(file.fileno()).st_size > LARGEST_BESIDE:
        return b""
    return file.read(LARGEST_BESIDE)
