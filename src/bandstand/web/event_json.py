"""Events of the log as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bandstand.store.events import Event

# What only some kinds of event have; left out where there is none.
_PARTS: Final = ("song", "stars", "scope", "target", "until", "retracts")


def event_json(event: Event) -> dict[str, Any]:
    """Return what is told of an event: its place in the log, its time (UTC, ms), what it says."""
    said = {name: getattr(event, name) for name in _PARTS if getattr(event, name) is not None}
    if event.played_ms is not None:
        said["played_seconds"] = event.played_ms / 1_000
    return {"seq": event.seq, "at": event.at, "kind": event.kind, "key": event.key, **said}
