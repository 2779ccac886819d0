"""Only songs of some years: what is played is of them, and the best of them."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.selection.filters import Station, Years
from bandstand.types import AnyArray
from tests.fixtures.radio.catalogues import GENRES, features, matrix, model, rated, record, song_id
from tests.fixtures.radio.logs import DAY, MINUTE, Log
from tests.music.catalogue.test_large_catalogue import scores

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
def test_what_is_left_is_what_is_known_to_be_of_these_years(
    years: Years, banned: set[int] | None
) -> None:
    free = CandidateSet.everything(SONGS)
    if banned is not None:
        free = CandidateSet.marked(~np.isin(np.arange(SONGS), sorted(banned)))
    found = years.among(CATALOGUE.columns.year, free)
    expected = within(years) if years else set(range(SONGS))
    assert set(found.rows().tolist()) == expected - (banned or set())


@settings(max_examples=40)
@given(
    years=ranges(),
    start=st.sampled_from([{}, {"genre": "jazz"}, {"song": song_id(9)}, {"artist": "Artist 2"}]),
    algorithm=st.sampled_from(["bayes-ucb-cn-x", "random"]),
    dial=st.sampled_from([-1.0, 0.0, 1.0]),
    heard=st.lists(st.integers(0, SONGS - 1), max_size=6),
)
def test_only_songs_of_these_years_are_played(
    years: Years,
    start: dict[str, str],
    algorithm: str,
    dial: float,
    heard: list[int],
) -> None:
    one = model(CATALOGUE, rated(heard), algorithm=algorithm)
    asked: dict[str, Any] = {"now": NOW, "dial": dial, "station": Station(**start, years=years)}
    if years and not within(years):
        with pytest.raises(NotFoundError, match="there must be songs of the years"):
            one.next(**asked)
        return
    rows = [chosen.row for chosen in one.playlist(6, **asked)]
    assert not years or set(rows) <= within(years)


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
    last = [int(song, 16) for song in reversed(one.ledger.recent)]
    left = free.spacing.left(CATALOGUE, CandidateSet.only(may, SONGS), last).rows()
    found = scores(one, now, dial)[left]
    assert chosen.score == pytest.approx(found.max(), rel=1e-9)
    assert chosen.row == left[int(np.argmax(found))]


def test_a_genre_of_some_years_begins_with_itself() -> None:
    years = Years(first=1980, last=1999)
    # A song of that genre has just been heard, but it is of another year.
    log = rated([1, 50])
    assert year_of(50) == 1960
    assert GENRES[50 % 4] == "Jazz; Rock"
    first, *others = model(CATALOGUE, log).playlist(
        20, now=log.clock + MINUTE, station=Station(genre="jazz", years=years)
    )
    jazz = {row for row in within(years) if row % 4 == 2}
    assert first.how == "wish"
    assert first.row in jazz
    assert {chosen.row for chosen in others} <= within(years)
    # What is near is a part of these years, not of the library.
    assert len({chosen.row for chosen in others} - jazz) <= 5


def test_a_song_of_another_year_leads_to_what_is_near_it_in_these() -> None:
    years = Years(first=1980, last=1999)
    assert CATALOGUE.sound is not None
    rows = np.array(sorted(within(years)))
    away = CATALOGUE.sound.song_features.distances(CATALOGUE.sound.song_features.features[50], rows)
    near = set(rows[np.argsort(away)[: len(rows) // 6]].tolist())
    found = model(CATALOGUE, rated([1, 2])).playlist(
        5, now=NOW, station=Station(song=song_id(50), years=years)
    )
    assert {chosen.row for chosen in found} <= near
    assert {chosen.how for chosen in found} == {"model"}


def test_few_songs_take_turns() -> None:
    """Gaps shrink to what there is to choose from, as in a small library."""
    years = Years(last=1900)
    one = model(CATALOGUE, rated([10, 20, 30]))
    rows = [chosen.row for chosen in one.playlist(6, now=NOW, station=Station(years=years))]
    assert set(rows) == {0, 1}
    assert all(before != after for before, after in pairwise(rows))
    ten = Years(first=1962, last=1964)
    rows = [chosen.row for chosen in one.playlist(9, now=NOW, station=Station(years=ten))]
    assert len(set(rows)) == 9


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


def test_a_mask_is_made_when_the_years_change(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Years] = []
    among = Years.among

    def noted(years: Years, column: AnyArray, songs: CandidateSet) -> CandidateSet:
        made.append(years)
        return among(years, column, songs)

    monkeypatch.setattr(Years, "among", noted)
    one, log = model(CATALOGUE, rated([1, 2, 3])), rated([1, 2, 3, 4])
    seventies, eighties = (Station(years=Years(first=at, last=at + 9)) for at in (1970, 1980))
    one.playlist(5, now=NOW, station=seventies)
    mask = one.filter.eligible((), seventies.years).songs.mask
    later = one.follow(model(CATALOGUE, log).ledger)
    later.next(now=NOW + DAY, station=Station(genre="rock", years=seventies.years))
    assert later.filter.eligible((), seventies.years).songs.mask is mask
    later.next(now=NOW + DAY, station=eighties)
    assert made == [seventies.years, eighties.years]
    assert later.filter.nbytes >= SONGS


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
    assert not Station(years=Years(first=1990)).start
    assert str(Years()) == "all years"


def test_newcomers_and_libraries_without_sound_have_years_too() -> None:
    years = Years(first=1990, last=1991)
    plain = catalogue_of([record(row, year=year_of(row)) for row in range(SONGS)])
    for on in (CATALOGUE, plain):
        found = model(on).playlist(3, now=NOW, station=Station(years=years))
        assert {chosen.row for chosen in found} <= within(years)
        assert {chosen.how for chosen in found} == {"random"}
