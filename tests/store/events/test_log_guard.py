"""The log only grows, and a change that was made all the same shows."""

# ruff: noqa: S608  # the statements are put together from our own words

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from bandstand.errors import StoreError
from bandstand.store.database.connection import Store
from bandstand.store.events import events
from bandstand.store.events.events import Event
from tests.fixtures.store.examples import discarded
from tests.fixtures.store.sample_log import NOW, account_and_songs, add, every_kind, new_account

TRIGGERS = ("event_is_never_changed", "event_goes_with_its_account", "event_is_never_replaced")


def fill(store: Store) -> tuple[str, list[str], list[Event]]:
    """Return an account, songs, and a log with events of every kind."""
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        news = every_kind(account, songs)
        log = [add(connection, new, now=NOW + 60_000 * n) for n, new in enumerate(news)]
    return account, songs, log


def unguard(connection: Connection) -> None:
    """Take the guards of the log away."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("ALTER TABLE event DISABLE TRIGGER USER"))
        return
    for trigger in TRIGGERS:
        connection.execute(text(f"DROP TRIGGER {trigger}"))


def is_postgres(store: Store) -> bool:
    return "postgresql" in str(store.location)


def test_no_event_can_be_changed_or_taken_out(store: Store) -> None:
    account, _, log = fill(store)
    copied = "SELECT * FROM event WHERE seq = 1"
    attempts = [
        *(f"UPDATE event SET {column} = {column}" for column in ("at", "stars", "digest", "key")),
        "UPDATE event SET stars = 5 WHERE seq = 1",
        "DELETE FROM event",
        "DELETE FROM event WHERE seq = 11",
        f"INSERT INTO event {copied} ON CONFLICT (account_id, seq) DO UPDATE SET stars = 5",
    ]
    if is_postgres(store):
        attempts += ["TRUNCATE event", "TRUNCATE account CASCADE"]
    for attempt in attempts:
        with (
            pytest.raises(StoreError, match=r"only grows|UNIQUE|never replaced"),
            store.writing() as connection,
        ):
            connection.execute(text(attempt))
    with store.reading() as connection:
        assert list(events.after(connection, account)) == log


@pytest.mark.parametrize("same", ["seq", "key", "retracts"])
def test_no_event_is_replaced_by_sqlites_own_way_of_doing_it(store: Store, same: str) -> None:
    if is_postgres(store):
        return  # which has no such statement
    account, _, log = fill(store)
    columns = {"account_id": "account_id", "seq": "99", "key": "'new'", "at": "at", "kind": "kind"}
    columns |= {"retracts": "NULL", "digest": "digest", same: same}
    replacing = (
        f"INSERT OR REPLACE INTO event ({', '.join(columns)}) "
        f"SELECT {', '.join(columns.values())} FROM event WHERE seq = 10"
    )
    with pytest.raises(StoreError, match="never replaced"), store.writing() as connection:
        connection.execute(text(replacing))
    with store.reading() as connection:
        assert list(events.after(connection, account)) == log
    # Without the guard it would be.
    with discarded(store) as connection:
        unguard(connection)
        connection.execute(text(replacing))
        assert list(events.after(connection, account)) != log


def test_an_account_can_be_taken_away_from_another_search_path(store: Store) -> None:
    if not is_postgres(store):
        return  # which has no schemas
    account, _, _ = fill(store)
    with store.writing() as connection:
        schema = connection.execute(text("SELECT current_schema()")).scalar_one()
        connection.execute(text("SET LOCAL search_path = pg_catalog"))
        connection.execute(text(f"DELETE FROM {schema}.account WHERE id = '{account}'"))
    with store.reading() as connection:
        assert list(events.after(connection, account)) == []


def changed_values(event: Event, songs: list[str], other: str) -> dict[str, Any]:
    """Return another value for each column, such as the tables themselves would take."""
    values = {
        "account_id": other,
        "seq": event.seq + 1_000,
        "key": event.key + "x",
        "at": event.at + 1,
        "kind": "skip" if event.song is not None else "ban",
        "song_id": songs[2],
        "stars": 3 if event.stars is None else event.stars % 5 + 1,
        "played_ms": 1 if event.played_ms is None else None,
        "since_heard_ms": 1 if event.since_heard_ms is None else event.since_heard_ms + 1,
        "scope": "artist" if event.scope != "artist" else "genre",
        "target": "" if event.target is None else None,
        "until": 1 if event.until is None else event.until - 1,
        "retracts": 1 if event.retracts is None else None,
        "digest": bytes([event.digest[0] ^ 1]) + event.digest[1:],
    }
    # The tables themselves know that what is heard has a song, and what comes first.
    refused = {"retracts": event.seq == 1, "song_id": event.song is None}
    same = {"kind": event.kind in {"skip", "ban"}}
    return {name: to for name, to in values.items() if not {**refused, **same}.get(name)}


def test_a_changed_value_in_any_column_of_any_event_is_found(store: Store) -> None:
    account, songs, log = fill(store)
    with store.writing() as connection:
        other = new_account(connection)
        unguard(connection)
    trials = 0
    for event in log:
        for column, value in changed_values(event, songs, other).items():
            with discarded(store) as connection:
                connection.execute(
                    text(f"UPDATE event SET {column} = :value WHERE account_id = :a AND seq = :s"),
                    {"value": value, "a": account, "s": event.seq},
                )
                assert events.check_chain(connection, account) != [], (event.seq, column)
            trials += 1
    assert trials >= 100
    with store.reading() as connection:
        assert events.check_chain(connection, account) == []


def damages(log: list[Event]) -> Iterator[str]:
    """Yield statements that take something out of a log or put something in."""
    for event in log:
        yield f"DELETE FROM event WHERE seq = {event.seq}"
        yield f"DELETE FROM event WHERE seq >= {event.seq}"
        yield f"DELETE FROM event WHERE seq <= {event.seq}"
    copied = "SELECT account_id, 14, 'new', at, kind, digest FROM event WHERE seq = 11"
    yield f"INSERT INTO event (account_id, seq, key, at, kind, digest) {copied}"
    yield "DELETE FROM log_end"
    for change in ("seq = seq - 1", "seq = seq + 1", "at = at + 1"):
        yield f"UPDATE log_end SET {change}"


def test_what_is_taken_out_or_put_in_is_found(store: Store) -> None:
    account, _, log = fill(store)
    with store.writing() as connection:
        unguard(connection)
    found = 0
    for damage in damages(log):
        with discarded(store) as connection:
            connection.execute(text(damage))
            assert events.check_chain(connection, account) != [], damage
            found += 1
    assert found == 3 * len(log) + 5


def test_an_end_that_was_cut_off_with_its_note_is_found(store: Store) -> None:
    """Whoever moves the note too must also know the digest; another one does not fit."""
    account, _, log = fill(store)
    with discarded(store) as connection:
        unguard(connection)
        connection.execute(text("DELETE FROM event WHERE seq = 13"))
        connection.execute(text("UPDATE log_end SET seq = 12, at = :at"), {"at": log[11].at})
        assert events.check_chain(connection, account) == [
            f"account {account}: event 12 must fit the note of where the log ends, got another"
        ]
