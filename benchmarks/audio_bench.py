"""`bandstand bench --audio DIR`: what decoding and describing real tracks costs.

A program of its own, because the number of threads has to be set before NumPy is loaded:

    python -m benchmarks.audio_bench '{"folder": "/music", "json": null}'

It works in this process, without the limited children of a scan, so that nothing but the work
itself is timed; so it is for tracks that are trusted.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.music.audio.decode import Recording, read
from bandstand.music.audio.descriptors.definition import CLIP_SECONDS, SAMPLE_RATE
from bandstand.music.audio.descriptors.summary import describe
from bandstand.music.audio.tracker_support import NeedsProgramError
from bandstand.music.library.content import open_beneath
from bandstand.music.library.walk import library_roots, walk
from bandstand_lab.speed.timing import Spread, timed
from benchmarks.audio_speed import measure
from benchmarks.program import run_as_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import Vector

_TRACKS: Final = 500  # at most; more say nothing new
_COMPARED: Final = 12  # whole clips that librosa describes too
_TURNS: Final = 5
_ASKED_SECONDS: Final = 0.25
_ASKED_RATIO: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioBench:
    """What was measured on the tracks of a folder."""

    decode_seconds: Spread  # processor time per track
    describe_seconds: Spread
    ratio: Spread | None  # librosa's time over ours, per clip; None without librosa
    failed: int

    @property
    def mean_seconds(self) -> float:
        """Return the processor time of decoding and describing, on average over the tracks."""
        runs = zip(self.decode_seconds.runs, self.describe_seconds.runs, strict=True)
        return sum(map(sum, runs)) / len(self.decode_seconds.runs)

    def as_json(self) -> dict[str, Any]:
        """Return everything that was measured."""
        return {
            "tracks": len(self.decode_seconds.runs),
            "failed": self.failed,
            "decode_seconds": self.decode_seconds.as_json(),
            "describe_seconds": self.describe_seconds.as_json(),
            "mean_seconds_per_track": self.mean_seconds,
            "mean_seconds_asked_at_most": _ASKED_SECONDS,
            "ratio_to_librosa": None if self.ratio is None else self.ratio.as_json(),
            "ratio_asked_at_least": _ASKED_RATIO,
        }


def measure_folder(folder: Path) -> AudioBench:
    """Return what decoding and describing the tracks below a folder costs, track by track."""
    roots = library_roots([folder])
    decoding: list[float] = []
    describing: list[float] = []
    clips: list[Vector] = []
    failed = 0
    for root, path in _tracks(roots):
        try:
            decoded = timed(partial(_read, root, path))
        except (NeedsProgramError, UnreadableAudioError):
            failed += 1
            continue
        samples = decoded.result.samples
        decoding.append(decoded.seconds)
        describing.append(timed(partial(describe, samples)).seconds)
        if len(clips) < _COMPARED and len(samples) >= CLIP_SECONDS * SAMPLE_RATE:
            clips.append(samples)
    if not decoding:
        msg = f"a folder with tracks that can be decoded was expected, got none in {folder}"
        raise InvalidInputError(msg)
    return AudioBench(
        decode_seconds=Spread(runs=tuple(decoding)),
        describe_seconds=Spread(runs=tuple(describing)),
        ratio=_compared(clips),
        failed=failed,
    )


def _tracks(roots: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    found = ((folder.root, file.path) for folder in walk(roots) for file in folder.files)
    for _, track in zip(range(_TRACKS), found, strict=False):
        yield track


def _read(root: bytes, path: bytes) -> Recording:
    with open_beneath(root, path) as file:
        return read(file, extension=Path(os.fsdecode(path)).suffix.lower())


def _compared(clips: list[Vector]) -> Spread | None:
    """Return librosa's time over ours, the median of some turns for each clip."""
    if not clips:
        sys.stderr.write("Not compared with librosa: no track lasts 30 s\n")
        return None
    try:
        return Spread(runs=tuple(measure(clip, _TURNS).ratio.median for clip in clips))
    except BandstandError as problem:
        sys.stderr.write(f"Not compared with librosa: {problem}\n")
        return None


def in_words(bench: AudioBench) -> str:
    """Return the figures as a few lines."""
    decode, description = bench.decode_seconds, bench.describe_seconds
    lines = [
        f"Tracks: {len(decode.runs)}; not decodable here: {bench.failed}",
        f"decode    median {decode.median * 1e3:7.1f} ms per track",
        f"describe  median {description.median * 1e3:7.1f} ms per clip, one thread",
    ]
    together, asked = bench.mean_seconds * 1e3, _ASKED_SECONDS * 1e3
    lines.append(f"together  mean   {together:7.1f} ms per track (asked: at most {asked:.0f})")
    if bench.ratio is not None:
        lines.append(
            f"librosa's nearest set takes {bench.ratio.median:.1f} times as long "
            f"(quartiles {bench.ratio.lower:.1f} to {bench.ratio.upper:.1f}; "
            f"asked: at least {_ASKED_RATIO:.0f})"
        )
    return "\n".join(lines)


def main(order: str) -> None:
    """Measure, and print or write what the order (JSON) asks for."""
    asked = json.loads(order)
    bench = measure_folder(Path(asked["folder"]))
    text = json.dumps(bench.as_json(), indent=2)
    if asked.get("json") == "-":
        sys.stdout.write(text + "\n")
        return
    if asked.get("json"):
        Path(asked["json"]).write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(in_words(bench) + "\n")


if __name__ == "__main__":
    run_as_program(main)
