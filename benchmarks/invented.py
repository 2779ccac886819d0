"""Songs and listeners that nobody has, written straight into a store: to measure and to test with.

There are no files behind the songs, so they can be chosen and rated, but not heard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.audio.descriptors.definition import NAMES, VERSION
from bandstand.music.catalogue.refresh import current, refreshed
from bandstand.store import accounts, sessions
from bandstand.store.events import events
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.types import Analysis, Tags, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store

NOW: Final = 1_700_000_000_000  # when all of this was made, in milliseconds
FOR_EVER: Final = NOW + 100 * 365 * 86_400_000  # the clock of a server is the real one
_BETWEEN_RATINGS: Final = 40 * 60_000
_AT_ONCE: Final = 500
# Descriptors of music hang together: with so many causes behind the 159 of them the radio learns
# from 91 features, as many as the paper's.
_CAUSES: Final = 103
_LOADINGS: Final = frozen(
    np.linalg.qr(np.random.default_rng(17).normal(size=(len(NAMES), _CAUSES))).Q
)


def invented_song(number: int) -> tuple[bytes, Analysis]:
    """Return the path of a file that is not there, and what might be in it.

    Ten songs make an album, two albums an artist, and there are ten genres.
    """
    causes = np.random.default_rng([17, number]).normal(size=_CAUSES)
    tags = Tags(
        title=f"Song {number}",
        artist=f"Artist {number // 20}",
        album=f"Album {number // 10}",
        genre=f"Genre {number % 10}",
        year=1970 + number % 50,
        track=1 + number % 10,
    )
    analysis = Analysis(
        tags=tags,
        duration=120.0 + number % 180,
        descriptors=frozen(_LOADINGS @ causes),
        version=VERSION,
        fingerprint=f"{number:032x}",
        size=1_000_000 + number,
        modified_ns=NOW * 1_000_000,
    )
    return f"/nowhere/{number // 10}/{number}.flac".encode(), analysis


def add_songs(store: Store, count: int) -> None:
    """Write songs into a store, and the features of all its songs beside it."""
    for first in range(0, count, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, count))
        with store.writing() as connection:
            record_analyses(connection, [*map(invented_song, some)], scan=0, now=NOW)
    if count:
        refreshed(store, now=NOW)


def add_session(connection: Connection, account: str) -> str:
    """Return the token of a session that lasts for longer than any test."""
    return sessions.create(
        connection, account=account, now=NOW, expires_at=FOR_EVER, client="invented"
    )


def stars_by_song(store: Store) -> dict[str, int]:
    """Return what invented listeners think of each song: it hangs on how the song sounds."""
    catalogue = current(store)
    if catalogue is None:
        return {}
    features = np.asarray(catalogue.features, dtype=float)
    liking = features @ np.random.default_rng(17).normal(size=features.shape[1])
    stars = np.clip(np.rint(3 + (liking - liking.mean()) / (liking.std() or 1.0)), 1, 5)
    return {catalogue.id_of(row): int(each) for row, each in enumerate(stars)}


def add_listeners(
    store: Store, ratings: Mapping[str, int], *, password_hash: str | None = None
) -> dict[str, str]:
    """Return tokens of sessions by name, of new listeners who have given so many `ratings` each."""
    tokens = {}
    stars = stars_by_song(store)
    for name, count in ratings.items():
        with store.writing() as connection:
            account = accounts.create(
                connection, name=name, role="listener", password_hash=password_hash, now=NOW
            )
            for new, at in _ratings(account, stars, count):
                events.append(connection, new, now=at)
            tokens[name] = add_session(connection, account.id)
    return tokens


def _ratings(
    account: accounts.Account, stars: Mapping[str, int], count: int
) -> Iterator[tuple[events.NewEvent, int]]:
    """Yield ratings of songs drawn at random, the older ones first, each with its time."""
    rng, ids = np.random.default_rng([account.seed]), list(stars)
    for number in range(count):
        song = ids[int(rng.integers(len(ids)))]
        new = events.NewEvent(
            account=account.id,
            key=f"invented {number}",
            kind="rating",
            song=song,
            stars=stars[song],
        )
        yield new, NOW + number * _BETWEEN_RATINGS
