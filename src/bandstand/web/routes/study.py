"""Taking part in a study: consent, the parts one after the other, ratings, and withdrawal.

Whoever takes part must not be able to tell which algorithm chooses (`study_json`, `pacing`).
"""

import asyncio
from concurrent.futures import Future
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, Field

from bandstand.store.accounts import Account
from bandstand.study.queries import OfferedSong, Status
from bandstand.web.http.constant_time import paced
from bandstand.web.http.listener_queue import Queue
from bandstand.web.http.queries import Text
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._study_json import offer_json, status_json
from bandstand.web.routes.events import Seconds
from bandstand.web.security import cookies

# The clock tells whole milliseconds, and the event loop may wake a hair early: an answer must not
# come before the moment from which its song counts as offered.
_TICK = 0.002

router = APIRouter(tags=["study"])

ArmId = Annotated[Text, Path(description="the id of one of your parts of the study")]


def _agreed(value: bool) -> bool:  # noqa: FBT001  # pydantic calls it
    if not value:
        msg = "must be true"
        raise ValueError(msg)
    return value


class Consent(Body):
    """That one has read what the study is, and takes part."""

    # Not a Literal, for which 1 would do.
    agree: Annotated[bool, AfterValidator(_agreed), Field(json_schema_extra={"const": True})]


class StudyRating(Body):
    """So many stars for the song with this number.

    `known`: it need not be heard again. `played_seconds` is for how long it was heard.
    """

    number: Annotated[int, Field(ge=1, le=1_000_000)]
    stars: Annotated[int, Field(ge=1, le=5)]
    known: bool = False
    played_seconds: Seconds | None = None


class Withdrawal(Body):
    """The word that says that it is meant."""

    confirm: Literal["withdraw"]


@router.get("/api/study", dependencies=[LISTENER], operation_id="study")
async def study(context: ContextDep, me: Me) -> Response:
    """Tell what the study is, and where one stands in it; null where none is open."""
    return _told(context, await context.looks.run(context.study.status, me.id))


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
    """Begin one's next part of the study."""
    return await _written(context, context.study.begin(me.id, arm_id))


@router.post("/api/study/arms/{arm_id}/next", dependencies=[LISTENER], operation_id="study_song")
async def next_song(context: ContextDep, me: Me, arm_id: ArmId) -> Response:
    """Name the song to rate next: the one that waits for its rating, or a new one.

    The answer, or the refusal, comes so many seconds after the question, whatever chooses.
    """
    asked, began = context.clock(), asyncio.get_running_loop().time()
    seconds = await context.looks.run(context.study.answer_seconds)
    # One question of each listener at a time: who asks in ten tabs keeps one thread busy. No other
    # answer waits for it, and a question has its place until it is answered, not until a song is
    # chosen: either would tell how long the choice took, and so who chose.
    with context.study_turns.place(me.id) as queue:
        at = began + seconds + _TICK
        shown = await paced(_chosen(context, queue, me, arm_id, asked), at=at)
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
    """Have everything deleted that the study knows of one; also the account, if made for it."""
    has_left = await asyncio.wrap_future(context.study.withdraw(me.id))
    response = Response(status_code=204)
    if has_left:
        context.sessions.forget(me.id)
        context.radio.drop(me.id)
        cookies.take_back(response, context.access)
    return response


def _told(context: Context, status: Status | None) -> Response:
    return JSONResponse(status_json(status, context.media))


async def _written(context: Context, change: Future[Status]) -> Response:
    status = await asyncio.wrap_future(change)
    return _told(context, status)


async def _chosen(context: Context, queue: Queue, me: Account, arm: str, asked: int) -> OfferedSong:
    return await queue.run(context.study.next, me.id, arm, asked=asked)
