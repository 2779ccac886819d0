"""Making everything anew that is derived from the log, and checking that it need not be.

Neither looks at the clock: a log says the same at any time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from bandstand.errors import InvalidInputError, StoreError
from bandstand.music.catalogue import columns, matrix
from bandstand.music.catalogue.refresh import current
from bandstand.radio.log import snapshots as ledger_store
from bandstand.radio.log.fold import Ledger, fold
from bandstand.store import accounts
from bandstand.store.events import events, snapshots
from bandstand.store.songs import projections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Event

_TOLD_EVERY: Final = 1_000  # events


class Progress(Protocol):
    """Somebody who wants to know how far the work is."""

    def __call__(self, done: int, total: int | None, /) -> None:
        """Take note that `done` of `total` events are done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What was made anew."""

    events: int  # in all logs
    digests: Mapping[str, str]  # of each listener's ledger, by account, in the order of the ids

    @property
    def listeners(self) -> int:
        """How many listeners there are."""
        return len(self.digests)

    @property
    def digest(self) -> str:
        """A hexadecimal SHA-256 over all listeners: equal logs, equal digests."""
        lines = (f"{account} {digest}\n" for account, digest in self.digests.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def rebuild(store: Store, *, catalogue: bool = False, progress: Progress | None = None) -> Rebuilt:
    """Drop all snapshots, fold every log from its first event, and keep new snapshots.

    With `catalogue`, the matrix of all songs' features is made anew too. The log is only read,
    so whatever interrupts this, nothing is lost, and whoever needs a snapshot that is not there
    folds the log.
    """
    with store.writing() as connection:
        snapshots.delete_all(connection)
        listeners = sorted(account.id for account in accounts.all_accounts(connection))
        total = sum(events.end(connection, account).seq for account in listeners)
    digests, done = {}, 0
    for account in listeners:
        tell = partial(_tell, progress, done, total)
        ledger = _rebuilt(store, account, tell)
        digests[account] = ledger.digest()
        done += ledger.seq
        tell(ledger.seq)
    if catalogue:
        _rebuild_catalogue(store)
    return Rebuilt(events=done, digests=digests)


def _tell(progress: Progress | None, before: int, total: int, done: int) -> None:
    if progress is not None:
        # Listeners may go on while their logs are read.
        progress(before + done, max(total, before + done))


def check(store: Store) -> list[str]:
    """Return what is wrong with the snapshots, in sentences; nothing if nothing is.

    A snapshot and the events after it must say the same as the whole log.
    """
    with store.reading(limit=None) as connection:
        listeners = sorted(account.id for account in accounts.all_accounts(connection))
    problems = []
    for account in listeners:
        with store.reading(limit=None) as connection:
            problem = _problem(connection, account)
        if problem is not None:
            problems.append(f"account {account}: {problem}")
    return problems


def _rebuild_catalogue(store: Store) -> None:
    """Make the matrix anew, with the projection that is stored; without one there is none."""
    matrix.discard(store.location.data_folder)
    columns.discard(store.location.data_folder)
    with store.reading() as connection:
        stored = projections.latest(connection)
    if stored is not None:
        current(store)


def _rebuilt(store: Store, account: str, tell: Callable[[int], None]) -> Ledger:
    """Return the fold of an account's whole log, which is now its snapshot."""
    # Read apart from the write: to fold a long log takes a while, and others want to write.
    with store.reading(limit=None) as connection:
        ledger = _folded(connection, account, tell)
    with store.writing() as connection:
        ledger_store.save(connection, account, ledger)
    return ledger


def _folded(
    connection: Connection, account: str, tell: Callable[[int], None] = lambda _: None
) -> Ledger:
    try:
        return fold(_told(events.after(connection, account), tell))
    except InvalidInputError as problem:
        msg = f"the log of account {account} must be whole, see `bandstand verify`: {problem}"
        raise StoreError(msg) from problem


def _told(log: Iterable[Event], tell: Callable[[int], None]) -> Iterator[Event]:
    """Yield the events of a log, and tell now and then how many there were."""
    for event in log:
        if event.seq % _TOLD_EVERY == 0:
            tell(event.seq)
        yield event


def _problem(connection: Connection, account: str) -> str | None:
    """Return what is wrong with an account's snapshot."""
    advice = "`bandstand rebuild` makes it anew"
    try:
        snapshot = ledger_store.saved(connection, account)
        if snapshot is None:
            return None
        whole = _folded(connection, account)
        continued = ledger_store.caught_up(connection, account, snapshot)
    except InvalidInputError as problem:
        return f"its snapshot cannot be used, {advice}: {problem}"
    except StoreError as problem:
        return str(problem)
    if continued.digest() != whole.digest():
        return f"its snapshot of event {snapshot.seq} must say what the log says, {advice}"
    return None
