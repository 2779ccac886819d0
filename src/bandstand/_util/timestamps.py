"""Moments in time: ISO-8601 text, epoch seconds or a date and time, as exact epoch seconds.

The model only ever uses differences of moments, and never the clock of the machine. Seconds
since 1970 are decimal numbers here: as floats, two moments a second apart would differ by a
second give or take 2e-7.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from bandstand.types import Minutes  # which loads numpy, and --help waits for nothing heavy

Moment: TypeAlias = "float | str | datetime | np.datetime64 | Decimal"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# The year 9999: everything later is a mistake in the data.
_LATEST_SECONDS: Final = 253_402_300_800


def seconds_of(moment: Moment) -> Decimal:
    """Return a moment as seconds since 1970-01-01 UTC; text without a zone is UTC.

    >>> seconds_of("1970-01-02T00:00:30Z"), seconds_of("90.1"), seconds_of(0.25)
    (Decimal('86430'), Decimal('90.1'), Decimal('0.25'))
    """
    plain: Any = moment
    if getattr(getattr(plain, "dtype", None), "kind", "") == "M":  # without loading numpy
        plain = plain.astype("datetime64[us]").item()
    if isinstance(plain, datetime):
        return _from_datetime(plain)
    if isinstance(plain, str):
        return _from_text(plain.strip())
    return _from_number(plain)


def minutes_between(earlier: Decimal, later: Decimal) -> Minutes:
    """Return the minutes from one moment to another; negative if they are the other way round.

    >>> minutes_between(seconds_of("2026-01-01T10:00:00.1Z"), seconds_of("2026-01-01T11:30:00.1Z"))
    90.0
    """
    return cast("Minutes", float(later - earlier) / 60)


def iso_time(seconds: Decimal) -> str:
    """Return seconds since 1970 as ISO-8601 to the second, as far as that has years for them.

    >>> iso_time(Decimal("86430.5")), iso_time(Decimal(-(10**11)))
    ('1970-01-02T00:00:30Z', '-100000000000 seconds since 1970')
    """
    try:
        return f"{_EPOCH + timedelta(seconds=math.floor(seconds)):%Y-%m-%dT%H:%M:%SZ}"
    except OverflowError:
        return f"{seconds} seconds since 1970"


def _from_text(text: str) -> Decimal:
    try:
        approximate = float(text)
    except ValueError:
        return _from_iso(text)
    try:
        return _from_number(Decimal(text) if math.isfinite(approximate) else approximate)
    except InvalidOperation:  # an exponent that no decimal number has: 1e-99999999999999999999
        return _from_number(approximate)


def _from_iso(text: str) -> Decimal:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        msg = f"a time must be ISO-8601 or epoch seconds, got {shown!r}"
        raise InvalidInputError(msg) from None
    return _from_datetime(moment)


def _from_datetime(moment: datetime) -> Decimal:
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return _from_number(Decimal((zoned - _EPOCH) // _MICROSECOND) / 1_000_000)


def _from_number(seconds: float | Decimal) -> Decimal:
    if not isinstance(seconds, Real | Decimal):
        msg = f"a time must be text, a number or a datetime, got {type(seconds).__name__}"
        raise InvalidInputError(msg)
    if not _is_a_moment(seconds):
        msg = f"a time must be finite and before the year 10000, got {seconds} seconds"
        raise InvalidInputError(msg)
    return seconds if isinstance(seconds, Decimal) else Decimal(float(seconds))


def _is_a_moment(seconds: float | Decimal) -> bool:
    try:
        return math.isfinite(seconds) and -_LATEST_SECONDS <= seconds <= _LATEST_SECONDS
    except (OverflowError, ValueError):  # more digits than any number has; a signalling NaN
        return False
