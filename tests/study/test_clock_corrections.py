"""A clock that is set back: nobody waits for longer than a rule says, nor for less."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import RefusedError
from bandstand.store.studies import ArmRow, PendingRow
from bandstand.study.design import Design
from bandstand.study.protocol import check_begin, check_offer, check_rating
from bandstand.study.queries import ClockCorrections, OpenStudy, arm_state
from bandstand.study.records import SongSnapshot
from tests.fixtures.study.participants import HOUR, Study

NOW = 1_700_000_000_000
SECOND = 1_000
DAY = 24 * HOUR
backwards = st.integers(1, 1_000 * DAY)


def opened(design: Design | None = None) -> OpenStudy:
    songs = SongSnapshot.of(("a",), [[1.0]])
    return OpenStudy(
        id="0" * 16, design=design or Design(), songs=songs, moments=ClockCorrections()
    )


def row(place: int = 1, *, rated: int, pending: int | None = None, begun: bool = True) -> ArmRow:
    return ArmRow(
        id=f"arm {place}",
        study="0" * 16,
        account="1" * 16,
        place=place,
        algorithm="random",
        seed=1,
        begun_at=NOW - HOUR if begun else None,
        rated=rated,
        last_rated_at=NOW if rated else None,
        pending=None if pending is None else PendingRow(number=rated + 1, song="a", offered_at=NOW),
    )


def refused(act: Callable[[], None]) -> RefusedError | None:
    try:
        act()
    except RefusedError as no:
        return no
    return None


def lasts(check: Callable[[int], None], start: int, length: int) -> bool:
    """Return whether something is refused from `start` on for exactly so long, and says so."""
    before, late = refused(lambda: check(start)), refused(lambda: check(start + length - 1))
    said = [no.until for no in (before, late) if no is not None]
    return said == [start + length] * 2 and refused(lambda: check(start + length)) is None


@given(backwards)
def test_a_rest_is_as_long_as_it_is(back: int) -> None:
    study = opened()

    def check(now: int) -> None:
        check_offer(study.design, arm_state(study, row(rated=20), now), now)

    assert lasts(check, NOW - back, 240 * SECOND)


@given(backwards)
def test_without_that_a_rest_lasts_as_long_as_the_clock_went_back(back: int) -> None:
    """The twin: what the store says, taken as it is."""
    study = opened()
    state = arm_state(study, row(rated=20), NOW)
    assert not lasts(lambda now: check_offer(study.design, state, now), NOW - back, 240 * SECOND)


@given(backwards, st.integers(0, 5))
def test_the_next_part_may_begin_six_hours_later_or_the_next_day(back: int, done: int) -> None:
    study = opened()
    rows = [row(place + 1, rated=200) for place in range(done)]
    rows += [row(place + 1, rated=0, begun=False) for place in range(done, 6)]

    def check(now: int) -> None:
        arms = [arm_state(study, one, now) for one in rows]
        check_begin(study.design, arms, f"arm {done + 1}", now)

    if done == 0:
        assert refused(lambda: check(NOW - back)) is None
    else:
        assert lasts(check, NOW - back, 6 * HOUR if done == 1 else DAY)


@given(backwards)
def test_a_song_that_waits_can_be_rated_once_it_was_heard(back: int) -> None:
    """Ahead by its pace it is not shown yet; beyond that a clock was set back."""
    study = opened()

    def check(now: int) -> None:
        state = arm_state(study, row(rated=3, pending=1), now)
        check_rating(
            study.design,
            state,
            4,
            known=False,
            played_seconds=31.0,
            song_seconds=200.0,
            now=now,
        )

    no = refused(lambda: check(NOW - back))
    assert no is not None
    if back <= 4 * SECOND:  # the pace, and a little
        assert no.code == "not_offered"
    else:
        assert no.code == "too_early"
        assert lasts(check, NOW - back, 30 * SECOND)


@given(backwards, backwards)
def test_a_clock_that_goes_back_twice_begins_the_wait_again(first: int, second: int) -> None:
    moments = ClockCorrections()
    assert moments.corrected("rated", NOW, NOW - first) == NOW - first
    assert moments.corrected("rated", NOW, NOW - first - second) == NOW - first - second
    assert moments.corrected("rated", NOW, NOW + HOUR) == NOW - first - second


def test_so_many_moments_are_kept_and_no_more() -> None:
    moments = ClockCorrections(limit=2)
    for what in "abc":
        moments.corrected(what, NOW, NOW - HOUR)
    assert [moments.corrected(what, NOW, NOW - 1) for what in "cba"] == [NOW - HOUR] * 2 + [NOW - 1]


@pytest.mark.parametrize("back", [60 * SECOND, 300 * DAY])
def test_a_whole_part_goes_on_after_the_clock_was_set_back(study: Study, back: int) -> None:
    person, arm = study.listening()
    shown = person.asks(arm)
    study.clock.now -= back
    assert person.status.pending is not None
    again = person.service.next(person.account, arm)
    assert (again.number, again.song.id) == (shown.number, shown.song.id)
    assert again.may_rate_at <= study.clock.now + 30 * SECOND
    study.clock.now = again.may_rate_at
    person.rates(arm, again.number)
    began = study.clock.now
    for _ in range(3):
        person.hears(arm)
    assert person.status.why == "too_soon"
    # Three songs of 30 s and 3 s to come, and one rest.
    assert study.clock.now - began <= (3 * 33 + 240) * SECOND
    assert (person.status.until or 0) <= study.clock.now + 6 * HOUR
    times = [one.rated_at or 0 for one in person.songs(arm)]
    assert times == sorted(times)
    study.clock.now = person.status.until or 0
    person.begins(2)
