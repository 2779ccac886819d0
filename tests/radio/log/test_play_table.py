"""Ledgers that grew from one another share their rows, and nobody can tell."""

import itertools
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given

from bandstand.radio.log import fold as fold_module
from bandstand.radio.log.fold import Ledger, Play, PlayTable, extend, fold
from tests.fixtures.radio.logs import MINUTE, SONGS, Log, logs, no_log, same


def play(song: str) -> Play:
    return Play(
        song=song, kind="listen", rating=4.0, weight=0.125, since_heard_ms=None, at=1, first_seq=1
    )


def test_an_old_table_knows_nothing_of_what_came_to_its_rows() -> None:
    table = PlayTable.empty().plus(play("a")).plus(play("b"))
    grown = table.plus(play("c")).plus(play("d")).plus(play("e"))
    other = table.with_last(play("d"))
    assert grown.songs == ("a", "b", "c", "d", "e")
    assert other.songs == ("a", "d")
    assert other.rows()["song"].tolist() == [0, 1]
    assert {song: other.heard_at(song) for song in other.songs} == {"a": 1, "d": 1}
    assert other.heard_at("b") is None
    assert other.heard_at("c") is None


@given(logs())
def test_ledgers_stay_as_they_were_when_others_go_on_from_them(log: Log) -> None:
    ledgers = [Ledger.empty()]
    for place, event in enumerate(log.events, 1):
        ledgers.append(extend(ledgers[-1], [event], lambda end=place: log.events[:end]))  # type: ignore[misc]
    for number, ledger in enumerate(ledgers):
        assert same(ledger, fold(log.events[:number]))


def test_threads_may_go_on_from_one_ledger_at_once() -> None:
    log = Log()
    for number in range(50):
        log.add("listen", SONGS[number % 6])
    start, results = fold(log.events), {}
    barrier = Barrier(4)

    def go_on(name: int) -> None:
        way = Log(clock=log.clock, events=list(log.events))
        barrier.wait()
        ledger = start
        for number in range(200):
            ledger = extend(ledger, [way.add("listen", SONGS[(number * name) % 6])], no_log)
        results[name] = (ledger, way)

    threads = [Thread(target=go_on, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for ledger, way in results.values():
        assert same(ledger, fold(way.events))


def test_appending_seldom_copies_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    made = fold_module._Shared.__init__

    def counted(self: Any, rows: Any, songs: Any, room: int) -> None:
        copied.append(len(rows))
        made(self, rows, songs, room)

    monkeypatch.setattr(fold_module._Shared, "__init__", counted)
    clock = itertools.count(10**12, MINUTE)
    ledger, count = Ledger.empty(), 3_000
    for seq in range(1, 2 * count, 2):
        # Each play has two events: the second replaces what the first said.
        log = Log(clock=next(clock))
        for kind, number in (("listen", seq), ("rating", seq + 1)):
            stars = 4 if kind == "rating" else None
            event = log.add(kind, SONGS[seq % 5], after=1, stars=stars)
            ledger = extend(ledger, [replace(event, seq=number)], no_log)
    assert len(ledger.plays) == count
    assert sum(copied) <= 2 * count
    assert len(copied) <= 12
