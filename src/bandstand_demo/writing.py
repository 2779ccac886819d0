"""A piece as a file that every current browser plays, with its tags and its picture.

Opus in Ogg was chosen by trial, with the encoders that PyAV brings (30 s of stereo, one core):

format           seconds  kilobytes  plays in
Opus, quick      0.11     430        Chrome, Edge, Firefox; Safari since 18.4 (2025)
Opus, thorough   0.29     470        the same
AAC in MP4       0.27     475        all of them, except browsers built without licensed codecs
MP3              0.6–1.3  470        everything

At 112 kbit/s and the least effort, Opus is closer to the original than at 96 kbit/s and middle
effort, and takes half the time of AAC. Served as `audio/ogg`.
"""

from __future__ import annotations

import base64
import io
import os
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import av
import numpy as np

from bandstand_demo.covers import SIDE, cover
from bandstand_demo.loudness import loudness
from bandstand_demo.mixing import TARGET
from bandstand_demo.pieces import render
from bandstand_demo.sound import RATE

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand_demo.pieces import Piece
    from bandstand_demo.sound import Sound

SUFFIX: Final = ".opus"
UNFINISHED: Final = ".part"
_BIT_RATE: Final = 112_000
_EFFORT: Final = {"compression_level": "0"}
# Without it the muxer draws a random serial number, and no two files are the same.
_SAME_BYTES: Final = {"fflags": "bitexact"}
_STEP: Final = RATE  # samples handed to the encoder at once
_FRONT_COVER: Final = 3


def place(folder: Path, piece: Piece) -> Path:
    """Return where a piece belongs: folder/Artist/Album/NN Title.opus."""
    return folder / piece.artist / piece.album / f"{piece.track:02} {piece.title}{SUFFIX}"


def write(piece: Piece, folder: Path) -> Path:
    """Return the file of a piece, after making it; nobody ever sees half of it."""
    path = place(folder, piece)
    data = encoded(render(piece), piece)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except FileNotFoundError:
        # Another run may have finished the library meanwhile, and cleared away.
        if not path.exists():
            raise
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def encoded(sound: Sound, piece: Piece) -> bytes:
    """Return a sound as an Ogg file with the tags of a piece."""
    file = io.BytesIO()
    with av.open(file, "w", format="ogg", options=_SAME_BYTES) as container:
        stream = container.add_stream("libopus", rate=RATE, layout="stereo", options=_EFFORT)
        stream.bit_rate = _BIT_RATE
        stream.metadata.update(tags(piece, sound))
        for first in range(0, sound.shape[1], _STEP):
            block = np.ascontiguousarray(sound[:, first : first + _STEP].T).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(block, format="flt", layout="stereo")
            frame.sample_rate, frame.pts = RATE, first
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def tags(piece: Piece, sound: Sound) -> dict[str, str]:
    """Return what the file says of itself.

    The gain is what ReplayGain 2 asks for: from the loudness of the piece to −18 LUFS. (Opus has
    a gain of its own, R128; the older tags are those that every reader of tags knows.)
    """
    return {
        "TITLE": piece.title,
        "ARTIST": piece.artist,
        "ALBUM": piece.album,
        "GENRE": piece.genre,
        "DATE": str(piece.year),
        "TRACKNUMBER": str(piece.track),
        "BPM": f"{piece.tempo:.0f}",
        "INITIALKEY": piece.key.name,
        "REPLAYGAIN_TRACK_GAIN": f"{round(TARGET - loudness(sound), 2) + 0.0:+.2f} dB",
        "REPLAYGAIN_TRACK_PEAK": f"{np.abs(sound).max():.6f}",
        "METADATA_BLOCK_PICTURE": _picture_block(piece),
    }


def _picture_block(piece: Piece) -> str:
    """Return the album's cover as Ogg files carry it: a FLAC picture block in base64."""
    data = _album_cover(piece.seed, piece.artist, piece.album)
    kind = b"image/png"
    block = b"".join(
        (
            struct.pack(">II", _FRONT_COVER, len(kind)),
            kind,
            struct.pack(">IIIIII", 0, SIDE, SIDE, 8, 8, len(data)),
            data,
        )
    )
    return base64.b64encode(block).decode("ascii")


@lru_cache(maxsize=64)
def _album_cover(seed: int, artist: str, album: str) -> bytes:
    """Return the picture that all tracks of an album share."""
    return cover(np.random.default_rng([seed, *f"{artist}/{album}".encode()]))
