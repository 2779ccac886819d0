"""What a sound is here, and the edges that keep it from clicking.

A sound is an array of float32 samples at 48 kHz, the rate at which Opus works: `(n,)` for one
channel, `(2, n)` for left and right.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

RATE: Final = 48_000

Sound: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
# One channel: (n,).
Wave: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]


def samples(seconds: float) -> int:
    """Return how many samples a length of time has, at least one.

    >>> samples(0.5)
    24000
    """
    return max(1, round(seconds * RATE))


def edged(sound: Sound, *, attack: float, release: float) -> Sound:
    """Return the sound with a rise at its beginning and a fall at its end, in seconds.

    Both are half a cosine, which has no corner that could be heard as a click. Where the sound
    is shorter than both together, each takes its share of it.
    """
    count = sound.shape[-1]
    shrink = min(1.0, count / max(samples(attack) + samples(release), 1))
    rise, fall = (max(1, int(samples(s) * shrink)) for s in (attack, release))
    shaped = sound.copy()
    shaped[..., :rise] *= half_cosine(rise)
    shaped[..., count - fall :] *= half_cosine(fall)[::-1]
    return shaped


def decay(count: int, seconds: float) -> Wave:
    """Return an exponential fall that is down to 1/e after `seconds`."""
    # Below e⁻³⁰ nothing is heard, and floating-point numbers stay normal.
    exponent = np.minimum(np.arange(count) / (seconds * RATE), 30.0)
    return np.exp(-exponent).astype(np.float32)


def swell(count: int, *, fall: float, level: float) -> Wave:
    """Return an envelope that falls from 1 to `level` within about `fall` seconds and stays."""
    return (np.float32(level) + np.float32(1.0 - level) * decay(count, fall)).astype(np.float32)


@lru_cache(maxsize=64)
def half_cosine(count: int) -> Wave:
    """Return a rise from 0 to 1 that begins and ends flat; it must not be changed."""
    angle = (np.arange(count) + 0.5) * (np.pi / count)
    rise: Wave = (0.5 - 0.5 * np.cos(angle)).astype(np.float32)
    return rise
