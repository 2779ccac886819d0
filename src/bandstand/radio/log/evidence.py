"""The evidence of one play: a rating and how much it counts.

what happened                        stars    weight   noise, beside that of a rating
rated                                1 to 5   1        1 ×
marked as a favourite while it plays 5        1/4      2 ×
listened to the end                  4        1/8      2.8 ×
skipped within 30 seconds            1.5      1/4      2 ×
skipped within 2 minutes             2.5      1/8      2.8 ×
skipped later                        3        1/16     4 ×
a skip that opens a session          as above, half the weight
a skip after n skips in a row        as above, half the weight for each, at most three times
heard to the end after three others  nothing: perhaps the room is empty
less than 2 seconds of it played     nothing

The first line that fits holds. What was imported (`store.events.imports`) means the same, as far as
other programs say it:

imported                             stars    weight
rated                                those    1        the last rating of a song, at any time
a favourite without a rating         5        1/4
played                               4        1/8
skipped                              as above, with the skips before it and the session
less than 30 seconds, no skip        nothing
played n times, m of them dated      4        (n - m)/8, at most 1

An album is played in the same order each time, so that songs played in a row are not taken for an
empty room: the same ones would never count. Of a song at most `MAX_OF_SONG` plays count, the
newest, and `MAX_IMPORTED` in all: first the newest of each song, then the second newest, and so on.

A weight is an inverse relative variance (docs/model.md), so four skips within 30 seconds count as
one rating. docs/listening.md says why these numbers.

All of it follows from the event log alone. The length of a song is left out on purpose: a file
that is analysed again may get another, and an old play must never come to mean something else.
The player knows a song's length, and sends `listen` where it came to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from bandstand.store.events.events import Event
from bandstand.store.events.imports import SKIP, UNKNOWN
from bandstand.types import AnyArray, Vector

# In milliseconds of music.
MIN_JUDGED_MS: Final = (
    2_000  # a broken file, something loaded in advance, a slip of the finger: less
)
EARLY_SKIP_MS: Final = 30_000
LATE_SKIP_MS: Final = 120_000
# In milliseconds without music, after which a session is a new one.
SESSION_GAP: Final = 30 * 60_000
# A skip says less after skips; after this many it says no less.
MAX_SKIPS: Final = 3
# Songs heard to the end in a row for which a person is thought to listen, without another sign.
MAX_UNATTENDED: Final = 3
# Imported plays of a song that count, and of all songs. Eight weigh one rating, and 10,000 take
# the exact engine some seconds.
MAX_OF_SONG: Final = 8
MAX_IMPORTED: Final = 10_000


class Sitting(NamedTuple):
    """The plays right before this one, without a pause of half an hour.

    >>> Sitting().after_skip().after_skip(), Sitting().after_listen()
    (Sitting(skips=2, unattended=0), Sitting(skips=0, unattended=1))
    """

    skips: int = 0  # in a row, at most `MAX_SKIPS`
    unattended: int = 0  # heard to the end in a row, without a rating; at most `MAX_UNATTENDED`

    def after_skip(self) -> Sitting:
        """Return the sitting after a song that was skipped."""
        return Sitting(skips=min(self.skips + 1, MAX_SKIPS))

    def after_listen(self) -> Sitting:
        """Return the sitting after a song that was heard to its end."""
        return Sitting(unattended=min(self.unattended + 1, MAX_UNATTENDED))


NEW_SITTING: Final = Sitting()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A rating in stars and how much it counts; None if the play says nothing."""

    rating: float | None
    weight: float


# Powers of two: sums of them are exact, in whatever order they are added.
NOTHING: Final = Evidence(rating=None, weight=0.0)
FAVOURITE: Final = Evidence(rating=5.0, weight=1 / 4)
FULL_LISTEN: Final = Evidence(rating=4.0, weight=1 / 8)
EARLY_SKIP: Final = Evidence(rating=1.5, weight=1 / 4)
MIDDLE_SKIP: Final = Evidence(rating=2.5, weight=1 / 8)
LATE_SKIP: Final = Evidence(rating=3.0, weight=1 / 16)


