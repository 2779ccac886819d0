"""Version 1: the store itself, songs, files, scans and projections."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from bandstand.store.database.migrations._dialects import run

if TYPE_CHECKING:
    from sqlalchemy import Connection

_APPLICATION_ID: Final = 0x42414E44  # "BAND"

# False for NaN and infinity in both databases.
_FINITE: Final = "BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"

_STATEMENTS: Final = (
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
    f"""
    CREATE TABLE song (
        id {{ordered_text}} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
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
        track_gain DOUBLE PRECISION CHECK (track_gain {_FINITE}),
        track_peak DOUBLE PRECISION CHECK (track_peak {_FINITE}),
        album_gain DOUBLE PRECISION CHECK (album_gain {_FINITE}),
        album_peak DOUBLE PRECISION CHECK (album_peak {_FINITE}),
        cover TEXT,
        duration DOUBLE PRECISION NOT NULL CHECK (duration >= 0 AND duration {_FINITE}),
        descriptors {{bytes}} NOT NULL CHECK (length(descriptors) = 159 * 8),
        descriptor_version BIGINT NOT NULL,
        added_at BIGINT NOT NULL,
        folded_name {{ordered_text}} NOT NULL
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


def apply(connection: Connection, *, now: int) -> None:
    """Make the tables, and the one row that says which store this is."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
    run(connection, _STATEMENTS)
    connection.execute(
        text("INSERT INTO store (id, created_at, song_changes) VALUES (:id, :now, 0)"),
        {"id": secrets.token_hex(16), "now": now},
    )
