"""Struck instruments: a sum of partials, each dying away at its own rate.

A voice is a function (pitch, seconds, force) -> sound; `force` in (0, 1] is how hard the
player strikes, and a harder stroke is brighter. Loudness is the mixer's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_demo.oscillators import heard_harmonics, noise, ring
from bandstand_demo.pitches import hertz
from bandstand_demo.sound import decay, edged, samples

if TYPE_CHECKING:
    from bandstand_demo.sound import Sound


def music_box(pitch: float, seconds: float, force: float) -> Sound:
    """Return a plucked steel tooth: a pure tone with a short, high, inharmonic ping."""
    hz = hertz(pitch)
    ratios = np.array([1.0, 2.003, 3.01, 6.27])
    levels = np.array([1.0, 0.18, 0.08, 0.12 * force])
    decays = np.array([2.2, 3.4, 5.0, 14.0]) * (hz / 900.0) ** 0.4
    return edged(ring(hz * ratios, levels, decays, samples(seconds)), attack=0.001, release=0.12)


def celesta(pitch: float, seconds: float, force: float) -> Sound:
    """Return a steel bar over a wooden box: soft, with a touch of the octave."""
    hz = hertz(pitch)
    ratios = np.array([1.0, 2.0, 4.0, 5.4])
    levels = np.array([1.0, 0.25, 0.10 * force, 0.04])
    decays = np.array([2.5, 4.0, 9.0, 16.0]) * (hz / 700.0) ** 0.3
    return edged(ring(hz * ratios, levels, decays, samples(seconds)), attack=0.003, release=0.15)


def vibraphone(pitch: float, seconds: float, force: float) -> Sound:
    """Return an aluminium bar, tuned to a double octave, with its slow tremolo."""
    hz, count = hertz(pitch), samples(seconds)
    ratios, decays = np.array([1.0, 4.0, 9.2]), np.array([1.3, 3.5, 12.0])
    sound = ring(hz * ratios, np.array([1.0, 0.16 * force, 0.04 * force]), decays, count)
    tremolo = 1.0 - 0.18 * (1.0 - np.cos(np.arange(count) * (2 * np.pi * 5.2 / 48_000)))
    return edged((sound * tremolo).astype(np.float32), attack=0.002, release=0.2)


def electric_piano(pitch: float, seconds: float, force: float) -> Sound:
    """Return a tine and its tone bar: a round tone, a bell at the stroke, bark when struck hard."""
    hz, count = hertz(pitch), samples(seconds)
    ratios = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.1, 8.0])
    bark = force**1.5
    levels = np.array(
        [1.0, 0.35 * bark + 0.1, 0.22 * bark, 0.10 * bark, 0.06 * bark, 0.07, 0.05 * bark]
    )
    decays = np.array([0.9, 1.6, 2.6, 3.6, 4.5, 11.0, 9.0]) * (hz / 300.0) ** 0.25
    return edged(ring(hz * ratios, levels, decays, count), attack=0.003, release=0.12)


def piano(pitch: float, seconds: float, force: float) -> Sound:
    """Return stiff strings in pairs, struck by a felt hammer, and the knock of the key."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 24)
    stretched = hz * number * np.sqrt(1.0 + 3e-4 * number**2)
    levels = np.exp(-hz * number / (900.0 + 2600.0 * force)) / number**0.7
    decays = (0.5 + 0.20 * number) * (hz / 260.0) ** 0.5
    pairs = np.concatenate([stretched * 0.9998, stretched * 1.0003])
    strings = ring(pairs, np.tile(levels, 2) / 2, np.concatenate([decays, 0.7 * decays]), count)
    knock = noise(count, low=60, high=300, seed=5) * decay(count, 0.012) * np.float32(0.05)
    return edged(strings + knock, attack=0.002, release=0.14)
