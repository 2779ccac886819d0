"""Events of the log as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand.media.playlist_formats import title_of
from bandstand.store.events import events
from bandstand.store.songs import songs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from bandstand.store.events.events import Event
    from bandstand.store.songs.songs import SongRecord

# What only some kinds of event have; left out where there is none.
_PARTS: Final = ("song", "stars", "scope", "target", "until", "retracts")


def event_json(event: Event) -> dict[str, Any]:
    """Return what is told of an event: its place in the log, its time (UTC, ms), what it says."""
    said = {name: getattr(event, name) for name in _PARTS if getattr(event, name) is not None}
    if event.played_ms is not None:
        said["played_seconds"] = event.played_ms / 1_000
    return {"seq": event.seq, "at": event.at, "kind": event.kind, "key": event.key, **said}


def told_json(connection: Connection, account: str, told: Sequence[Event]) -> list[dict[str, Any]]:
    """Return events of an account as its history shows them.

    Each says whether it was taken back, those about a song what that is called, and those that
    take something back what that was.
    """
    earlier = events.many(connection, account, [it.retracts for it in told if it.retracts])
    shown = [*told, *earlier.values()]
    taken_back = events.retracted(connection, account, [event.seq for event in shown])
    wanted = sorted({song for event in shown if (song := _song_of(event)) is not None})
    names = {song.id: song for song in songs.many(connection, wanted)}

    def described(event: Event) -> dict[str, Any]:
        return {
            **event_json(event),
            "is_retracted": event.seq in taken_back,
            **_named(names, _song_of(event)),
        }

    def whole(event: Event) -> dict[str, Any]:
        before = earlier.get(event.retracts or 0)
        more = {} if before is None else {"retracted": described(before)}
        return {**described(event), **more}

    return [whole(event) for event in told]


def _song_of(event: Event) -> str | None:
    """Return the song that an event is about: heard, or banned or snoozed by itself."""
    return event.target if event.scope == "song" else event.song


def _named(names: Mapping[str, SongRecord], song: str | None) -> dict[str, Any]:
    if song is None or song not in names:
        return {}
    return {"title": title_of(names[song]), "artist": names[song].tags.artist}
