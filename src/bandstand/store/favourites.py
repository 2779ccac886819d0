"""Favourites: songs, albums and artists that a listener has marked, as the log says.

To mark one is an event, `favourite`, and to unmark it takes that event back. So the state is in
every copy of the log, and goes with the account.

A song is named by its id, an artist by its name, an album by its name and whose it is
(`album_target`). Spellings of a name are one.
"""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, literal_column, select

from bandstand.store.database.schema import EVENT, LOG_END, checked_id, chunks
from bandstand.store.events.append import append
from bandstand.store.events.values import MAX_TARGET_CHARS, NewEvent, Scope
from bandstand.store.songs.pages import name_key

_BETWEEN: Final = " · "

_LATER: Final = EVENT.alias()
_TAKEN_BACK: Final = select(_LATER.c.seq).where(
    _LATER.c.account_id == EVENT.c.account_id, _LATER.c.retracts == EVENT.c.seq
)
# Made once: to build them takes longer than to answer them.
_ALL: Final = select(*EVENT.c["scope", "target", "at", "seq"]).where(
    EVENT.c.account_id == bindparam("account"),
    EVENT.c.kind == literal_column("'favourite'"),  # written out, as the index has it
    ~_TAKEN_BACK.exists(),
)
_OF_SONGS: Final = _ALL.where(
    EVENT.c.scope == "song", EVENT.c.target.in_(bindparam("songs", expanding=True))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourite:
    """A song, an album or an artist that is marked."""

    scope: Scope
    target: str
    at: int  # when it was marked: UTC, in milliseconds
    seq: int  # the event that marked it

    @property
    def key(self) -> tuple[Scope, str]:
        """What all spellings of it have in common."""
        return key_of(self.scope, self.target)


def album_target(album: str, artist: str | None) -> str:
    """Return how an album is named, by its name and whose it is.

    >>> album_target("Homogenic", "Björk")
    'Homogenic · Björk'
    """
    whole = album if artist is None else f"{album}{_BETWEEN}{artist}"
    return whole[:MAX_TARGET_CHARS]


def key_of(scope: Scope, target: str) -> tuple[Scope, str]:
    """Return what all spellings of a song, an album or an artist have in common.

    >>> key_of("artist", "BJÖRK ") == key_of("artist", "Björk")
    True
    """
    return scope, target if scope == "song" else name_key(target)


def all_of(connection: Connection, account: str) -> list[Favourite]:
    """Return the favourites of an account, each once, in the order in which they were marked."""
    found: dict[tuple[Scope, str], Favourite] = {}
    for one in _standing(connection, account):
        found.setdefault(one.key, one)
    return list(found.values())


def songs_of(connection: Connection, account: str, songs: Collection[str]) -> frozenset[str]:
    """Return which of these songs are favourites of an account."""
    marked: set[str] = set()
    for some in chunks(sorted(set(songs))):
        marked.update(one.target for one in _standing(connection, account, some))
    return frozenset(marked)


def mark(connection: Connection, account: str, scope: Scope, target: str, *, now: int) -> None:
    """Mark a favourite; do nothing if it is one."""
    if not _marking(connection, account, scope, target):
        new = NewEvent(
            account=account, key=_new_key(), kind="favourite", scope=scope, target=target
        )
        append(connection, new, now=now)


def unmark(connection: Connection, account: str, scope: Scope, target: str, *, now: int) -> None:
    """Remove a favourite's mark; do nothing without one."""
    for seq in _marking(connection, account, scope, target):
        new = NewEvent(account=account, key=_new_key(), kind="retract", retracts=seq)
        append(connection, new, now=now)


def _marking(connection: Connection, account: str, scope: Scope, target: str) -> list[int]:
    """Return the numbers of the events that mark something, and were not taken back.

    One or none, unless the log came from elsewhere. No other transaction appends to the log of
    the account until this one ends.
    """
    end = select(LOG_END.c.seq).where(LOG_END.c.account_id == checked_id(account, "account"))
    connection.execute(end.with_for_update())
    wanted = key_of(scope, target)
    some = [target] if scope == "song" else None
    return [one.seq for one in _standing(connection, account, some) if one.key == wanted]


def _standing(
    connection: Connection, account: str, songs: Collection[str] | None = None
) -> list[Favourite]:
    """Return the events that mark favourites and were not taken back; or those of some songs."""
    asked = {"account": checked_id(account, "account")}
    if songs is None:
        found = connection.execute(_ALL, asked)
    else:
        found = connection.execute(_OF_SONGS, asked | {"songs": list(songs)})
    # Ordered here: asked to do so, SQLite would go through the whole log of the account.
    return [Favourite(**row) for row in sorted(found.mappings(), key=lambda row: row["seq"])]


def _new_key() -> str:
    return f"favourite/{secrets.token_hex(8)}"
