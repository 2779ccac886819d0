"""A snapshot and what came after it say the same as the whole log."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.radio.log.fold import Ledger, _Folding, extend, fold
from bandstand.radio.log.snapshots import from_bytes, to_bytes
from bandstand.store.events.events import Event
from tests.fixtures.radio.logs import SONGS, Log, logs, no_log, same

CUTS = 250
Continue: TypeAlias = "Callable[[Ledger, Sequence[Event], Callable[[], Sequence[Event]]], Ledger]"


def differs(how: Continue, log: Log, cut: int) -> bool:
    """Return whether a snapshot at event number `cut` and the tail say something else."""
    snapshot = from_bytes(to_bytes(fold(log.events[:cut])))
    return not same(how(snapshot, log.events[cut:], lambda: log.events), fold(log.events))


@given(logs(), st.data())
@settings(max_examples=CUTS)
def test_snapshot_and_tail_say_the_same_as_the_whole_log(log: Log, data: st.DataObject) -> None:
    assert not differs(extend, log, data.draw(st.integers(0, len(log.events))))


def blind_to_the_past(ledger: Ledger, tail: Sequence[Event], _: object) -> Ledger:
    """Do what `extend` does, but never look at what lies before the tail."""
    folding = _Folding(ledger)
    taken_back = {event.retracts for event in tail}
    for event in tail:
        if event.seq not in taken_back:
            folding.take(event)
    return folding.ledger(tail[-1])


def forgetful_of_the_last_event(ledger: Ledger, tail: Sequence[Event], _: object) -> Ledger:
    """Do what `extend` does, but as if the last play of the snapshot were over."""
    return extend(replace(ledger, last_kind="listen"), tail, no_log)


@pytest.mark.parametrize("planted", [blind_to_the_past, forgetful_of_the_last_event])
def test_the_comparison_sees_planted_errors(planted: Continue) -> None:
    log = Log()
    log.add("rating", SONGS[0], stars=2)
    if planted is blind_to_the_past:
        log.add("retract", retracts=1)
    else:
        log.add("listen", SONGS[0])
    assert differs(planted, log, 1)
    assert not differs(extend, log, 1)


@given(logs())
def test_the_same_ledger_has_the_same_bytes(log: Log) -> None:
    content = to_bytes(fold(log.events))
    assert to_bytes(from_bytes(content)) == content


def whole() -> bytes:
    log = Log()
    log.add("rating", SONGS[0], stars=4)
    log.add("listen", SONGS[1])
    log.add("ban", scope="genre", target="Schlager")
    log.add("listen", SONGS[0])
    return to_bytes(fold(log.events))


def test_a_damaged_snapshot_is_refused() -> None:
    content = whole()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for damaged in (content[:place], flipped):
            with pytest.raises(InvalidInputError, match="must be whole"):
                from_bytes(damaged)


def checked(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header | {"version": 99},
        lambda header: header | {"plays": 7},
        lambda header: header | {"songs": 1},
        lambda header: header | {"songs": 10**9},
        lambda header: header | {"rules": [["song"]]},
        lambda header: {name: header[name] for name in header if name != "seq"},
        lambda header: [header],
    ],
)
def test_a_snapshot_of_something_else_is_refused(change: Callable[..., object]) -> None:
    line, _, rest = whole()[:-32].partition(b"\n")
    changed = json.dumps(change(json.loads(line))).encode()
    with pytest.raises(InvalidInputError, match="must be a ledger of version"):
        from_bytes(checked(changed + b"\n" + rest))


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [("song", 1, "out of order"), ("kind", 9, "unknown kinds"), ("since_heard_ms", -2, "negative")],
)
def test_a_snapshot_with_impossible_plays_is_refused(column: str, value: int, problem: str) -> None:
    log = Log()
    for song in (0, 1, 0):
        log.add("listen", SONGS[song])
    ledger = fold(log.events)
    rows = ledger.plays.rows()
    rows[column][0] = value
    body = ledger.to_bytes().removesuffix(ledger.plays.rows().tobytes())
    with pytest.raises(InvalidInputError, match=problem):
        from_bytes(checked(body + rows.tobytes()))


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_in_one_way(content: bytes) -> None:
    for bad in (content, checked(content)):
        with pytest.raises(InvalidInputError):
            from_bytes(bad)
