import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Self

import pytest

from bandstand.errors import StoreLockedError
from bandstand.music.catalogue.refresh import current
from bandstand.music.library import analysers, scan
from bandstand.music.library import scanner as scanner_module
from bandstand.music.library.analysers import LocalAnalyser
from bandstand.music.library.scanner import CatalogueRefresher, Progress, ProgressBoard, Scanner
from bandstand.store.database.connection import Store, open_store
from bandstand.store.songs import files, projections, songs
from tests.fixtures.music.audio_files import encoded, piece
from tests.fixtures.music.scanned_library import Reader

PATIENCE = 60.0  # seconds; nothing here takes a tenth of that
pytestmark = pytest.mark.usefixtures("_in_this_process")


class Here(Reader):
    """An analyser without children, which start slowly."""

    def __init__(self, **_: object) -> None:
        super().__init__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def isolation(self) -> None:
        pass

    def interrupt(self) -> None:
        pass


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner_module, "LocalAnalyser", Here)


@pytest.fixture
def _in_children(monkeypatch: pytest.MonkeyPatch, _in_this_process: None) -> None:
    monkeypatch.setattr(scanner_module, "LocalAnalyser", LocalAnalyser)
    monkeypatch.setattr(scanner_module, "_NICENESS", 0)  # other tests would starve the children


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


@pytest.fixture
def music(tmp_path: Path) -> Path:
    folder = tmp_path / "music"
    for number in range(6):
        put(folder, number)
    return folder


def put(folder: Path, number: int) -> None:
    path = folder / f"{number % 2}" / f"{number}.wav"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded("wav", piece(number, seconds=1.0 + number / 10)))


@contextmanager
def scanning(
    store: Store, *folders: Path, on_refresh: Callable[[], None] = lambda: None, minutes: int = 0
) -> Iterator[Scanner]:
    made = Scanner(
        store,
        [str(folder) for folder in folders],
        clock=lambda: 1_000,
        rescan_minutes=minutes,
        workers=1,
        on_refresh=on_refresh,
    )
    made.start()
    try:
        yield made
    finally:
        assert made.stop()


def rested(made: Scanner) -> Progress:
    until = time.monotonic() + PATIENCE
    while made.is_busy:
        assert time.monotonic() < until, made.progress
        time.sleep(0.01)
    return made.progress


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def count(store: Store) -> int:
    with store.reading() as connection:
        return files.counts(connection).songs


def test_without_folders_there_is_nothing_to_do(store: Store) -> None:
    with scanning(store) as made:
        assert not made.is_busy
        assert not made.has_folders
        assert not made.request()


@pytest.mark.usefixtures("_in_children")
def test_songs_can_be_played_after_a_look_and_all_at_the_end(store: Store, music: Path) -> None:
    ready: list[int] = []

    def refreshed() -> None:
        catalogue = current(store)
        ready.append(0 if catalogue is None else len(catalogue.ids))

    with scanning(store, music, on_refresh=refreshed) as made:
        progress = rested(made)
    assert progress.as_json()["problem"] is None
    assert progress.songs == progress.counts.found == progress.counts.added == 6
    assert progress.counts.unchanged == 0
    assert ready[-1] == 6
    assert all(before <= after for before, after in pairwise(ready))
    assert "a process of its own" in (progress.isolation or "")


def test_a_request_scans_again_and_finds_what_is_new(store: Store, music: Path) -> None:
    with scanning(store, music) as made:
        rested(made)
        put(music, 99)
        assert made.request()
        rested(made)
        assert made.progress.songs == made.progress.counts.found == 7
        assert (made.progress.counts.added, made.progress.counts.unchanged) == (1, 6)


@pytest.mark.parametrize(
    ("minutes", "problem", "pause"),
    [(60, None, 3_600.0), (60, "x", 300.0), (2, "x", 120.0), (0, None, None), (0, "x", None)],
)
def test_trouble_is_looked_at_again_sooner(
    store: Store, minutes: int, problem: str | None, pause: float | None
) -> None:
    made = Scanner(store, ["/music"], clock=lambda: 1_000, rescan_minutes=minutes)
    assert made._pause(problem) == pause


