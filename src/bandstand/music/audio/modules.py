"""Tracker modules played from beginning to end, as Opus; see `trackers` for how they are played."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
from av.audio.frame import AudioFrame

from bandstand.music.audio.ffmpeg import played
from bandstand.music.audio.opus import RATE, encoded
from bandstand.music.audio.tracker_support import player_for

if TYPE_CHECKING:
    from collections.abc import Iterator

# Some modules go round in circles.
LONGEST: Final = 3_600  # seconds


def module_chunks(file: BinaryIO, *, size: int, allow_programs: bool) -> Iterator[bytes]:
    """Yield a module as Ogg Opus, in pieces of at least `size` bytes but for the last."""
    found = player_for(file, allow_programs=allow_programs)
    blocks = played(*found, file, rate=RATE, seconds=LONGEST)
    return encoded(map(_frame, blocks), layout="stereo", size=size)


def _frame(block: bytes) -> AudioFrame:
    samples = np.frombuffer(block, dtype="<i2").reshape(1, -1)
    frame = AudioFrame.from_ndarray(samples, format="s16", layout="stereo")
    frame.sample_rate = RATE
    return frame
