"""Songs come and go while listeners ask: nobody waits, nobody is offered what is gone."""

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from typing import Any

import pytest

from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import Catalogue, load_catalogue
from bandstand.radio import service
from bandstand.radio.listener_cache import CachedListener
from bandstand.radio.selection.filters import Station
from bandstand.radio.selection.select import RadioListener
from bandstand.radio.service import Radio
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, scans, songs
from tests.fixtures.child_processes import PATIENCE
from tests.radio.test_service import SONGS, Clock, add_songs, somebody

SHORT = 2.0  # seconds for an answer that never comes


class Gate:
    """A shelf that is not loaded before the gate is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_reached, self.is_open = threading.Event(), threading.Event()
        monkeypatch.setattr(service, "load_catalogue", self)

    def __call__(self, *arguments: Any) -> Catalogue:
        self.is_reached.set()
        assert self.is_open.wait(PATIENCE)
        return load_catalogue(*arguments)


class WaitingRadio(Radio):
    """The planted error: who asks waits until the library is loaded."""

    def _current(self, cached: CachedListener) -> RadioListener:
        with self._refreshing:
            return super()._current(cached)


@pytest.fixture
def radio(request: pytest.FixtureRequest, store: Store) -> Iterator[Radio]:
    add_songs(store, SONGS)
    opened = getattr(request, "param", Radio)(store, clock=Clock())
    yield opened
    opened.close()


@pytest.mark.parametrize("radio", [Radio, WaitingRadio], indirect=True)
def test_nobody_waits_while_the_library_is_loaded(
    radio: Radio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = somebody(radio, Clock())
    ann.listens(3)
    add_songs(store, SONGS + 5)
    gate = Gate(monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        refreshing = pool.submit(radio.refresh)
        assert gate.is_reached.wait(PATIENCE)
        asking = pool.submit(ann.next)
        if isinstance(radio, WaitingRadio):
            with pytest.raises(TooLateError):
                asking.result(SHORT)
        else:
            assert asking.result(PATIENCE).seq == 3
            assert len(radio.catalogue) == SONGS
        gate.is_open.set()
        refreshing.result(PATIENCE)
        assert asking.result(PATIENCE).seq == 3
    assert len(radio.catalogue) == SONGS + 5


def test_what_is_gone_is_not_offered_and_counts_on(radio: Radio, store: Store) -> None:
    ann = somebody(radio, Clock())
    heard = ann.listens(6)
    leave(store, range(0, SONGS, 2))
    radio.refresh()
    assert len(radio.catalogue) == SONGS // 2
    offered = {offer.song.id for offer in radio.playlist(ann.account, count=SONGS)}
    assert offered <= set(radio.catalogue.ids)
    assert ann.next().step == len(heard) + 1
    add_songs(store, SONGS)  # all of them are back
    radio.refresh()
    assert len(radio.catalogue) == SONGS
    assert ann.next().step == len(heard) + 1


def leave(store: Store, stay: range) -> None:
    """Let all songs but some leave the library; no radio is told."""
    with store.writing() as connection:
        number = scans.begin(connection, now=1)
        files.mark_seen(connection, [f"/music/{row}.ogg".encode() for row in stay], number)
        files.mark_missing(connection, b"/music", number)


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "linucb-cn", "random"])
def test_what_has_left_is_not_offered_even_before_a_refresh(
    radio: Radio, store: Store, algorithm: str
) -> None:
    ann = somebody(radio, Clock())
    radio.change_settings(ann.account, {"algorithm": algorithm}).result()
    ann.listens(6)
    wish = Station(song=radio.catalogue.ids[5])
    leave(store, range(10))
    assert len(radio.catalogue) == SONGS
    here = {offer.song.id for offer in radio.playlist(ann.account, count=SONGS)}
    assert {song for song in radio.catalogue.ids if _is_present(store, song)} == here
    assert len(here) == 10
    assert radio.next(ann.account, station=wish).song.id in here
    radio.refresh()
    assert {offer.song.id for offer in radio.playlist(ann.account, count=SONGS)} == here


def _is_present(store: Store, song: str) -> bool:
    with store.reading() as connection:
        record = songs.get(connection, song)
    return record is not None and record.is_present


def test_songs_that_keep_leaving_do_not_hold_an_answer_for_ever(
    radio: Radio, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def gone_by_then(_: object, song: str) -> None:
        asked.append(song)

    monkeypatch.setattr(songs, "get", gone_by_then)
    with pytest.raises(NotFoundError, match="songs are leaving"):
        somebody(radio, Clock()).next()
    assert len(set(asked)) == len(asked) == 4  # none is chosen twice


def shelves_alive(radio: Radio, times: int) -> int:
    """Return how many shelves are left after so many, while all listeners but one are quiet."""
    clock = Clock()
    listeners = [somebody(radio, clock, f"ann {number}") for number in range(times + 1)]
    for listener in listeners:
        listener.listens(3)
    shelves = [weakref.ref(radio.catalogue)]
    for number, listener in enumerate(listeners[1:], start=1):
        listener.listens(1)  # on the shelf of today; then they are quiet
        radio.wait_until_rebuilt()
        add_songs(radio.store, SONGS + number)
        radio.refresh()
        shelves.append(weakref.ref(radio.catalogue))
    gc.collect()
    return sum(shelf() is not None for shelf in shelves)


def test_listeners_who_are_quiet_keep_no_shelf_alive(radio: Radio) -> None:
    assert shelves_alive(radio, 4) == 1
    quiet = [seat for seat in radio._cache.all() if seat.listener is not None]
    assert len(quiet) == 5  # what is believed of them is kept, and counted
    assert radio._cache.nbytes == sum(seat.nbytes for seat in quiet) > 0


def test_models_that_stay_on_their_shelf_are_noticed(
    radio: Radio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: no listener is migrated."""
    monkeypatch.setattr(CachedListener, "migrate", lambda *_: None)
    assert shelves_alive(radio, 4) == 5
