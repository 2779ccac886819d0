"""Listens that another program has submitted, on their way into the log.

A listen becomes a `listen` or a `skip` (`evidence.end_of_submitted`) whose key names where it came
from. The log's time only rises: a listen gets the time at which it ended if that is after the last
event, or so little before it that nothing is learned wrongly; an older one is refused.

The same listen counts once: by its key, which has the song and the second at which it began, and
by the log, where the page or another app may have noted the song already.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from bandstand.errors import KeyReusedError
from bandstand.music.catalogue.matching import match
from bandstand.radio.listener_settings import settings_of
from bandstand.radio.log.evidence import end_of_submitted
from bandstand.radio.scrobbling.outgoing import SUBMITTED
from bandstand.store.events import events
from bandstand.store.events.values import ENDS, MAX_AGE_MS, MAX_PAUSE_MS, NewEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from bandstand.music.catalogue.columns import SongColumns
    from bandstand.music.catalogue.matching import Wanted
    from bandstand.store.songs.songs import SongRecord

Outcome = Literal["stored", "known", "unmatched", "too_old", "private"]

_LONGEST_HALF_MS: Final = 240_000  # no program waits longer until it submits a song


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A listen in the words of the program that submits it."""

    song: Wanted
    began_at: int  # seconds since 1970
    played_ms: int | None = None


def recording(
    columns: SongColumns, account: str, listens: Sequence[Submitted], *, now: int
) -> Callable[[Connection], Counter[Outcome]]:
    """Return the work that puts listens, from old to new, into a log and counts the outcomes."""

    def work(connection: Connection) -> Counter[Outcome]:
        if settings_of(connection, account).private:
            return Counter({"private": len(listens)})
        found = match(connection, columns, [listen.song for listen in listens])
        return Counter(
            "unmatched" if song is None else _recorded(connection, account, listen, song, now)
            for listen, song in zip(listens, found, strict=True)
        )

    return work


def _recorded(
    connection: Connection, account: str, listen: Submitted, song: SongRecord, now: int
) -> Outcome:
    began, length = 1_000 * listen.began_at, round(1_000 * song.duration)
    heard = length if listen.played_ms is None else listen.played_ms
    at = min(began + heard, now)
    latest = events.page(connection, account, before=None, limit=1, song=song.id, kinds=ENDS)
    if latest and latest[0].at >= began + min(heard // 2, _LONGEST_HALF_MS):
        return "known"
    if at < events.end(connection, account).at - MAX_PAUSE_MS or now - at > MAX_AGE_MS:
        return "too_old"
    new = NewEvent(
        account=account,
        key=f"{SUBMITTED}{song.id}/{listen.began_at}",
        kind=end_of_submitted(listen.played_ms, length),
        song=song.id,
        played_ms=listen.played_ms,
        age_ms=now - at,
    )
    try:
        return "stored" if events.append(connection, new, now=now).is_new else "known"
    except KeyReusedError:  # the same listen, in other words
        return "known"
