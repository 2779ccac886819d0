"""Three months with the radio, lived in seconds: the real radio, and somebody whose taste is known.

    evening: ask what comes ─ hear it ─ rate it, skip it or let it end ─ ask again …

The listener is one of the model's (a taste θ, a recovery time s, noise), answers in whole stars and
behaves as people do: not every song is rated, a dull one is left, a slip of the finger is taken
back, what is unbearable is banned, an artist too often heard is kept away for a month. The radio is
the real one with its default algorithm, over a real store; only its clock is moved by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.domain import Songs
from bandstand.radio.choice.learning import LONGEST
from bandstand.radio.choice.wishes import Wish
from bandstand.radio.clock import MILLISECONDS_PER_MINUTE
from bandstand.store.events.events import NewEvent
from bandstand.types import frozen
from bandstand_lab.simulation.listener import SimulatedListener, StarListener

if TYPE_CHECKING:
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.radio.service import Radio
    from bandstand.store.songs.songs import SongRecord

MINUTE = MILLISECONDS_PER_MINUTE
HOUR = 60 * MINUTE
DAY = 24 * HOUR

RATINGS = 300
DAYS = 92
EVENINGS = 54
RECOVERY_TIME = 1.5 * 24 * 60  # minutes: after four days a song is nearly new again
NOISE = 0.6  # stars
SPREAD = 1.0  # of what unheard songs deserve, in stars
MIDDLE = 3.3

# The rating (counted from 1) after which something else than rating happens.
_SLIPS = (41, 163, 244)
_BANS = (57, 188)
_SNOOZES = (96, 150, 271)
_WISHES = (120, 230)  # "more like this", for the rest of the evening
_MONTH = 30 * DAY


@dataclass(slots=True)
class Clock:
    """UTC milliseconds; it stands still until it is moved."""

    now: int

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: float) -> None:
        self.now += round(milliseconds)


def somebody(shelf: Shelf, rng: np.random.Generator) -> StarListener:
    """Return a listener who hears what is plain to hear: θ is largest where songs differ most."""
    assert shelf.catalogue is not None
    columns = shelf.catalogue.features.shape[1] - 1
    # The projection's columns are in the order of how much of the sound they explain.
    direction = rng.standard_normal(columns) / np.sqrt(np.arange(1, columns + 1))
    liking = shelf.catalogue.features[shelf.has_features, :-1] @ direction
    taste = SPREAD * direction / liking.std()
    return StarListener(
        feeling=SimulatedListener(
            preference=frozen(np.append(taste, MIDDLE - SPREAD * liking.mean() / liking.std())),
            recovery_time=RECOVERY_TIME,
            noise_standard_deviation=NOISE,
        )
    )


def planned(now: int, rng: np.random.Generator, *, ratings: int = RATINGS) -> list[tuple[int, int]]:
    """Return when evenings begin and how many ratings each has; the last one ends before `now`."""
    today = now - now % DAY
    evenings = EVENINGS * ratings // RATINGS
    days = np.sort(rng.choice(np.arange(1, DAYS), size=evenings - 1, replace=False))[::-1]
    hours = rng.uniform(17.5, 21.5, size=len(days))
    begins = [
        today - int(day) * DAY + round(hour * HOUR) for day, hour in zip(days, hours, strict=True)
    ]
    # Two ratings at least, and what is left by chance.
    quotas = 2 + rng.multinomial(ratings - 2 * evenings, np.full(evenings, 1 / evenings))
    longest = 3 * MINUTE * int(quotas[-1])
    return list(zip([*begins, now - longest], quotas.tolist(), strict=True))


@dataclass(slots=True, kw_only=True)
class Life:
    """One listener's time with the radio."""

    radio: Radio
    account: str
    listener: StarListener
    clock: Clock
    rng: np.random.Generator
    ratings: int = 0
    told: int = 0
    heard: dict[str, int] = field(default_factory=dict)  # when each song was heard last
    wish: Wish | None = None

    def live(self, evenings: list[tuple[int, int]]) -> None:
        """Spend all evenings."""
        for begins, quota in evenings:
            self.clock.now = max(self.clock.now, begins)
            self.wish = None
            wanted = self.ratings + quota
            while self.ratings < wanted:
                self._play()
                self.clock.advance(self.rng.uniform(500, 3_000))

    def _play(self) -> None:
        song = self.radio.next(self.account, wish=self.wish).song
        began, length = self.clock(), song.duration * 1_000
        felt = self._felt(song)
        mood = self.rng.random()
        if mood < (0.5 if felt < 2.6 else 0.06):
            self._end("skip", song, began, self.rng.uniform(0.15, 0.6) * length)
        elif mood < 0.2:
            self._end("listen", song, began, length)
        else:
            self._rate(song, began, stars=int(np.clip(np.rint(felt), 1, 5)))
            if felt < 2.5 and self.rng.random() < 0.6:
                self._end("skip", song, began, self.rng.uniform(0.55, 0.95) * length)
            else:
                self._end("listen", song, began, length)
        self.heard[song.id] = self.clock()

    def _felt(self, song: SongRecord) -> float:
        """Return what the song is worth at this moment, noise and all, in stars."""
        shelf = self.radio.shelf
        assert shelf.catalogue is not None
        before = self.heard.get(song.id)
        elapsed = LONGEST if before is None else (self.clock() - before) / MINUTE
        asked = Songs.of(
            features=shelf.catalogue.features[[shelf.row_of[song.id]]], elapsed=elapsed
        )
        return float(self.listener.feeling.rate(asked, self.rng)[0])

    def _rate(self, song: SongRecord, began: int, *, stars: int) -> None:
        self.ratings += 1
        self.clock.now = began + round(self.rng.uniform(0.25, 0.5) * song.duration * 1_000)
        if self.ratings in _SLIPS:
            seq = self._tell(
                kind="rating", song=song.id, stars=6 - stars, played_ms=self._since(began)
            )
            self.clock.advance(2_500)
            self._tell(kind="retract", retracts=seq)
            self.clock.advance(1_500)
        self._tell(kind="rating", song=song.id, stars=stars, played_ms=self._since(began))
        self._rule(song)

    def _rule(self, song: SongRecord) -> None:
        """Keep something away, or start from this song, where it is time for that."""
        if self.ratings in _BANS:
            self._tell(kind="ban", scope="song", target=song.id)
        elif self.ratings in _SNOOZES and song.tags.artist:
            self._tell(kind="snooze", scope="artist", target=song.tags.artist, for_ms=_MONTH)
        elif self.ratings in _WISHES:
            self.wish = Wish(song=song.id)

    def _end(self, kind: Any, song: SongRecord, began: int, played: float) -> None:
        self.clock.now = max(self.clock.now, began + round(played))
        self._tell(kind=kind, song=song.id, played_ms=self._since(began))

    def _since(self, began: int) -> int:
        return self.clock() - began

    def _tell(self, **said: Any) -> int:
        self.told += 1
        event = NewEvent(account=self.account, key=f"evenings {self.told}", **said)
        appended = self.radio.submit(event).result()
        assert appended is not None
        return appended.event.seq