def test_a_folder_that_is_not_there_is_reported_and_the_others_are_scanned(
    store: Store, music: Path, tmp_path: Path
) -> None:
    with scanning(store, tmp_path / "gone", music) as made:
        progress = rested(made)
        assert "must exist" in (progress.problem or "")
        assert progress.songs == 6
    with scanning(store, tmp_path / "gone") as made:
        assert "must exist" in (rested(made).problem or "")


def test_a_disk_that_is_not_mounted_loses_nothing(store: Store, music: Path) -> None:
    with scanning(store, music) as made:
        rested(made)
        music.rename(music.with_name("away"))
        music.mkdir()
        made.request()
        assert "is its disk mounted?" in (rested(made).problem or "")
        assert made.progress.songs == 0
        music.rmdir()
        music.with_name("away").rename(music)
        made.request()
        assert rested(made).problem is None
        assert made.progress.songs == 6
        assert made.progress.counts.added == 0


def test_a_mistake_of_ours_does_not_end_the_thread(store: Store, music: Path) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with scanning(store, music, on_refresh=broken) as made:
        assert rested(made).problem == "the scan failed: ZeroDivisionError"
        assert made.request()
        rested(made)


@pytest.mark.usefixtures("_in_children")
def test_a_scan_is_stopped_in_the_middle_and_goes_on_later(store: Store, music: Path) -> None:
    for number in range(10, 30):
        put(music, number)
    with scanning(store, music) as made:
        until(lambda: count(store) > 0)
    assert made.progress.state == "stopped"
    assert 0 < count(store) < 26
    with store.reading() as connection:
        assert list(files.problems(connection)) == []
    with scanning(store, music) as made:
        assert rested(made).songs == 26


@pytest.mark.usefixtures("_in_children")
def test_a_child_that_reads_a_file_for_a_long_time_is_ended(
    store: Store, music: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysers, "TASK", "tests.fixtures.music.sandbox_tasks:sleep")
    monkeypatch.setattr(scan, "request", lambda *_, **__: {"seconds": 60})
    with scanning(store, music) as made:
        until(lambda: made.progress.total == 6)
        time.sleep(0.5)
        began = time.monotonic()
    assert time.monotonic() - began < 30  # of the 60 that each of them would take
    with store.reading() as connection:
        assert list(files.problems(connection)) == []


def test_a_projection_of_few_songs_is_fitted_again_at_the_end(
    store: Store, music: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if a first look had seen three songs, and that were enough for a lasting projection.
    monkeypatch.setattr("bandstand.music.catalogue.refresh._MIN_SETTLED_SONGS", 0)
    monkeypatch.setattr(
        scanner_module,
        "sample_files",
        lambda roots, rng: scan.sample_files(roots, rng=rng, size=3),
    )
    with scanning(store, music) as made:
        rested(made)
    with store.reading() as connection:
        fitted = projections.latest(connection)
    assert fitted is not None
    assert fitted.songs == 6


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the time."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def set_time(moment: float) -> None:
        nonlocal now
        now = moment

    return set_time


def test_the_rate_is_that_of_the_last_seconds(tick: Callable[[float], None]) -> None:
    board = ProgressBoard()
    board.begin("scanning", total=1_000)
    for second in range(101):
        tick(second)
        board.advance(10 * min(second, 80))  # nothing more comes after the eightieth second
        if second == 60:
            assert board.progress.files_per_second == 10.0
    assert board.progress.files_per_second == 0.0


def test_trouble_while_it_stops_is_no_problem(
    store: Store, music: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        until(made._stopping.is_set)
        msg = "the store is closed"
        raise StoreLockedError(msg)

    monkeypatch.setattr(scanner_module, "scan", closed)
    with scanning(store, music) as made:
        until(lambda: made.progress.state == "scanning")
    assert made.progress.problem is None


def test_what_a_first_look_has_found_is_the_same_as_what_a_scan_finds(
    store: Store, music: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CatalogueRefresher, "is_time", lambda *_: True)
    with scanning(store, music) as made:
        rested(made)
    monkeypatch.setattr(scanner_module, "is_needed", lambda _: False)
    with open_store(str(tmp_path / "plain.db")) as plain:
        with scanning(plain, music) as made:
            rested(made)
        with store.reading() as one, plain.reading() as two:
            assert list(songs.present(one)) == list(songs.present(two))
