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

The first line that fits holds.

A weight is an inverse relative variance (docs/model.md), so four skips within 30 seconds count as
one rating. docs/listening.md says why these numbers.

All of it follows from the event log alone. The length of a song is left out on purpose: a file
that is analysed again may get another, and an old play must never come to mean something else.
The player knows a song's length, and sends `listen` where it came to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from bandstand.store.events.events import Event

# In milliseconds of music.
JUDGED: Final = 2_000  # a broken file, something loaded in advance, a slip of the finger: less
EARLY: Final = 30_000
LATE: Final = 120_000
LAST: Final = 10_000  # who hears a song up to here has heard its end …
LAST_SHARE: Final = 0.1  # … or, of a short one, up to its last tenth
# In milliseconds without music, after which a session is a new one.
SESSION_GAP: Final = 30 * 60_000
# A skip says less after skips; after this many it says no less.
MAX_SKIPS: Final = 3
# Songs heard to the end in a row for which a person is thought to listen, without another sign.
MAX_UNATTENDED: Final = 3


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
    if event.played_ms is not None and event.played_ms < JUDGED:
        return NOTHING
    if event.kind == "listen":
        return NOTHING if sitting.unattended >= MAX_UNATTENDED else FULL_LISTEN
    halvings = sitting.skips + opens_session(idle_ms)
    return _skip(event.played_ms or 0, halvings)


def end_of_submitted(played_ms: int | None, length_ms: int) -> Literal["skip", "listen"]:
    """Return the end of a play that is known only because another program has submitted it.

    It does so for songs that were heard half, or for four minutes. Without `played_ms` the rest is
    unknown, and the little that a listen says is the most that can be said.

    >>> end_of_submitted(None, 200_000), end_of_submitted(120_000, 200_000)
    ('listen', 'skip')
    """
    if played_ms is None:
        return "listen"
    is_over = played_ms >= length_ms - min(LAST, LAST_SHARE * length_ms)
    return "listen" if is_over else "skip"


def opens_session(idle_ms: int | None) -> bool:
    """Return whether a play opens a session, by how long nothing had been played before it."""
    return idle_ms is None or idle_ms >= SESSION_GAP


def sitting_after(event: Event, before: Sitting, *, is_favourite: bool = False) -> Sitting:
    """Return the sitting after a play that begins with `event`."""
    if event.stars is not None or is_favourite:
        return NEW_SITTING
    if event.played_ms is not None and event.played_ms < JUDGED:
        return before
    return before.after_listen() if event.kind == "listen" else before.after_skip()


def _skip(played_ms: int, halvings: int) -> Evidence:
    """Return the evidence of a skip: the earlier, the more.

    One that opens a session says less. At first people look for what suits the hour; and the log
    cannot tell such a skip from one that ended a pause of hours, which is no judgement at all.
    One that follows other skips says less too: it speaks of the moment more than of the song.
    """
    if played_ms < EARLY:
        graded = EARLY_SKIP
    elif played_ms < LATE:
        graded = MIDDLE_SKIP
    else:
        graded = LATE_SKIP
    return Evidence(rating=graded.rating, weight=graded.weight / 2**halvings)
