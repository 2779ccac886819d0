"""A whole server without its sockets: store, songs, radio, accounts, app."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio.passwords import hashed
from bandstand.settings import Settings
from bandstand.store import accounts, sessions
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.web.app import create_app
from bandstand.web.cookies import NAME
from bandstand.web.server import on_air
from tests.store.examples import analysis
from tests.web.asking import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

    from bandstand.store.accounts import Account, Role
    from bandstand.store.database.connection import Store
    from bandstand.web.context import Context

PASSWORD = "a brass band on Sunday"  # noqa: S105
SONGS = 40


@dataclass(slots=True)
class Clock:
    """UTC milliseconds; it stands still until it is moved."""

    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@dataclass(slots=True)
class World:
    """Everything behind the sockets, and people who ask."""

    store: Store
    context: Context
    app: ASGIApp
    clock: Clock
    runner: asyncio.Runner
    songs: list[str] = field(default_factory=list)

    def stranger(self, address: str = "127.0.0.1") -> Client:
        """Return somebody who is not logged in."""
        return Client(self.app, self.runner, address)

    def account(self, name: str, role: Role = "listener", *, password: bool = True) -> Account:
        """Return a new account whose password is PASSWORD."""
        with self.store.writing() as connection:
            kept = password_hash() if password else None
            return accounts.create(
                connection, name=name, role=role, password_hash=kept, now=self.clock()
            )

    def member(self, account: Account, *, days: float = 365) -> Client:
        """Return somebody with a session of an account."""
        client = self.stranger()
        with self.store.writing() as connection:
            client.cookies[NAME] = sessions.create(
                connection,
                account=account.id,
                now=self.clock(),
                expires_at=self.clock() + round(days * 86_400_000),
                client="tests",
            )
        return client

    def listener(self, name: str = "Ann") -> Client:
        return self.member(self.account(name))

    def admin(self, name: str = "Zoe") -> Client:
        return self.member(self.account(name, "admin"))

    def log_length(self, account: Account) -> int:
        with self.store.reading() as connection:
            return events.end(connection, account.id).seq


@cache
def password_hash() -> str:
    """Return the hash of PASSWORD; made once, since it takes its time."""
    return hashed(PASSWORD)


@contextmanager
def make_world(folder: Path, *, guest: bool = False, **settings: Any) -> Iterator[World]:
    """Give a world with some songs in a store of its own."""
    clock = Clock()
    with open_store(str(folder / "radio.db"), now=clock()) as store:
        songs = fill(store, clock())
        who = "Guest" if guest else None
        if who is not None:
            with store.writing() as connection:
                accounts.create(
                    connection, name=who, role="listener", password_hash=None, now=clock()
                )
        wanted = Settings(**settings)
        with on_air(store, wanted, clock=clock, guest=who) as context, asyncio.Runner() as runner:
            app = create_app(context)
            yield World(store, context, app, clock, runner, songs)


def fill(store: Store, now: int, count: int = SONGS) -> list[str]:
    """Put songs into a store, with features, and return their ids."""
    found = [
        (
            f"/music/{seed:03}.ogg".encode(),
            analysis(seed, artist=f"Artist {seed % 7}", album=f"Album {seed % 9}", genre="Jazz"),
        )
        for seed in range(1, count + 1)
    ]
    with store.writing() as connection:
        changes = record_analyses(connection, found, scan=1, now=now)
    refreshed(store, now=now)
    return [change.song_id for change in changes]
