"""Tasks in a sandboxed process: the codec of a file, its cover (inside, then beside), conversion.

All take and give what JSON can carry; `path` and `root` are as `library.analyse` sends them.
"""

import os
import posixpath
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.music.audio.opus import codec_of, converted_chunks
from bandstand.music.audio.source import checked_picture
from bandstand.music.audio.tags import embedded_cover, thumbnail
from bandstand.music.audio.tracker_support import is_module, module_chunks
from bandstand.music.library.content import CHANGING, open_beneath

MAX_BESIDE_BYTES: Final = 20_000_000  # bytes


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
            place = posixpath.join(posixpath.dirname(path), name.encode("latin-1"))
            with open_beneath(root, place) as file:
                yield _small_file(file)
        except BandstandError:
            continue


def _small_file(file: BinaryIO) -> bytes:
    if os.fstat(file.fileno()).st_size > MAX_BESIDE_BYTES:
        return b""
    return file.read(MAX_BESIDE_BYTES)


# ── Conversion ─────────────────────────────────────────────────────────────────────────

# The child may write no file, so it answers with the pieces, one for each request; the parent
# writes them. Between two requests the child keeps the recording open and waits.


# The one recording that this child is at work on.
_at_work: list[Iterator[bytes]] = []


def convert(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the next piece, the first where a path is given; no piece at the end."""
    if "path" in wanted:
        _at_work[:] = [_pieces(wanted)]
    if not _at_work:
        msg = "a recording must be named before its next piece is asked for, got none"
        raise InvalidInputError(msg)
    piece = next(_at_work[0], None)
    return {"piece": None if piece is None else b64encode(piece).decode()}


def _pieces(wanted: Mapping[str, Any]) -> Iterator[bytes]:
    root, path = wanted["root"].encode("latin-1"), wanted["path"].encode("latin-1")
    extension = posixpath.splitext(wanted["path"])[1].lower()
    kind = {"size": wanted["size"], "form": wanted["form"], "kilobits": wanted["kilobits"]}
    with open_beneath(root, path) as file:
        before = os.fstat(file.fileno())
        if is_module(file, extension):
            programs = wanted["programs"]
            yield from module_chunks(file, allow_programs=programs, **kind)
        else:
            yield from converted_chunks(file, **kind)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnreadableAudioError(CHANGING)
