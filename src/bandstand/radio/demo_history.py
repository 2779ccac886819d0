"""A made-up history for the listener of the demo, so that there is something to see.

It is written to the log like any other, by keys that say what it is, and can be erased as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection

from bandstand.store import accounts
from bandstand.store.events import events
from bandstand.store.events.append import append
from bandstand.store.events.values import NewEvent
from bandstand.store.songs.songs import SongRecord

_KEY: Final = "made up"
_DAY_MS: Final = 86_400_000
_EVENINGS: Final = (24, 23, 21, 19, 18, 16, 14, 13, 11, 10, 8, 7, 5, 4, 2, 1)  # days ago
_SONGS_AN_EVENING: Final = 7
_PLAYED_MS: Final = 32_000
_SKIPPED_MS: Final = 9_000
_PAUSE_MS: Final = 4_000
_RECOVERY_MS: Final = 0.7 * _DAY_MS  # a song is as good as new after some of these
_CHOOSINESS: Final = 0.6  # how much more often what is worth a star more comes, as a logarithm
_NOISE: Final = 0.5  # standard deviation, in stars
_UNRATED: Final = 0.3  # share of the songs that are skipped or heard to the end without a rating


def start_with_history(
    connection: Connection,
    name: str,
    songs: Sequence[SongRecord],
    liking: Mapping[str, float],
    *,
    now: int,
    rng: np.random.Generator,
) -> str:
    """Return a new account whose log tells of some weeks with these songs.

    liking: the stars that a song of each genre deserves.
    """
    began = now - (max(_EVENINGS) + 1) * _DAY_MS
    account = accounts.create(connection, name=name, role="listener", password_hash=None, now=began)
    for number, (at, event) in enumerate(_evenings(songs, liking, now, rng)):
        new = NewEvent(account=account.id, key=f"{_KEY} {number}", **event)
        append(connection, new, now=at)
    return account.id


def is_made_up(connection: Connection, account: str) -> bool:
    """Return whether the history of an account begins with one that was made up."""
    first = events.get(connection, account, 1)
    return first is not None and first.key.startswith(_KEY)


def start_afresh(connection: Connection, account: str, *, now: int) -> None:
    """Remove an account with everything that is known of it; a new one gets its name."""
    before = accounts.existing(connection, account)
    accounts.delete(connection, account)
    accounts.create(connection, name=before.name, role=before.role, password_hash=None, now=now)


def _evenings(
    songs: Sequence[SongRecord], liking: Mapping[str, float], now: int, rng: np.random.Generator
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the time and the content of each event, oldest first.

    Songs that are liked come more often, as on a radio that has learned something by then.
    """
    liked = np.array([liking.get(song.tags.genre or "", 3.0) for song in songs])
    heard_at = np.full(len(songs), -np.inf)
    for days in _EVENINGS if len(songs) else ():
        at = now - days * _DAY_MS + int(rng.integers(-3_600_000, 3_600_000))
        for _ in range(_SONGS_AN_EVENING):
            # As in the model: a song is liked as much as it is new.
            worth = liked * -np.expm1((heard_at - at) / _RECOVERY_MS)
            chances = np.exp(_CHOOSINESS * worth)
            if len(songs) > 1:
                chances[np.argmax(heard_at)] = 0.0  # not the same one twice running
            song = int(rng.choice(len(songs), p=chances / chances.sum()))
            wanted = worth[song] + _NOISE * rng.standard_normal()
            stars = int(np.clip(round(wanted), 1, 5))
            event = _event(stars, rng) | {"song": songs[song].id}
            at += event["played_ms"] + _PAUSE_MS
            heard_at[song] = at
            yield at, event


def _event(stars: int, rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() > _UNRATED:
        return {"kind": "rating", "stars": stars, "played_ms": _PLAYED_MS}
    if stars <= 2:
        return {"kind": "skip", "played_ms": _SKIPPED_MS}
    return {"kind": "listen", "played_ms": _PLAYED_MS}
