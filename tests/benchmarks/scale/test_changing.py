"""Songs come and go while listeners are answered: a radio that does not notice is noticed."""

from __future__ import annotations

from typing import Any

import pytest

from bandstand.radio.service import Radio
from bandstand.store.songs.songs import SongRecord
from benchmarks.scale.asked import asked_lines
from benchmarks.scale.changing import Change, Turn, found_json, measure_changing

SMALL: dict[str, Any] = {"songs": 200, "ratings": 10, "listeners": 2, "changes": 2}


def test_songs_that_are_gone_are_not_offered_and_new_ones_are_there() -> None:
    found = measure_changing(**SMALL)
    assert found["offered_though_gone"] == 0
    assert found["offered_before"] == found["changes"] == 2
    assert found["gone"] == found["new"] == found["new_on_shelf"] == 20
    assert found["answers_after"] > 20
    assert found["all"]["count"] > found["quiet"]["count"] > 0
    (line,) = asked_lines({"changing": found})
    assert line.holds
    assert line.what == "songs come and go, 200 songs: offered though gone"


def test_a_radio_that_does_not_notice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the radio goes on with the songs that it knew, and takes all for present."""
    monkeypatch.setattr(Radio, "refresh", lambda _: None)
    monkeypatch.setattr(SongRecord, "is_present", True)
    found = measure_changing(**SMALL)
    assert found["offered_though_gone"] > 0
    assert found["new_on_shelf"] == 0
    (line,) = asked_lines({"changing": found})
    assert not line.holds


def test_answers_belong_to_the_time_in_which_they_were_made() -> None:
    change = Change(
        began=10.0,
        known=12.0,
        gone=frozenset({"gone"}),
        new=1,
        new_on_shelf=1,
        offered_before="gone",
        offered_after="other",
    )
    turns = [
        Turn(1.0, 1.5, "gone"),  # before
        Turn(2.0, 2.1, "other"),
        Turn(9.5, 10.5, "gone"),  # begun before it was known: nobody could tell
        Turn(11.9, 12.5, "gone"),
        Turn(12.1, 12.2, "gone"),  # this one is wrong
        Turn(13.0, 13.1, "other"),
    ]
    found = found_json(turns, [change])
    assert found["offered_though_gone"] == 1
    assert found["answers_after"] == 3
    assert found["while_changing"]["count"] == 2
    assert found["while_changing"]["slowest_ms"] == pytest.approx(1_000)
    assert found["quiet"]["median_ms"] == pytest.approx(100)
