"""A recording converted to Opus in a limited child, handed over piece by piece.

The child may write no file, so it answers with the pieces, one for each request; the parent
writes them down. Between two requests the child keeps the recording open and waits.
"""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from bandstand.errors import InvalidInputError, UnreadableAudioError
from bandstand.music.audio.opus import opus_chunks
from bandstand.music.audio.tracker_support import is_module, module_chunks
from bandstand.music.library.content import CHANGING, open_beneath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    extension = os.path.splitext(wanted["path"])[1].lower()
    with open_beneath(root, path) as file:
        before = os.fstat(file.fileno())
        if is_module(file, extension):
            yield from module_chunks(file, size=wanted["size"], allow_programs=wanted["programs"])
        else:
            yield from opus_chunks(file, size=wanted["size"])
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnreadableAudioError(CHANGING)
