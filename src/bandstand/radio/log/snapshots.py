"""A listener's ledger from the store: the snapshot, if there is one, and the log after it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bandstand.errors import InvalidInputError
from bandstand.radio.log.fold import Ledger, continued, reaches_back
from bandstand.radio.log.snapshot_bytes import VERSION, from_bytes, to_bytes
from bandstand.store.events import events, snapshots

if TYPE_CHECKING:
    from sqlalchemy import Connection


def read(connection: Connection, account: str) -> Ledger:
    """Return what an account's log says, to its end as `connection` sees it."""
    return opened(connection, account)[0]


def opened(connection: Connection, account: str) -> tuple[Ledger, int]:
    """Return what an account's log says, and the event up to which a snapshot saved reading it."""
    snapshot = _usable(connection, account) or Ledger.empty()
    tail = list(events.after(connection, account, snapshot.seq))
    start = 0 if reaches_back(tail, snapshot) else snapshot.seq
    return continued(snapshot, tail, lambda: events.after(connection, account)), start


def caught_up(connection: Connection, account: str, ledger: Ledger) -> Ledger:
    """Return an earlier ledger of an account with what has come to its log since.

    Mostly it is the latest event that is taken back. A snapshot that does not hold it yet saves
    reading the whole log again.
    """
    tail = list(events.after(connection, account, ledger.seq))
    if reaches_back(tail, ledger):
        snapshot = _usable(connection, account)
        if snapshot is not None and snapshot.seq < ledger.seq:
            ledger, tail = snapshot, list(events.after(connection, account, snapshot.seq))
    return continued(ledger, tail, lambda: events.after(connection, account))


def _usable(connection: Connection, account: str) -> Ledger | None:
    """Return the ledger in an account's snapshot, if there is one that can be used."""
    # One that cannot is as good as none; `bandstand verify` speaks of it.
    with suppress(InvalidInputError):
        return saved(connection, account)
    return None


def save(connection: Connection, account: str, ledger: Ledger) -> bool:
    """Return whether a ledger was kept as the account's snapshot: not if a later one is there."""
    content = to_bytes(ledger)
    return snapshots.save(connection, account, seq=ledger.seq, version=VERSION, content=content)


def saved(connection: Connection, account: str) -> Ledger | None:
    """Return the ledger in an account's snapshot; None where there is none of this version."""
    snapshot = snapshots.get(connection, account, VERSION)
    if snapshot is None:
        return None
    ledger = from_bytes(snapshot.content)
    end = events.end(connection, account).seq
    if not ledger.seq == snapshot.seq <= end:
        msg = (
            f"a snapshot must be of event {snapshot.seq}, in a log of {end}, "
            f"got one of {ledger.seq}"
        )
        raise InvalidInputError(msg)
    return ledger
