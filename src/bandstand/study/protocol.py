"""The rules of a study: what a participant may do now, as pure functions of the past.

    begin an arm     in the participant's own order, one at a time; at most `arms_per_day` within
                     any 24 hours; `gap_hours` after the last rating of the arm before
    be offered       a song at a time; `rest_seconds` of rest after every `rest_after` ratings
    rate             what was offered, once, after `listen_seconds` of it or when it is known

A rule that does not allow something raises `RefusedError`: `code` is the rule, the message says
what was expected and what came, `until` is when it will be allowed if nothing else happens. All
times are UTC milliseconds since 1970, by the server's clock.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bandstand.errors import RefusedError
from bandstand.study.design import Design

SECOND: Final = 1_000  # milliseconds
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR

# A song shorter than the listening time counts as heard when this much of it is left: players and
# tags agree on the length of a file only about so far.
_END_OF_SONG: Final = 1.0  # seconds

Code: TypeAlias = Literal[
    "too_early",
    "resting",
    "too_many_today",
    "too_soon",
    "unfinished",
    "not_begun",
    "not_yours",
    "closed",
    "no_consent",
    "already_rated",
    "not_offered",
    "finished",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSong:
    """A song that waits for its rating."""

    number: int  # counted from 1 within the arm
    song: str
    offered_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmState:
    """How far a participant has come with one arm."""

    id: str
    place: int  # in the participant's own order, from 1
    begun_at: int | None
    rated: int  # songs 1 to `rated` have their ratings
    last_rated_at: int | None
    pending: PendingSong | None
    finished: bool

    @property
    def last_at(self) -> int | None:
        """When the arm was last begun or rated in; None if never."""
        return self.begun_at if self.last_rated_at is None else self.last_rated_at


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What a participant can do now.

    "begin" the arm in `place`; "listen" to it; "rest" or "wait" until `until`, because of the
    rule `why` (a code of `RefusedError`); or nothing more, "done".
    """

    state: Literal["begin", "listen", "rest", "wait", "done"]
    place: int | None = None
    until: int | None = None
    why: str | None = None
    message: str | None = None  # `why` as a sentence


def check_begin(design: Design, arms: Sequence[ArmState], arm_id: str, now: int) -> None:
    """Refuse to begin an arm while a rule does not allow it; one that is going on may be."""
    arm = next((arm for arm in arms if arm.id == arm_id), None)
    if arm is None:
        msg = "a part must be one of your own, got another"
        raise refusal(msg, code="not_yours")
    if arm.finished:
        raise _finished(arm)
    if arm.begun_at is not None:
        return
    _check_order(arms, arm)
    waits = [*_too_soon(design, arms, now), *_too_many(design, arms, now)]
    if waits:
        raise max(waits, key=lambda wait: wait.until or 0)


def check_offer(design: Design, arm: ArmState, now: int) -> None:
    """Refuse to offer a song while a rule does not allow it; what was offered may be again."""
    if arm.finished:
        raise _finished(arm)
    if arm.begun_at is None:
        raise _not_begun(arm)
    until = rest_until(design, arm)
    if until is not None and now < until:
        msg = (
            f"after every {design.rest_after} ratings a rest of {_span(design.rest_seconds)} "
            f"must pass, got {_span((now - (arm.last_rated_at or 0)) / SECOND)}; the next song "
            f"comes in {_left(now, until)}"
        )
        raise refusal(msg, code="resting", until=until)


def check_rating(
    design: Design,
    arm: ArmState,
    number: int,
    *,
    known: bool,
    played_seconds: float | None,
    song_seconds: float | None,
    now: int,
) -> None:
    """Refuse a rating that is not for the song on offer, or that comes before it was heard."""
    if number <= arm.rated:
        msg = f"a song must be rated once, got song {number} again"
        raise refusal(msg, code="already_rated")
    if arm.finished:
        raise _finished(arm)
    # A song that is chosen but not shown yet counts as absent: the time that the choice took
    # would reveal the algorithm.
    pending = None if arm.pending is None or now < arm.pending.offered_at else arm.pending
    if pending is None or pending.number != number:
        offered = "none" if pending is None else f"song {pending.number}"
        msg = f"a rating must be for the song on offer, which is {offered}, got song {number}"
        raise refusal(msg, code="not_offered")
    if not known:
        _check_heard(design, pending, played_seconds or 0.0, song_seconds, now)


def next_step(design: Design, arms: Sequence[ArmState], now: int) -> NextStep:
    """Return what a participant with these arms can do now."""
    ahead = sorted((arm for arm in arms if not arm.finished), key=lambda arm: arm.place)
    if not ahead:
        return NextStep(state="done")
    arm = next((arm for arm in ahead if arm.begun_at is not None), ahead[0])
    try:
        if arm.begun_at is None:
            check_begin(design, arms, arm.id, now)
            return NextStep(state="begin", place=arm.place)
        check_offer(design, arm, now)
    except RefusedError as no:
        return NextStep(
            state="wait" if arm.begun_at is None else "rest",
            place=arm.place,
            until=no.until,
            why=no.code,
            message=no.message,
        )
    return NextStep(state="listen", place=arm.place)


