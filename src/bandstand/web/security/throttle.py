"""Rate limits on guesses of a password or token.

Three limits, each on failures only, and each counted before the guess is checked, so that two
hundred guesses at once are no way around:

pair      5 in 20 s for one address and one name; then a wait that doubles, up to five minutes
address   50 in 5 minutes for one address and all names
name      100 in an hour for one name from all addresses that never got in with it before

The last limits guesses from many addresses, and does not lock out the owner of the name, who comes
from a known address. A right guess gives its slot back.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeVar

from bandstand.store.database.schema import folded

PAIR_FAILURES: Final = 5
PAIR_WINDOW: Final = 20.0  # seconds
MAX_WAIT: Final = 300.0
ADDRESS_FAILURES: Final = 50
ADDRESS_WINDOW: Final = 300.0
NAME_FAILURES: Final = 100
NAME_WINDOW: Final = 3_600.0

T = TypeVar("T")

_MAX_ENTRIES: Final = 20_000  # of each kind; the oldest go first
_MAX_NAME_CHARS: Final = 256
_RESET_SECONDS: Final = 3_600.0  # without a guess, after which a pair is forgotten


@dataclass(slots=True)
class _Pair:
    """The failures of one address with one name."""

    failures: list[float] = field(default_factory=list)
    blocked_until: float = 0.0
    blocks: int = 0
    last: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A guess that may be checked. What is not given back counts as a failure."""

    address: str
    name: str
    at: float


class Throttle:
    """All guesses of one server. It belongs to the event loop and is quick."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._pairs: OrderedDict[Hashable, _Pair] = OrderedDict()
        self._addresses: OrderedDict[Hashable, list[float]] = OrderedDict()
        self._names: OrderedDict[Hashable, list[float]] = OrderedDict()
        self._known: OrderedDict[Hashable, None] = OrderedDict()

    def take(self, address: str, name: str) -> Slot | float:
        """Return a slot for one guess, or the seconds to wait."""
        slot = Slot(address=_address_key(address), name=_name_key(name), at=self._timer())
        wait = self._wait(slot)
        if wait > 0:
            return wait
        self._count(slot)
        return slot

    def wait(self, address: str, name: str) -> float:
        """Return the seconds to wait for a guess that is counted only when it was wrong.

        0 where this address got in with this name before.
        """
        slot = Slot(address=_address_key(address), name=_name_key(name), at=self._timer())
        return 0.0 if (slot.address, slot.name) in self._known else self._wait(slot)

    def note_right(self, address: str, name: str) -> None:
        """Record that a guess was right for which no slot was taken."""
        _put(self._known, (_address_key(address), _name_key(name)), None)

    def give_back(self, slot: Slot) -> None:
        """Return the slot of a guess that was never answered, since the server was busy."""
        key = (slot.address, slot.name)
        pair = self._pairs.get(key)
        if pair is not None and slot.at in pair.failures:
            pair.failures.remove(slot.at)
            if not pair.failures and not pair.blocks:
                del self._pairs[key]
        for entries, one in ((self._addresses, slot.address), (self._names, slot.name)):
            times = entries.get(one, [])
            if slot.at in times:
                times.remove(slot.at)
            # An empty entry would push out one that counts.
            if not times:
                entries.pop(one, None)

    def succeed(self, slot: Slot) -> None:
        """Record that a guess was right: the pair is reset, and its address is known."""
        self.give_back(slot)
        self._pairs.pop((slot.address, slot.name), None)
        _put(self._known, (slot.address, slot.name), None)

    def _wait(self, slot: Slot) -> float:
        return max(self._pair_wait(slot), self._address_wait(slot), self._name_wait(slot))

    def _pair_wait(self, slot: Slot) -> float:
        pair = self._pairs.get((slot.address, slot.name))
        if pair is None:
            return 0.0
        if slot.at - pair.last > _RESET_SECONDS:
            del self._pairs[slot.address, slot.name]
            return 0.0
        return pair.blocked_until - slot.at

    def _address_wait(self, slot: Slot) -> float:
        times = self._addresses.get(slot.address, [])
        return _wait(times, slot.at, limit=ADDRESS_FAILURES, window=ADDRESS_WINDOW)

    def _name_wait(self, slot: Slot) -> float:
        if (slot.address, slot.name) in self._known:
            return 0.0
        times = self._names.get(slot.name, [])
        return _wait(times, slot.at, limit=NAME_FAILURES, window=NAME_WINDOW)

    def _count(self, slot: Slot) -> None:
        pair = self._pairs.get((slot.address, slot.name)) or _Pair()
        pair.failures = [at for at in pair.failures if slot.at - at < PAIR_WINDOW] + [slot.at]
        pair.last = slot.at
        if len(pair.failures) >= PAIR_FAILURES:
            # Each block is twice as long as the one before.
            wait = min(MAX_WAIT, PAIR_WINDOW * 2**pair.blocks)
            pair.blocked_until, pair.failures = slot.at + wait, []
            pair.blocks = min(pair.blocks + 1, 10)
        _put(self._pairs, (slot.address, slot.name), pair)
        for times, key in ((self._addresses, slot.address), (self._names, slot.name)):
            _put(times, key, [*times.get(key, [])[-NAME_FAILURES:], slot.at])


def _wait(times: list[float], now: float, *, limit: int, window: float) -> float:
    """Return the time until fewer than `limit` of the times are within the window."""
    recent = [at for at in times if now - at < window]
    return 0.0 if len(recent) < limit else recent[-limit] + window - now


def _put(entries: OrderedDict[Hashable, T], key: Hashable, value: T) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > _MAX_ENTRIES:
        entries.popitem(last=False)


def _name_key(name: str) -> str:
    """Return the key of a name: one for all spellings that `accounts.by_name` finds."""
    return folded(name.strip())[:_MAX_NAME_CHARS]


def _address_key(address: str) -> str:
    """Return the key of an address: with IPv6 each client has 2⁶⁴ of them."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(IPv6Address(int(parsed) >> 64 << 64)) if parsed.version == 6 else address
