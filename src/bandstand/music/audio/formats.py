"""Which container a file is, as far as its first bytes leave no doubt.

ffmpeg guesses from all of the first megabyte, and can be misled by what is inside: a tone whose
period happens to be that of a broadcast's packets, or a large cover in front of the sound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.music.audio.id3 import behind_tag, tag_size

if TYPE_CHECKING:
    from bandstand.music.audio.source import Source

# By ffmpeg's names.
_STARTS: Final = {
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"\x1aE\xdf\xa3": "matroska",
    b"0&\xb2u\x8ef\xcf\x11": "asf",
    b"MAC ": "ape",
    b"wvpk": "wv",
    b"TTA1": "tta",
    b"TTA2": "tta",
    b"MPCK": "mpc8",
    b"MP+": "mpc",
    b"DSD ": "dsf",
    b"caff": "caf",
    b".snd": "au",
    b"FLV": "flv",
}
_INNER: Final = {
    (b"RIFF", b"WAVE"): "wav",
    (b"RF64", b"WAVE"): "wav",
    (b"RIFF", b"AVI "): "avi",
    (b"FORM", b"AIFF"): "aiff",
    (b"FORM", b"AIFC"): "aiff",
}
# Those before which ffmpeg reads a tag.
_TAGGED: Final = frozenset({"ape", "flac", "mpc", "mpc8", "ogg", "tta"})


def certain_format(source: Source) -> str | None:
    """Return ffmpeg's name of the container; None if that is for ffmpeg to find out."""
    head = source.head(16)
    if not tag_size(head):
        return _named(head)
    start = behind_tag(source, 16)
    name = _named(start)
    if name is not None:
        return name if name in _TAGGED else None
    is_adts = len(start) > 1 and start[0] == 0xFF and start[1] & 0xF6 == 0xF0
    return "aac" if is_adts else "mp3"


def _named(head: bytes) -> str | None:
    if head[4:8] == b"ftyp":
        return "mov"
    inner = _INNER.get((head[:4], head[8:12]))
    return inner or next((name for mark, name in _STARTS.items() if head.startswith(mark)), None)
