"""Taking part in a study: consent, the parts one after the other, ratings, and withdrawal.

Nothing here may reveal which algorithm chooses: no name, reason, score or seed, nor the duration of
a choice (`reply_at`). Every answer has the same fields for every algorithm.
"""

# No postponed annotations: FastAPI reads them when the program runs.

import asyncio
import math
from concurrent.futures import Future
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, Field

from bandstand.media.media import Media
from bandstand.store.accounts import Account
from bandstand.study.queries import OfferedSong, Status
from bandstand.web.http.concurrency import QueuePlace, reply_at
from bandstand.web.http.request_input import Body, JsonBody, Text
from bandstand.web.requests.authentication import LISTENER, Me
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import song_json
from bandstand.web.routes.listening import Seconds
from bandstand.web.security import browser_sessions

# The clock has whole milliseconds, and the event loop may wake early: an answer must not come
# before the moment from which its song counts as offered.
_CLOCK_TOLERANCE = 0.002  # seconds

router = APIRouter(tags=["study"])

ArmId = Annotated[Text, Path(description="the id of one of your parts of the study")]


def _agreed(value: bool) -> bool:  # noqa: FBT001  # pydantic calls it
    if not value:
        msg = "must be true"
        raise ValueError(msg)
    return value


class Consent(Body):
    """Consent to taking part, after reading what the study is."""

    # Not a Literal, for which 1 would do.
    agree: Annotated[bool, AfterValidator(_agreed), Field(json_schema_extra={"const": True})]


class StudyRating(Body):
    """A rating of the song with this number.

    `known`: it need not be heard again. `played_seconds` is for how long it was heard.
    """

    number: Annotated[int, Field(ge=1, le=1_000_000)]
    stars: Annotated[int, Field(ge=1, le=5)]
    known: bool = False
    played_seconds: Seconds | None = None


class Withdrawal(Body):
    """The word that confirms the withdrawal."""

    confirm: Literal["withdraw"]


@router.get("/api/study", dependencies=[LISTENER], operation_id="study")
async def study(context: ContextDep, me: Me) -> Response:
    """Describe the study and your state in it; null where none is open."""
    return _status_response(context, await context.read_pool.run(context.study.status, me.id))


@router.post("/api/study/consent", dependencies=[LISTENER], operation_id="join_study")
async def consent(
    context: ContextDep,
    me: Me,
    body: Annotated[Consent, JsonBody(Consent)],  # noqa: ARG001  # that it came says all
) -> Response:
    """Take part."""
    return await _written(context, context.study.join(me.id))


@router.post("/api/study/arms/{arm_id}/begin", dependencies=[LISTENER], operation_id="begin_arm")
async def begin(context: ContextDep, me: Me, arm_id: ArmId) -> Response:
    """Begin your next part of the study."""
    return await _written(context, context.study.begin(me.id, arm_id))


@router.post("/api/study/arms/{arm_id}/next", dependencies=[LISTENER], operation_id="study_song")
async def next_song(context: ContextDep, me: Me, arm_id: ArmId) -> Response:
    """Name the song to rate next: the one that waits for its rating, or a new one.

    The answer, or the refusal, comes after the same number of seconds for every algorithm.
    """
    asked, began = context.clock(), asyncio.get_running_loop().time()
    seconds = await context.read_pool.run(context.study.answer_seconds)
    # One request of each listener at a time: ten tabs occupy one thread. No other answer waits for
    # it, and it keeps its place until the answer, not until the choice: either would reveal the
    # duration of the choice.
    with context.study_queue.place(me.id) as place:
        at = began + seconds + _CLOCK_TOLERANCE
        shown = await reply_at(_chosen(context, place, me, arm_id, asked), at=at)
    return JSONResponse(offer_json(shown, context.media, now=context.clock()))


@router.post(
    "/api/study/arms/{arm_id}/ratings", dependencies=[LISTENER], operation_id="rate_study_song"
)
async def rate(
    context: ContextDep, me: Me, arm_id: ArmId, body: Annotated[StudyRating, JsonBody(StudyRating)]
) -> Response:
    """Rate the song that was offered; it is on the disk before the answer.

    The same rating may come again: it counts once.
    """
    rated = context.study.rate(
        me.id,
        arm_id,
        number=body.number,
        stars=body.stars,
        known=body.known,
        played_seconds=body.played_seconds,
    )
    return await _written(context, rated)


@router.delete(
    "/api/study/participation",
    dependencies=[LISTENER],
    operation_id="withdraw_from_study",
    status_code=204,
)
async def withdraw(
    context: ContextDep,
    me: Me,
    body: Annotated[Withdrawal, JsonBody(Withdrawal)],  # noqa: ARG001  # that it came says all
) -> Response:
    """Delete everything that the study stores about you; also the account, if made for it."""
    has_left = await asyncio.wrap_future(context.study.withdraw(me.id))
    response = Response(status_code=204)
    if has_left:
        context.sessions.forget(me.id)
        context.radio.drop(me.id)
        browser_sessions.clear_cookie(response, context.access)
    return response


def _status_response(context: Context, status: Status | None) -> Response:
    return JSONResponse(status_json(status, context.media))


async def _written(context: Context, change: Future[Status]) -> Response:
    status = await asyncio.wrap_future(change)
    return _status_response(context, status)


async def _chosen(
    context: Context, place: QueuePlace, me: Account, arm: str, asked: int
) -> OfferedSong:
    return await place.run(context.study.next, me.id, arm, asked=asked)


# The page's names of the states of a part.
_STATES: Final = {"ahead": "waiting", "begun": "open", "finished": "done"}
_TENTHS: Final = 10  # of a second


def status_json(status: Status | None, media: Media | None) -> dict[str, Any]:
    """Return the state of a participant; null where no study is open."""
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
    """Return the song to rate, and the seconds until it may be rated."""
    return {
        "number": shown.number,
        "song": song_json(shown.song, media),
        "may_rate_in": _wait(shown.may_rate_at, now),
        "rated": shown.rated,
        "of": shown.of,
    }


def _wait(until: int, now: int) -> float:
    """Return the seconds from now, rounded up to a tenth, so that no request comes too early.

    >>> _wait(1_234, 0), _wait(0, 1_234)
    (1.3, 0.0)
    """
    return max(0, math.ceil((until - now) * _TENTHS / 1_000)) / _TENTHS
