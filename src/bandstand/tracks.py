"""What is known of one audio file: its tags, and what an analysis of it found.

The audio part makes these values, the store keeps them; neither knows the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bandstand.arrays import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """What a file says of itself; what it does not say is None.

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
    """What an analysis found in one file, and which state of the file it read."""

    tags: Tags
    duration: float  # seconds, of the whole track
    descriptors: Vector  # (159,), raw, as music.audio.descriptors.definition.NAMES lists them
    version: int  # of the descriptors; numbers of different versions are never mixed
    fingerprint: str  # of the content: the same for a moved or copied file
    size: int  # bytes
    modified_ns: int  # the file's modification time, in nanoseconds
