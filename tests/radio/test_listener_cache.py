from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from bandstand.radio.listener_cache import Seats


def sit(seats: Seats, account: str, nbytes: int) -> None:
    model: Any = SimpleNamespace(nbytes=nbytes)
    with seats.taken(account) as seat:
        seat.model = model


def who_is_there(seats: Seats, *accounts: str) -> list[str]:
    there = []
    for account in accounts:
        with seats.taken(account) as seat:
            if seat.model is not None:
                there.append(account)
    return there


def test_a_seat_keeps_what_was_put_there() -> None:
    seats = Seats(100)
    sit(seats, "ann", 40)
    sit(seats, "ben", 40)
    assert who_is_there(seats, "ann", "ben", "cleo") == ["ann", "ben"]
    assert seats.nbytes == 80


def test_whoever_was_quiet_for_longest_gives_way() -> None:
    seats = Seats(100)
    for name in ("ann", "ben", "ann", "cleo"):
        sit(seats, name, 40)
    assert seats.nbytes == 80
    assert who_is_there(seats, "ann", "ben", "cleo") == ["ann", "cleo"]


def test_one_listener_is_kept_however_large() -> None:
    seats = Seats(100)
    sit(seats, "ann", 40)
    sit(seats, "ben", 1_000)
    assert len(seats) == 1
    assert seats.nbytes == 1_000
    assert who_is_there(seats, "ben") == ["ben"]


def test_a_seat_that_grows_is_counted_anew() -> None:
    seats = Seats(1_000)
    for nbytes in (10, 20, 5):
        sit(seats, "ann", nbytes)
    assert seats.nbytes == 5


def test_a_cleared_seat_is_empty_and_counts_no_more() -> None:
    seats = Seats(1_000)
    sit(seats, "ann", 10)
    seats.clear("ann")
    seats.clear("nobody")
    assert (len(seats), seats.nbytes) == (0, 0)
    assert who_is_there(seats, "ann") == []


def test_a_seat_that_was_cleared_while_taken_counts_no_more() -> None:
    seats = Seats(1_000)
    model: Any = SimpleNamespace(nbytes=10)
    with seats.taken("ann") as seat:
        seats.clear("ann")
        seat.model = model
    assert (len(seats), seats.nbytes) == (0, 0)


def test_what_a_question_that_fails_leaves_behind_is_counted() -> None:
    seats = Seats(100)
    sit(seats, "ann", 40)
    model: Any = SimpleNamespace(nbytes=90)

    def fail() -> None:
        with seats.taken("ben") as seat:
            seat.model = model
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (len(seats), seats.nbytes) == (1, 90)


def test_a_seat_is_taken_by_one_at_a_time() -> None:
    seats, at_once, most = Seats(1_000), [0], [0]

    def visit() -> None:
        for _ in range(200):
            with seats.taken("ann"):
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
                at_once[0] -= 1

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
