"""Plucked strings: the modes of a string, excited where the finger takes it.

A string plucked at the fraction `at` of its length has harmonics sin(π·k·at)/k; the higher
they are the faster they die. This is what the Karplus–Strong loop computes sample by sample,
here as one sum that is always in tune.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_demo.oscillators import heard_harmonics, noise, ring
from bandstand_demo.pitches import hertz
from bandstand_demo.sound import decay, edged, samples

if TYPE_CHECKING:
    from bandstand_demo.sound import Sound, Wave


def nylon_guitar(pitch: float, seconds: float, force: float) -> Sound:
    """Return a nylon string under a fingertip, with the thump of the box."""
    count = samples(seconds)
    sound = _string(pitch, count, at=0.24, cutoff=1100 + 1500 * force, damping=(1.3, 0.16))
    return edged(sound + 0.10 * _thump(count, 105.0), attack=0.002, release=0.09)


def steel_guitar(pitch: float, seconds: float, force: float) -> Sound:
    """Return a steel string under a fingernail: bright, long."""
    count = samples(seconds)
    sound = _string(pitch, count, at=0.14, cutoff=2400 + 3200 * force, damping=(0.9, 0.05))
    return edged(sound + 0.06 * _thump(count, 120.0), attack=0.001, release=0.08)


def harp(pitch: float, seconds: float, force: float) -> Sound:
    """Return a harp's string, plucked near its middle: round and long."""
    count = samples(seconds)
    sound = _string(pitch, count, at=0.42, cutoff=1300 + 1500 * force, damping=(1.0, 0.10))
    return edged(sound, attack=0.003, release=0.2)


def upright_bass(pitch: float, seconds: float, force: float) -> Sound:
    """Return a double bass, plucked: dark, with the finger leaving the string."""
    count = samples(seconds)
    sound = _string(pitch, count, at=0.28, cutoff=380 + 420 * force, damping=(1.5, 0.18))
    finger = noise(count, low=300, high=1800, seed=11) * decay(count, 0.008) * np.float32(0.02)
    return edged(sound + finger, attack=0.006, release=0.07)


def _string(
    pitch: float, count: int, *, at: float, cutoff: float, damping: tuple[float, float]
) -> Wave:
    """Return the modes of a string; `damping` is the decay of the first, and its growth."""
    hz = hertz(pitch)
    number = heard_harmonics(hz, 40)
    levels = np.sin(np.pi * at * number) / number * np.exp(-hz * number / cutoff)
    decays = (damping[0] + damping[1] * number**1.5) * (hz / 200.0) ** 0.35
    stretched = hz * number * np.sqrt(1.0 + 4e-5 * number**2)
    return ring(stretched, levels * (1.0 / np.abs(levels).max()), decays, count)


def _thump(count: int, hz: float) -> Wave:
    """Return the short answer of a wooden box."""
    return ring(np.array([hz, 2.02 * hz]), np.array([1.0, 0.5]), np.array([28.0, 40.0]), count)
