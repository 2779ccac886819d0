"""How often a secret may be guessed (PROMISES E9), by a clock of the test's own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bandstand.store import accounts
from bandstand.web.security import throttle as throttle_module
from bandstand.web.security.throttle import NAME_FAILURES, PAIR_FAILURES, Slot, Throttle

if TYPE_CHECKING:
    from tests.fixtures.web.worlds import World

HOUR = 3_600.0


class Timer:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def checked(throttle: Throttle, timer: Timer, guesses: int, *, within: float) -> int:
    """Return how many of so many wrong guesses, evenly spread, would be checked."""
    taken = 0
    for _ in range(guesses):
        timer.now += within / guesses
        taken += isinstance(throttle.take("203.0.113.7", "ann"), Slot)
    return taken


def test_of_ten_thousand_guesses_in_an_hour_fewer_than_a_hundred_are_checked() -> None:
    """The wait grows; the promise is a thousand."""
    timer = Timer()
    assert 0 < checked(Throttle(timer), timer, 10_000, within=HOUR) < 100


def test_a_throttle_that_forgets_is_found_out() -> None:
    """The twin: one that never counts lets all of them through."""

    class Forgetful(Throttle):
        def _count(self, slot: Slot) -> None:
            self.last = slot

    timer = Timer()
    assert checked(Forgetful(timer), timer, 10_000, within=HOUR) == 10_000


def test_of_two_hundred_at_once_five_are_checked() -> None:
    throttle = Throttle(Timer())
    slots = [throttle.take("203.0.113.7", "ann") for _ in range(200)]
    assert sum(isinstance(slot, Slot) for slot in slots) == PAIR_FAILURES


def test_the_owner_gets_in_from_another_address_meanwhile() -> None:
    timer = Timer()
    throttle = Throttle(timer)
    checked(throttle, timer, 10_000, within=HOUR)
    assert isinstance(throttle.take("198.51.100.4", "ann"), Slot)


def test_another_name_at_the_same_address_is_not_held_up_by_a_pair() -> None:
    throttle = Throttle(Timer())
    for _ in range(20):
        throttle.take("203.0.113.7", "ann")
    assert isinstance(throttle.take("203.0.113.7", "bob"), Slot)


def test_one_address_cannot_try_every_name() -> None:
    timer = Timer()
    throttle = Throttle(timer)
    taken = 0
    for number in range(10_000):
        timer.now += HOUR / 10_000
        taken += isinstance(throttle.take("203.0.113.7", f"name {number}"), Slot)
    assert taken <= 1_000


def test_one_network_of_ipv6_is_one_address() -> None:
    throttle = Throttle(Timer())
    slots = [throttle.take(f"2001:db8::{number:x}", "ann") for number in range(1, 100)]
    assert sum(isinstance(slot, Slot) for slot in slots) == PAIR_FAILURES


def test_a_herd_of_addresses_shares_one_limit_for_a_name() -> None:
    timer = Timer()
    throttle = Throttle(timer)
    owner = throttle.take("198.51.100.4", "ann")
    assert isinstance(owner, Slot)
    throttle.succeed(owner)
    taken = 0
    for number in range(5_000):
        timer.now += HOUR / 10_000
        address = f"203.0.{number // 250}.{number % 250}"
        taken += isinstance(throttle.take(address, "ann"), Slot)
    assert taken == NAME_FAILURES
    # Somebody who got in before is not locked out by strangers.
    assert isinstance(throttle.take("198.51.100.4", "ann"), Slot)


def test_the_wait_is_what_it_says() -> None:
    timer = Timer()
    throttle = Throttle(timer)
    for _ in range(PAIR_FAILURES):
        throttle.take("203.0.113.7", "ann")
    wait = throttle.take("203.0.113.7", "ann")
    assert wait == 20.0
    timer.now += 19.9
    assert isinstance(throttle.take("203.0.113.7", "ann"), float)
    timer.now += 0.2
    assert isinstance(throttle.take("203.0.113.7", "ann"), Slot)


def test_getting_in_starts_anew() -> None:
    throttle = Throttle(Timer())
    for _ in range(100):
        for _ in range(PAIR_FAILURES - 1):
            assert isinstance(throttle.take("203.0.113.7", "ann"), Slot)
            throttle.give_back(Slot(address="203.0.113.7", name="ann", at=1_000.0))
        slot = throttle.take("203.0.113.7", "ann")
        assert isinstance(slot, Slot)
        throttle.succeed(slot)


# All that opens the account "ann", as the store looks it up.
SPELLINGS = ("ann", "ANN", " ann", "ann ", "Ann\u00a0", "\tANN\n", "\u2003\uff41nn", "ann\u3000")


def test_spaces_around_a_name_give_no_new_guesses() -> None:
    throttle = Throttle(Timer())
    slots = [throttle.take("203.0.113.7", name) for name in SPELLINGS * 5]
    assert sum(isinstance(slot, Slot) for slot in slots) == PAIR_FAILURES


def test_a_throttle_that_takes_names_as_they_are_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bandstand.web.security.throttle._name_key", str)
    throttle = Throttle(Timer())
    slots = [throttle.take("203.0.113.7", name) for name in SPELLINGS * 5]
    assert sum(isinstance(slot, Slot) for slot in slots) > PAIR_FAILURES


def test_every_spelling_that_opens_an_account_counts_as_its_name(world: World) -> None:
    account = world.account("ann")
    with world.store.reading() as connection:
        for name in SPELLINGS:
            assert accounts.by_name(connection, name) == account


@pytest.fixture
def few_entries(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of entries that a throttle remembers, fewer than it is in a server."""
    monkeypatch.setattr(throttle_module, "_MAX_ENTRIES", 500)
    return 500


def test_guesses_that_were_given_back_push_nothing_out(few_entries: int) -> None:
    throttle = Throttle(Timer())
    for _ in range(PAIR_FAILURES):
        throttle.take("203.0.113.7", "ann")
    for number in range(few_entries + 100):
        slot = throttle.take("198.51.100.4", f"name {number}")
        assert isinstance(slot, Slot)
        throttle.give_back(slot)
    assert isinstance(throttle.take("203.0.113.7", "ann"), float)


def test_memory_is_bounded(few_entries: int) -> None:
    timer = Timer()
    throttle = Throttle(timer)
    draw = random.Random(1)  # nobody guesses it
    for _ in range(3 * few_entries):
        timer.now += 0.01
        throttle.take(f"{draw.randrange(256)}.{draw.randrange(256)}.1.1", str(draw.random()))
    assert len(throttle._pairs) == few_entries
    assert len(throttle._names) == few_entries
