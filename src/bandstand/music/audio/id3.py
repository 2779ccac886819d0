"""The ID3v2 tag in front of many files: how long it is, and what ffmpeg does not see in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.music.audio.source import Source

_HEADER: Final = 10  # bytes
# Picard keeps the recording's identifier here, where neither PyAV nor tinytag looks.
_IDENTIFIER: Final = re.compile(rb"http://musicbrainz\.org\0([0-9A-Fa-f-]{36})")
_IDENTIFIER_WITHIN: Final = 1 << 20  # bytes


def tag_size(head: bytes) -> int:
    r"""Return how many bytes the tag takes of a file that begins with `head`; 0 if it has none.

    >>> tag_size(b"ID3\x04\x00\x00\x00\x00\x01\x01"), tag_size(b"OggS\x00")
    (139, 0)
    """
    if len(head) < _HEADER or not head.startswith(b"ID3"):
        return 0
    size = 0
    for byte in head[6:_HEADER]:  # seven bits each
        size = size << 7 | byte & 0x7F
    return _HEADER + size


def behind_tag(source: Source, size: int) -> bytes:
    """Return the first bytes of the sound."""
    source.seek(tag_size(source.head(_HEADER)))
    start = source.read(size)
    source.seek(0)
    return start


def recording_identifier(source: Source) -> str | None:
    """Return the MusicBrainz identifier of the recording from the tag's UFID frame."""
    size = tag_size(source.head(_HEADER))
    found = _IDENTIFIER.search(source.head(min(size, _IDENTIFIER_WITHIN)))
    return found[1].decode("ascii") if found else None
