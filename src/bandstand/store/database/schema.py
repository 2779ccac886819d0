"""The tables, as queries use them, checks of the values that go in, and many rows at a time.

`migrations` makes them; a test compares the two. Times are UTC, in milliseconds since 1970.

The two databases disagree about what they refuse: SQLite turns NaN into NULL without a word and
keeps a NUL inside text, PostgreSQL the other way round. So neither is asked.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np
from sqlalchemy import (
    DOUBLE_PRECISION,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from bandstand.errors import InvalidInputError
from bandstand.types import Tags, Vector, frozen

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

APP_PASSWORD: Final = Table(
    "app_password",
    METADATA,
    Column("id", KeyText, primary_key=True),  # 16 hexadecimal digits, random
    _account_id(),
    *_columns(Text, "name scope secret"),
    Column("secret_hash", LargeBinary, nullable=False, unique=True),  # SHA-256
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),  # noted once an hour; NULL for never
    Index("ix_app_password_account_id", "account_id"),
)

APP_STATE: Final = Table(
    "app_state",
    METADATA,
    _account_id(is_key=True),
    Column("name", KeyText, primary_key=True),
    Column("content", Text, nullable=False),  # JSON
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
    # What is banned, snoozed or a favourite: "song", "artist", "album" or "genre".
    Column("scope", Text),
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
    Index(
        "ix_event_account_id_favourite",
        *("account_id", "kind", "scope", "target", "at"),  # all that is asked of a favourite
        sqlite_where=text("kind = 'favourite'"),
        postgresql_where=text("kind = 'favourite'"),
    ),
)

LOG_END: Final = Table(
    "log_end",
    METADATA,
    _account_id(is_key=True),
    *_columns(BigInteger, "seq at"),
    Column("digest", LargeBinary, nullable=False),
)

# What was heard elsewhere: `events.imports` says what is in it.
IMPORT: Final = Table(
    "history_import",
    METADATA,
    _account_id(is_key=True),
    Column("digest", KeyText, primary_key=True),  # 64 hexadecimal digits: the event's target
    Column("report", Text, nullable=False),  # JSON
    Column("songs", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
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


# ── Checked values ───────────────────────────────────────────────────────────────────────

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1
# An entry of a PostgreSQL index holds some 2,700 bytes, and paths are looked up by an index.
MAX_PATH_BYTES: Final = 2_500
DESCRIPTOR_COUNT: Final = 159

_ID: Final = re.compile("[0-9a-f]{16}")
_LITTLE_ENDIAN: Final = np.dtype("<f8")
_TAGS: Final = tuple(field.name for field in fields(Tags))
_WHOLE_TAGS: Final = frozenset({"year", "track", "disc"})
_REAL_TAGS: Final = frozenset({"track_gain", "track_peak", "album_gain", "album_peak"})


def checked_text(value: Any, name: str) -> str:
    r"""Return `value`, a text that every database can hold.

    >>> checked_text("Ænima", "title")
    'Ænima'
    >>> checked_text("a\0b", "title")
    Traceback (most recent call last):
    bandstand.errors.InvalidInputError: title must be text without NUL, got 'a\x00b'
    """
    if not isinstance(value, str):
        raise unfit(name, "be text", value)
    if "\0" in value:
        raise unfit(name, "be text without NUL", value)
    if not is_storable(value):
        raise unfit(name, "be valid Unicode", value)
    return value


def is_storable(text: str) -> bool:
    """Return whether a text has neither NUL nor lone surrogates, which no encoding can write."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def checked_id(value: Any, name: str) -> str:
    """Return `value`, the id of a song or an account: 16 lower-case hexadecimal digits."""
    if not isinstance(value, str) or _ID.fullmatch(value) is None:
        raise unfit(name, "be an id of 16 hexadecimal digits", value)
    return value


def checked_short_text(value: Any, name: str, *, most: int) -> str:
    """Return `value`, a text of 1 to `most` characters that every database can hold."""
    if not 1 <= len(checked_text(value, name)) <= most:
        msg = f"{name} must have 1 to {most} characters, got {len(value)}"
        raise InvalidInputError(msg)
    return str(value)


