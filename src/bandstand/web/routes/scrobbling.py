"""Plays that are sent to other servers, and listens that other programs submit.

for apps that speak ListenBrainz: the address SERVER/apis/listenbrainz, or SERVER
"""

import asyncio
from collections import Counter
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from bandstand.music.catalogue.matching import Wanted
from bandstand.radio.scrobbling import incoming
from bandstand.radio.scrobbling.incoming import Submitted
from bandstand.radio.scrobbling.transport import checked_address
from bandstand.store import app_passwords, scrobble_targets
from bandstand.store.database.schema import chunks
from bandstand.store.scrobble_targets import MAX_CHARS, Target
from bandstand.web.http.problems import Problem
from bandstand.web.http.request_input import Body, Id, JsonBody, Text
from bandstand.web.requests.authentication import (
    LISTENER,
    PLAY,
    PUBLIC,
    Me,
    bearer_of,
    verify_secret,
)
from bandstand.web.requests.context import Context, ContextDep

router = APIRouter(tags=["scrobbling"])

# ── Out ──────────────────────────────────────────────────────────────────────────────────

_SHOWN: Final = ("id", "url", "delivered_at", "problem", "wait_until", "refusal")


class NewTarget(Body):
    """A server that speaks the protocol of ListenBrainz; its address ends before `/1`."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)] = "https://api.listenbrainz.org"
    token: Annotated[str, Field(max_length=MAX_CHARS, pattern="^[!-~]+$")]


class Playing(Body):
    """The song that plays."""

    song: Id


@router.get("/api/settings/scrobbling", dependencies=[LISTENER], operation_id="scrobbling")
async def list_targets(context: ContextDep, me: Me) -> Response:
    """List the servers that get your plays, and how that goes."""
    return JSONResponse({"targets": await context.pool.run(_all, context, me.id)})


@router.put("/api/settings/scrobbling", dependencies=[LISTENER], operation_id="scrobble_to")
async def put_target(
    context: ContextDep, me: Me, body: Annotated[NewTarget, JsonBody(NewTarget)]
) -> Response:
    """Send what you hear from now on to a server; or give one that gets it another token."""
    url = checked_address(body.url, context.settings.scrobble_hosts)
    made = await context.write(lambda store: scrobble_targets.put(store, me.id, url, body.token))
    return JSONResponse(_described(made))


@router.delete(
    "/api/settings/scrobbling/{target_id}",
    dependencies=[LISTENER],
    operation_id="stop_scrobbling",
    status_code=204,
)
async def delete_target(
    context: ContextDep,
    me: Me,
    target_id: Annotated[Text, Path(description="the id of a server that gets your plays")],
) -> Response:
    """Send nothing more to a server, and forget its token."""
    await context.write(lambda store: scrobble_targets.delete(store, me.id, target_id))
    return Response(status_code=204)


@router.post("/api/playing", dependencies=[PLAY], operation_id="playing", status_code=204)
async def playing(
    context: ContextDep, me: Me, body: Annotated[Playing, JsonBody(Playing)]
) -> Response:
    """Say what plays now, for the servers that get your plays; nothing is noted here."""
    if context.sender is not None:
        context.sender.playing(me.id, body.song)
    return Response(status_code=204)


def _all(context: Context, account: str) -> list[dict[str, Any]]:
    with context.store.reading() as connection:
        return [_described(one) for one in scrobble_targets.all_of(connection, account)]


def _described(target: Target) -> dict[str, Any]:
    return {name: getattr(target, name) for name in _SHOWN}


# ── In ───────────────────────────────────────────────────────────────────────────────────

# ListenBrainz itself takes as many.
MAX_LISTENS: Final = 1_000
MAX_NAME_CHARS: Final = 2_000
MAX_BODY_KB: Final = 2_048
_FIRST: Final = 1_033_430_400  # of October 2002: ListenBrainz takes nothing older
_DAY: Final = 86_400
_ALSO: Final[dict[int | str, dict[str, Any]]] = {429: {"description": "Too many wrong tokens."}}
_LISTENS_PER_WRITE: Final = 50  # so that ratings of others go in between


class _Foreign(BaseModel):
    """A part of what another program says; what is not known here is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Duration = Annotated[float, Field(ge=0, le=_DAY)]


