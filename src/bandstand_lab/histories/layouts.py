"""Which column of a table means what: by its header, or by how the first row looks.

Tables without a header are known by their shape: the Last.fm 1K data set, and what exporters
of Last.fm's scrobbles write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.era import plain_seconds, seconds_of_text
from bandstand_lab.histories.places import listed

PLAIN: Final = "CSV"
_LASTFM: Final = "Last.fm"

_LISTENER: Final = ("listener", "listener_id", "user", "user_id", "userid", "username", "user_name")
_ITEM: Final = (
    *("item", "item_id", "track", "track_name", "trackname", "song", "song_name", "title"),
    *("track_id", "song_id", "track_uri", "name"),
)
_ARTIST: Final = ("artist", "artist_name", "artistname")
_TIME: Final = (
    *("epoch_s", "epoch_ms", "epoch", "uts", "timestamp", "time", "ts", "listened_at", "played_at"),
    *("datetime", "date_time", "utc_time", "date"),
)
_ELAPSED: Final = ("seconds",)
_PLAYED: Final = {
    **dict.fromkeys(("ms_played", "msplayed", "played_ms"), 1e-3),
    **dict.fromkeys(("seconds_played", "s_played", "played_s", "played_seconds"), 1.0),
}
_SKIPPED: Final = ("skipped", "skip")
_LASTFM_ONLY: Final = {"uts", "artist_mbid", "track_mbid", "album_mbid", "albumid"}

Clock: TypeAlias = Callable[[str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where in a row each thing is; None where the table does not tell it."""

    kind: str
    width: int
    item: int
    time: int
    artist: int | None = None
    listener: int | None = None
    played: int | None = None
    played_unit: float = 1.0  # in seconds
    skipped: int | None = None
    clock: Clock = seconds_of_text
    is_dated: bool = True
    has_header: bool = True
    whose: str | None = None  # the one listener, if the header names one

    @property
    def is_service(self) -> bool:
        """Return whether a service wrote it."""
        return self.kind != PLAIN


def layout_of_header(header: list[str]) -> Layout:
    """Return where things are in a table with this header; an error says what it lacks."""
    whose = _whose(header)
    names = [_column_name(field) for field in header]
    time, elapsed, item = (_place(names, wanted) for wanted in (_TIME, _ELAPSED, _ITEM))
    moment = elapsed if time is None else time
    if item is None or moment is None:
        lacking = "a song (track, item, …)" if item is None else "a time (timestamp, epoch_s, …)"
        msg = f"expected a header with a column for {lacking}, got {listed(header)}"
        raise InvalidInputError(msg)
    twice = [field for place, field in enumerate(names) if field and field in names[:place]]
    if twice:
        msg = f"column names must differ, got {twice[0]!r} twice"
        raise InvalidInputError(msg)
    played = _place(names, tuple(_PLAYED))
    is_lastfm = whose is not None or not _LASTFM_ONLY.isdisjoint(names)
    return Layout(
        kind=f"{_LASTFM} CSV" if is_lastfm else PLAIN,
        width=len(header),
        item=item,
        time=moment,
        artist=_place(names, _ARTIST),
        listener=_place(names, _LISTENER),
        played=played,
        played_unit=1.0 if played is None else _PLAYED[names[played]],
        skipped=_place(names, _SKIPPED),
        clock=plain_seconds if time is None else seconds_of_text,
        is_dated=time is not None,
        whose=whose,
    )


def layout_without_header(fields: list[str], delimiter: str) -> Layout | None:
    """Return where things are in a table whose first row this is; None if that is a header."""
    width = len(fields)
    if delimiter == "\t" and width >= 6 and _is_moment(fields[1]) and not fields[1].isdecimal():
        # userid, timestamp, artist's id, artist, song's id, song
        layout = Layout(
            kind=f"{_LASTFM} 1K", width=6, item=5, time=1, artist=3, listener=0, has_header=False
        )
    elif delimiter == "\t" and width >= 3 and _is_moment(fields[0]):
        # moment, song, artist, album, ids
        layout = Layout(
            kind=f"{_LASTFM} TSV", width=width, item=1, time=0, artist=2, has_header=False
        )
    elif delimiter != "\t" and width == 4 and _is_moment(fields[3]):
        # artist, album, song, moment
        layout = Layout(kind=f"{_LASTFM} CSV", width=4, item=2, time=3, artist=0, has_header=False)
    else:
        return None
    return layout


def _is_moment(text: str) -> bool:
    try:
        seconds_of_text(text.strip())
    except (ValueError, OverflowError):
        return False
    return True


def _column_name(field: str) -> str:
    name = field.strip().lower().replace(" ", "_").replace("-", "_")
    return name.split("#")[0]


def _whose(header: list[str]) -> str | None:
    """Return the listener named in a column such as Date#somebody."""
    for field in header:
        column, sign, listener = field.strip().partition("#")
        if sign and column.lower() == "date" and listener:
            return listener
    return None


def _place(names: list[str], wanted: tuple[str, ...]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)