def evidence(
    event: Event,
    *,
    idle_ms: int | None,
    sitting: Sitting = NEW_SITTING,
    is_favourite: bool = False,
) -> Evidence:
    """Return the evidence of a play that begins with `event`.

    `idle_ms` is how long nothing had been played before it; None if nothing ever was.
    `is_favourite` says that the song was marked while it played.
    """
    if event.stars is not None:
        return Evidence(rating=float(event.stars), weight=1.0)
    if is_favourite:
        return FAVOURITE
    if event.played_ms is not None and event.played_ms < MIN_JUDGED_MS:
        return NOTHING
    if event.kind == "listen":
        return NOTHING if sitting.unattended >= MAX_UNATTENDED else FULL_LISTEN
    halvings = sitting.skips + opens_session(idle_ms)
    return _skip(event.played_ms or 0, halvings)


def opens_session(idle_ms: int | None) -> bool:
    """Return whether a play opens a session, by how long nothing had been played before it."""
    return idle_ms is None or idle_ms >= SESSION_GAP


def sitting_after(event: Event, before: Sitting, *, is_favourite: bool = False) -> Sitting:
    """Return the sitting after a play that begins with `event`."""
    if event.stars is not None or is_favourite:
        return NEW_SITTING
    if event.played_ms is not None and event.played_ms < MIN_JUDGED_MS:
        return before
    return before.after_listen() if event.kind == "listen" else before.after_skip()


def _skip(played_ms: int, halvings: int) -> Evidence:
    """Return the evidence of a skip: the earlier, the more.

    One that opens a session says less. At first people look for what suits the hour; and the log
    cannot tell such a skip from one that ended a pause of hours, which is no judgement at all.
    One that follows other skips says less too: it speaks of the moment more than of the song.
    """
    if played_ms < EARLY_SKIP_MS:
        graded = EARLY_SKIP
    elif played_ms < LATE_SKIP_MS:
        graded = MIDDLE_SKIP
    else:
        graded = LATE_SKIP
    return Evidence(rating=graded.rating, weight=graded.weight / 2**halvings)


def imported_plays(
    kinds: AnyArray, played_ms: AnyArray, begins: AnyArray, ends: AnyArray
) -> tuple[Vector, Vector]:
    """Return ratings and weights of imported plays, LISTEN or SKIP, in the order of time (ms)."""
    is_skip, is_known = kinds == SKIP, played_ms != UNKNOWN
    opens = np.ones(len(kinds), dtype=np.bool_)
    opens[1:] = begins[1:] - ends[:-1] >= SESSION_GAP
    judged = np.flatnonzero(~is_known | (played_ms >= MIN_JUDGED_MS))
    session, is_left = np.cumsum(opens)[judged], is_skip[judged]
    begin = np.ones(len(judged), dtype=np.bool_)  # of a run of skips in one session
    begin[1:] = (session[1:] != session[:-1]) | ~is_left[:-1]
    place = np.arange(len(judged))
    skips = np.minimum(place - np.maximum.accumulate(np.where(begin, place, 0)), MAX_SKIPS)
    ratings = np.full(len(kinds), FULL_LISTEN.rating)
    weights = np.where(is_known & (played_ms < EARLY_SKIP_MS), 0.0, FULL_LISTEN.weight)
    for graded, least in (
        (EARLY_SKIP, MIN_JUDGED_MS),
        (MIDDLE_SKIP, EARLY_SKIP_MS),
        (LATE_SKIP, LATE_SKIP_MS),
    ):
        rows = is_skip & (played_ms >= least)  # of unknown length: late
        ratings[rows], weights[rows] = graded.rating, graded.weight
    weights[is_skip & (played_ms < MIN_JUDGED_MS)] = 0.0
    halvings = np.zeros(len(kinds))
    halvings[judged] = skips
    weights[is_skip] /= 2.0 ** (halvings + opens)[is_skip]
    return ratings, weights


def imported_count(count: AnyArray, dated: AnyArray) -> Vector:
    """Return the weights of songs that were played so often, of which some plays have a date."""
    plays = np.clip(count.astype(np.int64) - dated, 0, MAX_OF_SONG - np.minimum(dated, MAX_OF_SONG))
    return np.asarray(plays * FULL_LISTEN.weight)
