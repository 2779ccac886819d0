"""Drums and small percussion: shaped noise and short tones, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_demo.oscillators import noise, ring
from bandstand_demo.sound import RATE, decay, edged, samples

if TYPE_CHECKING:
    from bandstand_demo.sound import Sound, Wave


def kick() -> Sound:
    """Return a dance kick: a sine that falls from 160 to 48 Hz, and a click."""
    return _dive(0.32, high=160.0, low=48.0, fall=0.030, fade=0.11, click=0.08)


def soft_kick() -> Sound:
    """Return a bass drum under a felt beater."""
    return _dive(0.30, high=95.0, low=58.0, fall=0.025, fade=0.09, click=0.015)


def bass_drum() -> Sound:
    """Return the large drum of a marching band."""
    return _dive(0.55, high=85.0, low=52.0, fall=0.05, fade=0.18, click=0.03)


def chip_kick() -> Sound:
    """Return a falling tone, which was the kick of early game consoles."""
    return _dive(0.14, high=330.0, low=60.0, fall=0.022, fade=0.05, click=0.0)


def snare() -> Sound:
    """Return a snare drum: a skin and its wires."""
    return _snare(0.24, skin=190.0, wires=(1100, 9000), fade=0.07, seed=31)


def field_snare() -> Sound:
    """Return the tight snare drum of a marching band."""
    return _snare(0.16, skin=260.0, wires=(1500, 8000), fade=0.04, seed=32)


def brush() -> Sound:
    """Return a tap with wire brushes."""
    count = samples(0.20)
    wires = noise(count, low=1400, high=6500, seed=33) * decay(count, 0.045)
    return edged(wires * np.float32(0.27), attack=0.006, release=0.05)


def sweep() -> Sound:
    """Return a brush drawn over the skin: noise that swells and goes."""
    count = samples(0.55)
    hump = np.hanning(count + 2)[1:-1]
    stir = noise(count, low=1000, high=5000, seed=34) * hump.astype(np.float32)
    return edged(stir * np.float32(0.07), attack=0.01, release=0.05)


def clap() -> Sound:
    """Return hands clapping: four bursts, the last one with a tail."""
    count = samples(0.26)
    hands = noise(count, low=900, high=5500, seed=35)
    shape = np.zeros(count, dtype=np.float32)
    for begin, fade in ((0.0, 0.004), (0.010, 0.004), (0.020, 0.004), (0.030, 0.055)):
        first = int(begin * RATE)
        shape[first:] = np.maximum(shape[first:], decay(count - first, fade))
    return edged(hands * shape * np.float32(0.35), attack=0.002, release=0.04)


def hat() -> Sound:
    """Return a closed hi-hat."""
    return _metal(0.08, low=6500, fade=0.018, seed=36)


def open_hat() -> Sound:
    """Return an open hi-hat."""
    return _metal(0.32, low=6000, fade=0.11, seed=37)


def ride() -> Sound:
    """Return a ride cymbal: a stick's ping and a long soft shimmer."""
    count = samples(0.9)
    ping = ring(
        np.array([3150.0, 4420.0, 5230.0, 6870.0]), 0.06, np.array([9.0, 11.0, 13.0, 16.0]), count
    )
    return edged(ping + _metal(0.9, low=5000, fade=0.28, seed=38) * 0.35, attack=0.001, release=0.2)


def crash() -> Sound:
    """Return a crash cymbal."""
    return _metal(1.8, low=3200, fade=0.5, seed=39)


def chip_noise() -> Sound:
    """Return the noise channel of an early game console: samples held, not smooth."""
    count, hold = samples(0.12), 5
    steps = np.random.default_rng(40).choice([-1.0, 1.0], count // hold + 1)
    held = np.repeat(steps, hold)[:count].astype(np.float32)
    return edged(held * decay(count, 0.03) * np.float32(0.3), attack=0.002, release=0.02)


def _dive(
    seconds: float, *, high: float, low: float, fall: float, fade: float, click: float
) -> Sound:
    count = samples(seconds)
    time = np.arange(count) / RATE
    # The integral of low + (high − low)·exp(−t / fall).
    cycles = low * time + (high - low) * fall * (1.0 - np.exp(-time / fall))
    body = np.sin(2 * np.pi * cycles).astype(np.float32) * decay(count, fade)
    tick = noise(count, low=1500, high=6000, seed=30) * decay(count, 0.003) * np.float32(click)
    return edged(body + tick, attack=0.0015, release=0.05)


def _snare(
    seconds: float, *, skin: float, wires: tuple[float, float], fade: float, seed: int
) -> Sound:
    count = samples(seconds)
    head = ring(np.array([skin, 1.59 * skin]), np.array([0.5, 0.25]), np.array([22.0, 30.0]), count)
    rattle = noise(count, low=wires[0], high=wires[1], seed=seed) * decay(count, fade)
    return edged(head + rattle * np.float32(0.24), attack=0.001, release=0.05)


def _metal(seconds: float, *, low: float, fade: float, seed: int) -> Wave:
    count = samples(seconds)
    shimmer = noise(count, low=low, high=13_000, seed=seed) * decay(count, fade)
    return edged(shimmer * np.float32(0.25), attack=0.001, release=0.03)
