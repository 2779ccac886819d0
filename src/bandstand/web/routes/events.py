"""What listeners tell the radio: stars, skips, listens, bans, snoozes, and taking them back."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import Field, RootModel

from bandstand.store.accounts import Account
from bandstand.store.events.events import NewEvent
from bandstand.web.http.problems import another_account
from bandstand.web.http.queries import Id
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import ContextDep
from bandstand.web.requests.guards import LISTENER, Me
from bandstand.web.routes._event_json import event_json

router = APIRouter(tags=["listening"])

_DAY_MS = 86_400_000

# Nothing that is played lasts for longer than a week, nor is on its way for longer.
Seconds = Annotated[float, Field(ge=0, le=7 * 86_400)]
Scope = Literal["song", "artist", "album", "genre"]
Target = Annotated[str, Field(min_length=1, max_length=500)]


class _Event(Body):
    """`key` is drawn once by the sender: the same key is the same event.

    `age_seconds` is how long ago it happened, if it could not be told at once; `account` is whose
    event it is, so that nobody gets what waited in a browser for somebody else.
    """

    key: Annotated[str, Field(min_length=1, max_length=200)]
    age_seconds: Seconds = 0.0
    account: Id | None = None


class Rating(_Event):
    """So many stars for a song."""

    kind: Literal["rating"]
    song: Id
    stars: Annotated[int, Field(ge=1, le=5)]
    played_seconds: Seconds | None = None


class Skip(_Event):
    """A song was left before its end."""

    kind: Literal["skip"]
    song: Id
    played_seconds: Seconds


class Listen(_Event):
    """A song was heard to its end."""

    kind: Literal["listen"]
    song: Id
    played_seconds: Seconds | None = None


class Ban(_Event):
    """Never again: a song by its id, an artist, album or genre by its name."""

    kind: Literal["ban"]
    scope: Scope
    target: Target


class Snooze(_Event):
    """Not for so many days."""

    kind: Literal["snooze"]
    scope: Scope
    target: Target
    days: Annotated[float, Field(gt=0, le=3_650)]


class Retract(_Event):
    """An earlier event, by its `seq`, is taken back."""

    kind: Literal["retract"]
    retracts: Annotated[int, Field(ge=1, lt=2**63)]


class Told(RootModel[Rating | Skip | Listen | Ban | Snooze | Retract]):
    """One event of any kind."""

    root: Rating | Skip | Listen | Ban | Snooze | Retract = Field(discriminator="kind")


@router.post(
    "/api/events",
    dependencies=[LISTENER],
    operation_id="tell",
    status_code=201,
    responses={200: {"description": "It was there already; or private mode, and not stored."}},
)
async def tell(context: ContextDep, me: Me, body: Annotated[Told, JsonBody(Told)]) -> Response:
    """Put an event into the log; it is on the disk before the answer.

    In private mode what is heard is not stored, and the answer says so.
    """
    if body.root.account not in {None, me.id}:
        raise another_account()
    appended = await asyncio.wrap_future(context.radio.submit(_new_event(me, body)))
    if appended is None:
        return JSONResponse({"stored": False}, 200)
    answer: dict[str, Any] = {"stored": True, **event_json(appended.event)}
    return JSONResponse(answer, 201 if appended.is_new else 200)


def _new_event(me: Account, told: Told) -> NewEvent:
    said = told.root.model_dump(exclude_none=True, exclude={"account"})
    said["age_ms"] = round(1_000 * said.pop("age_seconds"))
    if "played_seconds" in said:
        said["played_ms"] = round(1_000 * said.pop("played_seconds"))
    if "days" in said:
        # Not until when: that would be another event each time it is sent.
        said["for_ms"] = max(1, round(_DAY_MS * said.pop("days")))
    return NewEvent(account=me.id, **said)
