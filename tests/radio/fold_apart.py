"""Fold a log in a process of its own: events as JSON lines on standard input, a report out.

The report has the digest of the fold, and those of three that are wrong on purpose: `clock` looks
at the time, `zone` at the local calendar, `hash` takes events in the order of a hash table.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bandstand.radio.log.ledger import Ledger, fold
from bandstand.radio.log.ledger_bytes import from_bytes, to_bytes
from bandstand.store.events.events import HEARD, Event

if TYPE_CHECKING:
    from collections.abc import Sequence


def planted(events: Sequence[Event], error: str) -> list[Event]:
    """Return events as somebody sees them who looks at what is not in the log."""
    match error:
        case "clock":
            return [replace(event, since_heard_ms=time.time_ns() - event.at) for event in events]
        case "zone":
            hours = [time.localtime(event.at / 1_000).tm_hour for event in events]
            pairs = zip(events, hours, strict=True)
            return [replace(event, since_heard_ms=hour) for event, hour in pairs]
        case _:
            keys = {event.key: event for event in events if event.kind in HEARD}
            mixed = [keys[key] for key in set(keys)]
            return [replace(event, seq=seq) for seq, event in enumerate(mixed, 1)]


def right(events: Sequence[Event]) -> str:
    """Return the digest of a log, folded in three ways that must agree."""
    whole = fold(events)
    step = Ledger.empty()
    for place, event in enumerate(events, 1):
        step = step.after(event, lambda end=place: events[:end])  # type: ignore[misc]
    again = from_bytes(to_bytes(whole))
    assert whole.digest() == step.digest() == again.digest()
    return whole.digest()


def main() -> None:
    events = [Event(**json.loads(line), digest=b"") for line in sys.stdin]
    report = {
        "right": right(events),
        **{error: fold(planted(events, error)).digest() for error in ("clock", "zone", "hash")},
        "year": time.localtime().tm_year,
        "offset": time.strftime("%z"),
        "mixed": hash("bandstand"),
    }
    print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    main()
