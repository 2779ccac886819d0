"""Listening: the next song, the listener's events, and their taste."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field, RootModel

from bandstand.radio.explain.taste import as_json as taste_json
from bandstand.radio.explain.why import as_json as why_json
from bandstand.radio.selection.filters import Station, Years
from bandstand.radio.service import Offer
from bandstand.store.accounts import Account
from bandstand.store.events.events import NewEvent
from bandstand.store.events.values import ENDS
from bandstand.web.http.problems import another_account
from bandstand.web.http.request_input import Body, Id, JsonBody, Text, Year
from bandstand.web.requests.authentication import PLAY, READ, CallerDep, Me, check_scope
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.routes._json import event_json, songs_json

router = APIRouter(tags=["listening"])

TagName = Annotated[Text, Query(min_length=1, max_length=500)]


@router.get("/api/next", dependencies=[READ], operation_id="next_song")
async def next_song(
    context: ContextDep,
    me: Me,
    after: Annotated[list[Id], Query(max_length=50)] = [],  # noqa: B006  # FastAPI copies it
    song: Id | None = None,
    artist: TagName | None = None,
    genre: TagName | None = None,
    year_from: Year | None = None,
    year_to: Year | None = None,
) -> Response:
    """Return the song to play now, and why.

    `after` are songs that are about to be heard before it. `song`, `artist` or `genre` is where
    to start from; only songs from the year `year_from` to `year_to` are played. Asking changes
    nothing: only events (`/api/events`) do.
    """
    years = Years(first=year_from, last=year_to)
    station = Station(song=song, artist=artist, genre=genre, years=years)
    offer = await context.ask(
        context.next_queue, me.id, _next, context, me.id, after=after, station=station
    )
    return JSONResponse(offer)


def _next(context: Context, account: str, **question: Any) -> dict[str, Any]:
    return offers_json(context, account, [context.radio.next(account, **question)])[0]


def offers_json(context: Context, account: str, offers: Sequence[Offer]) -> list[dict[str, Any]]:
    """Return offers: the song, the reasons, the moment, and the last event that each knows."""
    songs = songs_json(context, account, [offer.song for offer in offers])
    return [
        {
            "song": song,
            "why": why_json(offer.why),
            "step": offer.step,
            "seq": offer.seq,
            "mode": offer.how,
            "note": offer.note,
            "at": offer.at,
        }
        for song, offer in zip(songs, offers, strict=True)
    ]


_DAY_MS = 86_400_000

# No song lasts longer than a week, and no event is delivered later.
Seconds = Annotated[float, Field(ge=0, le=7 * 86_400)]
Scope = Literal["song", "artist", "album", "genre"]
Target = Annotated[str, Field(min_length=1, max_length=500)]


class _Event(Body):
    """`key` is drawn once by the sender: the same key is the same event.

    `age_seconds` is how long ago it happened, if it could not be sent at once; `account` is whose
    event it is, so that no event that waited in a browser reaches another account.
    """

    key: Annotated[str, Field(min_length=1, max_length=200)]
    age_seconds: Seconds = 0.0
    account: Id | None = None


class Rating(_Event):
    """A rating of a song, from one star to five."""

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
    """Not for `days` days."""

    kind: Literal["snooze"]
    scope: Scope
    target: Target
    days: Annotated[float, Field(gt=0, le=3_650)]


class Retract(_Event):
    """An earlier event, by its `seq`, is taken back."""

    kind: Literal["retract"]
    retracts: Annotated[int, Field(ge=1, lt=2**63)]


class AnyEvent(RootModel[Rating | Skip | Listen | Ban | Snooze | Retract]):
    """One event of any kind."""

    root: Rating | Skip | Listen | Ban | Snooze | Retract = Field(discriminator="kind")


@router.post(
    "/api/events",
    dependencies=[PLAY],
    operation_id="tell",
    status_code=201,
    responses={200: {"description": "It was there already; or private mode, and not stored."}},
)
async def append_event(
    context: ContextDep,
    me: Me,
    caller: CallerDep,
    body: Annotated[AnyEvent, JsonBody(AnyEvent)],
) -> Response:
    """Put an event into the log; it is on the disk before the answer.

    In private mode what is heard is not stored, and the answer says so. An app with the scope
    `play` may send skips and listens; all else needs `rate`.
    """
    if body.root.kind not in ENDS:
        check_scope(caller.scope, "rate")
    if body.root.account not in {None, me.id}:
        raise another_account()
    appended = await asyncio.wrap_future(context.radio.submit(_new_event(me, body)))
    if appended is None:
        return JSONResponse({"stored": False}, 200)
    answer: dict[str, Any] = {"stored": True, **event_json(appended.event)}
    return JSONResponse(answer, 201 if appended.is_new else 200)


def _new_event(me: Account, event: AnyEvent) -> NewEvent:
    values = event.root.model_dump(exclude_none=True, exclude={"account"})
    values["age_ms"] = round(1_000 * values.pop("age_seconds"))
    if "played_seconds" in values:
        values["played_ms"] = round(1_000 * values.pop("played_seconds"))
    if "days" in values:
        # A duration, not an end: an end would differ each time the event is sent.
        values["for_ms"] = max(1, round(_DAY_MS * values.pop("days")))
    return NewEvent(account=me.id, **values)


@router.get("/api/taste", dependencies=[READ], operation_id="taste")
async def taste(context: ContextDep, me: Me) -> Response:
    """Describe what the radio has learned from the ratings so far."""
    learned = await context.ask(context.queue, me.id, context.radio.taste, me.id)
    return JSONResponse(taste_json(learned))
