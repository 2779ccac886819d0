"""The demo library: made on first use, continued where it was interrupted, free afterwards.

A piece is a file with its tags and its picture. Opus in Ogg plays in Chrome, Edge, Firefox and
Safari since 18.4. At 112 kbit/s and the least effort it takes half the time of AAC and a fifth of
that of MP3.
"""

from __future__ import annotations

import base64
import colorsys
import io
import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import av
import numpy as np

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand_demo.instruments import RATE
from bandstand_demo.mixing import TARGET, loudness
from bandstand_demo.pieces import PIECES, render

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import Matrix
    from bandstand_demo.instruments import Sound
    from bandstand_demo.pieces import Piece

    Picture: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    from collections.abc import Callable, Generator, Iterator, Sequence

SUFFIX: Final = ".opus"
UNFINISHED: Final = ".part"
_BIT_RATE: Final = 112_000
_EFFORT: Final = {"compression_level": "0"}
# Without it the muxer draws a random serial number, and no two files are the same.
_SAME_BYTES: Final = {"fflags": "bitexact"}
_FRONT_COVER: Final = 3
SIDE: Final = 600  # of a cover, in pixels
_BANDS: Final = 8
_STEPS: Final = 4  # from the colour of one band to that of the next, for smooth edges


def place(folder: Path, piece: Piece) -> Path:
    """Return where a piece belongs: folder/Artist/Album/NN Title.opus."""
    return folder / piece.artist / piece.album / f"{piece.track:02} {piece.title}{SUFFIX}"


def write(piece: Piece, folder: Path) -> None:
    """Make the file of a piece, whole at once."""
    path = place(folder, piece)
    data = encoded(render(piece), piece)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        unfinished.write_bytes(data)
        # Another run may have finished the library meanwhile, and cleared away.
        with suppress(FileNotFoundError):
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def encoded(sound: Sound, piece: Piece) -> bytes:
    """Return a sound as an Ogg file with the tags of a piece."""
    file = io.BytesIO()
    with av.open(file, "w", format="ogg", options=_SAME_BYTES) as container:
        stream = container.add_stream("libopus", rate=RATE, layout="stereo", options=_EFFORT)
        stream.bit_rate = _BIT_RATE
        stream.metadata.update(tags(piece, sound))
        for first in range(0, sound.shape[1], RATE):
            block = np.ascontiguousarray(sound[:, first : first + RATE].T).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(block, format="flt", layout="stereo")
            frame.sample_rate, frame.pts = RATE, first
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def tags(piece: Piece, sound: Sound) -> dict[str, str]:
    """Return what the file says of itself; the gain is from its loudness to −18 LUFS."""
    return {
        "TITLE": piece.title,
        "ARTIST": piece.artist,
        "ALBUM": piece.album,
        "GENRE": piece.genre,
        "DATE": str(piece.year),
        "TRACKNUMBER": str(piece.track),
        "REPLAYGAIN_TRACK_GAIN": f"{round(TARGET - loudness(sound), 2) + 0.0:+.2f} dB",
        "REPLAYGAIN_TRACK_PEAK": f"{np.abs(sound).max():.6f}",
        "METADATA_BLOCK_PICTURE": _picture_block(f"{piece.artist}/{piece.album}"),
    }


@lru_cache(maxsize=64)
def _picture_block(album: str) -> str:
    """Return an album's cover as Ogg files carry it: a FLAC picture block in base64."""
    data, kind = cover(np.random.default_rng([*album.encode()])), b"image/png"
    head = struct.pack(">II", _FRONT_COVER, len(kind)) + kind
    block = head + struct.pack(">IIIIII", 0, SIDE, SIDE, 8, 8, len(data)) + data
    return base64.b64encode(block).decode("ascii")


def cover(rng: np.random.Generator) -> bytes:
    """Return an abstract picture as a PNG file: bands of colour along the contours of a field."""
    height = _field(rng)
    edge = np.clip(np.round(height), 1, _BANDS - 1)
    # A pixel through which the edge of a band runs gets a colour between both, by its share.
    steepness = np.hypot(*np.gradient(height)) + 1e-9  # in bands per pixel
    above = np.clip((height - edge) / steepness, -0.5, 0.5)
    return _png(np.round(_STEPS * (edge - 0.5 + above)).astype(np.uint8), _palette(rng))


