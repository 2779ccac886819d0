"""Listeners in a real store, with logs that the store itself has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from bandstand.store.events.events import NewEvent, append
from tests.radio.logs import SONGS
from tests.store.sample_log import new_account, new_songs

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Event
    from tests.radio.logs import Log


def stored(store: Store, *logs: Log) -> list[str]:
    """Return the accounts, in the order of `logs`, to which the same has happened."""
    with store.writing() as connection:
        songs = dict(zip(SONGS, new_songs(connection, len(SONGS)), strict=True))
        return [_stored(connection, log, songs) for log in logs]


def _stored(connection: Connection, log: Log, songs: dict[str, str]) -> str:
    account = new_account(connection)
    for event in log.events:
        append(connection, _new(account, event, songs), now=event.at)
    return account


def _new(account: str, event: Event, songs: dict[str, str]) -> NewEvent:
    is_song = event.scope == "song" and event.target is not None
    return NewEvent(
        account=account,
        key=event.key,
        kind=event.kind,
        song=None if event.song is None else songs[event.song],
        stars=event.stars,
        played_ms=event.played_ms,
        scope=event.scope,
        target=songs[event.target or ""] if is_song else event.target,
        until=event.until,
        retracts=event.retracts,
    )


def snapshot_of(connection: Connection, account: str) -> bytes:
    """Return the content of an account's snapshot."""
    statement = text("SELECT content FROM snapshot WHERE account_id = :account")
    return bytes(connection.execute(statement, {"account": account}).scalar_one())


def set_snapshot(connection: Connection, account: str, content: bytes) -> None:
    """Put something else into an account's snapshot."""
    statement = text("UPDATE snapshot SET content = :content WHERE account_id = :account")
    connection.execute(statement, {"account": account, "content": content})
