"""Which events are one play, case by case, and against a second way to write the same rules."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.store.database.connection import Store
from bandstand.store.events import events
from bandstand.store.events.events import Event, NewEvent, append
from bandstand.store.events.values import HEARD, Kind, is_same_play
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_log import MINUTE, NOW, new_account, new_songs


class Before(NamedTuple):
    kind: Kind
    song: str | None = "a"
    at: int = 100 * MINUTE
    since_heard_ms: int | None = 7


@pytest.mark.parametrize(
    ("before", "kind", "song", "minutes", "played", "same"),
    [
        ("rating", "rating", "a", 1, None, True),
        ("rating", "rating", "b", 1, None, False),
        ("rating", "listen", "a", 3, None, True),
        # A rating after the end still belongs to the play.
        ("listen", "rating", "a", 5, None, True),
        # A play has one end.
        ("listen", "listen", "a", 1, None, False),
        ("skip", "listen", "a", 1, 90, False),
        # Twenty minutes, and not a moment more, unless the song had begun before.
        ("rating", "rating", "a", 20, None, True),
        ("rating", "rating", "a", 20.001, None, False),
        ("rating", "listen", "a", 45, 46, True),
        ("rating", "listen", "a", 45, 44, False),
        ("listen", "rating", "a", 45, 46, True),
        # What was rated may be paused before it goes on.
        ("rating", "listen", "a", 3, 1, True),
        ("rating", "skip", "a", 20, 0.1, True),
        # Otherwise what was played says when it began.
        ("rating", "skip", "a", 21, 20, False),
        ("rating", "skip", "a", 21, 21.001, True),
        ("listen", "rating", "a", 3, 2, False),
        ("listen", "rating", "a", 3, 3.001, True),
    ],
)
def test_what_belongs_to_one_play(
    before: Kind, kind: Kind, song: str, minutes: float, played: float | None, *, same: bool
) -> None:
    at = Before(kind=before).at + round(minutes * MINUTE)
    played_ms = None if played is None else round(played * MINUTE)
    assert is_same_play(Before(kind=before), kind, song, at, played_ms) is same


def plain_since(log: list[Event], new: NewEvent, at: int) -> int | None:
    """Return what an event should say of when its song was heard, from the whole log before it."""
    taken_back = {event.retracts for event in log}
    heard = [
        event
        for event in log
        if event.kind in {"rating", "skip", "listen"} and event.seq not in taken_back
    ]
    start = at if new.played_ms is None else at - new.played_ms
    if heard and heard[-1].song == new.song:
        last = heard[-1]
        both_end = {last.kind, new.kind} <= {"skip", "listen"}
        reaches_back = new.played_ms is not None and start < last.at
        too_late = at - last.at > 1_200_000 and not reaches_back
        has_ended = last.kind != "rating"
        began_later = new.played_ms is not None and start >= last.at and has_ended
        if not (both_end or too_late or began_later):
            return last.since_heard_ms
    of_song = [event.at for event in heard if event.song == new.song]
    return max(0, start - of_song[-1]) if of_song else None


class Step(NamedTuple):
    kind: Any
    song: int
    minutes: int
    played: int | None
    back: int


steps = st.builds(
    Step,
    kind=st.sampled_from(["rating", "rating", "skip", "listen", "listen", "ban", "retract"]),
    song=st.integers(0, 2),
    minutes=st.integers(-30, 50),
    played=st.none() | st.integers(0, 60),
    back=st.integers(1, 4),
)


def new_event(account: str, songs: list[str], step: Step, number: int, *, log: list[Event]) -> Any:
    """Return the event that a step stands for; None if it cannot be."""
    fields: dict[str, Any] = {"account": account, "key": str(number), "kind": step.kind}
    if step.kind == "ban":
        return NewEvent(**fields, scope="artist", target="x")
    if step.kind == "retract":
        standing = {event.seq for event in log if event.kind != "retract"}
        choices = sorted(standing - {event.retracts for event in log})
        return NewEvent(**fields, retracts=choices[-step.back :][0]) if choices else None
    played = step.played if step.kind != "skip" else step.played or 0
    fields["played_ms"] = None if played is None else played * MINUTE
    fields["stars"] = 3 if step.kind == "rating" else None
    return NewEvent(**fields, song=songs[step.song])


def follow(
    connection: Connection, account: str, songs: list[str], drawn: list[Step]
) -> list[Event]:
    """Return the log after some steps, each compared with the plain reading."""
    log: list[Event] = []
    now = NOW
    for number, step in enumerate(drawn):
        now += step.minutes * MINUTE  # the clock may go back
        new = new_event(account, songs, step, number, log=log)
        if new is None:
            continue
        event = append(connection, new, now=now).event
        expected = plain_since(log, new, event.at) if new.kind in HEARD else None
        assert event.since_heard_ms == expected
        log.append(event)
    return log


@some_examples
@given(drawn=st.lists(steps, max_size=25))
def test_the_log_says_what_a_plain_reading_says(shared: Store, drawn: list[Step]) -> None:
    with discarded(shared) as connection:
        account, songs = new_account(connection), new_songs(connection)
        log = follow(connection, account, songs, drawn)
        assert list(events.after(connection, account)) == log
        assert events.check_chain(connection, account) == []


def test_a_wrong_rule_would_be_noticed(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above is not blind: five minutes instead of twenty do not pass."""
    monkeypatch.setattr("bandstand.store.events.values.MAX_PAUSE_MS", 5 * MINUTE)
    drawn = [
        Step("rating", 0, 0, None, 1),
        Step("rating", 1, 30, None, 1),
        Step("rating", 1, 10, None, 1),
    ]
    with discarded(shared) as connection, pytest.raises(AssertionError):
        follow(connection, new_account(connection), new_songs(connection), drawn)
