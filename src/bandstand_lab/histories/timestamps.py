"""Moments of plays: how exports write them, and which of them are possible."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

# Sound has been recorded since 1877; the services that make exports began to listen in 2002.
_FIRST_RECORDING: Final = datetime(1877, 1, 1, tzinfo=UTC).timestamp()
_FIRST_SERVICE: Final = datetime(2002, 1, 1, tzinfo=UTC).timestamp()
# A clock may be ahead, and a zone may be forgotten: a day is tolerated.
_TOLERANCE: Final = 86_400.0
# Larger numbers are milliseconds: in seconds they would be in the year 5138.
_MILLISECONDS: Final = 1e11
_NUMBER: Final = re.compile(r"\d+(\.\d*)?")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
# 28 Feb 2016 16:38, also with a comma or seconds: how Last.fm's exporters write a moment in UTC.
_WRITTEN: Final = re.compile(r"(\d{1,2}) (\w{3})\w* (\d{4}),? (\d{2}):(\d{2})(?::(\d{2}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The range of possible times; outside it a clock was wrong."""

    first: float
    last: float

    def doubt(self, time: float) -> str:
        """Return why a time is impossible."""
        if time > self.last:
            return "in the future"
        return f"before {datetime.fromtimestamp(self.first, tz=UTC).year}, when nothing recorded it"


def service_times(now: float) -> TimeRange:
    """Return the range in which music services have recorded plays."""
    return TimeRange(first=_FIRST_SERVICE, last=now + _TOLERANCE)


def recording_times(now: float) -> TimeRange:
    """Return the range in which there was recorded music to play."""
    return TimeRange(first=_FIRST_RECORDING, last=now + _TOLERANCE)


def seconds_of_text(text: str) -> float:
    """Return a moment as seconds since 1970; a ValueError says what is wrong with it.

    Numbers are seconds, or milliseconds where they are large; text without a zone is UTC.

    >>> seconds_of_text("86400"), seconds_of_text("1456677480000")
    (86400.0, 1456677480.0)
    >>> seconds_of_text("2016-02-28T16:38:00Z"), seconds_of_text("28 Feb 2016, 16:38")
    (1456677480.0, 1456677480.0)
    """
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number / 1_000 if number >= _MILLISECONDS else number
    written = _WRITTEN.fullmatch(text)
    return _of_written(written) if written else seconds_of_iso(text)


def seconds_of_iso(text: str) -> float:
    """Return an ISO-8601 moment as seconds since 1970; a ValueError says what is wrong.

    >>> seconds_of_iso("1970-01-02 00:00")
    86400.0
    """
    moment = datetime.fromisoformat(text)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.timestamp()


def plain_seconds(text: str) -> float:
    """Return a number of seconds that is not negative; a ValueError if it is none.

    >>> plain_seconds("12.5")
    12.5
    """
    value = math.nan if "_" in text else float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


def _of_written(found: re.Match[str]) -> float:
    day, month, year, hour, minute, second = found.groups(default="0")
    number = _MONTHS.index(month.lower()) + 1
    moment = datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    return moment.timestamp()