def rest_until(design: Design, arm: ArmState) -> int | None:
    """Return when the rest after the last rating ends; None if there is none to take."""
    is_due = arm.rated > 0 and arm.rated % design.rest_after == 0
    if not is_due or arm.pending is not None or arm.finished or arm.last_rated_at is None:
        return None
    return arm.last_rated_at + _milliseconds(design.rest_seconds)


def may_rate_at(design: Design, offered_at: int, song_seconds: float | None) -> int:
    """Return the first moment at which a song that is not known may be rated."""
    return offered_at + _milliseconds(_needed(design, song_seconds))


def refusal(message: str, *, code: Code, until: int | None = None) -> RefusedError:
    """Return the error for a rule that was not kept."""
    return RefusedError(message, code=code, until=until)


def _check_order(arms: Sequence[ArmState], arm: ArmState) -> None:
    """Refuse to begin an arm while another is going on or is to come before it."""
    for other in sorted(arms, key=lambda it: it.place):
        is_before = other.place < arm.place
        if other.id != arm.id and not other.finished and (is_before or other.begun_at is not None):
            msg = (
                f"part {other.place} must be finished before part {arm.place} begins, "
                f"got {other.rated} ratings in it"
            )
            raise refusal(msg, code="unfinished")


def _too_soon(design: Design, arms: Sequence[ArmState], now: int) -> list[RefusedError]:
    latest = max((arm.last_rated_at for arm in arms if arm.last_rated_at is not None), default=None)
    if latest is None:
        return []
    until = latest + _milliseconds(design.gap_hours * 3_600)
    if now >= until:
        return []
    msg = (
        f"{design.gap_hours:g} hours must pass between two parts, got "
        f"{_span((now - latest) / SECOND)}; the next part may begin in {_left(now, until)}"
    )
    return [refusal(msg, code="too_soon", until=until)]


def _too_many(design: Design, arms: Sequence[ArmState], now: int) -> list[RefusedError]:
    recent = sorted((arm.last_at for arm in arms if arm.last_at is not None), reverse=True)
    if len(recent) < design.arms_per_day:
        return []
    # One more is allowed once the oldest of `arms_per_day` has left the 24 hours.
    until = recent[design.arms_per_day - 1] + DAY
    if now >= until:
        return []
    count = sum(now - DAY < at for at in recent)
    msg = (
        f"there must be at most {design.arms_per_day} parts within 24 hours, got {count} already; "
        f"the next part may begin in {_left(now, until)}"
    )
    return [refusal(msg, code="too_many_today", until=until)]


def _check_heard(
    design: Design, offered: PendingSong, played: float, song_seconds: float | None, now: int
) -> None:
    needed = _needed(design, song_seconds)
    is_whole = needed < design.listen_seconds
    to_play = max(0.0, needed - _END_OF_SONG) if is_whole else needed
    by_clock = offered.offered_at + _milliseconds(needed)
    # What is no number of seconds counts as nothing heard.
    heard = played if math.isfinite(played) else 0.0
    if heard >= to_play and now >= by_clock:
        return
    until = max(by_clock, now + _milliseconds(max(0.0, to_play - heard)))
    since = max(0, now - offered.offered_at) / SECOND
    msg = (
        f"a song must be heard for {needed:g} s before it is rated, unless it is known, got "
        f"{min(max(heard, 0.0), since):.1f} s; it may be rated in {_left(now, until)}"
    )
    raise refusal(msg, code="too_early", until=until)


def _needed(design: Design, song_seconds: float | None) -> float:
    """Return how long a song must be heard, in seconds: no longer than it is."""
    if song_seconds is None or not 0 < song_seconds < design.listen_seconds:
        return design.listen_seconds
    return song_seconds


def _finished(arm: ArmState) -> RefusedError:
    msg = f"part {arm.place} must have songs left to rate, got all {arm.rated} rated"
    return refusal(msg, code="finished")


def _not_begun(arm: ArmState) -> RefusedError:
    msg = f"part {arm.place} must be begun before it plays songs, got one that is not"
    return refusal(msg, code="not_begun")


def _milliseconds(seconds: float) -> int:
    """Return whole milliseconds, no fewer than `seconds`: a wait is never cut short."""
    return math.ceil(seconds * SECOND)


def _left(now: int, until: int) -> str:
    return _span(math.ceil((until - now) / SECOND))


def _span(seconds: float) -> str:
    """Return a length of time as people say it.

    >>> _span(45), _span(240), _span(21_500)
    ('45 s', '4 min', '5 h 58 min')
    """
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3_600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{rest} s"