def folded(text: str) -> str:
    """Return a text without differences of case and of Unicode composition.

    >>> folded("BJÖRK") == folded("Bjo\u0308rk")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def json_to_text(values: Mapping[str, Any], name: str, *, most: int) -> str:
    """Return a JSON object as one line, the same for equal objects, of at most `most` characters.

    >>> json_to_text({"dial": 0.5, "algorithm": "greedy"}, "settings", most=100)
    '{"algorithm":"greedy","dial":0.5}'
    """
    if not all(isinstance(key, str) for key in values):
        msg = f"the names of {name} must be text, got something else"
        raise InvalidInputError(msg)
    try:
        content = json.dumps(
            dict(values), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
        )
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"{name} must be JSON, got something else: {problem}"
        raise InvalidInputError(msg) from problem
    if len(content) > most:
        msg = f"{name} must have at most {most:,} characters, got {len(content):,}"
        raise InvalidInputError(msg)
    return checked_text(content, name)


def checked_integer(
    value: Any, name: str, *, least: int = MIN_INTEGER, most: int = MAX_INTEGER
) -> int:
    """Return `value`, an integer that fits into 64 bits and into its own bounds."""
    if type(value) is not int:  # True is no number here
        raise unfit(name, "be an integer", value)
    if not least <= value <= most:
        raise unfit(name, f"be between {least} and {most}", value)
    return value


def checked_number(value: Any, name: str, *, least: float = -math.inf) -> float:
    """Return `value`, a finite number that is not below `least`, as a float."""
    # float32 and the like come from numpy; True is no number here either.
    number = float(value) if type(value) in {int, float} or isinstance(value, np.floating) else None
    if number is None or not math.isfinite(number):
        raise unfit(name, "be a finite number", value)
    if number < least:
        msg = f"{name} must be at least {least:g}, got {shown(value)}"
        raise InvalidInputError(msg)
    return number


def checked_path(value: Any) -> bytes:
    """Return `value`, the absolute path of a file or folder as bytes, without a slash at its end.

    The root folder is b"/".
    """
    if not isinstance(value, bytes):
        msg = f"a path must be bytes, got {shown(value)}"
        raise InvalidInputError(msg)
    if not value.startswith(b"/") or b"\0" in value or (value.endswith(b"/") and value != b"/"):
        msg = f"a path must be absolute, without NUL or a slash at its end, got {shown(value)}"
        raise InvalidInputError(msg)
    if len(value) > MAX_PATH_BYTES:
        msg = f"a path must have at most {MAX_PATH_BYTES:,} bytes, got {len(value):,}"
        raise InvalidInputError(msg)
    return value


def checked_tags(tags: Tags) -> dict[str, str | int | float | None]:
    """Return tags as columns, each checked."""
    return {name: _checked_tag(name, getattr(tags, name)) for name in _TAGS}


def _checked_tag(name: str, value: Any) -> str | int | float | None:
    if value is None:
        return None
    if name in _WHOLE_TAGS:
        return checked_integer(value, name)
    return checked_number(value, name) if name in _REAL_TAGS else checked_text(value, name)


def descriptors_to_bytes(descriptors: Any) -> bytes:
    """Return a song's descriptors as float64, little end first."""
    vector = np.asarray(descriptors)
    if vector.shape != (DESCRIPTOR_COUNT,) or vector.dtype.kind not in "fiu":
        msg = (
            f"descriptors must be {DESCRIPTOR_COUNT} numbers, "
            f"got shape {vector.shape} of {vector.dtype}"
        )
        raise InvalidInputError(msg)
    wide = vector.astype(_LITTLE_ENDIAN)
    if not np.isfinite(wide).all():
        row = int(np.argmin(np.isfinite(wide)))
        msg = f"descriptors must be finite, got {wide[row]} at position {row}"
        raise InvalidInputError(msg)
    return wide.tobytes()


def descriptors_from_bytes(content: bytes) -> Vector:
    """Return a song's descriptors (159,), read-only, from what the store keeps."""
    vector: Vector = frozen(np.frombuffer(content, dtype=_LITTLE_ENDIAN))
    return vector


def unfit(name: str, rule: str, value: Any) -> InvalidInputError:
    """Return the error for a value that is not as it must be."""
    return InvalidInputError(f"{name} must {rule}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as an error shows it: on one line, and not all of it."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of thousands of digits
        text = f"{type(value).__name__} too long to be shown"
    return text if len(text) <= 80 else f"{text[:77]}..."
