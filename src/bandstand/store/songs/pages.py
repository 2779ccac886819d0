"""Lists of songs, and of the artists, albums and genres that they name.

order       by
`artist`    artist and title; songs of no artist last, by title or the file's name
`title`     title, or the file's name where there is none
`album`     album, whose album it is, disc, track, title; songs of no album last
`newest`    when it was added to the library, newest first

A page goes on behind the last song of the one before, so that none comes twice or is left out
when others come or go meanwhile.

All spellings of a name count as one, which is shown as most songs write it, and "Rock/Pop" is Rock
as well as Pop. Filters, stations and bans compare names in the same way.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    case,
    collate,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store.database.schema import (
    EVENT,
    FILE,
    SONG,
    checked_id,
    checked_integer,
    folded,
    is_storable,
)
from bandstand.store.songs.files import PRESENT
from bandstand.store.songs.songs import MAX_SEARCH_CHARS, SELECT, SongRecord, record_of

_GENRES: Final = re.compile(r"[;/,|\\\0]|\s[-–]\s")


def name_key(name: str) -> str:
    """Return what all spellings of a name have in common.

    >>> name_key("  The  BEATLES ") == name_key("The Beatles")
    True
    """
    return " ".join(folded(name).split())


def genre_names(genre: str | None) -> tuple[str, ...]:
    """Return the genres that a tag names, as they are written.

    >>> genre_names("Rock; Pop/Folk"), genre_names("Hip-Hop")
    (('Rock', 'Pop', 'Folk'), ('Hip-Hop',))
    """
    parts = _GENRES.split(genre or "")
    return tuple(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))


def genre_keys(genre: str | None) -> frozenset[str]:
    """Return the names of a song's genres, and of all of them as one.

    >>> sorted(genre_keys("Rock/Pop"))
    ['pop', 'rock', 'rock/pop']
    """
    if genre is None:
        return frozenset()
    return frozenset(name_key(name) for name in (*genre_names(genre), genre)) - {""}


Of: TypeAlias = Literal["artist", "album", "genre"]

OF: Final[tuple[Of, ...]] = get_args(Of)
MAX_KEY_CHARS: Final = 480  # characters, and the digest of what is longer
_Spellings: TypeAlias = Counter[tuple[str, str | None]]  # name and artist, as they are written

# Whose album a song is on, as far as its tags say.
ALBUM_ARTIST: Final = func.coalesce(SONG.c.album_artist, SONG.c.artist)

_COLUMNS: Final = {
    "artist": (SONG.c.artist,),
    "album": (SONG.c.album, ALBUM_ARTIST),
    "genre": (SONG.c.genre,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One name, and how many present songs have it."""

    key: str  # what its spellings have in common, and what names are ordered by
    name: str
    artist: str | None  # whose album it is; None for all but albums, or where that is not known
    songs: int


def names(connection: Connection, of: Of, *, text: str = "") -> list[Name]:
    """Return all artists, albums or genres in the order of their names.

    With `text` only those that have all of its words in their name, or in that of the album's
    artist, upper or lower case.
    """
    if of not in OF:
        msg = f"names must be those of one of {', '.join(OF)}, got {of!r}"
        raise InvalidInputError(msg)
    words = name_key(text).split()
    spellings = _gathered(_parts(of, _counted(connection, of)))
    found = [_named(key, spellings[key]) for key in spellings if all(it in key for it in words)]
    return sorted(found, key=lambda name: name.key)


def _counted(connection: Connection, of: Of) -> Iterator[tuple[tuple[str | None, ...], int]]:
    """Yield what is written in the tags, and how many present songs have it so."""
    columns = _COLUMNS[of]
    statement = select(*columns, func.count()).join_from(SONG, FILE, FILE.c.song_id == SONG.c.id)
    for row in connection.execute(statement.where(PRESENT).group_by(*columns)):
        yield tuple(row[:-1]), row[-1]


def _parts(
    of: Of, counted: Iterable[tuple[tuple[str | None, ...], int]]
) -> Iterator[tuple[str, str | None, int]]:
    """Yield each name with its artist; a tag may name several genres, and each counts."""
    for written, songs in counted:
        if written[0] is None:
            continue
        if of == "genre":
            one_each = {name_key(name): name for name in reversed(genre_names(written[0]))}
            for name in one_each.values():
                yield name, None, songs
        else:
            yield written[0], written[1] if of == "album" else None, songs


