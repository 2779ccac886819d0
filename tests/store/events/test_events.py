"""Looking back in a log: kinds of events, what was taken back, events that came late."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import ConflictError, InvalidInputError, KeyReusedError, NotFoundError
from bandstand.store.database.connection import Store
from bandstand.store.events import append as appending
from bandstand.store.events import events
from bandstand.store.events.events import Event, Kind, NewEvent, append
from bandstand.store.events.values import (
    KINDS,
    MAX_AGE_MS,
    MAX_KEY_CHARS,
    MAX_TARGET_CHARS,
    TEN_YEARS_MS,
)
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.examples import text as texts
from tests.fixtures.store.sample_log import (
    MINUTE,
    NOW,
    UNKNOWN,
    account_and_songs,
    add,
    every_kind,
    new_account,
    new_songs,
    rating,
)


def test_every_kind_goes_in_and_comes_out_as_it_was(store: Store) -> None:
    account, songs = account_and_songs(store)
    given_events = every_kind(account, songs)
    with store.writing() as connection:
        added = [add(connection, new, now=NOW + 1_000 * n) for n, new in enumerate(given_events)]
    with store.reading() as connection:
        stored = list(events.after(connection, account))
        assert stored == added
        assert [events.get(connection, account, event.seq) for event in added] == added
        assert events.check_chain(connection, account) == []
        end = events.end(connection, account)
    assert [event.seq for event in stored] == list(range(1, len(given_events) + 1))
    assert [event.at for event in stored] == [NOW + 1_000 * n for n in range(len(stored))]
    for event, new in zip(stored, given_events, strict=True):
        for name in ("account", "key", "kind", "song", "stars", "played_ms", "scope", "target"):
            assert getattr(event, name) == getattr(new, name)
        assert event.retracts == new.retracts
    assert stored[7].until == NOW + 86_400_000
    assert stored[8].until == stored[8].at + 86_400_000
    assert (end.seq, end.at, end.digest) == (len(stored), stored[-1].at, stored[-1].digest)


@some_examples
@given(
    keys=st.lists(texts.filter(lambda key: len(key) <= MAX_KEY_CHARS), unique=True, max_size=6),
    targets=st.lists(texts.map(lambda target: target[:MAX_TARGET_CHARS]), min_size=6, max_size=6),
)
def test_any_clean_text_comes_back(shared: Store, keys: list[str], targets: list[str]) -> None:
    with discarded(shared) as connection:
        account = new_account(connection)
        for key, target in zip(keys, targets, strict=False):
            new = NewEvent(account=account, key=key, kind="ban", scope="genre", target=target)
            add(connection, new)
        stored = [(it.key, it.target) for it in events.after(connection, account)]
        assert stored == list(zip(keys, targets, strict=False))
        assert events.check_chain(connection, account) == []


# ── What is refused before any database sees it ─────────────────────────────────────────


def good() -> dict[str, dict[str, Any]]:
    """Return the least that an event of each kind needs."""
    base = {"account": UNKNOWN, "key": "k"}
    rules = {"scope": "artist", "target": "x"}
    return {
        "rating": {**base, "kind": "rating", "song": UNKNOWN, "stars": 3},
        "skip": {**base, "kind": "skip", "song": UNKNOWN, "played_ms": 1},
        "listen": {**base, "kind": "listen", "song": UNKNOWN},
        "ban": {**base, "kind": "ban", **rules},
        "snooze": {**base, "kind": "snooze", **rules, "until": NOW + 1},
        "retract": {**base, "kind": "retract", "retracts": 1},
    }


EXTRA = {"song": UNKNOWN, "stars": 3, "played_ms": 5, "scope": "genre", "target": "x"}
EXTRA |= {"until": NOW + 1, "for_ms": 1, "retracts": 1}
OPTIONAL = {("rating", "played_ms"), ("listen", "played_ms")}
UNCLEAN = ["a\0b", "\0", "\ud800", "a\udfff", 5, True, math.nan, b"x", ["x"], {}]
NOT_INTEGERS = [True, 1.0, 1.5, math.nan, math.inf, -math.inf, "1", 2**63, -(2**63) - 1, 10**5000]


@pytest.mark.parametrize("kind", good())
def test_an_event_has_what_its_kind_needs_and_nothing_else(kind: str) -> None:
    fields = good()[kind]
    NewEvent(**fields)
    for name in fields:
        with pytest.raises((InvalidInputError, TypeError)):
            NewEvent(**{key: value for key, value in fields.items() if key != name})
    for name, value in EXTRA.items():
        if name not in fields and (kind, name) not in OPTIONAL:
            with pytest.raises(InvalidInputError, match=r"must have (no|either)"):
                NewEvent(**{**fields, name: value})


REFUSED: list[tuple[str, str, list[Any]]] = [
    ("rating", "key", [*UNCLEAN, None, "", "x" * 201]),
    ("rating", "account", [*UNCLEAN, None, "", "ABCDEF0123456789", "\u0660" * 16]),
    ("rating", "kind", [*UNCLEAN, None, "", "Rating", "rating ", "love"]),
    ("listen", "song", [*UNCLEAN, "", "g" * 16, UNKNOWN + "\n", "1" * 15]),
    ("rating", "stars", [*NOT_INTEGERS, 0, 6, -1]),
    ("skip", "played_ms", [*NOT_INTEGERS, -1, TEN_YEARS_MS + 1]),
    ("ban", "scope", [*UNCLEAN, "", "songs", "Song"]),
    ("ban", "target", [*UNCLEAN, "", "x" * 501]),
    ("snooze", "until", NOT_INTEGERS),
    ("snooze", "for_ms", [*NOT_INTEGERS, 0, -1, TEN_YEARS_MS + 1]),
    ("retract", "retracts", [*NOT_INTEGERS, 0, -1]),
]


@pytest.mark.parametrize(("kind", "name", "values"), REFUSED)
def test_what_no_database_should_see_is_refused(kind: str, name: str, values: list[Any]) -> None:
    fields = good()[kind]
    if name == "for_ms":
        del fields["until"]
        NewEvent(**fields, for_ms=TEN_YEARS_MS)
    for value in values:
        with pytest.raises(InvalidInputError):
            NewEvent(**{**fields, name: value})


def test_a_time_that_is_none_is_refused(connection: Connection) -> None:
    new = rating(new_account(connection), new_songs(connection, 1)[0])
    wrong: list[Any] = [*NOT_INTEGERS, None, -1, 2**63 - 1]
    for now in wrong:
        with pytest.raises(InvalidInputError, match="now must be"):
            append(connection, new, now=now)
    assert events.end(connection, new.account).seq == 0


# ── What does not fit what is there ──────────────────────────────────────────────────────


def refused(store: Store, new: NewEvent, *, now: int = NOW) -> Exception:
    """Return why an event is refused, which must change nothing."""
    with store.writing() as connection:
        before = events.end(connection, new.account) if new.account != UNKNOWN else None
        with pytest.raises(InvalidInputError) as caught:
            append(connection, new, now=now)
        after = events.end(connection, new.account) if new.account != UNKNOWN else None
        assert before == after
    return caught.value


def test_an_unknown_account_is_not_found(store: Store) -> None:
    _, songs = account_and_songs(store)
    assert type(refused(store, rating(UNKNOWN, songs[0]))) is NotFoundError
    with store.reading() as connection:
        assert list(events.after(connection, UNKNOWN)) == []
        with pytest.raises(NotFoundError):
            events.end(connection, UNKNOWN)
        assert events.check_chain(connection, UNKNOWN) == [
            f"account {UNKNOWN}: the log must have a note of where it ends, got none"
        ]


def test_an_unknown_song_is_not_found(store: Store) -> None:
    account, _ = account_and_songs(store)
    banned = NewEvent(account=account, key="k", kind="ban", scope="song", target=UNKNOWN)
    assert type(refused(store, rating(account, UNKNOWN))) is NotFoundError
    assert type(refused(store, banned)) is NotFoundError


@pytest.mark.parametrize("until", [0, NOW - 1, NOW, NOW + TEN_YEARS_MS + 1, 2**63 - 1])
def test_a_snooze_ends_after_now_and_within_ten_years(store: Store, until: int) -> None:
    account, _ = account_and_songs(store)
    fields = {**good()["snooze"], "account": account}
    assert type(refused(store, NewEvent(**{**fields, "until": until}))) is InvalidInputError
    with store.writing() as connection:
        add(connection, NewEvent(**{**fields, "until": NOW + TEN_YEARS_MS}))


def test_only_what_is_there_and_stands_can_be_taken_back(store: Store) -> None:
    account, songs = account_and_songs(store)
    other, _ = account_and_songs(store)

    def back(seq: int, key: str) -> NewEvent:
        return NewEvent(account=account, key=key, kind="retract", retracts=seq)

    with store.writing() as connection:
        for number in range(3):
            add(connection, rating(other, songs[0], str(number)))
        add(connection, rating(account, songs[0], "mine"))
        add(connection, back(1, "x"))
    assert type(refused(store, back(1, "y"))) is ConflictError
    assert type(refused(store, back(2, "y"))) is ConflictError  # the retract itself
    for seq in (3, 4, 2**63 - 1):  # another's, that which this would be, none
        assert type(refused(store, back(seq, "y"))) is NotFoundError


# ── One key is one event ─────────────────────────────────────────────────────────────────


def test_the_same_key_with_the_same_content_is_the_same_event(store: Store) -> None:
    account, songs = account_and_songs(store)
    news = every_kind(account, songs)
    with store.writing() as connection:
        first = [add(connection, new) for new in news]
    # A year later: a snooze that would no longer be accepted, a retract whose event is gone.
    with store.writing() as connection:
        again = [append(connection, new, now=NOW + 365 * 86_400_000) for new in news]
        assert events.end(connection, account).seq == len(news)
    assert [appended.event for appended in again] == first
    assert not any(appended.is_new for appended in again)


CHANGES: dict[str, Any] = {"stars": 2, "played_ms": 77, "scope": "album", "target": "another"}
CHANGES |= {"until": NOW + 5, "for_ms": 5, "retracts": 1}


def test_the_same_key_with_another_content_is_refused(store: Store) -> None:
    account, songs = account_and_songs(store)
    news = every_kind(account, songs)
    with store.writing() as connection:
        for new in news:
            add(connection, new)
    refusals = 0
    for new in news:
        fields = {name: getattr(new, name) for name in NewEvent.__dataclass_fields__}
        for name, value in {**CHANGES, "song": songs[2]}.items():
            if fields[name] in {None, value} or fields["scope"] == "song":
                continue
            changed = NewEvent(**{**fields, name: value})
            assert type(refused(store, changed)) is KeyReusedError
            refusals += 1
    listened = NewEvent(account=account, key="1", kind="listen", song=songs[0])
    assert type(refused(store, listened)) is KeyReusedError
    banned = NewEvent(account=account, key="6", kind="ban", scope="song", target=songs[0])
    assert type(refused(store, banned)) is KeyReusedError
    assert refusals > 15


@pytest.mark.parametrize(("one", "two"), [("a", "A"), ("é", "e\u0301"), ("a", "a "), ("ß", "ss")])
def test_keys_differ_by_every_letter(connection: Connection, one: str, two: str) -> None:
    account, (song,) = new_account(connection), new_songs(connection, 1)
    assert add(connection, rating(account, song, one)).seq == 1
    assert add(connection, rating(account, song, two)).seq == 2


# ── Time ─────────────────────────────────────────────────────────────────────────────────


@some_examples
@given(clock=st.lists(st.integers(0, 2 * NOW), min_size=1, max_size=12))
def test_time_never_goes_back_whatever_the_clock_does(shared: Store, clock: list[int]) -> None:
    with discarded(shared) as connection:
        account, songs = new_account(connection), new_songs(connection, 2)
        times = [
            add(connection, rating(account, songs[n % 2], str(n)), now=now)
            for n, now in enumerate(clock)
        ]
    assert [event.at for event in times] == [max(clock[: n + 1]) for n in range(len(clock))]
    assert all(event.since_heard_ms is None or event.since_heard_ms >= 0 for event in times)


# ── Reading ──────────────────────────────────────────────────────────────────────────────


def filled(store: Store, number: int) -> tuple[str, list[str], list[Event]]:
    """Return an account, songs, and a log over them."""
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        log = [
            add(connection, rating(account, songs[n % 3], str(n)), now=NOW + n)
            for n in range(number)
        ]
    return account, songs, log


def test_a_log_is_read_in_whole_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    account, _, log = filled(store, 23)
    for size in (1, 4, 23, 100):
        monkeypatch.setattr(events, "MAX_PAGE_EVENTS", size)
        with store.reading() as connection:
            assert list(events.after(connection, account)) == log
            assert list(events.after(connection, account, 7)) == log[7:]
            assert list(events.after(connection, account, 23)) == []


def test_no_part_of_a_long_log_is_walked_to_append_to_it(store: Store) -> None:
    """SQLite tells how it would go about it; PostgreSQL decides by the size of the tables."""
    if store.location.__class__.__name__ != "SqliteLocation":
        return
    with store.reading() as connection:
        find = appending._STATEMENTS["sqlite"].find
        sought = {"account": UNKNOWN, "key": "k", "song": UNKNOWN}
        steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {find}", sought).scalars("detail")
        plan = [step for step in steps.all() if step.startswith(("SEARCH", "SCAN"))]
    assert len(plan) == 7
    for step in plan:
        assert step.startswith("SEARCH")
        assert step.count("=?") == 2 or step.startswith(("SEARCH l ", "SEARCH song "))


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
def test_a_page_shows_only_the_kinds_asked(shared: Store, wanted: list[Kind], limit: int) -> None:
    with discarded(shared) as connection:
        account = logged(connection)
        log = list(events.after(connection, account))
        found: list[int] = []
        before = None
        while page := events.page(connection, account, before=before, limit=limit, kinds=wanted):
            found += [event.seq for event in page]
            before = page[-1].seq
    assert found == [event.seq for event in reversed(log) if event.kind in wanted]


def test_events_are_found_by_their_numbers(connection: Connection) -> None:
    account, other = logged(connection), new_account(connection)
    log = list(events.after(connection, account))
    found = events.many(connection, account, [3, 1, 1, 999])
    assert found == {1: log[0], 3: log[2]}
    assert events.many(connection, account, []) == {}
    assert events.many(connection, other, [1, 2, 3]) == {}


def test_what_was_taken_back_is_known(connection: Connection) -> None:
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


def test_a_play_that_comes_late_is_one_play(store: Store) -> None:
    """Rated after two minutes and heard to its end after four, all of it sent half an hour later.

    A song heard ten minutes before that play was heard ten minutes before it, not forty.
    """
    account, songs = account_and_songs(store)
    now = NOW + 60 * MINUTE
    with store.writing() as connection:
        before = NewEvent(account=account, key="before", kind="listen", song=songs[0])
        add(connection, before, now=NOW)
        began = 10 * MINUTE
        early, late = (
            dict[str, Any](played_ms=played, age_ms=60 * MINUTE - began - played)
            for played in (2 * MINUTE, 4 * MINUTE)
        )
        rated = add(connection, rating(account, songs[0], "rated", **early), now=now)
        end = NewEvent(account=account, key="ended", kind="listen", song=songs[0], **late)
        ended = add(connection, end, now=now)
    assert rated.since_heard_ms == ended.since_heard_ms == began
    assert (rated.at, ended.at) == (NOW + 12 * MINUTE, NOW + 14 * MINUTE)


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
def test_late_events_keep_the_log_whole(
    shared: Store, sent: Sequence[tuple[int, int, int]]
) -> None:
    with discarded(shared) as connection:
        account, songs = new_account(connection), new_songs(connection)
        for number, (now, age, song) in enumerate(sent):
            new = rating(account, songs[song], str(number), age_ms=age)
            add(connection, new, now=now)
        log = list(events.after(connection, account))
        assert events.check_chain(connection, account) == []
    assert all(one.at <= two.at for one, two in pairwise(log))
    assert all(event.at <= max(it[0] for it in sent) for event in log)
    assert all(event.since_heard_ms is None or event.since_heard_ms >= 0 for event in log)


def test_a_page_shows_the_newest_first(store: Store) -> None:
    account, songs, log = filled(store, 10)
    newest = log[::-1]
    with store.reading() as connection:

        def page(**wanted: Any) -> list[Event]:
            return events.page(connection, account, **{"before": None, "limit": 4, **wanted})

        assert page() == newest[:4]
        assert page(before=7) == newest[4:8]
        assert page(before=1) == []
        assert page(song=songs[1], limit=100) == [it for it in newest if it.song == songs[1]]
        assert page(song=songs[1], before=5) == [log[1]]
        assert page(song=UNKNOWN) == []
        for limit in (0, -1, 1_001, True, 2**63):
            with pytest.raises(InvalidInputError):
                page(limit=limit)
        with pytest.raises(InvalidInputError):
            page(song="a\0b")