class Details(_Foreign):
    """What is known beyond the names."""

    recording_mbid: Annotated[str, Field(max_length=100)] | None = None
    duration_ms: Annotated[float, Field(ge=0, le=1_000 * _DAY)] | None = None
    duration: Duration | None = None
    duration_played: Duration | None = None


class Track(_Foreign):
    """The names of a song."""

    artist_name: Name
    track_name: Name
    additional_info: Details | None = None

    def wanted(self) -> Wanted:
        """Return it as it is looked for."""
        more = self.additional_info or Details()
        seconds = more.duration if more.duration_ms is None else more.duration_ms / 1_000
        return Wanted(
            title=self.track_name,
            artist=self.artist_name,
            seconds=seconds or None,
            recording=more.recording_mbid,
        )

    def played_ms(self) -> int | None:
        """Return how much of it was heard, if that is said."""
        played = (self.additional_info or Details()).duration_played
        return None if played is None else round(1_000 * played)


class Listen(_Foreign):
    """A listen; what plays now has no time."""

    track_metadata: Track
    listened_at: Annotated[int, Field(ge=_FIRST, lt=2**33)] | None = None


class Listens(_Foreign):
    """What a program submits: one listen, several, or what plays now."""

    listen_type: Literal["single", "import", "playing_now"]
    payload: Annotated[list[Listen], Field(min_length=1, max_length=MAX_LISTENS)]


# Twice: some programs take no path in the address of a server.
@router.get(
    "/1/validate-token",
    dependencies=[PUBLIC],
    operation_id="validate_token_at_root",
    responses=_ALSO,
)
@router.get(
    "/apis/listenbrainz/1/validate-token",
    dependencies=[PUBLIC],
    operation_id="validate_token",
    responses=_ALSO,
)
async def validate_token(request: Request, context: ContextDep) -> Response:
    """Say whose app password the header `Authorization: Token …` has."""
    secret = bearer_of(request)
    if secret is None:
        raise Problem(400, "bad_request", "the header Authorization must have a token")
    try:
        app = await verify_secret(context, request.state.address, secret)
    except Problem as problem:
        if problem.status != 401:  # too many wrong ones
            raise
        app = None
    if app is None or not app_passwords.allows(app.password.scope, "play"):
        return JSONResponse({"code": 200, "message": "Token invalid.", "valid": False})
    name = app.account.name
    return JSONResponse({"code": 200, "message": "Token valid.", "valid": True, "user_name": name})


@router.post("/1/submit-listens", dependencies=[PLAY], operation_id="submit_listens_at_root")
@router.post(
    "/apis/listenbrainz/1/submit-listens", dependencies=[PLAY], operation_id="submit_listens"
)
async def submit_listens(
    context: ContextDep, me: Me, body: Annotated[Listens, JsonBody(Listens, MAX_BODY_KB)]
) -> Response:
    """Put listens into the log, and count what became of them; `playing_now` is not kept."""
    if body.listen_type == "playing_now":
        return JSONResponse({"status": "ok"})
    now, counts = context.clock(), Counter[str]()
    listens = [_submitted(one, now) for one in body.payload]
    for some in chunks(sorted(listens, key=lambda one: one.began_at), _LISTENS_PER_WRITE):
        columns = context.radio.catalogue.columns
        work = incoming.recording(columns, me.id, some, now=now)
        counts += await asyncio.wrap_future(context.radio.write(work, order=me.id))
    if counts["too_old"] == len(listens):
        message = "a listen must not be older than a week, nor than what the log has by now"
        raise Problem(400, "bad_request", message)
    return JSONResponse({"status": "ok", "bandstand": dict(counts)})


def _submitted(listen: Listen, now: int) -> Submitted:
    if listen.listened_at is None or 1_000 * (listen.listened_at - _DAY) > now:
        raise Problem(400, "bad_request", "listened_at must be given, and not be in the future")
    return Submitted(
        song=listen.track_metadata.wanted(),
        began_at=listen.listened_at,
        played_ms=listen.track_metadata.played_ms(),
    )
