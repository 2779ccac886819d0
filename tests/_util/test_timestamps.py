from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand._util.timestamps import minutes_between, seconds_of
from bandstand.errors import InvalidInputError

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones))  # noqa: DTZ001
def test_a_datetime_and_its_text_are_the_same_exact_moment(moment: datetime) -> None:
    exact = Fraction(round((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)))
    assert seconds_of(moment) == seconds_of(moment.isoformat())
    assert abs(Fraction(seconds_of(moment)) * 10**6 - exact) <= abs(exact) * Fraction(1, 10**15)


@given(st.floats(-1e11, 1e11))
def test_a_number_and_its_text_are_the_same_to_the_last_digit(seconds: float) -> None:
    assert float(seconds_of(repr(seconds))) == seconds
    assert float(seconds_of(seconds)) == seconds


@given(st.integers(0, 4_000_000_000), st.integers(0, 10**9))
def test_minutes_between_moments_lose_nothing(start: int, tenths: int) -> None:
    later = Decimal(start) + Decimal(tenths) / 10
    assert minutes_between(seconds_of(str(start)), seconds_of(str(later))) == tenths / 10 / 60


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T10:00:00", "2026-01-01 10:00Z", "2026-01-01T12:00:00+02:00", "20260101T100000z"],
)
def test_text_without_a_zone_is_utc(text: str) -> None:
    assert seconds_of(text) == 1_767_261_600


def test_numpy_s_times_are_utc_to_the_microsecond() -> None:
    for unit in ("s", "ms", "us", "ns"):
        assert seconds_of(np.datetime64("2026-01-01T10:00", unit)) == 1_767_261_600
    assert seconds_of(np.datetime64("1969-12-31T23:59:59.75")) == Decimal("-0.25")
    for moment in (np.datetime64("NaT"), np.datetime64("12000-01-01")):
        with pytest.raises(InvalidInputError, match="a time must be"):
            seconds_of(moment)


def test_numpy_s_numbers_are_numbers() -> None:
    moments: list[Any] = [np.float64(3), np.float32(3), np.int64(3), Decimal(3), " 3.0 "]
    assert [seconds_of(moment) for moment in moments] == [3] * 5


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        ("soon", "ISO-8601 or epoch seconds, got 'soon'"),
        ("", "got ''"),
        ("x" * 1_000, r"x\.\.\.'"),
        (float("nan"), "finite"),
        ("-inf", "finite"),
        ("1e400", "finite"),
        (1e15, "before the year 10000"),
        ("1e15", "before the year 10000"),
        (None, "text, a number or a datetime, got NoneType"),
    ],
)
def test_what_is_no_moment_is_refused(moment: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        seconds_of(moment)


def test_an_exponent_beyond_all_bounds_is_nothing() -> None:
    assert seconds_of("1e-99999999999999999999") == 0
