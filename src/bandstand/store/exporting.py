"""A store as entries of an export, in a fixed order; `exchange` says which there are."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import or_, select

from bandstand.store import accounts, events, playlists
from bandstand.store.event_digest import DIGESTED
from bandstand.store.exchange_lines import (
    ONE_ACCOUNT,
    WHOLE,
    header,
    path_fields,
    spelt,
    to_base64,
)
from bandstand.store.exporting_studies import (
    own_participation_entries,
    participation_entries,
    rated_songs,
    study_entries,
)
from bandstand.store.queries import in_order
from bandstand.store.schema import (
    ACCOUNT,
    EVENT,
    FILE,
    PLAYLIST,
    PLAYLIST_SONG,
    PROJECTION,
    SCAN,
    SONG,
)
from bandstand.store.values import descriptors_from_bytes
from bandstand.types import Tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from bandstand.store.connection import Store
    from bandstand.store.events import Event

TAGS: Final = tuple(field.name for field in fields(Tags))
FILE_FACTS: Final = ("size", "modified_ns", "problem", "analysis_version", "seen", "missing")
SONG_FACTS: Final = ("fingerprint", "content_size", "duration", "descriptor_version", "added_at")
SCAN_FACTS: Final = tuple(column.name for column in SCAN.columns)
PROJECTION_FACTS: Final = ("version", "created_at", "descriptor_version", "songs", "columns")
ACCOUNT_FACTS: Final = ("id", "name", "role", "disabled", "seed", "created_at")


def export_lines(store: Store, *, account: str | None = None) -> Iterator[str]:
    """Yield the lines of an export of a store, or of what an account has, as of one moment.

    Raises NotFoundError where there is no such account.
    """
    if account is None:
        with store.reading(limit=None) as connection:
            yield from spelt(_whole(connection))
        return
    # One person's lines are few, and whoever takes them slowly must not hold up the store.
    with store.reading() as connection:
        accounts.existing(connection, account)
        lines = list(spelt(_of_account(connection, account)))
    yield from lines


def _whole(connection: Connection) -> Iterator[dict[str, Any]]:
    yield header(WHOLE)
    for row in in_order(connection, select(SCAN), SCAN.c.number):
        yield {"type": "scan", **_given(row, SCAN_FACTS)}
    for row in in_order(connection, select(PROJECTION), PROJECTION.c.version, page=10):
        content = {"content_base64": to_base64(row["content"])}
        yield {"type": "projection", **_given(row, PROJECTION_FACTS), **content}
    yield from _songs(connection)
    loose = select(FILE).where(FILE.c.song_id.is_(None))
    for row in in_order(connection, loose, FILE.c.path):
        yield {"type": "file", **_file(row)}
    yield from study_entries(connection)
    for row in in_order(connection, select(ACCOUNT), ACCOUNT.c.id):
        yield from _person(connection, row)
        yield from participation_entries(connection, row["id"])


def _songs(connection: Connection) -> Iterator[dict[str, Any]]:
    song = [SONG.c[name] for name in ("id", *TAGS, *SONG_FACTS, "descriptors")]
    file = [FILE.c[name] for name in ("path", *FILE_FACTS)]
    joined = select(*song, *file).join(FILE, FILE.c.song_id == SONG.c.id)
    for row in in_order(connection, joined, SONG.c.id):
        yield {
            "type": "song",
            "id": row["id"],
            "tags": _given(row, TAGS),
            **_given(row, SONG_FACTS),
            "file": _file(row),
            "descriptors": descriptors_from_bytes(row["descriptors"]).tolist(),
        }


def _of_account(connection: Connection, account: str) -> Iterator[dict[str, Any]]:
    yield header(ONE_ACCOUNT)
    rated = select(EVENT.c.song_id).where(EVENT.c.account_id == account)
    ruled = select(EVENT.c.target).where(EVENT.c.account_id == account, EVENT.c.scope == "song")
    saved = (
        select(PLAYLIST_SONG.c.song_id)
        .join(PLAYLIST, PLAYLIST.c.id == PLAYLIST_SONG.c.playlist_id)
        .where(PLAYLIST.c.account_id == account)
    )
    studied = rated_songs(account)
    known = or_(*(SONG.c.id.in_(ids) for ids in (rated, ruled, saved, studied)))
    for row in in_order(connection, select(SONG).where(known), SONG.c.id):
        fact = {"id": row["id"], "tags": _given(row, TAGS), "duration": row["duration"]}
        yield {"type": "song", **fact}
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).mappings().one()
    yield from _person(connection, row)
    yield from own_participation_entries(connection, account)


def _person(connection: Connection, row: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    account = row["id"]
    settings = json.loads(row["settings"])
    yield {"type": "account", **_given(row, ACCOUNT_FACTS), "settings": settings}
    for event in events.after(connection, account):
        yield {"type": "event", **_event(event)}
    for summary in playlists.all_of(connection, account):
        playlist = playlists.get(connection, account, summary.id)
        assert playlist is not None  # noqa: S101  # of the same moment
        yield {
            "type": "playlist",
            "id": playlist.id,
            "account": account,
            "name": playlist.name,
            "created_at": playlist.created_at,
            "songs": list(playlist.songs),
        }


def _event(event: Event) -> dict[str, Any]:
    given = {name: getattr(event, name) for name in DIGESTED}
    said = {name: value for name, value in given.items() if value is not None}
    return {**said, "digest": event.digest.hex()}


def _file(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {**path_fields(row["path"]), **_given(row, FILE_FACTS)}


def _given(row: Mapping[Any, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return what a row says under these names; what it does not say is left out."""
    return {name: row[name] for name in names if row[name] is not None}
