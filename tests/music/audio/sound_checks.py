"""Checks of decoded sound."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from bandstand.music.audio.decode import Recording, read
from tests.music.audio.audio_files import melody

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from bandstand.types import Vector

RATE = 16_000


def read_file(path: Path, *, extension: str = "", allow_programs: bool = False) -> Recording:
    with path.open("rb") as file:
        return read(file, extension=extension, allow_programs=allow_programs)


def read_bytes(content: bytes, *, extension: str = "") -> Recording:
    return read(io.BytesIO(content), extension=extension)


def seconds_into_the_melody(samples: Vector, length: float) -> float:
    """Return at which second of `making.melody` a clip begins."""
    clip = samples[: 4 * RATE]
    spectrum, size = _melody_spectrum(length)
    likeness = scipy.fft.irfft(spectrum * np.conj(scipy.fft.rfft(clip, size)))
    place = int(np.argmax(likeness))
    return (place if place < size // 2 else place - size) / RATE


@cache
def _melody_spectrum(length: float) -> tuple[NDArray[np.complex128], int]:
    tune = melody(length, rate=RATE)[0]
    size = scipy.fft.next_fast_len(len(tune) + 8 * RATE, real=True)
    return scipy.fft.rfft(tune, size), size


def loudness(samples: Vector) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(samples))))
