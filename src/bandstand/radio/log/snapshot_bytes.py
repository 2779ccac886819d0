"""A ledger as the content of a snapshot: its bytes, and a check over them at their end.

Whatever is not whole is refused: a snapshot can always be made again from the log.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.radio.log.digest import VERSION, body
from bandstand.radio.log.fold import RECENT, Ledger, Rule
from bandstand.radio.log.play_table import NEVER, ROW, SOURCES, PlayTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.radio.log.play_table import Rows

__all__ = ["VERSION", "from_bytes", "to_bytes"]

_CHECK: Final = 32  # bytes of a SHA-256


def to_bytes(ledger: Ledger) -> bytes:
    """Return a ledger as bytes."""
    content = body(ledger)
    return content + hashlib.sha256(content).digest()


def from_bytes(content: bytes) -> Ledger:
    """Return the ledger that `to_bytes` wrote."""
    told, check = content[:-_CHECK], content[-_CHECK:]
    if hashlib.sha256(told).digest() != check:
        msg = f"a snapshot must be whole, got {len(content):,} bytes that do not fit their check"
        raise InvalidInputError(msg)
    try:
        return _parsed(told)
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        msg = f"a snapshot must be a ledger of version {VERSION}, got something else: {problem}"
        raise InvalidInputError(msg) from problem


def _parsed(told: bytes) -> Ledger:
    line, _, rest = told.partition(b"\n")
    header = json.loads(line)
    if header["version"] != VERSION:
        msg = f"version {header['version']}"
        raise ValueError(msg)
    *names, plays = rest.split(b"\n", maxsplit=header["songs"])
    rows: Rows = np.frombuffer(plays, dtype=ROW)
    songs = tuple(name.decode() for name in names)
    if len(songs) != header["songs"] or len(rows) != header["plays"]:
        msg = f"{len(songs)} songs and {len(rows)} plays"
        raise ValueError(msg)
    _check_rows(rows, len(songs))
    return Ledger(
        seq=header["seq"],
        at=header["at"],
        plays=PlayTable.from_rows(rows, songs),
        rules=tuple(
            Rule(scope=scope, target=target, until=until, seq=seq)
            for scope, target, until, seq in header["rules"]
        ),
        recent=_recent(rows, songs),
        last_kind=header["last_kind"],
    )


def _check_rows(rows: Rows, songs: int) -> None:
    """Refuse song numbers that do not rise by one with each new song, and unknown kinds."""
    numbers, first = np.unique(rows["song"], return_index=True)
    if not np.array_equal(numbers, np.arange(songs)) or (np.diff(first) < 0).any():
        msg = "songs out of order"
        raise ValueError(msg)
    if not np.isin(rows["kind"], np.arange(len(SOURCES))).all():
        msg = "unknown kinds of plays"
        raise ValueError(msg)
    if (rows["since_heard_ms"] < NEVER).any():
        msg = "negative times"
        raise ValueError(msg)


def _recent(rows: Rows, songs: Sequence[str]) -> tuple[str, ...]:
    """Return the last songs, each once, the latest at the end."""
    numbers, last_first = np.unique(rows["song"][::-1], return_index=True)
    latest = numbers[np.argsort(last_first)][:RECENT]
    return tuple(songs[number] for number in latest[::-1].tolist())
