"""The evidence of one play: a rating and how much it counts.

what happened                        stars    weight   noise, beside that of a rating
rated                                1 to 5   1        1 ×
listened to the end                  4        1/8      2.8 ×
skipped within 30 seconds            1.5      1/4      2 ×
skipped within 2 minutes             2.5      1/8      2.8 ×
skipped later                        3        1/16     4 ×
a skip that opens a session          as above, half the weight
less than 2 seconds of it played     nothing

A weight is an inverse relative variance (docs/model.md), so four skips within 30 seconds count as
one rating. docs/listening.md says why these numbers.

All of it follows from the event log alone. The length of a song is left out on purpose: a file
that is analysed again may get another, and an old play must never come to mean something else.
The player knows a song's length, and sends `listen` where it came to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.store.events.events import Event

# In milliseconds of music.
JUDGED: Final = 2_000  # a broken file, something loaded in advance, a slip of the finger: less
EARLY: Final = 30_000
LATE: Final = 120_000
# In milliseconds without music, after which a session is a new one.
SESSION_GAP: Final = 30 * 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A rating in stars and how much it counts; None if the play says nothing."""

    rating: float | None
    weight: float


# Powers of two: sums of them are exact, in whatever order they are added.
NOTHING: Final = Evidence(rating=None, weight=0.0)
FULL_LISTEN: Final = Evidence(rating=4.0, weight=1 / 8)
EARLY_SKIP: Final = Evidence(rating=1.5, weight=1 / 4)
MIDDLE_SKIP: Final = Evidence(rating=2.5, weight=1 / 8)
LATE_SKIP: Final = Evidence(rating=3.0, weight=1 / 16)


def evidence(event: Event, *, idle_ms: int | None) -> Evidence:
    """Return the evidence of a play that begins with `event`.

    `idle_ms` is how long nothing had been played before it; None if nothing ever was.
    """
    if event.stars is not None:
        return Evidence(rating=float(event.stars), weight=1.0)
    if event.played_ms is not None and event.played_ms < JUDGED:
        return NOTHING
    if event.kind == "listen":
        return FULL_LISTEN
    opens_session = idle_ms is None or idle_ms >= SESSION_GAP
    return _skip(event.played_ms or 0, opens_session=opens_session)


def _skip(played_ms: int, *, opens_session: bool) -> Evidence:
    """Return the evidence of a skip: the earlier, the more.

    One that opens a session says less. At first people look for what suits the hour; and the log
    cannot tell such a skip from one that ended a pause of hours, which is no judgement at all.
    """
    if played_ms < EARLY:
        graded = EARLY_SKIP
    elif played_ms < LATE:
        graded = MIDDLE_SKIP
    else:
        graded = LATE_SKIP
    share = 0.5 if opens_session else 1.0
    return Evidence(rating=graded.rating, weight=share * graded.weight)
