"""Logs of events, written as a store would, chosen or drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from bandstand.store.events.events import HEARD, Event
from bandstand.store.events.plays import since_heard_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

ACCOUNT = "0123456789abcdef"
SONGS = tuple(f"{number:016x}" for number in range(6))
START = 1_700_000_000_000
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass
class Log:
    """A log of one account; `clock` is what the machine believes, and may go back."""

    clock: int = START
    events: list[Event] = field(default_factory=list)

    def add(self, kind: Any, song: str | None = None, *, after: int = MINUTE, **more: Any) -> Event:
        """Append an event some milliseconds later, as the store would."""
        self.clock += after
        at = max([self.clock, *(event.at for event in self.events[-1:])])
        heard = None if kind not in HEARD or song is None else self._heard(kind, song, at, more)
        event = Event(
            account=ACCOUNT,
            seq=len(self.events) + 1,
            key=f"key {len(self.events)}",
            at=at,
            kind=kind,
            song=song,
            since_heard_ms=heard,
            digest=bytes(32),
            **{**_NOTHING, **more},
        )
        self.events.append(event)
        return event

    def _heard(self, kind: Any, song: str, at: int, more: dict[str, Any]) -> int | None:
        taken_back = {event.retracts for event in self.events}
        heard = [e for e in self.events if e.kind in HEARD and e.seq not in taken_back]
        of_song = [event.at for event in heard if event.song == song]
        return since_heard_ms(
            heard[-1] if heard else None,
            of_song[-1] if of_song else None,
            kind=kind,
            song=song,
            at=at,
            played_ms=more.get("played_ms"),
        )

    def retractable(self) -> list[int]:
        """Return the numbers of the events that can be taken back."""
        taken_back = {event.retracts for event in self.events}
        return [
            event.seq
            for event in self.events
            if event.kind != "retract" and event.seq not in taken_back
        ]


_NOTHING = dict.fromkeys(("stars", "played_ms", "scope", "target", "until", "retracts"))


def renumbered(events: Sequence[Event]) -> list[Event]:
    """Return events with the numbers 1, 2, 3, …, and what they take back with them."""
    number = {event.seq: place for place, event in enumerate(events, 1)}
    return [
        replace(
            event,
            seq=number[event.seq],
            retracts=None if event.retracts is None else number[event.retracts],
        )
        for event in events
    ]


def without_retracted(events: Sequence[Event]) -> list[Event]:
    """Return events as if what was taken back had never been, renumbered."""
    taken_back = {event.retracts for event in events}
    return renumbered(
        [event for event in events if event.kind != "retract" and event.seq not in taken_back]
    )


_gaps = st.sampled_from(
    [0, 1, 5 * SECOND, MINUTE, 4 * MINUTE, 19 * MINUTE, 25 * MINUTE, 3 * HOUR, 40 * DAY, -DAY]
)
_played = st.sampled_from([0, 1_999, 2_000, 29_999, 30_000, 119_999, 120_000, 5 * MINUTE, 3 * HOUR])
_songs = st.sampled_from(SONGS)


@st.composite
def _actions(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(
        st.sampled_from(
            ["rating", "rating", "skip", "listen", "listen", "ban", "snooze", "retract"]
        )
    )
    action: dict[str, Any] = {"kind": kind, "after": draw(_gaps)}
    if kind in HEARD:
        action["song"] = draw(_songs)
        action["played_ms"] = draw(_played if kind == "skip" else st.none() | _played)
    if kind == "rating":
        action["stars"] = draw(st.integers(1, 5))
    if kind in {"ban", "snooze"}:
        action["scope"] = draw(st.sampled_from(["song", "artist", "album", "genre"]))
        action["target"] = draw(st.sampled_from([*SONGS, "Björk", "a\nb", '"', "\U0001f3b5"]))
    if kind == "snooze":
        action["days"] = draw(st.integers(1, 3_650))
    if kind == "retract":
        action["which"] = draw(st.integers(0, 2**31))
    return action


@st.composite
def logs(draw: st.DrawFn, *, retracts: bool = True, most: int = 30) -> Log:
    """Draw a log of some events, none included."""
    log = Log()
    for action in draw(st.lists(_actions(), max_size=most)):
        if action["kind"] == "retract":
            if retracts and (choice := log.retractable()):
                log.add(
                    "retract", after=action["after"], retracts=choice[action["which"] % len(choice)]
                )
            continue
        if (days := action.pop("days", None)) is not None:
            action["until"] = log.clock + days * DAY
        log.add(**action)
    return log


def no_log() -> Sequence[Event]:
    """Stand for the whole log where nobody may ask for it."""
    msg = "the whole log was asked for"
    raise AssertionError(msg)
