"""Songs and events as JSON."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from bandstand.media.media import Media
from bandstand.store import favourites
from bandstand.store.events import events
from bandstand.store.events.events import Event
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.requests.context import Context

_GAINS: Final = ("track_gain", "track_peak", "album_gain", "album_peak")


def song_json(
    song: SongRecord, media: Media | None, marked: Collection[str] | None = None
) -> dict[str, Any]:
    """Return a song as listeners see it: its tags, and the addresses of its audio and cover.

    A song without a title has the name of its file; the file's folder is for administrators only.
    `marked` are favourites; without them it is left open whether the song is one.
    """
    tags = song.tags
    gains = {name: getattr(tags, name) for name in _GAINS}
    has_cover = media is not None and song.is_present and media.has_cover(song)
    return {
        "id": song.id,
        "title": song.title,
        "artist": tags.artist,
        "album": tags.album,
        "album_artist": tags.album_artist,
        "genre": tags.genre,
        "year": tags.year,
        "track": tags.track,
        "disc": tags.disc,
        "duration": song.duration,
        "replay_gain": None if all(gain is None for gain in gains.values()) else gains,
        "has_cover": has_cover,
        "audio": audio_address(song.id),
        "cover": f"/api/songs/{song.id}/cover" if has_cover else None,
        "recording_mbid": tags.recording_mbid,
        "is_present": song.is_present,
        "favourite": None if marked is None else song.id in marked,
    }


def songs_json(context: Context, account: str, found: Sequence[SongRecord]) -> list[dict[str, Any]]:
    """Return songs as an account sees them. It reads the store."""
    with context.store.reading() as connection:
        marked = favourites.songs_of(connection, account, [song.id for song in found])
    return [song_json(song, context.media, marked) for song in found]


def audio_address(song: str) -> str:
    """Return the address of a song's audio."""
    return f"/api/songs/{song}/audio"


# Fields that only some kinds of event have.
_PARTS: Final = ("song", "stars", "scope", "target", "until", "retracts")


def event_json(event: Event) -> dict[str, Any]:
    """Return an event: its number in the log, its time (UTC, ms), and its fields."""
    fields = {name: getattr(event, name) for name in _PARTS if getattr(event, name) is not None}
    if event.played_ms is not None:
        fields["played_seconds"] = event.played_ms / 1_000
    return {"seq": event.seq, "at": event.at, "kind": event.kind, "key": event.key, **fields}


def history_json(
    connection: Connection, account: str, listed: Sequence[Event]
) -> list[dict[str, Any]]:
    """Return events of an account as its history shows them.

    Each says whether it was retracted; an event of a song has its names, and a retraction the event
    that it retracts.
    """
    earlier = events.many(connection, account, [it.retracts for it in listed if it.retracts])
    shown = [*listed, *earlier.values()]
    retracted = events.retracted(connection, account, [event.seq for event in shown])
    wanted = sorted({song for event in shown if (song := _song_of(event)) is not None})
    names = {song.id: song for song in songs.many(connection, wanted)}

    def described(event: Event) -> dict[str, Any]:
        return {
            **event_json(event),
            "is_retracted": event.seq in retracted,
            **_named(names, _song_of(event)),
        }

    def whole(event: Event) -> dict[str, Any]:
        before = earlier.get(event.retracts or 0)
        more = {} if before is None else {"retracted": described(before)}
        return {**described(event), **more}

    return [whole(event) for event in listed]


def _song_of(event: Event) -> str | None:
    """Return the song of an event: heard, banned or snoozed."""
    return event.target if event.scope == "song" else event.song


def _named(names: Mapping[str, SongRecord], song: str | None) -> dict[str, Any]:
    if song is None or song not in names:
        return {}
    return {"title": names[song].title, "artist": names[song].tags.artist}
