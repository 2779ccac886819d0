"""What is to be sent next, as the log says it.

A play is sent when it ends: it has one end, so it is sent once, and how long it was heard is known.
It counts if the song is longer than 30 seconds and was heard half, or for four minutes. An event
that was taken back meanwhile is not sent, nor one of private mode, nor a play that came from
another program: that program can send it on itself, and no play goes round in circles.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from bandstand.store.events.values import ENDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bandstand.store.events.events import Event
    from bandstand.store.songs.songs import SongRecord

SUBMITTED: Final = "listenbrainz/"  # how the key of an event begins that another program has sent

_LEAST_SECONDS: Final = 30
_ENOUGH_SECONDS: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A play of a song; or, with `is_loved`, that it has become a favourite or is one no longer."""

    seq: int  # the event that says so
    song: SongRecord
    is_loved: bool | None = None
    began_at: int = 0  # seconds since 1970
    seconds: int = 0  # of it that were heard


def artist_of(song: SongRecord) -> str:
    """Return who plays a song; empty where nothing says so."""
    return song.tags.artist or song.tags.album_artist or ""


def next_delivery(
    events: Sequence[Event],
    *,
    unmarks: Mapping[int, str],
    silent: Collection[int],
    songs: Mapping[str, SongRecord],
    most: int,
) -> list[Outgoing]:
    """Return what is to be sent first: at most `most` plays, or one love.

    `unmarks` has the songs of the favourites that an event takes back, by its number; `silent` are
    the numbers of events that are not to be sent.
    """
    found = (_outgoing(event, unmarks, songs) for event in events if event.seq not in silent)
    items = [item for item in found if item is not None]
    plays = takewhile(lambda item: item.is_loved is None, items[:most])
    return list(plays) or items[:1]


def counts(seconds: float, length: float) -> bool:
    """Return whether some seconds of a song of some length are a play for other servers.

    >>> counts(101, 200), counts(99, 200), counts(241, 3_600), counts(29, 29)
    (True, False, True, False)
    """
    return length > _LEAST_SECONDS and seconds >= min(length / 2, _ENOUGH_SECONDS)


def _outgoing(
    event: Event, unmarks: Mapping[int, str], songs: Mapping[str, SongRecord]
) -> Outgoing | None:
    """Return what an event is to another server, which knows a song by its title and artist."""
    is_end = event.kind in ENDS and not event.key.startswith(SUBMITTED)
    is_loved = event.kind == "favourite" and event.scope == "song"
    name = event.song if is_end else event.target if is_loved else unmarks.get(event.seq)
    song = songs.get(name or "")
    if song is None or not song.tags.title or not artist_of(song):
        return None
    if not is_end:
        # Feedback names a song by its recording.
        is_known = song.tags.recording_mbid is not None
        return Outgoing(seq=event.seq, song=song, is_loved=is_loved) if is_known else None
    seconds = song.duration if event.played_ms is None else event.played_ms / 1_000
    if not counts(seconds, song.duration):
        return None
    began_at = round(event.at / 1_000 - seconds)
    return Outgoing(seq=event.seq, song=song, began_at=began_at, seconds=round(seconds))
