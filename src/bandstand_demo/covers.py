"""A small picture for each album, drawn by numbers: PNG, without any drawing library."""

from __future__ import annotations

import colorsys
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import Matrix

    # Colour numbers, (side, side), and their red, green and blue, (colours, 3).
    Picture: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

SIDE: Final = 600
_BANDS: Final = 8
_STEPS: Final = 4  # from the colour of one band to that of the next, for smooth edges
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def cover(rng: np.random.Generator) -> bytes:
    """Return an abstract picture as a PNG file: bands of colour along the contours of a field."""
    field = _field(rng)
    low, high = field.min(), field.max()
    return png(_shades(_BANDS * (field - low) / (high - low)), _palette(rng))


def png(picture: Picture, palette: Picture) -> bytes:
    """Return a PNG file of a picture (height, width) of colour numbers and its palette (n, 3)."""
    height, width = picture.shape
    # Eight bits for a pixel, colours by number; each line begins with its filter: none.
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), picture]).tobytes()
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _field(rng: np.random.Generator) -> Matrix:
    """Return a smooth landscape: waves in three directions, bent around a centre."""
    down, right = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    x, y = rng.uniform(0.2, 0.8, 2)
    distance = np.hypot(right - x, down - y)
    field = np.cos(2 * np.pi * distance * rng.uniform(0.8, 3.5))
    for _ in range(3):
        angle, waves = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 2.5)
        along = right * np.cos(angle) + down * np.sin(angle)
        field += 0.6 * np.sin(2 * np.pi * (waves * along + rng.random()))
    result: Matrix = field
    return result


def _shades(height: Matrix) -> Picture:
    """Return the colour numbers of heights from 0 to the number of bands.

    A pixel through which the edge between two bands runs gets a colour between theirs, by how
    much of it lies on either side.
    """
    edge = np.clip(np.round(height), 1, _BANDS - 1)
    steepness = np.hypot(*np.gradient(height)) + 1e-9  # in bands per pixel
    above = np.clip((height - edge) / steepness, -0.5, 0.5)
    return np.round(_STEPS * (edge - 0.5 + above)).astype(np.uint8)


def _palette(rng: np.random.Generator) -> Picture:
    """Return colours from dark to light between two neighbouring hues."""
    start, turn = rng.random(), rng.choice([-1.0, 1.0]) * rng.uniform(0.08, 0.3)
    steps = np.linspace(0.0, 1.0, _STEPS * (_BANDS - 1) + 1)
    colours = [
        colorsys.hls_to_rgb((start + turn * step) % 1.0, 0.22 + 0.6 * step, 0.62) for step in steps
    ]
    return np.round(255 * np.array(colours)).astype(np.uint8)
