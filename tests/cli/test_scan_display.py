import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bandstand.cli.serve import in_words, showing, watch
from bandstand.music.library.scanner import Progress, ProgressBoard
from bandstand.store.songs.scans import ScanCounts


class FakeScanner:
    """A scanner whose progress the test decides."""

    has_folders = True

    def __init__(self) -> None:
        self.board = ProgressBoard()

    @property
    def progress(self) -> Progress:
        return self.board.progress


class Ended(threading.Event):
    """An event while whose waiting things happen, one each time; it is set after the last."""

    def __init__(self, *happening: Callable[[], object]) -> None:
        super().__init__()
        self._happening = iter(happening)

    def wait(self, _seconds: float | None = None) -> bool:
        happen = next(self._happening, self.set)
        happen()
        return self.is_set()


def test_the_end_of_each_scan_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    scanner: Any = FakeScanner()
    note, counts = scanner.board.note, ScanCounts(found=2, added=1, failed=1)
    begin = partial(note, state="scanning", total=2, done=1)
    end = partial(note, state="idle", finished_at=5, counts=counts, songs=1)
    watch(scanner, Ended(begin, int, end, int, int))
    said = capsys.readouterr().err.splitlines()
    assert said == ["Scanned 2 files: 1 added, 1 failed. 1 songs can be played."]


def test_nothing_is_said_where_nothing_is_scanned(capsys: pytest.CaptureFixture[str]) -> None:
    with showing(None):
        pass
    assert capsys.readouterr().err == ""


def test_a_problem_is_said_in_place_of_the_counts() -> None:
    assert in_words(Progress(problem="the disk is away")) == "Scan: the disk is away"
    assert in_words(Progress()) == "Scanned 0 files: nothing new. 0 songs can be played."