def _field(rng: np.random.Generator) -> Matrix:
    """Return a smooth landscape with heights from 0 to the number of bands: waves and a bend."""
    down, right = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    x, y = rng.uniform(0.2, 0.8, 2)
    field = np.cos(2 * np.pi * np.hypot(right - x, down - y) * rng.uniform(0.8, 3.5))
    for _ in range(3):
        angle, waves = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 2.5)
        along = right * np.cos(angle) + down * np.sin(angle)
        field += 0.6 * np.sin(2 * np.pi * (waves * along + rng.random()))
    result: Matrix = _BANDS * (field - field.min()) / (field.max() - field.min())
    return result


def _palette(rng: np.random.Generator) -> Picture:
    """Return colours from dark to light between two neighbouring hues."""
    start, turn = rng.random(), rng.choice([-1.0, 1.0]) * rng.uniform(0.08, 0.3)
    steps = np.linspace(0.0, 1.0, _STEPS * (_BANDS - 1) + 1)
    colours = [colorsys.hls_to_rgb((start + turn * s) % 1.0, 0.22 + 0.6 * s, 0.62) for s in steps]
    return np.round(255 * np.array(colours)).astype(np.uint8)


def _png(picture: Picture, palette: Picture) -> bytes:
    height, width = picture.shape
    # Eight bits for a pixel, colours by number; each line begins with its filter: none.
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    lines = zlib.compress(np.pad(picture, ((0, 0), (1, 0))).tobytes())
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()), (b"IDAT", lines), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


# ── All pieces ─────────────────────────────────────────────────────────────────────────


# Of the music: a library of another version is made again.
VERSION: Final = "3"
MARKER: Final = ".bandstand-demo"
_MAX_THREADS: Final = 8


def demo_library(
    folder: Path,
    *,
    at_least: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Path]:
    """Return the files of the demo library in `folder`, after making those that are missing.

    at_least: this many pieces are enough for now, of as many styles as possible; all unless given.
    progress: called with the number of pieces that are there and of those that there will be;
        what it raises ends the work.

    A marker says which version of the music the folder holds. Pieces of another version are
    replaced; no other file is touched.
    """
    paths = [place(folder, piece) for piece in PIECES]
    with _explained(folder):
        _prepare(folder, paths)
        missing = [piece for piece in PIECES if not _is_there(place(folder, piece))]
    there = len(PIECES) - len(missing)
    if at_least is not None:
        # Each style in its turn.
        missing.sort(key=lambda piece: (piece.variant, piece.number))
        missing = missing[: max(0, at_least - there)]
    total = there + len(missing)
    progress(there, total)
    with closing(_made(folder, missing)) as making:
        for done, _ in enumerate(making, start=there + 1):
            progress(done, total)
    # What runs that were killed have left half-written.
    for left in folder.glob(f"*/*/.*{UNFINISHED}") if missing else ():
        left.unlink(missing_ok=True)
    return [path for path in paths if _is_there(path)]


def _made(folder: Path, missing: Sequence[Piece]) -> Generator[None, None, None]:
    """Make pieces and yield after each of them.

    Threads are enough: most of the time is spent in NumPy and in the encoder, which let others
    work meanwhile.
    """
    pool = ThreadPoolExecutor(min(usable_cores(), _MAX_THREADS))
    try:
        for made in as_completed([pool.submit(write, piece, folder) for piece in missing]):
            with _explained(folder):
                made.result()
            yield
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into a sentence."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        msg = f"the demo library needs a folder that it can write to, got {folder}: {reason}"
        raise InvalidInputError(msg) from problem


def _prepare(folder: Path, paths: Sequence[Path]) -> None:
    """Make the folder ready: remove the pieces of another version, and say which one it holds."""
    marker = folder / MARKER
    with suppress(FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        if marker.read_text(encoding="utf-8") == VERSION:
            return
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.unlink(missing_ok=True)
    marker.write_text(VERSION, encoding="utf-8")


def _is_there(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0
