from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from bandstand.music.library.scanner import Progress, ProgressBoard

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the time."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def set_time(moment: float) -> None:
        nonlocal now
        now = moment

    return set_time


def test_nothing_is_known_before_the_first_step() -> None:
    progress = ProgressBoard().progress
    assert progress == Progress()
    assert not progress.is_busy
    assert json.loads(json.dumps(progress.as_json()))["counts"]["found"] == 0


def test_the_rate_is_that_of_the_last_seconds(tick: Callable[[float], None]) -> None:
    board = ProgressBoard()
    board.begin("scanning", total=1_000)
    for second in range(101):
        tick(second)
        board.advance(10 * min(second, 80))  # nothing more comes after the eightieth second
        if second == 60:
            assert board.progress.files_per_second == 10.0
    assert board.progress.files_per_second == 0.0


def test_there_is_no_rate_before_time_has_passed(tick: Callable[[float], None]) -> None:
    board = ProgressBoard()
    tick(5.0)
    board.begin("scanning", total=None)
    board.advance(7)
    assert board.progress.files_per_second is None
    assert board.progress.total is None


def test_the_total_grows_with_what_is_found() -> None:
    board = ProgressBoard()
    board.begin("scanning", total=3)
    board.advance(5)
    assert (board.progress.done, board.progress.total) == (5, 5)


def test_what_was_seen_does_not_change_any_more() -> None:
    board = ProgressBoard()
    before = board.progress
    board.note(songs=3)
    assert before.songs == 0
    assert board.progress.change == before.change + 1
