from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand_lab.simulation.session import EVERYDAY, Clock

clocks = st.builds(
    Clock,
    song_seconds=st.floats(1, 1_000),
    songs_per_session=st.integers(1, 50),
    pause_seconds=st.floats(0, 1e6),
)


def test_the_paper_plays_a_song_every_50_seconds_and_rests_4_minutes_after_20() -> None:
    moments = [Clock().moment(step) for step in range(1, 42)]
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert moments[0] == 0
    assert gaps == [50.0] * 19 + [290.0] + [50.0] * 19 + [290.0]


def test_the_everyday_listener_has_three_sessions_a_day() -> None:
    day = 86_400.0
    assert EVERYDAY.moment(21) == day / 3
    assert EVERYDAY.moment(61) == day


@given(clock=clocks, step=st.integers(1, 10_000))
def test_time_never_stands_still(clock: Clock, step: int) -> None:
    assert clock.moment(step + 1) > clock.moment(step)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"song_seconds": 0.0}, "song_seconds must be positive"),
        ({"songs_per_session": 0}, "songs_per_session must be positive"),
        ({"pause_seconds": -1.0}, "pause_seconds must be finite and not negative, got -1"),
        ({"pause_seconds": float("nan")}, "pause_seconds must be finite"),
    ],
)
def test_a_clock_that_stands_still_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Clock(**settings)  # type: ignore[arg-type]


def test_steps_are_counted_from_one() -> None:
    with pytest.raises(InvalidInputError, match="step must be at least 1, got 0"):
        Clock().moment(0)
