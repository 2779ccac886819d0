"""A seat for each listener who is here: what is known of them, kept ready.

All of it follows from the log, so a seat can be cleared at any time. The hall is only so large;
when it is full, whoever has been quiet for longest gives way.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.radio.choice.choosing import Model
    from bandstand.radio.log.ledger import Ledger


@dataclass(slots=True, eq=False)
class Seat:
    """What is kept of one listener; whoever holds `lock` may read and change it."""

    account: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    ledger: Ledger | None = None
    model: Model | None = None
    saved: int = 0  # the last event in the newest snapshot that is known of
    known: dict[bytes, float] = field(default_factory=dict)  # what `taste_of` keeps
    nbytes: int = 0  # as counted by the hall


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
            yield seat
            nbytes = 0 if seat.model is None else seat.model.nbytes
        self._make_room(seat, nbytes)

    def clear(self, account: str) -> None:
        """Forget what is kept of a listener."""
        with self._lock:
            seat = self._seats.pop(account, None)
            self._nbytes -= 0 if seat is None else seat.nbytes

    def _make_room(self, seat: Seat, nbytes: int) -> None:
        """Count a seat anew, and clear others; whoever still holds one goes on with it."""
        with self._lock:
            if self._seats.get(seat.account) is not seat:
                return  # it was cleared meanwhile, and counts no more
            self._nbytes += nbytes - seat.nbytes
            seat.nbytes = nbytes
            while self._nbytes > self._most_bytes and len(self._seats) > 1:
                _, quiet = self._seats.popitem(last=False)
                self._nbytes -= quiet.nbytes
