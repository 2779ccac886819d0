"""A model that was made ready counts from the next answer on, and not before."""

from __future__ import annotations

from typing import Any

from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.listener_cache import Ready, Seat
from bandstand.radio.listener_settings import ListenerSettings
from bandstand.radio.log.fold import Ledger, fold
from bandstand.radio.replay import Standing, caught_up
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, shelf, song_id
from tests.fixtures.radio.logs import HOUR, Log

SHELF = shelf(30)


def standing(ledger: Ledger, **settings: Any) -> Standing:
    return Standing(ledger=ledger, settings=ListenerSettings(**settings), seed=7)


def seat_of(log: Log) -> Seat:
    """Return the seat of somebody whose model was made ready, on a grid of its own."""
    one, twin = model(SHELF, log), model(SHELF, log)
    assert one.belief.grid is not twin.belief.grid
    return Seat("ann", model=one, ready=Ready(model=one, prepared=twin))


def test_a_model_that_was_made_ready_waits_for_the_next_answer() -> None:
    log, catalogue = rated([1, 2, 3, 1, 4], apart=7 * HOUR), SHELF
    seat = seat_of(log)
    assert seat.model is not None
    assert seat.ready is not None
    assert caught_up(seat, standing(seat.model.ledger), catalogue) is seat.model
    prepared = seat.ready.prepared
    assert prepared is not None
    log.add("rating", song_id(5), after=HOUR, stars=4)
    after = caught_up(seat, standing(fold(log.events)), catalogue)
    assert after.belief.grid is prepared.belief.grid
    assert len(after.belief.history) == 6
    assert seat.ready is None


def test_a_model_that_has_gone_on_is_not_replaced_by_an_earlier_one() -> None:
    log, catalogue = rated([1, 2, 3, 1, 4], apart=7 * HOUR), SHELF
    seat = seat_of(log)
    log.add("rating", song_id(5), after=HOUR, stars=4)
    seat.model = later = model(SHELF, log)
    log.add("rating", song_id(6), after=HOUR, stars=4)
    after = caught_up(seat, standing(fold(log.events)), catalogue)
    assert after.belief.grid is later.belief.grid
    assert len(after.belief.history) == 7


def test_a_model_that_needs_no_preparing_goes_on_as_it_is() -> None:
    log, catalogue = rated([1, 2, 3, 1, 4], apart=7 * HOUR), SHELF
    one = model(SHELF, log)
    seat = Seat("ann", model=one, ready=Ready(model=one, prepared=None))
    log.add("rating", song_id(5), after=HOUR, stars=4)
    after = caught_up(seat, standing(fold(log.events)), catalogue)
    assert len(after.belief.history) == 6
    assert seat.ready is None


def test_what_was_made_ready_for_another_model_is_not_kept() -> None:
    log = rated([1, 2, 3, 1, 4], apart=7 * HOUR)
    seat = seat_of(log)
    ready = seat.ready
    seat.keep(seat.model)
    assert seat.ready is ready
    seat.keep(model(SHELF, log))
    assert seat.ready is None


def test_other_songs_and_other_settings_are_taken_notice_of() -> None:
    log = rated([1, 2, 3, 1, 4], apart=7 * HOUR)
    seat = seat_of(log)
    assert seat.model is not None
    ledger, belief = seat.model.ledger, seat.model.belief
    more = catalogue_of([record(row) for row in range(30)], matrix(features(30)))
    moved = caught_up(seat, standing(ledger), more)
    assert moved.shelf is more
    assert moved.belief.means is belief.means
    other = caught_up(seat, standing(ledger, algorithm="linucb-cn"), more)
    assert other.made_for == ("linucb-cn", True)
    bare = caught_up(seat, standing(ledger, intercept=False), more)
    assert bare.belief.history.columns == 4
