"""Spotify's exports: the account data of the last year, and the extended streaming history.

    account data   endTime (minutes, UTC), artistName, trackName, msPlayed
    extended       ts (seconds, UTC), ms_played, master_metadata_track_name,
                   master_metadata_album_artist_name, reason_end, skipped, username (older ones)

Both tell when a play ended; it began as much earlier as it lasted. The same play is in both
with the same time played, and with its end cut to the minute in the first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.histories.kinds import Kind, moment_in, name_in, number_in, truth_in

if TYPE_CHECKING:
    from bandstand_lab.histories.entries import Entry
    from bandstand_lab.histories.era import Era
    from bandstand_lab.histories.gathering import Page

NOT_MUSIC: Final = "podcasts, audiobooks and videos"
_NO_NAME: Final = "without the name of a song"
# What the account data calls songs that it has no names for, files of one's own among them.
_UNKNOWN: Final = ("Unknown Artist", "Unknown Track")
# How a play ends that somebody cut short to hear another.
_CUT: Final = frozenset({"fwdbtn", "backbtn", "clickrow", "clickside"})
_SPOKEN: Final = (
    *("episode_name", "episode_show_name", "spotify_episode_uri"),
    *("audiobook_title", "audiobook_uri", "audiobook_chapter_uri"),
)


def _take_extended(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    title = name_in(page, entry, "master_metadata_track_name", value["master_metadata_track_name"])
    artist_key = "master_metadata_album_artist_name"
    artist = name_in(page, entry, artist_key, value.get(artist_key))
    if not title or not artist:
        is_spoken = any(value.get(key) for key in _SPOKEN)
        page.leave_out(NOT_MUSIC if is_spoken else _NO_NAME, entry.where)
        return
    user = value.get("username")
    _add(
        page,
        entry,
        era,
        listener=name_in(page, entry, "username", user) if user else None,
        item=page.song(artist, title),
        end=moment_in(page, entry, "ts", value["ts"]),
        milliseconds=number_in(page, entry, "ms_played", value["ms_played"]),
        skipped=_skipped(page, entry),
    )


def _take_account(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    if "trackName" not in value:
        page.leave_out(NOT_MUSIC, entry.where)
        return
    title = name_in(page, entry, "trackName", value["trackName"])
    artist = name_in(page, entry, "artistName", value.get("artistName"))
    if not title or not artist or (artist, title) == _UNKNOWN:
        page.leave_out(_NO_NAME, entry.where)
        return
    _add(
        page,
        entry,
        era,
        listener=None,
        item=page.song(artist, title),
        end=moment_in(page, entry, "endTime", value["endTime"]),
        milliseconds=number_in(page, entry, "msPlayed", value["msPlayed"]),
        skipped=math.nan,
    )


def _add(
    page: Page,
    entry: Entry,
    era: Era,
    *,
    listener: str | None,
    item: int,
    end: float,
    milliseconds: float,
    skipped: float,
) -> None:
    if not era.first <= end <= era.last:
        page.leave_out(era.doubt(end), entry.where)
        return
    is_known = milliseconds == milliseconds  # noqa: PLR0124, NaN is not what it is
    page.add(
        page.account(listener),
        item,
        end - milliseconds / 1_000 if is_known else end,
        played=milliseconds / 1_000,
        skipped=skipped,
        stamp=end // 60,
        mark=milliseconds if is_known else -1.0,
    )


def _skipped(page: Page, entry: Entry) -> float:
    """Return whether a play was skipped: as Spotify says, or else by how it ended."""
    told = truth_in(page, entry, "skipped", entry.value.get("skipped"))
    reason = entry.value.get("reason_end")
    if told == 1.0 or not isinstance(reason, str):
        return told
    # Older entries say false, or nothing, of plays that ended with the button for the next.
    return 1.0 if reason in _CUT else 0.0 if reason == "trackdone" else told


def _is_extended(value: dict[str, Any]) -> bool:
    return "ts" in value and "ms_played" in value and "master_metadata_track_name" in value


def _is_account(value: dict[str, Any]) -> bool:
    return "endTime" in value and "msPlayed" in value


EXTENDED: Final = Kind("Spotify, extended history", _is_extended, _take_extended)
ACCOUNT: Final = Kind("Spotify, account data", _is_account, _take_account)
