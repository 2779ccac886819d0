"""How fast a clip is described, beside the nearest that librosa has to offer.

The two sets are not the same, only as near as librosa comes: the same frames of 512 samples
without overlap, zero crossings, centroid, roll-off at 0.9, onset strength for flux, 13 MFCC
from 40 bands, chroma, flatness, contrast for crest, and its tempo. Means and spreads are not
asked of it.

How librosa is called matters more than what it is asked for. Of three ways the middle one is
measured here:

each function by itself     computes the spectrum again and again: the slowest
one shared spectrum         is handed to every function that takes one; the tempo, which takes
                            none, makes an onset strength of its own
one shared onset strength   is handed to the tempo besides: the fastest

All are in the single precision that it prefers.

librosa is a part of the development tools only, so it is imported here when it is measured.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.audio.descriptors.definition import FRAME, SAMPLE_RATE
from bandstand.music.audio.descriptors.summary import describe
from bandstand_lab.speed.timing import Spread, in_turn, paired_ratio, timed, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Vector

_FILTERS: Final = 40
_COEFFICIENTS: Final = 13
# Six octaves, which is librosa's own choice, do not fit below 8 kHz.
_CONTRAST_OCTAVES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioSpeed:
    """Processor time for one clip, and how many times faster ours is."""

    ours_seconds: Spread
    librosa_seconds: Spread
    ratio: Spread  # librosa's time over ours, turn by turn

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        return {
            "ours_seconds": self.ours_seconds.as_json(),
            "librosa_seconds": self.librosa_seconds.as_json(),
            "ratio": self.ratio.as_json(),
        }


def measure(samples: Vector, repeats: int) -> AudioSpeed:
    """Return the times of `repeats` turns; each side describes the clip once in every turn."""
    if repeats < 1:
        msg = f"repeats must be at least 1, got {repeats}"
        raise InvalidInputError(msg)
    tasks = {"ours": lambda: describe(samples), "librosa": _librosa_task(samples)}
    for task in tasks.values():
        task()  # the first run loads, compiles and fills caches
    times: dict[str, list[float]] = {name: [] for name in tasks}
    with undisturbed():
        for turn in range(repeats):
            for name in in_turn(list(tasks), turn):
                times[name].append(timed(tasks[name]).seconds)
    return AudioSpeed(
        ours_seconds=Spread(runs=tuple(times["ours"])),
        librosa_seconds=Spread(runs=tuple(times["librosa"])),
        ratio=paired_ratio(times["librosa"], times["ours"]),
    )


def _librosa_task(samples: Vector) -> Callable[[], object]:
    """Return what librosa is to do, on a clip that is in its own precision already."""
    try:
        import librosa  # noqa: PLC0415  (only whoever measures has it)
    except ImportError as problem:
        msg = "librosa must be installed to compare with it, found none; it is among the test tools"
        raise BandstandError(msg) from problem
    clip = np.asarray(samples, dtype=np.float32)

    def task() -> object:
        # It warns of clips without pitch, which says nothing about its speed.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _nearest_set(librosa, clip)

    return task


def _nearest_set(librosa: Any, clip: Any) -> list[Any]:
    """Return librosa's features that come nearest to the 159 descriptors, and its tempo."""
    feature = librosa.feature
    rate = {"sr": SAMPLE_RATE}
    magnitude = np.abs(librosa.stft(clip, n_fft=FRAME, hop_length=FRAME, window="hamming"))
    power = np.square(magnitude)
    mel = librosa.power_to_db(feature.melspectrogram(S=power, n_mels=_FILTERS, **rate))
    return [
        feature.zero_crossing_rate(clip, frame_length=FRAME, hop_length=FRAME),
        feature.spectral_centroid(S=magnitude, n_fft=FRAME, **rate),
        feature.spectral_rolloff(S=magnitude, n_fft=FRAME, roll_percent=0.9, **rate),
        librosa.onset.onset_strength(S=mel, hop_length=FRAME, **rate),
        feature.mfcc(S=mel, n_mfcc=_COEFFICIENTS),
        feature.chroma_stft(S=power, n_fft=FRAME, **rate),
        feature.spectral_flatness(S=magnitude),
        feature.spectral_contrast(S=magnitude, n_fft=FRAME, n_bands=_CONTRAST_OCTAVES, **rate),
        feature.tempo(y=clip, hop_length=FRAME, **rate),
    ]
