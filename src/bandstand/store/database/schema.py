"""The tables, as queries use them, and reading and writing many of their rows.

`migrations` makes them; a test compares the two. Times are UTC, in milliseconds since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import (
    DOUBLE_PRECISION,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

from bandstand.store.database.values import is_storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Dialect, RowMapping, Select
    from sqlalchemy.types import TypeEngine

METADATA: Final = MetaData()

_IN_NO_ROW: Final = "\ufffd" * 2_000  # longer than any id, name or title


class KeyText(TypeDecorator[str]):
    """Text that is looked up and ordered, by bytes in both databases.

    A text that no database can hold is looked for as one that no row has, so that what a stranger
    sends as an id is simply not found.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of the column; PostgreSQL would order by the server's language."""
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Return a text as the database gets it."""
        del dialect
        return _IN_NO_ROW if isinstance(value, str) and not is_storable(value) else value


def _columns(kind: Any, names: str, *, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names.split()]


def _account_id(*, is_key: bool = False) -> Column[str]:
    owner = ForeignKey("account.id", ondelete="CASCADE")
    return Column("account_id", KeyText, owner, primary_key=is_key, nullable=False)


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
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits
    Column("fingerprint", Text, nullable=False, index=True),
    # That of the file may be another: of something unreadable that took its place.
    Column("content_size", BigInteger, nullable=False, index=True),
    *_columns(Text, "title artist album album_artist genre", nullable=True),
    *_columns(BigInteger, "year track disc", nullable=True),
    *_columns(Text, "recording_mbid release_mbid artist_mbid", nullable=True),
    *_columns(DOUBLE_PRECISION, "track_gain track_peak album_gain album_peak", nullable=True),
    Column("cover", Text),
    Column("duration", DOUBLE_PRECISION, nullable=False),
    Column("descriptors", LargeBinary, nullable=False),  # float64, little end first
    *_columns(BigInteger, "descriptor_version added_at"),
    Column("folded_name", KeyText, nullable=False),  # "artist - title", for searching
)

FILE: Final = Table(
    "file",
    METADATA,
    Column("path", LargeBinary, primary_key=True),
    Column("folder", LargeBinary, nullable=False, index=True),
    Column("folded_name", KeyText, nullable=False),  # of the file, for searching
    *_columns(BigInteger, "size modified_ns"),
    Column("song_id", KeyText, ForeignKey("song.id"), unique=True),
    Column("problem", Text),
    Column("analysis_version", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),  # number of the last scan that met it
    Column("missing", Boolean, nullable=False),
)

SONG_CHANGE: Final = Table(
    "song_change",
    METADATA,
    Column("song_id", KeyText, ForeignKey("song.id"), primary_key=True),
    # What `store.song_changes` was when it changed last, or the next number after that.
    Column("number", BigInteger, nullable=False, index=True),
    # The number of this note of changes: each is higher than all before it.
    Column("note", BigInteger, nullable=False, index=True),
)

SCAN: Final = Table(
    "scan",
    METADATA,
    Column("number", BigInteger, primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    *_columns(BigInteger, "found added changed moved missing failed unchanged"),
)

PROJECTION: Final = Table(
    "projection",
    METADATA,
    Column("version", BigInteger, primary_key=True),
    *_columns(BigInteger, "created_at descriptor_version songs columns"),
    Column("content", LargeBinary, nullable=False),
)

ACCOUNT: Final = Table(
    "account",
    METADATA,
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits, random
    Column("name", Text, nullable=False),
    Column("folded_name", KeyText, nullable=False, unique=True),
    Column("role", Text, nullable=False),  # "listener" or "admin"
    Column("password", Text),  # as argon2id writes it; NULL allows no login
    Column("disabled", Boolean, nullable=False),
    Column("seed", BigInteger, nullable=False),  # of what is drawn for this listener
    Column("settings", Text, nullable=False),  # JSON
    Column("created_at", BigInteger, nullable=False),
)


SESSION: Final = Table(
    "session",
    METADATA,
    Column("token_hash", LargeBinary, primary_key=True),  # SHA-256
    _account_id(),
    *_columns(BigInteger, "created_at expires_at"),
    Column("client", Text, nullable=False),  # what the browser calls itself
    Index("ix_session_account_id", "account_id"),
)

EVENT: Final = Table(
    "event",
    METADATA,
    _account_id(is_key=True),
    Column("seq", BigInteger, primary_key=True),  # 1, 2, 3, … without a gap
    Column("key", Text, nullable=False),  # the same key is the same event
    Column("at", BigInteger, nullable=False),  # never before the event before it
    Column("kind", Text, nullable=False),
    Column("song_id", KeyText, ForeignKey("song.id")),
    Column("stars", BigInteger),
    Column("played_ms", BigInteger),  # how much of the song had been played
    # From when the song was heard before to the beginning of this play; NULL for never.
    Column("since_heard_ms", BigInteger),
    Column("scope", Text),  # what is banned or snoozed: "song", "artist", "album" or "genre"
    Column("target", Text),
    Column("until", BigInteger),  # the end of a snooze
    Column("retracts", BigInteger),  # the number of the event that is taken back
    Column("digest", LargeBinary, nullable=False),  # over this event and the digest before it
    UniqueConstraint("account_id", "key"),
    Index("ix_event_account_id_song_id", "account_id", "song_id", "seq"),
    Index(
        "ix_event_account_id_retracts",
        "account_id",
        "retracts",
        unique=True,
        sqlite_where=text("retracts IS NOT NULL"),
        postgresql_where=text("retracts IS NOT NULL"),
    ),
)

LOG_END: Final = Table(
    "log_end",
    METADATA,
    _account_id(is_key=True),
    *_columns(BigInteger, "seq at"),
    Column("digest", LargeBinary, nullable=False),
)

SNAPSHOT: Final = Table(
    "snapshot",
    METADATA,
    _account_id(is_key=True),
    Column("seq", BigInteger, nullable=False),  # of the last event in it
    Column("version", BigInteger, nullable=False),  # of what `content` means
    Column("content", LargeBinary, nullable=False),
)

PLAYLIST: Final = Table(
    "playlist",
    METADATA,
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits, random
    _account_id(),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_playlist_account_id", "account_id"),
)

PLAYLIST_SONG: Final = Table(
    "playlist_song",
    METADATA,
    Column("playlist_id", KeyText, ForeignKey("playlist.id", ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("song_id", KeyText, ForeignKey("song.id"), nullable=False),
)

STUDY: Final = Table(
    "study",
    METADATA,
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits, random
    Column("title", KeyText, nullable=False, unique=True),
    Column("design", Text, nullable=False),  # JSON
    Column("catalogue", LargeBinary, nullable=False),  # the songs as they were when it was opened
    Column("created_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
)

STUDY_PARTICIPANT: Final = Table(
    "study_participant",
    METADATA,
    Column("study_id", KeyText, ForeignKey("study.id", ondelete="CASCADE"), primary_key=True),
    _account_id(is_key=True),
    Column("number", BigInteger, nullable=False),  # which order of the algorithms is theirs
    Column("made_for_study", Boolean, nullable=False),  # the account goes with the participant
    Column("invited_at", BigInteger, nullable=False),
    Column("joined_at", BigInteger),  # NULL until they have agreed
    UniqueConstraint("study_id", "number"),
    Index("ix_study_participant_account_id", "account_id"),
)

STUDY_ARM: Final = Table(
    "study_arm",
    METADATA,
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits, random
    *_columns(KeyText, "study_id account_id"),
    Column("place", BigInteger, nullable=False),  # in the participant's own order
    Column("algorithm", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("begun_at", BigInteger),
    UniqueConstraint("study_id", "account_id", "place"),
    ForeignKeyConstraint(
        ["study_id", "account_id"],
        ["study_participant.study_id", "study_participant.account_id"],
        ondelete="CASCADE",
    ),
)

STUDY_SONG: Final = Table(
    "study_song",
    METADATA,
    Column("arm_id", KeyText, ForeignKey("study_arm.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),  # 1, 2, 3, … without a gap
    Column("song_id", KeyText, ForeignKey("song.id"), nullable=False),
    Column("offered_at", BigInteger, nullable=False),
    Column("choose_ms", BigInteger, nullable=False),  # how long the choice took
    Column("stars", BigInteger),  # NULL until it is rated, as all below
    Column("known", Boolean),
    Column("played_ms", BigInteger),
    Column("rated_at", BigInteger),
)


# Below what either database takes as the parameters of one statement, old versions included.
ROWS_PER_STATEMENT: Final = 500

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int = ROWS_PER_STATEMENT) -> Iterator[Sequence[Item]]:
    """Yield `items` in runs of at most `size`.

    >>> list(chunks("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def in_order(
    connection: Connection, statement: Select[Any], key: ColumnElement[Any], *, page: int = 1000
) -> Iterator[RowMapping]:
    """Yield all rows in the order of `key`, with no more than a page of them in memory.

    `key` must be a column of the statement, different in each row. A page starts behind the last
    row of the one before, so no cursor is held between them.
    """
    pages = statement.order_by(key).limit(page)
    rows = connection.execute(pages).mappings().all()
    while rows:
        yield from rows
        if len(rows) < page:
            return
        rows = connection.execute(pages.where(key > rows[-1][key])).mappings().all()
