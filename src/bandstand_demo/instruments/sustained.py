"""Bowed and blown instruments: a steady tone with a vibrato and an envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_demo.oscillators import heard_harmonics, noise, ring, sung
from bandstand_demo.pitches import hertz
from bandstand_demo.sound import edged, samples, swell

if TYPE_CHECKING:
    from bandstand.types import Vector
    from bandstand_demo.sound import Sound, Wave


def violin(pitch: float, seconds: float, force: float) -> Sound:
    """Return a bowed string with the resonances of a violin's body."""
    return _bowed(pitch, seconds, force, body=((280, 0.5), (460, 0.8), (2600, 0.7)), depth=13.0)


def viola(pitch: float, seconds: float, force: float) -> Sound:
    """Return a bowed string with the darker resonances of a viola's body."""
    return _bowed(pitch, seconds, force, body=((220, 0.7), (380, 0.8), (1900, 0.5)), depth=11.0)


def cello(pitch: float, seconds: float, force: float) -> Sound:
    """Return a bowed string with the resonances of a cello's body."""
    return _bowed(pitch, seconds, force, body=((105, 0.6), (190, 0.9), (1400, 0.5)), depth=10.0)


def flute(pitch: float, seconds: float, force: float) -> Sound:
    """Return a flute: few harmonics, and the breath around them."""
    levels = np.array([1.0, 0.30 + 0.15 * force, 0.10 + 0.10 * force, 0.04, 0.02])
    return _blown(pitch, seconds, levels, depth=9.0, breath=0.035, attack=0.055)


def whistle(pitch: float, seconds: float, force: float) -> Sound:
    """Return a tin whistle: purer and higher than a flute."""
    levels = np.array([1.0, 0.12 + 0.08 * force, 0.10, 0.02])
    return _blown(pitch, seconds, levels, depth=7.0, breath=0.03, attack=0.03)


def clarinet(pitch: float, seconds: float, force: float) -> Sound:
    """Return a clarinet: odd harmonics before even ones."""
    number = heard_harmonics(hertz(pitch), 14)
    odd = np.where(number % 2 == 1, 1.0, 0.18)
    levels = odd / number**1.1 * np.exp(-hertz(pitch) * number / (1400 + 1200 * force))
    return _blown(pitch, seconds, levels / levels.max(), depth=4.0, breath=0.012, attack=0.04)


def accordion(pitch: float, seconds: float, force: float) -> Sound:
    """Return two reeds a little apart, whose beating is the sound of the musette."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 18)
    levels = np.exp(-hz * number / (2000 + 1500 * force)) / number**0.6
    pair = np.concatenate([hz * number * 2 ** (-5 / 1200), hz * number * 2 ** (6 / 1200)])
    sound = ring(pair, np.tile(levels, 2) / levels.sum(), 0.0, count)
    return edged(sound * 1.6, attack=0.03, release=0.07)


def trumpet(pitch: float, seconds: float, force: float) -> Sound:
    """Return a trumpet, whose brightness follows the breath."""
    return _brass(pitch, seconds, force, cutoff=1500.0)


def horn(pitch: float, seconds: float, force: float) -> Sound:
    """Return a horn or trombone played softly: rounder than a trumpet."""
    return _brass(pitch, seconds, force, cutoff=750.0)


def tuba(pitch: float, seconds: float, force: float) -> Sound:
    """Return a tuba: a brass tone that is mostly its first harmonics."""
    return _brass(pitch, seconds, force, cutoff=380.0)


def _bowed(
    pitch: float,
    seconds: float,
    force: float,
    *,
    body: tuple[tuple[float, float], ...],
    depth: float,
) -> Sound:
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 32)
    levels = _resonant(hz * number, body) * np.exp(-hz * number / (2800 + 2000 * force)) / number
    tone = sung(hz, levels / levels.sum(), count, depth=depth, rate=5.4)
    bow = noise(count, low=900, high=4000, seed=21) * np.float32(0.006)
    attack = 0.05 + 0.05 * (1.0 - force)
    return edged(
        (tone * 1.5 + bow) * swell(count, fall=0.35, level=0.8), attack=attack, release=0.12
    )


def _blown(
    pitch: float, seconds: float, levels: Vector, *, depth: float, breath: float, attack: float
) -> Sound:
    hz, count = hertz(pitch), samples(seconds)
    tone = sung(hz, levels / levels.sum(), count, depth=depth, rate=4.9, onset=0.4)
    air = noise(count, low=900, high=5500, seed=22) * np.float32(breath)
    # The breath is strongest where the tone begins.
    sound = tone * np.float32(1.3) + air * swell(count, fall=0.06, level=0.35)
    return edged(sound, attack=attack, release=0.08)


def _brass(pitch: float, seconds: float, force: float, *, cutoff: float) -> Sound:
    """Return two layers, dark and bright, of which the bright one comes later and goes first."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 24)
    dark = np.exp(-hz * number / cutoff)
    bright = np.exp(-hz * number / (cutoff * (1.6 + 1.6 * force))) * (number > 1)
    layers: list[Wave] = []
    for levels, fall, attack in ((dark, 0.8, 0.03), (bright, 0.25, 0.055)):
        tone = sung(hz, levels / dark.sum(), count, depth=5.0, rate=5.0, onset=0.5)
        layers.append(edged(tone * swell(count, fall=fall, level=0.6), attack=attack, release=0.07))
    return layers[0] + layers[1] * np.float32(0.35 + 0.35 * force)


def _resonant(hz: Vector, peaks: tuple[tuple[float, float], ...]) -> Vector:
    """Return how strongly a body with these resonances (Hz, gain) answers each frequency."""
    answer = np.full_like(hz, 0.5)
    for centre, gain in peaks:
        answer += gain * np.exp(-0.5 * (np.log2(hz / centre) / 0.25) ** 2)
    return answer
