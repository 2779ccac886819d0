"""The tables, as the queries know them.

`migrations` makes them; a test compares the two. Times are UTC, in milliseconds since 1970.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DOUBLE_PRECISION,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

METADATA: Final = MetaData()

# Ordered by bytes in both databases, whatever language a PostgreSQL server speaks.
_ORDERED_TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")

SCHEMA_VERSION: Final = Table(
    "schema_version",
    METADATA,
    Column("version", BigInteger, primary_key=True),
    Column("name", Text, nullable=False),
    Column("applied_at", BigInteger, nullable=False),
)

STORE: Final = Table(
    "store",
    METADATA,
    Column("id", Text, primary_key=True),  # random, made with the store
    Column("created_at", BigInteger, nullable=False),
    # Grows with every change of the set of present songs or of their descriptors.
    Column("song_changes", BigInteger, nullable=False),
)

SONG: Final = Table(
    "song",
    METADATA,
    Column("id", _ORDERED_TEXT, primary_key=True),  # 16 hexadecimal digits
    Column("fingerprint", Text, nullable=False, index=True),
    # That of the file may be another: of something unreadable that took its place.
    Column("content_size", BigInteger, nullable=False, index=True),
    Column("title", Text),
    Column("artist", Text),
    Column("album", Text),
    Column("album_artist", Text),
    Column("genre", Text),
    Column("year", BigInteger),
    Column("track", BigInteger),
    Column("disc", BigInteger),
    Column("recording_mbid", Text),
    Column("release_mbid", Text),
    Column("artist_mbid", Text),
    Column("track_gain", DOUBLE_PRECISION),
    Column("track_peak", DOUBLE_PRECISION),
    Column("album_gain", DOUBLE_PRECISION),
    Column("album_peak", DOUBLE_PRECISION),
    Column("cover", Text),
    Column("duration", DOUBLE_PRECISION, nullable=False),
    Column("descriptors", LargeBinary, nullable=False),  # float64, little end first
    Column("descriptor_version", BigInteger, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("folded_name", _ORDERED_TEXT, nullable=False),  # "artist - title", for searching
)

FILE: Final = Table(
    "file",
    METADATA,
    Column("path", LargeBinary, primary_key=True),
    Column("folder", LargeBinary, nullable=False, index=True),
    Column("folded_name", _ORDERED_TEXT, nullable=False),  # of the file, for searching
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("song_id", _ORDERED_TEXT, ForeignKey("song.id"), unique=True),
    Column("problem", Text),
    Column("analysis_version", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),  # number of the last scan that met it
    Column("missing", Boolean, nullable=False),
)

SCAN: Final = Table(
    "scan",
    METADATA,
    Column("number", BigInteger, primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("found", BigInteger, nullable=False),
    Column("added", BigInteger, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Column("moved", BigInteger, nullable=False),
    Column("missing", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("unchanged", BigInteger, nullable=False),
)

PROJECTION: Final = Table(
    "projection",
    METADATA,
    Column("version", BigInteger, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("descriptor_version", BigInteger, nullable=False),
    Column("songs", BigInteger, nullable=False),
    Column("columns", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
