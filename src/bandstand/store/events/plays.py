"""Groups events into plays, and measures the time since a song was heard before.

A listener may rate a song while it plays, correct the rating, and then skip it or hear it out:
three events, one play. What the log keeps of an event's time follows from this alone, never from
a clock, so that it can be derived again.

Heard is what was rated, skipped or listened to, and not taken back.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

Kind = Literal["rating", "skip", "listen", "ban", "snooze", "retract"]

HEARD: Final[frozenset[Kind]] = frozenset({"rating", "skip", "listen"})
ENDS: Final[frozenset[Kind]] = frozenset({"skip", "listen"})

# Most songs are over by then; a longer one says itself how much of it was played.
MAX_PAUSE_MS: Final = 20 * 60 * 1000  # milliseconds


class Heard(Protocol):
    """An event of hearing a song."""

    @property
    def kind(self) -> Kind:
        """What happened."""

    @property
    def song(self) -> str | None:
        """Which song was heard."""

    @property
    def at(self) -> int:
        """When, in milliseconds since 1970."""

    @property
    def since_heard_ms(self) -> int | None:
        """How long before that play the song had been heard."""


def is_same_play(
    before: Heard, new_kind: Kind, new_song: str | None, new_at: int, new_played_ms: int | None
) -> bool:
    """Return whether a new event belongs to the same play as `before`, the last one heard.

    A play has one end. One that was rated and has not ended goes on, also after a pause. Beyond
    that, an event that says how much was played says when the play began: one that began after
    `before` is another.
    """
    if before.song != new_song or (before.kind in ENDS and new_kind in ENDS):
        return False
    is_soon = new_at - before.at <= MAX_PAUSE_MS
    if new_played_ms is None or (is_soon and before.kind not in ENDS):
        return is_soon
    return new_at - new_played_ms < before.at


def since_heard_ms(
    before: Heard | None,
    last_heard_at: int | None,
    *,
    kind: Kind,
    song: str,
    at: int,
    played_ms: int | None,
) -> int | None:
    """Return the time from when a song was heard before to the beginning of this play.

    `before` is the last event heard of any song, `last_heard_at` the time of the last one of this
    song. None stands for a song that was never heard before.
    """
    if before is not None and is_same_play(before, kind, song, at, played_ms):
        return before.since_heard_ms
    if last_heard_at is None:
        return None
    return max(0, at - (played_ms or 0) - last_heard_at)
