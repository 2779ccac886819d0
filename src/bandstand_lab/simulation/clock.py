"""Times of plays: sessions of songs with pauses between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bandstand.core.model.priors import require_positive
from bandstand.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One song after the other, with a pause after each session of songs.

    The default is the paper's simulation: a song every 50 seconds, and 4 minutes more after
    every 20 songs.

    >>> [Clock().moment(step) for step in (1, 2, 20, 21)]
    [0.0, 50.0, 950.0, 1240.0]
    """

    song_seconds: float = 50.0
    songs_per_session: int = 20
    pause_seconds: float = 240.0

    def __post_init__(self) -> None:
        """Refuse a clock that stands still or goes back."""
        require_positive(song_seconds=self.song_seconds, songs_per_session=self.songs_per_session)
        if not 0 <= self.pause_seconds < float("inf"):
            msg = f"pause_seconds must be finite and not negative, got {self.pause_seconds}"
            raise InvalidInputError(msg)

    def moment(self, step: int) -> float:
        """Return when song number `step`, counted from 1, is chosen: seconds since the first."""
        if step < 1:
            msg = f"step must be at least 1, got {step}"
            raise InvalidInputError(msg)
        before = step - 1
        pauses = before // self.songs_per_session
        return before * self.song_seconds + pauses * self.pause_seconds


PAPER_CLOCK: Final = Clock()
# An everyday listener: 20 songs of 4 minutes, three times a day.
EVERYDAY: Final = Clock(song_seconds=240.0, songs_per_session=20, pause_seconds=24_000.0)
