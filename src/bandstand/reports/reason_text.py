"""One song of a simulated session in words: when, how long since the last time, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.units import MONTH

if TYPE_CHECKING:
    from bandstand.simulation.learning import Glimpse

_DAY: Final = 86_400  # seconds
_MORNING: Final = 8 * 3_600  # the first song is played at eight
# Less than this would be shown as 0.0.
_NOTHING: Final = 0.05


def time_text(moment: float) -> str:
    """Return the day and the time of day of a moment.

    >>> time_text(0.0), time_text(90_000.0)
    ('day 1, 08:00', 'day 2, 09:00')
    """
    day, second = divmod(int(moment) + _MORNING, _DAY)
    return f"day {day + 1}, {second // 3_600:02d}:{second // 60 % 60:02d}"


def heard_text(elapsed: float) -> str:
    """Return how many minutes, hours or days ago a song was heard.

    >>> heard_text(30.0), heard_text(60.0), heard_text(43_200.0)
    ('heard 30 minutes ago', 'heard 1 hour ago', 'never heard before')
    """
    if elapsed >= MONTH:
        return "never heard before"
    if elapsed < 59.5:
        return f"heard {_counted(elapsed, 'minute')} ago"
    if elapsed < 2_880:
        return f"heard {_counted(elapsed / 60, 'hour')} ago"
    return f"heard {_counted(elapsed / 1_440, 'day')} ago"


def reason_text(glimpse: Glimpse) -> str:
    """Return why the song was played, as far as the algorithm can tell."""
    reason = glimpse.reason
    if glimpse.step.number == 1:
        return "nothing is known yet: the first song is drawn at random"
    if reason.expected_rating is None or reason.curiosity is None:
        return "drawn at random"
    expects = f"expects {reason.expected_rating:.1f} stars{_curiosity_text(reason.curiosity)}"
    if reason.liking is None or reason.novelty is None:
        return expects
    return f"liking {reason.liking:.1f} × novelty {reason.novelty:.0%} → {expects}"


def _curiosity_text(curiosity: float) -> str:
    if abs(curiosity) < _NOTHING:
        return ""
    return f", {'plus' if curiosity > 0 else 'minus'} {abs(curiosity):.1f} for curiosity"


def _counted(count: float, noun: str) -> str:
    whole = round(count)
    return f"{whole} {noun}" if whole == 1 else f"{whole} {noun}s"
