"""A seat for each listener who is here: what is known of them, kept ready.

All of it follows from the log, so a seat can be cleared at any time. The hall is only so large;
when it is full, whoever has been quiet for longest gives way.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.radio.log.fold import Ledger
    from bandstand.radio.selection.listener_recommender import ListenerRecommender

# A play is a row of 48 bytes, and most are of a song of their own with its id; in bytes.
_PER_PLAY: Final = 250
# What `taste_of` keeps: a digest and a number.
_PER_POINT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A model, and the same one made ready for more answers; None if it needs no preparing."""

    model: ListenerRecommender
    prepared: ListenerRecommender | None


@dataclass(slots=True, eq=False)
class Seat:
    """What is kept of one listener; whoever holds `lock` may read and change it."""

    account: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    ledger: Ledger | None = None
    model: ListenerRecommender | None = None
    ready: Ready | None = None  # for the next answer; until then the model stays as it is
    saved: int = 0  # the last event in the newest snapshot that is known of
    known: dict[bytes, float] = field(default_factory=dict)  # what `taste_of` keeps
    nbytes: int = 0  # as counted by the hall

    def keep(self, model: ListenerRecommender | None) -> None:
        """Keep this model, and nothing that was made ready for another one."""
        self.model = model
        if self.ready is not None and self.ready.model is not model:
            self.ready = None


class Seats:
    """Seats that together hold at most `most_bytes`, or one; to be shared by threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seats)

    @property
    def nbytes(self) -> int:
        """How much all seats hold, in bytes."""
        return self._nbytes

    @contextmanager
    def taken(self, account: str) -> Iterator[Seat]:
        """Give the listener's seat, to one thread at a time."""
        with self._lock:
            seat = self._seats.setdefault(account, Seat(account))
            self._seats.move_to_end(account)
        with seat.lock:
            try:
                yield seat
            finally:  # also when a question fails: what was learnt for it is kept
                self._make_room(seat)

    def all(self) -> list[Seat]:
        """Return all seats, those who were here last first."""
        with self._lock:
            return list(reversed(self._seats.values()))

    def seated(self, account: str) -> Seat | None:
        """Return the seat of a listener who has one; it does not count as having been here."""
        with self._lock:
            return self._seats.get(account)

    def count(self, seat: Seat) -> None:
        """Count a seat anew that has changed; whoever calls must not hold it."""
        with seat.lock:
            self._make_room(seat)

    def clear(self, account: str) -> None:
        """Forget what is kept of a listener."""
        with self._lock:
            seat = self._seats.pop(account, None)
            self._nbytes -= 0 if seat is None else seat.nbytes

    def _make_room(self, seat: Seat) -> None:
        """Count a seat anew, and clear others; whoever still holds one goes on with it."""
        nbytes = _size(seat)
        with self._lock:
            if self._seats.get(seat.account) is not seat:
                return  # it was cleared meanwhile, and counts no more
            self._nbytes += nbytes - seat.nbytes
            seat.nbytes = nbytes
            while self._nbytes > self._most_bytes and len(self._seats) > 1:
                _, quiet = self._seats.popitem(last=False)
                self._nbytes -= quiet.nbytes


def _size(seat: Seat) -> int:
    """Return about how much is kept in a seat, in bytes."""
    model = 0 if seat.model is None else seat.model.nbytes
    if seat.ready is not None and seat.ready.prepared is not None:
        model += seat.ready.prepared.nbytes
    ledger = 0 if seat.ledger is None else _PER_PLAY * len(seat.ledger.plays)
    return model + ledger + _PER_POINT * len(seat.known)
