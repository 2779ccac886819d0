"""`bandstand bench --audio DIR`: decoding and describing real tracks, beside librosa.

    python -m benchmarks.audio '{"folder": "/music", "json": null}'

It works in this process, without the limited children of a scan, so that only the work itself is
timed; so it is for trusted tracks.

librosa's features are not the same, only as near as it comes, in the single precision that it
prefers. One spectrum is handed to every function that takes one; the tempo, which takes none, makes
an onset strength of its own. librosa is one of the development tools only.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.music.audio.decode import Recording, read
from bandstand.music.audio.descriptors.definition import CLIP_SECONDS, FRAME, SAMPLE_RATE
from bandstand.music.audio.descriptors.summary import describe
from bandstand.music.audio.tracker_support import NeedsProgramError
from bandstand.music.library.content import open_beneath
from bandstand.music.library.walk import library_roots, walk
from bandstand_lab.speed.timing import in_turn, paired_ratio, timed, undisturbed
from benchmarks.program import measure_parts, run_as_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.types import Vector
    from benchmarks.program import OnRun

_MAX_TRACKS: Final = 500
_COMPARED_CLIPS: Final = 12
_TURNS: Final = 5
_FILTERS: Final = 40
_COEFFICIENTS: Final = 13
# Six octaves, which is librosa's own choice, do not fit below 8 kHz.
_CONTRAST_OCTAVES: Final = 5


def measure_folder(folder: Path, on_run: OnRun) -> dict[str, Any]:
    """Return the processor time of decoding and describing, track by track."""
    on_run(f"decoding and describing the tracks in {folder}")
    decoding: list[float] = []
    describing: list[float] = []
    clips: list[Vector] = []
    failed = 0
    for root, path in _tracks(library_roots([folder])):
        try:
            decoded = timed(partial(_read, root, path))
        except (NeedsProgramError, UnreadableAudioError):
            failed += 1
            continue
        samples = decoded.result.samples
        decoding.append(decoded.seconds)
        describing.append(timed(partial(describe, samples)).seconds)
        if len(clips) < _COMPARED_CLIPS and len(samples) >= CLIP_SECONDS * SAMPLE_RATE:
            clips.append(samples)
    if not decoding:
        msg = f"a folder with tracks that can be decoded was expected, got none in {folder}"
        raise InvalidInputError(msg)
    mean, ratio = float(np.mean(decoding) + np.mean(describing)), _compared(clips)
    row = {
        "tracks": len(decoding),
        "failed": failed,
        "decode_ms": 1_000 * float(np.median(decoding)),
        "describe_ms": 1_000 * float(np.median(describing)),
        "mean_ms": 1_000 * mean,
        "librosa_ratio": ratio,
    }
    figures = {"decoding and describing a track": mean, "librosa / ours": ratio}
    return {"rows": [row], "figures": figures}


def _tracks(roots: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    found = ((folder.root, file.path) for folder in walk(roots) for file in folder.files)
    for _, track in zip(range(_MAX_TRACKS), found, strict=False):
        yield track


def _read(root: bytes, path: bytes) -> Recording:
    with open_beneath(root, path) as file:
        return read(file, extension=Path(os.fsdecode(path)).suffix.lower())


def _compared(clips: list[Vector]) -> float | None:
    """Return librosa's time over ours, the median over clips; None where they are not compared."""
    try:
        ratios = [librosa_ratio(clip, _TURNS) for clip in clips]
    except BandstandError as problem:
        sys.stderr.write(f"Not compared with librosa: {problem}\n")
        return None
    return float(np.median(ratios)) if ratios else None


def librosa_ratio(samples: Vector, turns: int) -> float:
    """Return librosa's time over ours, a median; each describes the clip once in every turn."""
    tasks = {"ours": lambda: describe(samples), "librosa": _librosa_task(samples)}
    for task in tasks.values():
        task()  # the first run loads, compiles and fills caches
    times: dict[str, list[float]] = {name: [] for name in tasks}
    with undisturbed():
        for turn in range(turns):
            for name in in_turn(list(tasks), turn):
                times[name].append(timed(tasks[name]).seconds)
    return paired_ratio(times["librosa"], times["ours"]).median


def _librosa_task(samples: Vector) -> Callable[[], object]:
    """Return librosa's task, on a clip that is in its own precision already."""
    try:
        import librosa
    except ImportError as problem:
        msg = "librosa must be installed to compare with it, found none; it is among the test tools"
        raise BandstandError(msg) from problem
    clip = np.asarray(samples, dtype=np.float32)

    def task() -> object:
        # It warns of clips without pitch, which says nothing about its speed.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _nearest_features(librosa, clip)

    return task


def _nearest_features(librosa: Any, clip: Any) -> list[Any]:
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


if __name__ == "__main__":
    run_as_program(
        lambda folder: measure_parts(
            {"audio": partial(measure_folder, Path(folder))}, {"folder": folder}
        )
    )
