"""A study as its participants and its administrators see it.

Nothing here tells which algorithm chooses: no name, no reason, no score, no seed, nor how long a
choice took. Every answer has the same fields whatever the algorithm.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from bandstand.web.routes._song_json import song_json

if TYPE_CHECKING:
    from bandstand.media.media import Media
    from bandstand.study.queries import Membership, OfferedSong, Progress, Status

# What a part is called by the page.
_STATES: Final = {"ahead": "waiting", "begun": "open", "finished": "done"}
_TENTHS: Final = 10  # of a second


def status_json(status: Status | None, media: Media | None) -> dict[str, Any]:
    """Return where somebody stands in the study; null where none is open."""
    if status is None:
        return {"study": None}
    rules = asdict(status.facts)
    pending = status.pending
    return {
        "study": {
            "title": status.title,
            "consent": status.consent,
            "only": status.only,
            "joined": status.joined,
            "state": status.state,
            "why": status.why,
            "message": status.message,
            "until": status.until,
            "now": status.now,
            "wait_seconds": None if status.until is None else _wait(status.until, status.now),
            "place": status.place,
            "parts": rules.pop("parts"),
            "rules": rules,
            "arms": [{**asdict(arm), "state": _STATES[arm.state]} for arm in status.arms],
            "pending": None
            if pending is None
            else {"arm": pending.arm, **offer_json(pending, media, now=status.now)},
        }
    }


def offer_json(shown: OfferedSong, media: Media | None, *, now: int) -> dict[str, Any]:
    """Return a song that waits for its rating, and in how many seconds it may have it."""
    return {
        "number": shown.number,
        "song": song_json(shown.song, media),
        "may_rate_in": _wait(shown.may_rate_at, now),
        "rated": shown.rated,
        "of": shown.of,
    }


def membership_json(membership: Membership | None) -> dict[str, bool] | None:
    """Return whether somebody is in the study; None where there is none for them."""
    return None if membership is None else asdict(membership)


def progress_json(progress: Progress) -> dict[str, Any]:
    """Return how far a participant is, who is called by a number."""
    return {
        "number": progress.number,
        "joined_at": progress.joined_at,
        "parts_done": progress.arms_done,
        "ratings": progress.ratings,
        "last_at": progress.last_at,
    }


def _wait(until: int, now: int) -> float:
    """Return the seconds from now, upwards to the next tenth: nobody comes too early.

    >>> _wait(1_234, 0), _wait(0, 1_234)
    (1.3, 0.0)
    """
    return max(0, math.ceil((until - now) * _TENTHS / 1_000)) / _TENTHS
