"""What is learnt in each arm, kept ready: a cache of the ratings that the store has.

Each arm is one plain `Recommender` over the study's songs, which starts from nothing. It learns
nothing but the arm's ratings, and no other arm or radio learns from it. Any of them can be made
again from the store, so only so many are kept; whoever was quiet for longest gives way.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from bandstand.core.model.priors import radio_prior
from bandstand.core.recommender import Answer, Recommender

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.store.studies import ArmRow, SongRow
    from bandstand.study.records import FrozenSongs

# More news than this are learnt sooner all at once.
_MOST_UPDATES: Final = 8
_MOST_BYTES: Final = 256_000_000


@dataclass(slots=True, eq=False)
class Seat:
    """What is kept of one arm; whoever holds `lock` may read and change it."""

    arm: str
    account: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    recommender: Recommender | None = None

    def caught_up(self, arm: ArmRow, songs: FrozenSongs, said: Sequence[SongRow]) -> Recommender:
        """Return the arm's recommender, which has learnt exactly what was said."""
        answers = [answer for row in said if (answer := _answer(row)) is not None]
        known = self.recommender
        # Until all is learnt there is none: what was learnt by halves is not kept.
        self.recommender = None
        if known is None or list(known.answers) != answers[: len(known.answers)]:
            known = _new(arm, songs)
        _learn(known, answers[len(known.answers) :])
        self.recommender = known
        return known

    @property
    def nbytes(self) -> int:
        """About how much memory belongs to this arm alone."""
        if self.recommender is None:
            return 0
        # The engine streams through a copy of the features in half as many bytes.
        copied = self.recommender.model.song_features.features.nbytes // 2
        return int(copied) + self.recommender.model.nbytes


class Learners:
    """Seats for arms that together hold about `most_bytes`, or one; to be shared by threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seats)

    @contextmanager
    def taken(self, arm: str, account: str) -> Iterator[Seat]:
        """Give the arm's seat, to one thread at a time; nothing is kept if the block raises."""
        with self._lock:
            seat = self._seats.setdefault(arm, Seat(arm, account))
            self._seats.move_to_end(arm)
        with seat.lock:
            try:
                yield seat
            except BaseException:
                self._remove(seat)
                raise
        self._make_room()

    def drop(self, account: str) -> None:
        """Forget everything about an account."""
        with self._lock:
            for seat in [seat for seat in self._seats.values() if seat.account == account]:
                del self._seats[seat.arm]

    def _remove(self, seat: Seat) -> None:
        with self._lock:
            if self._seats.get(seat.arm) is seat:
                del self._seats[seat.arm]

    def _make_room(self) -> None:
        """Give up the quietest; whoever still holds one of them goes on with it."""
        with self._lock:
            held = sum(seat.nbytes for seat in self._seats.values())
            while held > self._most_bytes and len(self._seats) > 1:
                _, quiet = self._seats.popitem(last=False)
                held -= quiet.nbytes


def moment(milliseconds: int) -> Decimal:
    """Return a time as exact seconds since 1970.

    >>> moment(1_500)
    Decimal('1.5')
    """
    return Decimal(milliseconds) / 1_000


def _answer(row: SongRow) -> Answer | None:
    if row.stars is None or row.rated_at is None:
        return None
    return Answer(song=row.song, rating=float(row.stars), time=moment(row.rated_at))


def _new(arm: ArmRow, songs: FrozenSongs) -> Recommender:
    """Return an arm's recommender that has learnt nothing yet."""
    return Recommender(
        features=songs.features,
        ids=songs.ids,
        raw=True,  # the features are standardised, and their last column is the intercept
        prior=radio_prior(songs.features.shape[1]),
        algorithm=arm.algorithm,
        seed=arm.seed,
    )


def _learn(recommender: Recommender, news: Sequence[Answer]) -> None:
    if len(news) > _MOST_UPDATES:
        recommender.replay(news)
        return
    for answer in news:
        recommender.update(answer.song, answer.rating, answer.time)