def _gathered(parts: Iterable[tuple[str, str | None, int]]) -> dict[str, _Spellings]:
    spellings: dict[str, _Spellings] = {}
    for name, artist, songs in parts:
        own = name_key(name)
        if own:
            # No name has a line feed in its key, so that no two pairs look alike.
            key = own if artist is None else f"{own}\n{name_key(artist)}"
            spellings.setdefault(key, Counter())[name, artist] += songs
    return spellings


def _named(key: str, spellings: _Spellings) -> Name:
    # The one that most songs have; of several the first by its letters.
    name, artist = min(spellings, key=lambda it: (-spellings[it], it[0], it[1] or ""))
    return Name(key=_bounded(key), name=name, artist=artist, songs=spellings.total())


def _bounded(key: str) -> str:
    """Return a key that fits into an address; folding can make one letter eighteen."""
    if len(key) <= MAX_KEY_CHARS:
        return key
    return f"{key[:MAX_KEY_CHARS]} {blake2b(key.encode(), digest_size=8).hexdigest()}"


Order: TypeAlias = Literal["artist", "title", "album", "newest"]

ORDERS: Final[tuple[Order, ...]] = get_args(Order)

_MAX_WORDS: Final = 10
# The number of spellings of one name, or of albums with one word, that fit into one statement.
_MAX_SPELLINGS: Final = 2_000
_MAX_ALBUMS_WITH_WORD: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Selects songs that an account has, or has not, rated, skipped or listened to."""

    account: str
    is_heard: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Selects the songs that fit everything that is not None, ignoring case."""

    text: str | None = None  # words, each in the artist, the title, the album or the file's name
    artist: str | None = None  # the whole name, as all below
    album: str | None = None
    album_artist: str | None = None  # or the artist, where a song has none
    genre: str | None = None  # all of the tag, or one of those that it names
    year_from: int | None = None
    year_to: int | None = None  # included
    heard: Heard | None = None
    favourite_of: str | None = None  # an account


def page(
    connection: Connection,
    wanted: Filter,
    *,
    after: str | None,
    limit: int,
    order: Order = "artist",
) -> list[SongRecord]:
    """Return the present songs that are wanted, in an order, at most `limit`.

    The first ones, or those that come behind the song with the id `after`.
    """
    checked_integer(limit, "limit", least=0)
    keys = _keys(connection, order)
    found = SELECT.where(PRESENT, *_conditions(connection, wanted))
    if after is not None:
        found = found.where(_is_behind(connection, keys, after))
    rows = connection.execute(found.order_by(*keys).limit(limit))
    return [record_of(row) for row in rows.mappings()]


def durations(connection: Connection, wanted: Filter) -> dict[str, float]:
    """Return the seconds of all present songs that are wanted, by id, in the order of artists."""
    found = select(SONG.c.id, SONG.c.duration).join(FILE, FILE.c.song_id == SONG.c.id)
    found = found.where(PRESENT, *_conditions(connection, wanted))
    rows = connection.execute(found.order_by(*_keys(connection, "artist")))
    return {row.id: row.duration for row in rows}


def size(connection: Connection, wanted: Filter) -> tuple[int, float]:
    """Return how many present songs are wanted, and how many seconds they last together."""
    seconds = func.coalesce(func.sum(SONG.c.duration), 0.0)
    found = select(func.count(), seconds).join_from(SONG, FILE, FILE.c.song_id == SONG.c.id)
    count, together = connection.execute(
        found.where(PRESENT, *_conditions(connection, wanted))
    ).one()
    return int(count), float(together)


