"""The one way to write a ledger as bytes, and the digest over them.

    header    one line of JSON: version, seq, at, rules, how many songs and plays, the last kind
    songs     the ids of the songs, one per line
    plays     one row each (play_table.ROW)

The same ledger always has the same bytes, on every machine. Without the numbers of the events
they tell what was learnt, however many events it took.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bandstand.radio.log.fold import Ledger, Rule

# Of what the bytes mean, evidence included: a snapshot of another version is folded anew.
VERSION: Final = 2


def digest(ledger: Ledger, *, numbered: bool = True) -> str:
    """Return a hexadecimal SHA-256 over a ledger, with or without the numbers of the events."""
    return hashlib.sha256(body(ledger, numbered=numbered)).hexdigest()


def body(ledger: Ledger, *, numbered: bool = True) -> bytes:
    """Return a ledger as bytes, with or without the numbers of the events."""
    rows, songs = ledger.plays.rows(), ledger.plays.songs
    if not numbered:
        rows["first_seq"] = 0
    header = {
        "version": VERSION,
        "seq": ledger.seq if numbered else None,
        "at": ledger.at if numbered else None,
        "rules": [_rule(rule, numbered=numbered) for rule in ledger.rules],
        "songs": len(songs),
        "plays": len(rows),
        "last_kind": ledger.last_kind,
    }
    line = json.dumps(header, ensure_ascii=True, separators=(",", ":"))
    names = "".join(f"{song}\n" for song in songs)
    return f"{line}\n{names}".encode() + rows.tobytes()


def _rule(rule: Rule, *, numbered: bool) -> list[Any]:
    return [rule.scope, rule.target, rule.until, rule.seq if numbered else None]
