"""Finds the songs that other programs mean: by MusicBrainz recording, else by artist and title.

Names are compared as in `names` and `tags`. A title without words such as "live" or "remastered"
stands for all versions of a song, so the length decides among them; where it is not known, the
whole title does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.catalogue.columns import digest_of
from bandstand.music.catalogue.names import song_key
from bandstand.music.catalogue.tags import artist_name
from bandstand.store.songs import songs
from bandstand.store.songs.pages import name_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bandstand.music.catalogue.columns import SongColumns
    from bandstand.store.songs.songs import SongRecord
    from bandstand.types import AnyArray

MAX_DIFFERENCE: Final = 10.0  # seconds between two lengths of one recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A song in the words of another program."""

    title: str
    artist: str
    seconds: float | None = None
    recording: str | None = None  # its MusicBrainz id


def match(
    connection: Connection, columns: SongColumns, wanted: Sequence[Wanted]
) -> list[SongRecord | None]:
    """Return the song that each of `wanted` means; None where the library has none."""
    recordings = [digest_of((one.recording or "").lower()) for one in wanted]
    titles = [digest_of(song_key(one.title)) for one in wanted]
    rows = _with_digests(columns.recording, recordings) | _with_digests(columns.title, titles)
    same: dict[tuple[str, int], list[SongRecord]] = {}
    places = np.flatnonzero(rows).tolist()
    ids = [bytes(columns.ids[row]).decode() for row in places]
    records = {record.id: record for record in songs.many(connection, ids)}
    for row, song in zip(places, ids, strict=True):
        if song in records:
            same.setdefault(("recording", int(columns.recording[row])), []).append(records[song])
            same.setdefault(("title", int(columns.title[row])), []).append(records[song])
    return [
        _nearest(one, same.get(("recording", recording), []) if recording else [])
        or _nearest(one, [it for it in same.get(("title", title), []) if _may_be(one, it)])
        for one, recording, title in zip(wanted, recordings, titles, strict=True)
    ]


def _with_digests(column: AnyArray, digests: list[int]) -> AnyArray:
    """Return which rows have one of some digests, of which 0 stands for none."""
    rows: AnyArray = np.isin(column, np.array([it for it in digests if it], dtype=column.dtype))
    return rows


def _may_be(wanted: Wanted, song: SongRecord) -> bool:
    """Return whether a song of the same title is by the same artist, and the same version."""
    artist = artist_name(wanted.artist)
    if artist not in {artist_name(song.tags.artist), artist_name(song.tags.album_artist)} - {None}:
        return False
    if wanted.seconds is None:
        return name_key(wanted.title) == name_key(song.title)
    return abs(song.duration - wanted.seconds) <= MAX_DIFFERENCE


def _nearest(wanted: Wanted, found: Sequence[SongRecord]) -> SongRecord | None:
    """Return the song with the same whole title and the nearest length."""

    def distance(song: SongRecord) -> tuple[bool, float, str]:
        is_other = name_key(song.title) != name_key(wanted.title)
        return is_other, abs(song.duration - (wanted.seconds or song.duration)), song.id

    return min(found, key=distance, default=None)
