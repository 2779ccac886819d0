"""Migrations: the tables of each released version, and the steps from one to the next.

A step is committed together with its own record. A step that was released is never changed again;
a new one is added at the end. Both databases undo the making of tables with the rest of a
transaction, so a process that dies in a step leaves the version before it. Several processes may
open a new store at once: one of them makes it. `schema` describes the tables as they are now.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sqlalchemy import Connection, func, insert, inspect, select, text

from bandstand.errors import StoreError, StoreVersionError
from bandstand.store.database.schema import SCHEMA_VERSION
from bandstand.store.database.sqlite_file import APPLICATION_ID, is_foreign

# An arbitrary number that other programs in the same PostgreSQL database are unlikely to lock.
_LOCK_NUMBER: Final = 0x42414E4453544E44

# The words in braces in the statements below.
_WORDS: Final = {
    "sqlite": {"bytes": "BLOB", "ordered_text": "TEXT", "side_by_side": "WITHOUT ROWID"},
    "postgresql": {"bytes": "BYTEA", "ordered_text": 'TEXT COLLATE "C"', "side_by_side": ""},
}
# False for NaN and infinity in both databases.
_FINITE: Final = "BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"

_SONGS_AND_FILES: Final = (
    """
    CREATE TABLE schema_version (
        version BIGINT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        applied_at BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE store (
        id TEXT NOT NULL PRIMARY KEY,
        created_at BIGINT NOT NULL,
        song_changes BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE song (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        fingerprint TEXT NOT NULL,
        content_size BIGINT NOT NULL CHECK (content_size >= 0),
        title TEXT,
        artist TEXT,
        album TEXT,
        album_artist TEXT,
        genre TEXT,
        year BIGINT,
        track BIGINT,
        disc BIGINT,
        recording_mbid TEXT,
        release_mbid TEXT,
        artist_mbid TEXT,
        track_gain DOUBLE PRECISION CHECK (track_gain {finite}),
        track_peak DOUBLE PRECISION CHECK (track_peak {finite}),
        album_gain DOUBLE PRECISION CHECK (album_gain {finite}),
        album_peak DOUBLE PRECISION CHECK (album_peak {finite}),
        cover TEXT,
        duration DOUBLE PRECISION NOT NULL CHECK (duration >= 0 AND duration {finite}),
        descriptors {bytes} NOT NULL CHECK (length(descriptors) = 159 * 8),
        descriptor_version BIGINT NOT NULL,
        added_at BIGINT NOT NULL,
        folded_name {ordered_text} NOT NULL
    )
    """,
    "CREATE INDEX ix_song_fingerprint ON song (fingerprint)",
    "CREATE INDEX ix_song_content_size ON song (content_size)",
    # A file may have a song and a problem: it could be read once, and can no longer.
    """
    CREATE TABLE file (
        path {bytes} NOT NULL PRIMARY KEY,
        folder {bytes} NOT NULL,
        folded_name {ordered_text} NOT NULL,
        size BIGINT NOT NULL CHECK (size >= 0),
        modified_ns BIGINT NOT NULL,
        song_id {ordered_text} UNIQUE REFERENCES song (id),
        problem TEXT,
        analysis_version BIGINT NOT NULL,
        seen BIGINT NOT NULL,
        missing BOOLEAN NOT NULL,
        CHECK (song_id IS NOT NULL OR problem IS NOT NULL)
    )
    """,
    "CREATE INDEX ix_file_folder ON file (folder)",
    """
    CREATE TABLE scan (
        number BIGINT NOT NULL PRIMARY KEY,
        started_at BIGINT NOT NULL,
        finished_at BIGINT,
        found BIGINT NOT NULL,
        added BIGINT NOT NULL,
        changed BIGINT NOT NULL,
        moved BIGINT NOT NULL,
        missing BIGINT NOT NULL,
        failed BIGINT NOT NULL,
        unchanged BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE projection (
        version BIGINT NOT NULL PRIMARY KEY,
        created_at BIGINT NOT NULL,
        descriptor_version BIGINT NOT NULL,
        songs BIGINT NOT NULL,
        columns BIGINT NOT NULL,
        content {bytes} NOT NULL
    )
    """,
)

# On SQLite the events of an account lie side by side (WITHOUT ROWID), so that to read its log is to
# read few pages, and to add an event is to write few. What is asked of an event depends on its
# kind; `events.py` says how.
_EVENTS: Final = """
    CREATE TABLE {name} (
        account_id {{ordered_text}} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        seq BIGINT NOT NULL CHECK (seq >= 1),
        key TEXT NOT NULL,
        at BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (
            kind IN ({kinds})
        ),
        song_id {{ordered_text}} REFERENCES song (id),
        stars BIGINT CHECK (stars BETWEEN 1 AND 5),
        played_ms BIGINT CHECK (played_ms >= 0),
        since_heard_ms BIGINT CHECK (since_heard_ms >= 0),
        scope TEXT CHECK (scope IN ('song', 'artist', 'album', 'genre')),
        target TEXT,
        until BIGINT,
        retracts BIGINT CHECK (retracts >= 1 AND retracts < seq),
        digest {{bytes}} NOT NULL CHECK (length(digest) = 32),
        PRIMARY KEY (account_id, seq),
        UNIQUE (account_id, key),
        CHECK ((kind IN ('rating', 'skip', 'listen')) = (song_id IS NOT NULL))
    ) {{side_by_side}}
    """
_KINDS: Final = "'rating', 'skip', 'listen', 'ban', 'snooze', 'retract'"
_EVENT_INDEXES: Final = (
    "CREATE INDEX ix_event_account_id_song_id ON event (account_id, song_id, seq)",
    # Few events take another back, and the others need not be in its index.
    """
    CREATE UNIQUE INDEX ix_event_account_id_retracts ON event (account_id, retracts)
    WHERE retracts IS NOT NULL
    """,
)

_ACCOUNTS_AND_EVENTS: Final = (
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
    _EVENTS.format(name="event", kinds=_KINDS),
    *_EVENT_INDEXES,
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

# The log only grows. An event is never changed, and it is deleted only with its account: the
# triggers hold also for statements in a database shell.
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

# What was offered and rated in a study is apart from the log of the account: neither learns from
# the other. It is deleted with the participant, and a participant with the account.
_STUDIES: Final = (
    """
    CREATE TABLE study (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        title {ordered_text} NOT NULL UNIQUE,
        design TEXT NOT NULL,
        catalogue {bytes} NOT NULL,
        created_at BIGINT NOT NULL,
        closed_at BIGINT
    )
    """,
    """
    CREATE TABLE study_participant (
        study_id {ordered_text} NOT NULL REFERENCES study (id) ON DELETE CASCADE,
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        number BIGINT NOT NULL CHECK (number >= 1),
        made_for_study BOOLEAN NOT NULL,
        invited_at BIGINT NOT NULL,
        joined_at BIGINT,
        PRIMARY KEY (study_id, account_id),
        UNIQUE (study_id, number)
    )
    """,
    "CREATE INDEX ix_study_participant_account_id ON study_participant (account_id)",
    """
    CREATE TABLE study_arm (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        study_id {ordered_text} NOT NULL,
        account_id {ordered_text} NOT NULL,
        place BIGINT NOT NULL CHECK (place >= 0),
        algorithm TEXT NOT NULL,
        seed BIGINT NOT NULL CHECK (seed >= 0),
        begun_at BIGINT,
        UNIQUE (study_id, account_id, place),
        FOREIGN KEY (study_id, account_id)
            REFERENCES study_participant (study_id, account_id) ON DELETE CASCADE
    )
    """,
    # A song is offered first, and all that a rating says comes at once.
    """
    CREATE TABLE study_song (
        arm_id {ordered_text} NOT NULL REFERENCES study_arm (id) ON DELETE CASCADE,
        number BIGINT NOT NULL CHECK (number >= 1),
        song_id {ordered_text} NOT NULL REFERENCES song (id),
        offered_at BIGINT NOT NULL,
        choose_ms BIGINT NOT NULL CHECK (choose_ms >= 0),
        stars BIGINT CHECK (stars BETWEEN 1 AND 5),
        known BOOLEAN,
        played_ms BIGINT CHECK (played_ms >= 0),
        rated_at BIGINT,
        PRIMARY KEY (arm_id, number),
        CHECK ((stars IS NULL) = (rated_at IS NULL)),
        CHECK ((stars IS NULL) = (known IS NULL)),
        CHECK (stars IS NOT NULL OR played_ms IS NULL)
    ) {side_by_side}
    """,
)

# Records which songs have changed since when. Changes before this step are unknown; derived data
# that relies on it (the catalogue's matrix, since its second format) is made after this step.
_SONG_CHANGES: Final = (
    """
    CREATE TABLE song_change (
        song_id {ordered_text} NOT NULL PRIMARY KEY REFERENCES song (id),
        number BIGINT NOT NULL,
        note BIGINT NOT NULL
    ) {side_by_side}
    """,
    "CREATE INDEX ix_song_change_number ON song_change (number)",
    "CREATE INDEX ix_song_change_note ON song_change (note)",
)

# A secret is kept as it is: what an app sends is a digest of it with a salt of the app's choice.
_APP_PASSWORDS: Final = (
    """
    CREATE TABLE app_password (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'play', 'rate')),
        secret TEXT NOT NULL,
        secret_hash {bytes} NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
        created_at BIGINT NOT NULL,
        used_at BIGINT
    )
    """,
    "CREATE INDEX ix_app_password_account_id ON app_password (account_id)",
)

_APP_STATE: Final = (
    """
    CREATE TABLE app_state (
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        name {ordered_text} NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (account_id, name)
    ) {side_by_side}
    """,
)

# What was heard elsewhere: it is never changed, and goes with its account.
_IMPORTS: Final = (
    """
    CREATE TABLE history_import (
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        digest {ordered_text} NOT NULL CHECK (length(digest) = 64),
        report TEXT NOT NULL,
        songs BIGINT NOT NULL CHECK (songs >= 0),
        content {bytes} NOT NULL,
        PRIMARY KEY (account_id, digest)
    )
    """,
)

# More kinds of events. SQLite changes a condition of a table only by making the table again.
_MORE_KINDS: Final = f"{_KINDS}, 'favourite', 'import'"
_SQLITE_KINDS: Final = (
    _EVENTS.format(name="event_again", kinds=_MORE_KINDS),
    "INSERT INTO event_again SELECT * FROM event",
    "DROP TABLE event",
    "ALTER TABLE event_again RENAME TO event",
    *_EVENT_INDEXES,
    *_SQLITE_TRIGGERS,
)
_POSTGRES_KINDS: Final = (
    "ALTER TABLE event DROP CONSTRAINT event_kind_check",
    f"ALTER TABLE event ADD CONSTRAINT event_kind_check CHECK (kind IN ({_MORE_KINDS}))",
)
_FAVOURITE_INDEX: Final = """
    CREATE INDEX ix_event_account_id_favourite ON event (account_id, kind, scope, target, at)
    WHERE kind = 'favourite'
"""


class _Apply(Protocol):
    def __call__(self, connection: Connection, *, now: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step, from the version before it to `version`."""

    version: int
    name: str
    apply: _Apply


def _executing(statements: Sequence[str]) -> _Apply:
    def apply(connection: Connection, *, now: int) -> None:
        del now
        words = _WORDS[connection.dialect.name]
        for statement in statements:
            connection.exec_driver_sql(statement.format(finite=_FINITE, **words))

    return apply


def _create_store(connection: Connection, *, now: int) -> None:
    """Make the tables, and the one row that says which store this is."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    _executing(_SONGS_AND_FILES)(connection, now=now)
    connection.execute(
        text("INSERT INTO store (id, created_at, song_changes) VALUES (:id, :now, 0)"),
        {"id": secrets.token_hex(16), "now": now},
    )


def _add_accounts(connection: Connection, *, now: int) -> None:
    _executing(_ACCOUNTS_AND_EVENTS)(connection, now=now)
    is_sqlite = connection.dialect.name == "sqlite"
    for statement in _SQLITE_TRIGGERS if is_sqlite else _POSTGRES_TRIGGERS:
        connection.exec_driver_sql(statement)


def _add_apps(connection: Connection, *, now: int) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    events = (*(_SQLITE_KINDS if is_sqlite else _POSTGRES_KINDS), _FAVOURITE_INDEX)
    _executing((*_APP_PASSWORDS, *_APP_STATE, *_IMPORTS, *events))(connection, now=now)


MIGRATIONS: Final = (
    Migration(version=1, name="songs and files", apply=_create_store),
    Migration(version=2, name="accounts and events", apply=_add_accounts),
    Migration(version=3, name="studies", apply=_executing(_STUDIES)),
    Migration(version=4, name="song changes", apply=_executing(_SONG_CHANGES)),
    Migration(version=5, name="apps, favourites and imports", apply=_add_apps),
)


def recorded_version(connection: Connection, place: str, steps: Sequence[Migration]) -> int:
    """Return the version of the store, 0 where there is nothing yet.

    Raises StoreError for another program's database, StoreVersionError for a version of which
    `steps` know nothing. Nothing is changed.
    """
    check = _check_sqlite if connection.dialect.name == "sqlite" else _check_postgres
    check(connection, place)
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    if not {"schema_version", "store"} <= tables:
        shown = ", ".join(sorted(tables)[:3])
        msg = f"the store {place} must be empty or a Bandstand store, got other tables: {shown}"
        raise StoreError(msg)
    version = connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) or 0
    if version > steps[-1].version:
        msg = (
            f"the store {place} must be of version {steps[-1].version} or older, got version "
            f"{version}: it was made by a newer Bandstand"
        )
        raise StoreVersionError(msg)
    return int(version)


def take_step(
    connection: Connection, place: str, step: Migration, steps: Sequence[Migration], *, now: int
) -> None:
    """Take one of the steps, in a transaction of its own, unless another process has taken it."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})"))
    if recorded_version(connection, place, steps) < step.version:
        step.apply(connection, now=now)
        record = {"version": step.version, "name": step.name, "applied_at": now}
        connection.execute(insert(SCHEMA_VERSION).values(record))


def _check_sqlite(connection: Connection, place: str) -> None:
    if is_foreign(connection):
        msg = f"the store {place} must be a Bandstand store, got another program's database"
        raise StoreError(msg)


def _check_postgres(connection: Connection, place: str) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        msg = f"the store {place} must be a database with the encoding UTF8, got {encoding}"
        raise StoreError(msg)
    if connection.execute(select(func.current_schema())).scalar_one() is None:
        msg = f"the store {place} must have a schema that exists in its search path, got none"
        raise StoreError(msg)
