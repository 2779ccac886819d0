"""Playlists that listeners have saved.

Each belongs to one account, and every query names the owner: for all others it does not exist.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, update
from sqlalchemy import delete as delete_from

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts
from bandstand.store.database.schema import (
    PLAYLIST,
    PLAYLIST_SONG,
    SONG,
    checked_integer,
    checked_text,
    chunks,
)

MAX_SONGS: Final = 10_000
MAX_PLAYLISTS: Final = 1_000
MAX_NAME_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """A list of songs in an order; one may be in it twice."""

    id: str
    account: str
    name: str
    created_at: int  # UTC, in milliseconds
    songs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaylistSummary:
    """A playlist without its songs."""

    id: str
    name: str
    created_at: int  # UTC, in milliseconds
    count: int  # of songs


def create(
    connection: Connection, *, account: str, name: str, songs: Sequence[str], now: int
) -> Playlist:
    """Return a new playlist of an account."""
    playlist = Playlist(
        id=secrets.token_hex(8),
        account=account,
        name=checked_name(name),
        created_at=checked_integer(now, "now"),
        songs=_checked_songs(connection, songs),
    )
    accounts.existing(connection, account)
    owned = select(func.count()).where(PLAYLIST.c.account_id == account)
    if (connection.scalar(owned) or 0) >= MAX_PLAYLISTS:
        msg = f"an account can have {MAX_PLAYLISTS:,} playlists, got one more"
        raise ConflictError(msg)
    row = {"id": playlist.id, "account_id": account, "name": playlist.name, "created_at": now}
    connection.execute(insert(PLAYLIST).values(row))
    _insert_songs(connection, playlist.id, playlist.songs)
    return playlist


def get(connection: Connection, account: str, playlist: str) -> Playlist | None:
    """Return a playlist of an account; None where it has no such one."""
    row = connection.execute(select(PLAYLIST).where(_is_own(account, playlist))).one_or_none()
    if row is None:
        return None
    inside = select(PLAYLIST_SONG.c.song_id).join(PLAYLIST).where(_is_own(account, playlist))
    songs = tuple(connection.scalars(inside.order_by(PLAYLIST_SONG.c.position)))
    return Playlist(
        id=row.id, account=account, name=row.name, created_at=row.created_at, songs=songs
    )


def all_of(connection: Connection, account: str) -> list[PlaylistSummary]:
    """Return the playlists of an account, in the order in which they were made."""
    counted = (
        select(
            *PLAYLIST.c["id", "name", "created_at"],
            func.count(PLAYLIST_SONG.c.position).label("count"),
        )
        .outerjoin(PLAYLIST_SONG, PLAYLIST_SONG.c.playlist_id == PLAYLIST.c.id)
        .where(PLAYLIST.c.account_id == checked_text(account, "account"))
        .group_by(PLAYLIST.c.id)
        .order_by(PLAYLIST.c.created_at, PLAYLIST.c.id)
    )
    return [PlaylistSummary(**row) for row in connection.execute(counted).mappings()]


def rename(connection: Connection, account: str, playlist: str, name: str) -> None:
    """Give a playlist of an account another name."""
    clean = checked_name(name)
    _claim(connection, account, playlist)
    own = _is_own(account, playlist)
    connection.execute(update(PLAYLIST).where(own).values(name=clean))


def replace_songs(
    connection: Connection, account: str, playlist: str, songs: Sequence[str]
) -> None:
    """Put other songs into a playlist of an account, in place of those that are in it."""
    _claim(connection, account, playlist)
    checked = _checked_songs(connection, songs)
    own = select(PLAYLIST.c.id).where(_is_own(account, playlist))
    inside = PLAYLIST_SONG.c.playlist_id.in_(own.scalar_subquery())
    connection.execute(delete_from(PLAYLIST_SONG).where(inside))
    _insert_songs(connection, playlist, checked)


def delete(connection: Connection, account: str, playlist: str) -> None:
    """Remove a playlist of an account; its songs stay in the library."""
    _claim(connection, account, playlist)
    connection.execute(delete_from(PLAYLIST).where(_is_own(account, playlist)))


def checked_name(name: Any) -> str:
    """Return the name of a playlist without spaces around it, if it can be one."""
    clean = checked_text(name, "a playlist's name").strip()
    if not 1 <= len(clean) <= MAX_NAME_CHARS or not clean.isprintable():
        msg = (
            f"a playlist's name must have 1 to {MAX_NAME_CHARS} characters and fit on one line, "
            f"got {clean[:80]!r}"
        )
        raise InvalidInputError(msg)
    return clean


def _checked_songs(connection: Connection, songs: Sequence[str]) -> tuple[str, ...]:
    if len(songs) > MAX_SONGS:
        msg = f"a playlist can have {MAX_SONGS:,} songs, got {len(songs):,}"
        raise InvalidInputError(msg)
    if not all(isinstance(song, str) for song in songs):
        msg = "the songs of a playlist must be ids, got something else"
        raise InvalidInputError(msg)
    known: set[str] = set()
    for some in chunks(list(set(songs))):
        known.update(connection.scalars(select(SONG.c.id).where(SONG.c.id.in_(some))))
    if not known.issuperset(songs):
        msg = "songs of the library were expected, got one that is not there"
        raise NotFoundError(msg)
    return tuple(songs)


def _insert_songs(connection: Connection, playlist: str, songs: Sequence[str]) -> None:
    rows = [
        {"playlist_id": playlist, "position": position, "song_id": song}
        for position, song in enumerate(songs)
    ]
    if rows:
        connection.execute(insert(PLAYLIST_SONG), rows)


def _claim(connection: Connection, account: str, playlist: str) -> None:
    """Wait until no other transaction changes a playlist; NotFoundError for another account's."""
    own = select(PLAYLIST.c.id).where(_is_own(account, playlist))
    if connection.scalar(own.with_for_update()) is None:
        msg = "a playlist of this account was expected, got another id"
        raise NotFoundError(msg)


def _is_own(account: str, playlist: str) -> ColumnElement[bool]:
    return and_(PLAYLIST.c.account_id == account, PLAYLIST.c.id == playlist)