def _keys(connection: Connection, order: Order) -> list[ColumnElement[Any]]:
    """Return the sort keys of an order; the id, at the end, breaks ties."""
    if order not in ORDERS:
        msg = f"order must be one of {', '.join(ORDERS)}, got {order!r}"
        raise InvalidInputError(msg)

    def lower(text: ColumnElement[Any]) -> ColumnElement[Any]:
        # By bytes, with only A to Z folded: both databases can do that.
        is_postgres = connection.dialect.name == "postgresql"
        return func.lower(collate(text, "C") if is_postgres else text)

    def number(column: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.coalesce(column, 0)

    title = func.coalesce(lower(SONG.c.title), FILE.c.folded_name)
    has_no_artist = func.coalesce(SONG.c.artist, "") == ""
    keys: dict[Order, list[ColumnElement[Any]]] = {
        "artist": [
            case((has_no_artist, 1), else_=0),
            func.coalesce(func.nullif(SONG.c.folded_name, ""), FILE.c.folded_name),
        ],
        "title": [title, SONG.c.folded_name],
        "album": [
            case((SONG.c.album.is_(None), 1), else_=0),
            func.coalesce(lower(SONG.c.album), ""),
            func.coalesce(lower(ALBUM_ARTIST), ""),
            number(SONG.c.disc),
            number(SONG.c.track),
            title,
        ],
        "newest": [-SONG.c.added_at, SONG.c.folded_name],
    }
    return [*keys[order], SONG.c.id]


def _is_behind(
    connection: Connection, keys: list[ColumnElement[Any]], song_id: str
) -> ColumnElement[bool]:
    """Return the condition that a song comes behind another in an order."""
    own = select(*keys).join_from(SONG, FILE, FILE.c.song_id == SONG.c.id)
    found = connection.execute(own.where(SONG.c.id == song_id)).one_or_none()
    if found is None:
        msg = "a song of the library was expected to go on behind, got another id"
        raise NotFoundError(msg)
    return tuple_(*keys) > tuple_(*found)


def _conditions(connection: Connection, wanted: Filter) -> Iterator[ColumnElement[bool]]:
    yield from _name_conditions(connection, wanted)
    if wanted.year_from is not None:
        yield SONG.c.year >= checked_integer(wanted.year_from, "year_from")
    if wanted.year_to is not None:
        yield SONG.c.year <= checked_integer(wanted.year_to, "year_to")
    if wanted.heard is not None:
        heard = _was_heard(wanted.heard.account)
        yield heard if wanted.heard.is_heard else ~heard
    if wanted.favourite_of is not None:
        yield SONG.c.id.in_(_favourites(wanted.favourite_of))
    for word in folded((wanted.text or "")[:MAX_SEARCH_CHARS]).split()[:_MAX_WORDS]:
        yield _has_word(connection, word)


def _name_conditions(connection: Connection, wanted: Filter) -> Iterator[ColumnElement[bool]]:
    whole: tuple[tuple[ColumnElement[Any], str | None], ...] = (
        (SONG.c.artist, wanted.artist),
        (SONG.c.album, wanted.album),
        (ALBUM_ARTIST, wanted.album_artist),
    )
    for column, name in whole:
        if name is not None:
            yield column.in_(_spellings(connection, column, _is_called(name)))
    if wanted.genre is not None:
        genre = name_key(wanted.genre)
        tags = _spellings(connection, SONG.c.genre, lambda it: genre in genre_keys(it))
        yield SONG.c.genre.in_(tags)


def _is_called(name: str) -> Callable[[str], bool]:
    key = name_key(name)
    return lambda spelling: name_key(spelling) == key


def _has_word(connection: Connection, word: str) -> ColumnElement[bool]:
    # A database that is not PostgreSQL reads no further than a NUL.
    part = word if is_storable(word) else "\ufffd"
    albums = _spellings(connection, SONG.c.album, lambda it: part in folded(it))
    return or_(
        SONG.c.folded_name.contains(part, autoescape=True),
        FILE.c.folded_name.contains(part, autoescape=True),
        SONG.c.album.in_(albums[:_MAX_ALBUMS_WITH_WORD]),
    )


def _spellings(
    connection: Connection, column: ColumnElement[Any], fits: Callable[[str], bool]
) -> list[str]:
    """Return the values of a column that fit.

    Neither database folds case as `folded` does, so Python does; names are far fewer than songs.
    """
    names = connection.scalars(select(column).where(column.is_not(None)).distinct())
    return sorted(name for name in names if fits(name))[:_MAX_SPELLINGS]


def _was_heard(account: str) -> ColumnElement[bool]:
    """Return the condition that an account has heard a song, and has not taken that back."""
    heard = select(EVENT.c.song_id).where(EVENT.c.song_id.is_not(None), *_standing(account))
    return SONG.c.id.in_(heard)


def _favourites(account: str) -> Select[Any]:
    """Return the selection of the songs that an account has marked."""
    kind = EVENT.c.kind == literal_column("'favourite'")  # written out, as its index has it
    marked = select(EVENT.c.target).where(kind, EVENT.c.scope == "song")
    return marked.where(*_standing(account))


def _standing(account: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions that an event is of an account, and was not taken back."""
    own = EVENT.c.account_id == checked_id(account, "account")
    # Two sets, each read once from an index; asked song by song, SQLite walks the whole log.
    taken_back = select(EVENT.c.retracts).where(own, EVENT.c.retracts.is_not(None))
    return own, EVENT.c.seq.not_in(taken_back)
