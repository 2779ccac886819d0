"""Version 2: accounts and their sessions, the event log, snapshots of listeners, playlists.

The log only grows. An event is never changed, and it goes only with the account that it belongs
to: the triggers hold also for statements in a database shell.

On SQLite the events of an account lie side by side (WITHOUT ROWID), so that to read its log is to
read few pages, and to add an event is to write few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.store.database.migrations._dialects import run

if TYPE_CHECKING:
    from sqlalchemy import Connection

_TABLES: Final = (
    """
    CREATE TABLE account (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        name TEXT NOT NULL,
        folded_name {ordered_text} NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('listener', 'admin')),
        password TEXT,
        disabled BOOLEAN NOT NULL,
        seed BIGINT NOT NULL CHECK (seed >= 0),
        settings TEXT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE session (
        token_hash {bytes} NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        client TEXT NOT NULL
    )
    """,
    "CREATE INDEX ix_session_account_id ON session (account_id)",
    # What is asked of an event depends on its kind; `events.py` says how.
    """
    CREATE TABLE event (
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        seq BIGINT NOT NULL CHECK (seq >= 1),
        key TEXT NOT NULL,
        at BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (
            kind IN ('rating', 'skip', 'listen', 'ban', 'snooze', 'retract')
        ),
        song_id {ordered_text} REFERENCES song (id),
        stars BIGINT CHECK (stars BETWEEN 1 AND 5),
        played_ms BIGINT CHECK (played_ms >= 0),
        since_heard_ms BIGINT CHECK (since_heard_ms >= 0),
        scope TEXT CHECK (scope IN ('song', 'artist', 'album', 'genre')),
        target TEXT,
        until BIGINT,
        retracts BIGINT CHECK (retracts >= 1 AND retracts < seq),
        digest {bytes} NOT NULL CHECK (length(digest) = 32),
        PRIMARY KEY (account_id, seq),
        UNIQUE (account_id, key),
        CHECK ((kind IN ('rating', 'skip', 'listen')) = (song_id IS NOT NULL))
    ) {side_by_side}
    """,
    "CREATE INDEX ix_event_account_id_song_id ON event (account_id, song_id, seq)",
    # Few events take another back, and the others need not be in its index.
    """
    CREATE UNIQUE INDEX ix_event_account_id_retracts ON event (account_id, retracts)
    WHERE retracts IS NOT NULL
    """,
    # The end of each account's log: an append locks this row, and a log whose end was cut
    # off no longer fits it.
    """
    CREATE TABLE log_end (
        account_id {ordered_text} NOT NULL PRIMARY KEY
            REFERENCES account (id) ON DELETE CASCADE,
        seq BIGINT NOT NULL CHECK (seq >= 0),
        at BIGINT NOT NULL,
        digest {bytes} NOT NULL CHECK (length(digest) = 32)
    ) {side_by_side}
    """,
    """
    CREATE TABLE snapshot (
        account_id {ordered_text} NOT NULL PRIMARY KEY
            REFERENCES account (id) ON DELETE CASCADE,
        seq BIGINT NOT NULL,
        version BIGINT NOT NULL,
        content {bytes} NOT NULL
    )
    """,
    """
    CREATE TABLE playlist (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX ix_playlist_account_id ON playlist (account_id)",
    """
    CREATE TABLE playlist_song (
        playlist_id {ordered_text} NOT NULL REFERENCES playlist (id) ON DELETE CASCADE,
        position BIGINT NOT NULL CHECK (position >= 0),
        song_id {ordered_text} NOT NULL REFERENCES song (id),
        PRIMARY KEY (playlist_id, position)
    )
    """,
)

_SQLITE_TRIGGERS: Final = (
    """
    CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'the event log only grows: an event is never changed'); END
    """,
    """
    CREATE TRIGGER event_goes_with_its_account BEFORE DELETE ON event
    WHEN EXISTS (SELECT 1 FROM account WHERE id = OLD.account_id)
    BEGIN SELECT RAISE(ABORT, 'the event log only grows: an event goes with its account'); END
    """,
    # INSERT OR REPLACE takes rows away without asking the trigger above.
    """
    CREATE TRIGGER event_is_never_replaced BEFORE INSERT ON event
    WHEN EXISTS (SELECT 1 FROM event WHERE account_id = NEW.account_id AND seq = NEW.seq)
        OR EXISTS (SELECT 1 FROM event WHERE account_id = NEW.account_id AND key = NEW.key)
        OR EXISTS (
            SELECT 1 FROM event WHERE account_id = NEW.account_id AND retracts = NEW.retracts
        )
    BEGIN SELECT RAISE(ABORT, 'the event log only grows: an event is never replaced'); END
    """,
)

# The functions find `account` in the schema of the store, whatever the caller's search path is.
_POSTGRES_TRIGGERS: Final = (
    """
    CREATE FUNCTION event_is_never_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'the event log only grows: an event is never changed'; END $$
    """,
    """
    CREATE FUNCTION event_goes_with_its_account() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM account WHERE id = OLD.account_id) THEN
            RAISE EXCEPTION 'the event log only grows: an event goes with its account';
        END IF;
        RETURN OLD;
    END $$
    """,
    """
    CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
    FOR EACH ROW EXECUTE FUNCTION event_is_never_changed()
    """,
    """
    CREATE TRIGGER event_goes_with_its_account BEFORE DELETE ON event
    FOR EACH ROW EXECUTE FUNCTION event_goes_with_its_account()
    """,
    """
    CREATE TRIGGER event_is_never_emptied BEFORE TRUNCATE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION event_is_never_changed()
    """,
)

_TRIGGERS: Final = {"sqlite": _SQLITE_TRIGGERS, "postgresql": _POSTGRES_TRIGGERS}


def apply(connection: Connection, *, now: int) -> None:
    """Make the tables and what guards the log; nothing that is there changes."""
    del now
    run(connection, _TABLES)
    for statement in _TRIGGERS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
