"""ListenBrainz's exports: listens as lines of JSON, as a list, or as its interface answers.

listened_at      epoch seconds when the play began
track_metadata   artist_name, track_name, additional_info (duration_played, seconds)
user_name        in some
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.histories.entries import Entry
from bandstand_lab.histories.kinds import Kind, name_in, whole_seconds_in
from bandstand_lab.histories.places import refusal, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_lab.histories.era import Era
    from bandstand_lab.histories.gathering import Page

_NO_NAME: Final = "without the name of a song"


def within_answer(name: str, found: Iterator[Entry]) -> Iterator[Entry]:
    """Yield the entries, and instead of a whole answer of the interface the listens in it."""
    for entry in found:
        payload = entry.value.get("payload")
        listens = payload.get("listens") if isinstance(payload, dict) else None
        if listens is None:
            yield entry
            continue
        if not isinstance(listens, list):
            raise refusal(name, entry.where, f"expected a list of listens, got {shown(listens)}")
        for number, listen in enumerate(listens, start=1):
            if not isinstance(listen, dict):
                place = f"{entry.where}, listen {number}"
                raise refusal(name, place, f"expected an object, got {shown(listen)}")
            yield Entry(number, entry.line, listen)


def _take(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    about = value["track_metadata"]
    if not isinstance(about, dict):
        what = f"track_metadata must be an object, got {shown(about)}"
        raise refusal(page.name, entry.where, what)
    title = name_in(page, entry, "track_name", about.get("track_name"))
    artist = name_in(page, entry, "artist_name", about.get("artist_name"))
    if not title or not artist:
        page.leave_out(_NO_NAME, entry.where)
        return
    if value.get("playing_now"):
        page.leave_out("without a time: playing when the export was made", entry.where)
        return
    time = whole_seconds_in(page, entry, "listened_at", value["listened_at"])
    if not era.first <= time <= era.last:
        page.leave_out(era.doubt(time), entry.where)
        return
    user = value.get("user_name")
    listener = page.account(name_in(page, entry, "user_name", user) if user else None)
    page.add(listener, page.song(artist, title), time)


def _fits(value: dict[str, Any]) -> bool:
    return "listened_at" in value and "track_metadata" in value


LISTENBRAINZ: Final = Kind("ListenBrainz", _fits, _take)
