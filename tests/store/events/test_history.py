"""Looking back in a log: kinds of events, what was taken back, events that came late."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError, KeyReusedError
from bandstand.store.events import events
from bandstand.store.events.events import NewEvent, append
from bandstand.store.events.values import KINDS, MAX_AGE_MS
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_log import (
    MINUTE,
    NOW,
    account_and_songs,
    add,
    every_kind,
    new_account,
    new_songs,
    rating,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Kind

kinds = st.lists(st.sampled_from(KINDS), unique=True)


def logged(connection: Connection) -> str:
    """Return an account with a log of every kind, twice over."""
    account, songs = new_account(connection), new_songs(connection)
    for new in every_kind(account, songs):
        add(connection, new)
    add(connection, rating(account, songs[0], "last"))
    return account


@some_examples
@given(wanted=kinds, limit=st.integers(1, 5))
def test_a_page_shows_only_the_kinds_that_are_asked_for(
    shared: Store, wanted: list[Kind], limit: int
) -> None:
    with discarded(shared) as connection:
        account = logged(connection)
        log = list(events.after(connection, account))
        found: list[int] = []
        before = None
        while page := events.page(connection, account, before=before, limit=limit, kinds=wanted):
            found += [event.seq for event in page]
            before = page[-1].seq
    assert found == [event.seq for event in reversed(log) if event.kind in wanted]


def test_events_are_found_by_their_numbers(store: Store) -> None:
    with store.writing() as connection:
        account, other = logged(connection), new_account(connection)
        log = list(events.after(connection, account))
        found = events.many(connection, account, [3, 1, 1, 999])
        assert found == {1: log[0], 3: log[2]}
        assert events.many(connection, account, []) == {}
        assert events.many(connection, other, [1, 2, 3]) == {}


def test_what_was_taken_back_is_known(store: Store) -> None:
    with store.writing() as connection:
        account, songs = new_account(connection), new_songs(connection)
        other = new_account(connection)
        for number in range(4):
            add(connection, rating(account, songs[0], str(number)))
            add(connection, rating(other, songs[0], str(number)))
        for seq in (2, 4):
            add(connection, NewEvent(account=account, key=f"r{seq}", kind="retract", retracts=seq))
        everything = range(1, 7)
        assert events.retracted(connection, account, everything) == {2, 4}
        assert events.retracted(connection, account, [1, 2]) == {2}
        assert events.retracted(connection, account, []) == frozenset()
        assert events.retracted(connection, other, everything) == frozenset()


# ── Events that come late ────────────────────────────────────────────────────────────────


def test_an_event_that_comes_late_keeps_its_time(store: Store) -> None:
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        first = add(connection, rating(account, songs[0], "a"), now=NOW)
        late = rating(account, songs[1], "b", age_ms=5 * MINUTE)
        second = add(connection, late, now=NOW + 20 * MINUTE)
        assert (first.at, second.at) == (NOW, NOW + 15 * MINUTE)
        again = append(connection, rating(account, songs[1], "b", age_ms=9), now=NOW + 99 * MINUTE)
        assert (again.is_new, again.event) == (False, second)
        with pytest.raises(KeyReusedError):
            append(connection, rating(account, songs[1], "b", stars=1, age_ms=5), now=NOW)


def test_no_event_comes_before_the_one_that_is_there(store: Store) -> None:
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        add(connection, rating(account, songs[0], "a"), now=NOW)
        late = add(connection, rating(account, songs[1], "b", age_ms=60 * MINUTE), now=NOW + MINUTE)
    assert late.at == NOW


def test_a_play_that_is_told_late_is_one_play(store: Store) -> None:
    """Rated after two minutes and heard to its end after four, all of it told half an hour later.

    A song heard ten minutes before that play was heard ten minutes before it, not forty.
    """
    account, songs = account_and_songs(store)
    now = NOW + 60 * MINUTE
    with store.writing() as connection:
        before = NewEvent(account=account, key="before", kind="listen", song=songs[0])
        add(connection, before, now=NOW)
        began = 10 * MINUTE
        rated = add(
            connection,
            rating(
                account,
                songs[0],
                "rated",
                played_ms=2 * MINUTE,
                age_ms=60 * MINUTE - began - 2 * MINUTE,
            ),
            now=now,
        )
        ended = add(
            connection,
            NewEvent(
                account=account,
                key="ended",
                kind="listen",
                song=songs[0],
                played_ms=4 * MINUTE,
                age_ms=60 * MINUTE - began - 4 * MINUTE,
            ),
            now=now,
        )
    assert rated.since_heard_ms == ended.since_heard_ms == began
    assert (rated.at, ended.at) == (NOW + 12 * MINUTE, NOW + 14 * MINUTE)


def test_a_snooze_that_comes_late_ends_when_it_was_meant_to(store: Store) -> None:
    account, _ = account_and_songs(store)
    snooze = {"account": account, "key": "s", "kind": "snooze", "scope": "artist", "target": "x"}
    with store.writing() as connection:
        new = NewEvent(**snooze, for_ms=10 * MINUTE, age_ms=3 * MINUTE)  # type: ignore[arg-type]
        assert add(connection, new).until == NOW + 7 * MINUTE
        again = NewEvent(**snooze, for_ms=10 * MINUTE)  # type: ignore[arg-type]
        assert not append(connection, again, now=NOW + MINUTE).is_new


@pytest.mark.parametrize("age", [-1, MAX_AGE_MS + 1, 1.0, True, None, "1"])
def test_an_age_that_is_none_is_refused(age: object) -> None:
    with pytest.raises(InvalidInputError, match="age_ms"):
        rating("0" * 16, "0" * 16, age_ms=age)


@some_examples
@given(
    st.lists(
        st.tuples(st.integers(0, 2 * NOW), st.integers(0, MAX_AGE_MS), st.sampled_from([0, 1])),
        max_size=12,
    )
)
def test_however_late_events_come_the_log_is_whole(
    shared: Store, told: Sequence[tuple[int, int, int]]
) -> None:
    with discarded(shared) as connection:
        account, songs = new_account(connection), new_songs(connection)
        for number, (now, age, song) in enumerate(told):
            new = rating(account, songs[song], str(number), age_ms=age)
            add(connection, new, now=now)
        log = list(events.after(connection, account))
        assert events.check_chain(connection, account) == []
    assert all(one.at <= two.at for one, two in pairwise(log))
    assert all(event.at <= max(it[0] for it in told) for event in log)
    assert all(event.since_heard_ms is None or event.since_heard_ms >= 0 for event in log)
