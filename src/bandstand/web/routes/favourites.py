"""Favourites: songs, albums and artists that a listener has marked."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from sqlalchemy import Connection

from bandstand.store import favourites
from bandstand.store.favourites import Favourite
from bandstand.web.http.request_input import Body, JsonBody
from bandstand.web.requests.authentication import RATE, READ, Me
from bandstand.web.requests.context import Context, ContextDep

router = APIRouter(tags=["favourites"])


class Marked(Body):
    """A mark to add or to remove.

    A song is named by its id, an artist by its name, an album by "NAME · ARTIST".
    """

    scope: Literal["song", "album", "artist"]
    target: Annotated[str, Field(min_length=1, max_length=500)]
    favourite: bool


@router.get("/api/favourites", dependencies=[READ], operation_id="favourites")
async def list_favourites(context: ContextDep, me: Me) -> Response:
    """List your favourites, in the order in which you marked them."""
    found = await context.pool.run(_all, context, me.id)
    listed = [{"scope": one.scope, "target": one.target, "at": one.at} for one in found]
    return JSONResponse({"favourites": listed})


@router.put("/api/favourites", dependencies=[RATE], operation_id="mark_favourite")
async def mark_favourite(
    context: ContextDep, me: Me, body: Annotated[Marked, JsonBody(Marked)]
) -> Response:
    """Mark a song, an album or an artist as a favourite, or no longer."""

    def change(store: Connection) -> None:
        work = favourites.mark if body.favourite else favourites.unmark
        work(store, me.id, body.scope, body.target, now=context.clock())

    await asyncio.wrap_future(context.radio.write(change, order=me.id))
    return JSONResponse({"favourite": body.favourite})


def _all(context: Context, account: str) -> list[Favourite]:
    with context.store.reading() as connection:
        return favourites.all_of(connection, account)
