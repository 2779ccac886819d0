"""Songs that another process has changed are noticed."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bandstand._util.clock import system_clock
from bandstand.errors import StoreError
from bandstand.radio.background import CatalogueWatcher
from bandstand.radio.service import Radio
from bandstand.store.database.connection import Store, open_store
from bandstand.store.songs.save_analysis import record_analyses
from benchmarks.fixtures.songs import NOW, add_songs, invented_song

PATIENCE = 60.0  # seconds
SOON = 0.01


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        add_songs(opened, 60)
        yield opened


@pytest.fixture
def radio(store: Store) -> Iterator[Radio]:
    made = Radio(store, clock=system_clock)
    yield made
    made.close()


def holds(condition: Callable[[], bool]) -> bool:
    """Return whether something comes true before long."""
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(SOON)
    return condition()


class Looks:
    """How often a store was looked at, and what came of it."""

    def __init__(self, radio: Radio) -> None:
        self._radio = radio
        self.asked = self.changes = 0

    def watch(self, store: Store, **options: Any) -> CatalogueWatcher:
        return CatalogueWatcher(
            store, known=self.known, on_change=self.on_change, every=SOON, **options
        )

    def known(self) -> Any:
        self.asked += 1
        return self._radio.catalogue

    def on_change(self) -> None:
        self.changes += 1
        self._radio.refresh()


def test_songs_that_another_process_adds_are_played(store: Store, radio: Radio) -> None:
    looks = Looks(radio)
    watching = looks.watch(store)
    with open_store(str(store.location)) as other:
        add_songs(other, 90)
    assert holds(lambda: len(radio.catalogue) == 90 and bool(radio.catalogue.has_features.all()))
    watching.close()
    watching.close()


def by(radio: Radio, artist: str) -> int:
    return len(radio.catalogue.rows_of("artist", artist))


def rename(store: Store, artist: str) -> None:
    path, found = invented_song(3)
    with store.writing() as connection:
        named = replace(found, tags=replace(found.tags, artist=artist))
        record_analyses(connection, [(path, named)], scan=0, now=NOW)


def test_every_new_name_of_the_same_song_is_noticed(store: Store, radio: Radio) -> None:
    looks = Looks(radio)
    watching = looks.watch(store)
    with open_store(str(store.location)) as other:
        same = Radio(other, clock=system_clock)
        for artist in ("First", "Second", "Third"):
            rename(other, artist)
            same.refresh()
            assert by(same, artist) == 1
            assert holds(lambda artist=artist: by(radio, artist) == 1)  # type: ignore[misc]
        same.close()
    watching.close()
    assert [by(radio, artist) for artist in ("First", "Second", "Third")] == [0, 0, 1]


def test_a_store_in_which_nothing_changes_is_only_looked_at(store: Store, radio: Radio) -> None:
    looks = Looks(radio)
    watching = looks.watch(store)
    assert holds(lambda: looks.asked > 5)
    watching.close()
    assert looks.changes == 0
    assert not any(each.name == "bandstand-watching" for each in threading.enumerate())


def test_while_this_process_scans_nothing_is_looked_at(store: Store, radio: Radio) -> None:
    looks, asked = Looks(radio), threading.Event()

    def is_busy() -> bool:
        asked.set()
        return True

    watching = looks.watch(store, is_busy=is_busy)
    assert asked.wait(PATIENCE)
    add_songs(store, 90)
    watching.close()
    assert looks.asked == looks.changes == 0


def test_a_store_that_fails_is_looked_at_again(
    store: Store, radio: Radio, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    def fails_at_first() -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            msg = "planned"
            raise StoreError(msg)
        radio.refresh()

    watching = CatalogueWatcher(
        store, known=lambda: radio.catalogue, on_change=fails_at_first, every=SOON
    )
    add_songs(store, 90)
    assert holds(lambda: len(radio.catalogue) == 90)
    watching.close()
    assert caplog.text.count("planned") == 2
