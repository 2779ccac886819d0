"""The listener of 300 ratings is who the pages, the screenshots and the plots say it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bandstand.radio.explain.taste import Taste
from bandstand.radio.service import Radio
from bandstand.store import playlists
from bandstand.store.database.connection import Store, open_store
from bandstand.store.events import events
from bandstand.store.songs import files
from tests.fixtures.browser.listeners import DAY, RATINGS
from tests.fixtures.browser.long_time_listener import LongTime, filled

NOW = 1_780_000_000_000
# So many standard deviations may lie between what was learnt and the truth; the listener answers
# in whole stars and leaves songs unrated, of which the model knows nothing.
FAR = 4.0
FEW = 100  # ratings of the quick story; one of every kind of event is among them


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongTime]:
    made = filled(tmp_path_factory.mktemp("home"), now=NOW)
    yield made
    made.server.close()


def check_story(some: LongTime, taste: Taste, ratings: int) -> None:
    """Every kind of event up to now, and a recovery time not far from the true one."""
    assert taste.counts.ratings == ratings
    log = log_of(some, "ann")
    assert {event.kind for event in log} == set(events.KINDS) - {"import"}  # new here
    assert NOW - DAY < log[-1].at <= NOW
    assert log_of(some, "ben") == []
    recovery = taste.recovery
    assert recovery is not None
    assert recovery.mean is not None
    assert recovery.standard_deviation is not None
    distance = abs(recovery.mean - some.listener.feeling.recovery_time)
    assert distance < FAR * recovery.standard_deviation


def test_some_evenings_with_a_few_songs_are_learnt_from(music: Path, tmp_path: Path) -> None:
    some = filled(tmp_path, music=music, now=NOW, ratings=FEW)
    with open_store(some.server.store) as store:
        check_story(some, taste_of(some, store), FEW)


@pytest.fixture(scope="module")
def taste(found: LongTime) -> Taste:
    with open_store(found.server.store) as store:
        return taste_of(found, store)


def taste_of(some: LongTime, store: Store) -> Taste:
    """Return what the radio has learnt of ann."""
    radio = Radio(store, clock=lambda: NOW)
    try:
        return radio.taste(some.server.ids["ann"])
    finally:
        radio.close()


def log_of(found: LongTime, name: str) -> list[Any]:
    with open_store(found.server.store) as store, store.reading() as connection:
        return list(events.after(connection, found.server.ids[name]))


@pytest.mark.long
def test_three_months_are_learnt_from_and_what_was_learnt_is_the_truth(
    found: LongTime, taste: Taste
) -> None:
    check_story(found, taste, RATINGS)
    log = log_of(found, "ann")
    assert 80 * DAY < log[-1].at - log[0].at < 95 * DAY
    stars = [point.stars for point in taste.uncertainty]
    assert stars == sorted(stars, reverse=True)
    assert stars[-1] < 0.3


@pytest.mark.long
def test_there_is_something_to_see_on_every_page(found: LongTime, taste: Taste) -> None:
    assert taste.repeats is not None
    assert 0.5 < taste.repeats.share < 0.95
    assert taste.preferences
    assert taste.genres.most
    with open_store(found.server.store) as store, store.reading() as connection:
        saved = playlists.all_of(connection, found.server.ids["ann"])
        counts = files.counts(connection)
    assert [each.name for each in saved] == ["Sunday morning", "For the train"]
    assert counts.songs == 60
    assert counts.problems == 2


@pytest.mark.long
def test_the_same_seed_at_the_same_time_is_the_same_story(found: LongTime, tmp_path: Path) -> None:
    # The songs' ids hang on their places, so the second one reads the files of the first.
    again = filled(tmp_path, music=found.server.home / "Music", now=NOW)
    again.server.close()

    def told(some: LongTime) -> list[Any]:
        return [(e.at, e.kind, e.song, e.stars, e.retracts) for e in log_of(some, "ann")]

    assert told(again) == told(found)
