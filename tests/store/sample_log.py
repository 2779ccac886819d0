"""Accounts, songs and events for the tests of the log."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from bandstand.store import accounts
from bandstand.store.events.events import Appended, Event, NewEvent, append
from bandstand.store.songs.save_analysis import record_analyses
from tests.store.examples import analysis

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store

NOW = 1_700_000_000_000
MINUTE = 60_000
NOBODY = "0123456789abcdef"

_names = count(1)


def new_account(connection: Connection) -> str:
    """Return the id of an account that is made for this."""
    name = f"Listener {next(_names)}"
    return accounts.create(connection, name=name, role="listener", password_hash=None, now=NOW).id


def new_songs(connection: Connection, number: int = 3) -> list[str]:
    """Return the ids of some songs, which are made where they are missing."""
    found = [(b"/songs/%d" % seed, analysis(seed)) for seed in range(number)]
    made = record_analyses(connection, found, scan=1, now=NOW)
    return [str(it.song_id) for it in made]


def account_and_songs(store: Store, number: int = 3) -> tuple[str, list[str]]:
    """Return an account and songs in a store of its own."""
    with store.writing() as connection:
        return new_account(connection), new_songs(connection, number)


def rating(account: str, song: str, key: str = "a", stars: int = 4, **more: Any) -> NewEvent:
    """Return a rating to be appended."""
    return NewEvent(account=account, key=key, kind="rating", song=song, stars=stars, **more)


def add(connection: Connection, new: NewEvent, *, now: int = NOW) -> Event:
    """Return an event that must be new."""
    appended = append(connection, new, now=now)
    assert appended.is_new
    return appended.event


def adding(new: NewEvent, *, now: int = NOW) -> Callable[[Connection], Appended]:
    """Return the work of a writer that appends an event."""
    return lambda connection: append(connection, new, now=now)


def every_kind(account: str, songs: list[str]) -> list[NewEvent]:
    """Return events of every kind and with every field, in an order in which they can happen."""
    first, second, third = songs[:3]

    def new(key: str, kind: Any, **fields: Any) -> NewEvent:
        return NewEvent(account=account, key=key, kind=kind, **fields)

    return [
        new("1", "rating", song=first, stars=1),
        new("2", "rating", song=first, stars=5, played_ms=30_000),
        new("3", "skip", song=first, played_ms=0),
        new("4", "listen", song=second),
        new("5", "listen", song=second, played_ms=200_000),
        new("6", "ban", scope="song", target=third),
        new("7", "ban", scope="artist", target="Sigur Rós"),
        new("8", "snooze", scope="album", target="(", until=NOW + 86_400_000),
        new("9", "snooze", scope="genre", target="x" * 500, for_ms=86_400_000),
        new("10", "retract", retracts=2),
        new("ключ " + "k" * 195, "retract", retracts=7),
    ]
