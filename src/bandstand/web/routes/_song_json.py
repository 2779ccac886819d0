"""A song as every answer shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bandstand.media.playlist_formats import title_of

if TYPE_CHECKING:
    from bandstand.media.media import Media
    from bandstand.store.songs.songs import SongRecord
    from bandstand.types import Tags


def song_json(song: SongRecord, media: Media | None) -> dict[str, Any]:
    """Return what listeners may know of a song: what its tags say, and where its sound is.

    A song without a title is called by its file's name; where that file is, only administrators
    may know.
    """
    tags = song.tags
    has_cover = media is not None and song.is_present and media.has_cover(song)
    return {
        "id": song.id,
        "title": title_of(song),
        "artist": tags.artist,
        "album": tags.album,
        "album_artist": tags.album_artist,
        "genre": tags.genre,
        "year": tags.year,
        "track": tags.track,
        "disc": tags.disc,
        "duration": song.duration,
        "replay_gain": _replay_gain(tags),
        "has_cover": has_cover,
        "audio": audio_address(song.id),
        "cover": f"/api/songs/{song.id}/cover" if has_cover else None,
        "recording_mbid": tags.recording_mbid,
        "is_present": song.is_present,
    }


def audio_address(song: str) -> str:
    """Return where the sound of a song is."""
    return f"/api/songs/{song}/audio"


def _replay_gain(tags: Tags) -> dict[str, float | None] | None:
    gains = {
        "track_gain": tags.track_gain,
        "track_peak": tags.track_peak,
        "album_gain": tags.album_gain,
        "album_peak": tags.album_peak,
    }
    return None if all(value is None for value in gains.values()) else gains
