"""Types that all parts share: arrays, minutes, the tags and the analysis of a track.

The audio part makes tags and analyses, the store keeps them; neither knows the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NewType, TypeAlias

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
# A stack of matrices, one for each node of a grid or each chain of a sampler.
Stack: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]
# A catalogue's features, in single or double precision, perhaps mapped from a file.
Features: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.floating[Any]]]
Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
# Some songs of a catalogue, by their places in it.
Rows: TypeAlias = "Indices | Sequence[int] | slice"


def frozen(array: Any) -> Any:
    """Return `array` as a read-only float64 view; the values are not copied."""
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def read_only(array: Any) -> Any:
    """Return `array` as a read-only view of its own type; the values are not copied."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


Minutes = NewType("Minutes", float)

# A song never heard counts as heard this long ago, and no elapsed time counts
# as longer (paper, section 5.2.1: "one month").
MONTH: Final = Minutes(43_200.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """The tags of an audio file; missing ones are None.

    All text is clean: valid Unicode without control characters, not empty, of bounded length.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    genre: str | None = None
    year: int | None = None
    track: int | None = None
    disc: int | None = None
    recording_mbid: str | None = None  # MusicBrainz identifiers, as lower-case UUIDs
    release_mbid: str | None = None
    artist_mbid: str | None = None
    track_gain: float | None = None  # ReplayGain, in decibels
    track_peak: float | None = None  # 1 is full scale
    album_gain: float | None = None
    album_peak: float | None = None
    cover: str | None = None  # media type of the picture inside the file: image/jpeg, …


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The analysis of one file, and the state of the file that it read."""

    tags: Tags
    duration: float  # seconds, of the whole track
    descriptors: Vector  # (159,), raw, as music.audio.descriptors.definition.NAMES lists them
    version: int  # of the descriptors; numbers of different versions are never mixed
    fingerprint: str  # of the content: the same for a moved or copied file
    size: int  # bytes
    modified_ns: int  # the file's modification time, in nanoseconds


def blocks(count: int, size: int) -> Iterator[slice]:
    """Yield slices of `size` that together are the range from 0 to `count`; the last may be less.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def row_blocks(rows: Indices, size: int) -> Iterator[Indices]:
    """Yield `rows`, at most `size` of them at a time."""
    for some in blocks(len(rows), size):
        yield rows[some]
