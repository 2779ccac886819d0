"""Only songs of some years: what is played is of them, and the best of them."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet
from bandstand.core.play_times import SongsAt
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.music.catalogue.years import Years
from bandstand.radio.selection.select import NOVELTY_BONUS, minutes_at, policy_with
from bandstand.radio.selection.stations import Station
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, song_id
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, Log

if TYPE_CHECKING:
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.selection.select import RadioListener
    from bandstand.types import Indices, Vector


NOW = 1_800_000_000_000
SONGS = 200


def year_of(row: int) -> int | None:
    """Return the year of a song: some have none, or one that cannot be, and few are old."""
    return {0: 1900, 1: 1900, 2: 123_456, 3: -5}.get(row, None if row % 7 == 0 else 1960 + row % 50)


CATALOGUE = catalogue_of(
    [record(row, year=year_of(row)) for row in range(SONGS)], matrix(features(SONGS))
)


def within(years: Years) -> set[int]:
    """Return the songs of some years, found song by song."""
    first, last = years.first or 0, 9_999 if years.last is None else years.last
    found = {row: year_of(row) for row in range(SONGS)}
    return {row for row, year in found.items() if year is not None and first <= year <= last}


@st.composite
def ranges(draw: st.DrawFn) -> Years:
    first = draw(st.none() | st.integers(1890, 2020))
    last = draw(st.none() | st.integers(first or 1890, 2020))
    return Years(first=first, last=last)


@given(years=ranges(), banned=st.none() | st.sets(st.integers(0, SONGS - 1)))
def test_what_is_left_is_known_to_be_of_these_years(years: Years, banned: set[int] | None) -> None:
    free = CandidateSet.everything(SONGS)
    if banned is not None:
        free = CandidateSet.marked(~np.isin(np.arange(SONGS), sorted(banned)))
    found = years.among(CATALOGUE.columns.year, free)
    expected = within(years) if years else set(range(SONGS))
    assert set(found.rows().tolist()) == expected - (banned or set())


@settings(max_examples=25)
@given(years=ranges(), dial=st.sampled_from([-0.5, 0.0, 0.5]), heard=st.lists(st.integers(0, 150)))
def test_the_best_of_them_is_chosen(years: Years, dial: float, heard: list[int]) -> None:
    """Brute force: the score of every song, and the best of those that may be played."""
    log = rated([5, *heard])
    may = sorted(within(years) if years else range(SONGS))
    if not may:
        return
    one, now = model(CATALOGUE, log), log.clock + 30 * DAY
    chosen = one.next(now=now, dial=dial, station=Station(years=years))
    free = one.filter.eligible((), years)
    last = [int(song, 16) for song in one.ledger.recent]
    left = free.spacing.left(CATALOGUE, CandidateSet.only(may, SONGS), last).rows()
    found = scores(one, now, dial)[left]
    assert chosen.score == pytest.approx(found.max(), rel=1e-9)
    assert chosen.row == left[int(np.argmax(found))]


def test_years_without_songs_and_years_that_are_banned_are_distinguished() -> None:
    log = Log()
    log.add("ban", scope="artist", target="Artist 0")
    one = model(CATALOGUE, log)
    with pytest.raises(NotFoundError, match="years that are asked for, got 1700 to 1800"):
        one.next(now=NOW, station=Station(years=Years(first=1700, last=1800)))
    with pytest.raises(NotFoundError, match="every song of 1900 and earlier is banned"):
        one.next(now=NOW, station=Station(genre="rock", years=Years(last=1900)))
    log.add("ban", scope="genre", target="Rock")
    for artist in range(20):
        log.add("ban", scope="artist", target=f"Artist {artist}")
    with pytest.raises(NotFoundError, match="every song is banned or snoozed"):
        model(CATALOGUE, log).next(now=NOW, station=Station(years=Years(last=1900)))


def test_what_is_no_range_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="first year must not be after the last one, got"):
        Years(first=1990, last=1980)
    for wrong in (-1, 10_000):
        with pytest.raises(InvalidInputError, match="between 0 and 9999"):
            Years(first=wrong)
        with pytest.raises(InvalidInputError, match="between 0 and 9999"):
            Years(last=wrong)
    assert not Years()
    assert Years(last=0)
    assert not Station(years=Years(first=1990)).has_start
    assert str(Years()) == "all years"


LARGE = 20_000
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "familiar": {"dial": -0.7},
    "discover": {"dial": 1.0},
    "queued": {"after": [song_id(5), song_id(6)]},
    "years": {"station": Station(years=Years(first=1960, last=2000))},
}


@cache
def large_catalogue() -> Catalogue:
    records = [record(row, year=1950 + row // 3 % 70) for row in range(LARGE)]
    return catalogue_of(records, matrix(features(LARGE, 12)))


def listener() -> tuple[RadioListener, Log]:
    """Return a listener who has heard some songs, some again, and wants no jazz."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, LARGE, 60)
    log = rated([*rows.tolist(), *rows[:30].tolist()], apart=7 * HOUR)
    log.add("ban", scope="genre", target="Jazz")
    log.add("ban", scope="artist", target="Artist 3")
    return model(large_catalogue(), log), log


def refused(*_: object) -> Any:
    pytest.fail("every song was looked at")


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_no_choice_looks_at_every_song(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, log = listener()
    all_rows = CandidateSet.rows

    def rows(allowed: CandidateSet) -> Indices:
        # An engine may pass over all of them now and then; the radio never does.
        caller = str(inspect.stack()[1].filename)
        is_engine = "engines" in caller
        return all_rows(allowed) if allowed.upper_count <= 4_096 or is_engine else refused()

    monkeypatch.setattr(CandidateSet, "rows", rows)
    for dense in ("elapsed", "diversity"):
        monkeypatch.setattr(SongsAt, dense, property(refused))
    planned = one.playlist(4, now=log.clock + MINUTE, **REQUESTS[name])
    assert len({each.song for each in planned}) == 4
    newcomer = model(large_catalogue(), Log())
    assert newcomer.next(now=0).how == "random"
    with pytest.raises(pytest.fail.Exception):  # the guard itself
        CandidateSet.everything(LARGE).rows()


def scores(one: RadioListener, now: int, dial: float) -> Vector:
    """Return the score of every song, all of them looked at."""
    policy = policy_with(one.policy, step=one.step, dial=dial)
    prediction = one.engine.predict(one.belief, one.songs(minutes_at(now)))
    found = policy.scores(prediction, step=one.step, rng=np.random.default_rng(0))
    found = found.copy()
    found[np.isneginf(one.play_times.last_heard_of(slice(None)))] += NOVELTY_BONUS * dial
    return found
