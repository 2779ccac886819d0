"""Mixes decoded frames of any kind to 16 kHz, one channel, 16 bits.

The 16-bit way is the paper's: channels are averaged so that the sum cannot clip, which
swresample does for whole numbers only (its mix of floats is √2 louder for stereo), and the
result is rounded to multiples of 1/32768.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import av.error
import numpy as np
from av.audio.frame import AudioFrame
from av.filter import Graph

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import check_rate
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES, CLIP_SECONDS, SAMPLE_RATE
from bandstand.types import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bandstand.types import Vector

# Codecs that keep floats as they are, and so also those that are no numbers.
_FLOAT_CODECS: Final = frozenset(
    {
        "als",
        "pcm_f16le",
        "pcm_f24le",
        "pcm_f32be",
        "pcm_f32le",
        "pcm_f64be",
        "pcm_f64le",
        "wavpack",
    }
)
# Frames that go in between two pulls, and samples that come out at once: a call costs more than
# the arithmetic for a short frame.
_FRAMES_PER_PULL: Final = 32
_SAMPLES_PER_PULL: Final = SAMPLE_RATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A clip: 16 kHz, mono, in [-1, 1); and the seconds of the whole track."""

    samples: Vector
    duration: float


class _Kind(NamedTuple):
    """The format of all frames in one filter graph."""

    rate: int
    sample_format: str
    layout: str


class MonoClip:
    """The clip of a track that begins at `start`, in seconds, filled frame by frame."""

    def __init__(self, start: float, *, codec: str) -> None:
        self._start = start
        self._needs_check = codec in _FLOAT_CODECS
        self._pieces: list[NDArray[np.int16]] = []
        self._graph: Graph | None = None
        self._kind: _Kind | None = None
        self._waiting = 0
        self.is_full = False

    def add(self, frame: AudioFrame, at: float) -> None:
        """Add one decoded frame that begins at second `at` of the track."""
        if self._needs_check:
            _check_finite(frame)
        kind = _Kind(frame.sample_rate, frame.format.name, frame.layout.name)
        if self._graph is None or kind != self._kind:
            self._change(kind)
        frame.pts = round(at * kind.rate)
        self._push(frame)

    def samples(self) -> Vector:
        """Return the clip: float64 in [-1, 1), at most 30 s."""
        self._drain()
        whole = np.concatenate([np.zeros(0, np.int16), *self._pieces])[:CLIP_SAMPLES]
        clip: Vector = frozen(whole / 32768.0)
        return clip

    def _change(self, kind: _Kind) -> None:
        """Begin, or go on with a stream that changes on its way."""
        self._drain()
        done = sum(piece.size for piece in self._pieces) / SAMPLE_RATE
        self.is_full = done >= CLIP_SECONDS
        if not self.is_full:
            self._graph = _graph(kind, self._start, CLIP_SECONDS - done)
            self._kind = kind

    def _push(self, frame: AudioFrame | None) -> None:
        if self._graph is not None:
            with suppress(av.error.EOFError):  # it has all it needs; the next pull notes that
                self._graph.push(frame)
            self._waiting += 1
            if self._waiting >= _FRAMES_PER_PULL or frame is None:
                self._pull(self._graph)

    def _pull(self, graph: Graph) -> None:
        self._waiting = 0
        try:
            while True:
                self._pieces.append(_mono(graph.pull()))
        except av.error.BlockingIOError:
            pass  # it needs more
        except av.error.EOFError:
            self.is_full = True

    def _drain(self) -> None:
        self._push(None)
        self._graph = None


def _graph(kind: _Kind, start: float, duration: float) -> Graph:
    """Return filters that cut the clip out, mix it to one channel and resample it.

    Frames are cut by their time stamps, as `ffmpeg -ss … -t 30` does.
    """
    check_rate(kind.rate)
    graph = Graph()
    graph.threads = 1
    try:
        filters = (
            graph.add(
                "abuffer",
                sample_rate=str(kind.rate),
                sample_fmt=kind.sample_format,
                channel_layout=kind.layout,
                time_base=f"1/{kind.rate}",
            ),
            graph.add("atrim", start_pts=str(round(start * kind.rate)), duration=f"{duration:.6f}"),
            graph.add(
                "aformat",
                sample_rates=str(SAMPLE_RATE),
                sample_fmts="s16",
                channel_layouts="mono",
            ),
            graph.add("abuffersink"),
        )
        graph.link_nodes(*filters).configure()
        graph.set_audio_frame_size(_SAMPLES_PER_PULL)
    except av.error.FFmpegError:
        msg = f"expected channels that can be mixed to one, got {kind.layout}"
        raise UnreadableAudioError(msg) from None
    return graph


def _mono(frame: object) -> NDArray[np.int16]:
    assert isinstance(frame, AudioFrame)  # noqa: S101 - there are no pictures in this graph
    return frame.to_ndarray().reshape(-1).astype(np.int16)


def _check_finite(frame: AudioFrame) -> None:
    # Rounding to 16 bits would turn infinity into noise, silently.
    if not np.isfinite(frame.to_ndarray()).all():
        msg = "expected samples that are finite numbers, got NaN or infinity"
        raise UnreadableAudioError(msg)
