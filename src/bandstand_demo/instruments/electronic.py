"""Electronic voices: pulses, saws, low sines and pads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_demo.oscillators import ensemble, harmonics, heard_harmonics, noise, ring
from bandstand_demo.pitches import hertz
from bandstand_demo.sound import edged, samples, swell

if TYPE_CHECKING:
    from bandstand_demo.sound import Sound, Wave

# Levels of the harmonics of the pads.
_WARM: Final = tuple(float(1.0 / k**1.9) for k in harmonics(24))
_GLASS: Final = tuple(float(np.exp(-0.55 * k) * (1.6 if k in {4, 6} else 1.0)) for k in range(12))
_CHOIR: Final = (1.0, 0.55, 0.42, 0.20, 0.10, 0.09, 0.08, 0.05, 0.03, 0.02)


def square(pitch: float, seconds: float, force: float) -> Sound:
    """Return a square wave, as an early game console played its tunes."""
    return _pulse(pitch, seconds, force, duty=0.5)


def pulse(pitch: float, seconds: float, force: float) -> Sound:
    """Return a pulse that is high for a quarter of its period: thinner than a square wave."""
    return _pulse(pitch, seconds, force, duty=0.25)


def triangle(pitch: float, seconds: float, force: float) -> Sound:  # noqa: ARG001 (consoles had no force here)
    """Return a triangle wave, the bass of an early game console."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 24)[::2]
    return edged(
        ring(hz * number, _alternating(len(number)) / number**2, 0.0, count),
        attack=0.002,
        release=0.01,
    )


def sub_bass(pitch: float, seconds: float, force: float) -> Sound:
    """Return an almost pure low tone, with a little of its octave for small speakers."""
    hz, count = hertz(pitch), samples(seconds)
    levels = np.array([1.0, 0.22, 0.10 * force, 0.04])
    return edged(ring(hz * harmonics(4), levels, 0.2, count), attack=0.008, release=0.05)


def saw_bass(pitch: float, seconds: float, force: float) -> Sound:
    """Return a saw through a filter that closes: each harmonic dies the sooner the higher it is."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 40)
    levels = np.exp(-hz * number / (900 + 1600 * force)) / number
    return edged(ring(hz * number, levels, 1.0 + 0.9 * number, count), attack=0.003, release=0.04)


def reese(pitch: float, seconds: float, force: float) -> Sound:
    """Return two saws a little apart, whose beating growls."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 30)
    levels = np.exp(-hz * number / (420 + 420 * force)) / number**0.8
    pair = np.concatenate([hz * number * 2 ** (-11 / 1200), hz * number * 2 ** (11 / 1200)])
    return edged(ring(pair, np.tile(levels, 2) / 2, 0.15, count), attack=0.01, release=0.06)


def stab(pitch: float, seconds: float, force: float) -> Sound:
    """Return a short bright chord tone of a house record: detuned saws, closing quickly."""
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 30)
    levels = np.exp(-hz * number / (1500 + 2500 * force)) / number
    pair = np.concatenate([hz * number * 2 ** (-7 / 1200), hz * number * 2 ** (7 / 1200)])
    sound = ring(pair, np.tile(levels, 2) / 2, np.tile(3.0 + 0.8 * number, 2), count)
    return edged(sound, attack=0.004, release=0.08)


def warm_pad(pitch: float, seconds: float, force: float) -> Sound:
    """Return many slow, soft saws: a carpet of sound."""
    return _pad(pitch, seconds, force, levels=_WARM, width=22.0)


def glass_pad(pitch: float, seconds: float, force: float) -> Sound:
    """Return a pad like glasses rubbed at the rim."""
    return _pad(pitch, seconds, force, levels=_GLASS, width=9.0)


def choir(pitch: float, seconds: float, force: float) -> Sound:
    """Return a far choir on an open vowel."""
    return _pad(pitch, seconds, force, levels=_CHOIR, width=32.0)


def surf(pitch: float, seconds: float, force: float) -> Sound:
    """Return a wave that comes up a beach and goes: noise, the brighter the higher the pitch."""
    count, high = samples(seconds), 6 * hertz(pitch) * (0.5 + force)
    rise = np.hanning(count + 2)[1:-1].astype(np.float32)
    sides = [noise(count, low=250.0, high=high, seed=seed) * rise for seed in (60, 61)]
    return np.stack(sides) * np.float32(0.2)


def _pulse(pitch: float, seconds: float, force: float, *, duty: float) -> Sound:
    hz, count = hertz(pitch), samples(seconds)
    number = heard_harmonics(hz, 60)
    # The highest harmonics fade, so that it is cheerful and not piercing.
    soft = np.exp(-hz * number / (5000 + 4000 * force))
    levels = np.sin(np.pi * duty * number) / number * soft
    sound = ring(hz * number, levels * 0.8, 0.0, count) * swell(count, fall=0.12, level=0.65)
    return edged(sound, attack=0.002, release=0.012)


def _pad(
    pitch: float, seconds: float, force: float, *, levels: tuple[float, ...], width: float
) -> Sound:
    """Return left and right from two places of one loop, so that they differ."""
    dimmed = tuple(
        round(level * float(np.exp(-(1.0 - force) * 0.25 * k)), 6) for k, level in enumerate(levels)
    )
    loop, count = ensemble(hertz(pitch), dimmed, width), samples(seconds)
    start = int(pitch * 997) % len(loop)
    sides = [_tiled(loop, start + shift, count) for shift in (0, len(loop) // 3)]
    rise = min(1.6, seconds / 3)
    return edged(np.stack(sides) * np.float32(0.35), attack=rise, release=min(2.0, seconds / 2))


def _tiled(loop: Wave, start: int, count: int) -> Wave:
    return np.resize(np.roll(loop, -start), count)


def _alternating(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
