"""Projections of descriptors to features, each kept under its own version."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import PROJECTION, checked_integer
from bandstand.store.songs.changes import claim


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRecord:
    """One projection; the store does not look into its content."""

    version: int
    created_at: int  # UTC, in milliseconds
    descriptor_version: int
    songs: int  # how many it was fitted on
    columns: int  # how many features come out
    content: bytes


def save(
    connection: Connection,
    *,
    descriptor_version: int,
    songs: int,
    columns: int,
    content: bytes,
    now: int,
) -> int:
    """Return the version under which a new projection is kept."""
    if not isinstance(content, bytes):
        msg = f"the content of a projection must be bytes, got {type(content).__name__}"
        raise InvalidInputError(msg)
    row = {
        "created_at": checked_integer(now, "now"),
        "descriptor_version": checked_integer(descriptor_version, "descriptor_version"),
        "songs": checked_integer(songs, "songs", least=0),
        "columns": checked_integer(columns, "columns", least=1),
        "content": content,
    }
    claim(connection)
    version = 1 + (latest_version(connection) or 0)
    connection.execute(insert(PROJECTION).values({**row, "version": version}))
    return version


def latest_version(connection: Connection) -> int | None:
    """Return the version of the newest projection; None before the first."""
    version: int | None = connection.scalar(select(func.max(PROJECTION.c.version)))
    return version


def latest(connection: Connection) -> ProjectionRecord | None:
    """Return the newest projection; None before the first."""
    return _one(connection, select(PROJECTION).order_by(PROJECTION.c.version.desc()).limit(1))


def get(connection: Connection, version: int) -> ProjectionRecord | None:
    """Return the projection of a version; None where there is none."""
    wanted = PROJECTION.c.version == checked_integer(version, "version")
    return _one(connection, select(PROJECTION).where(wanted))


def _one(connection: Connection, statement: Select[Any]) -> ProjectionRecord | None:
    row = connection.execute(statement).mappings().one_or_none()
    return None if row is None else ProjectionRecord(**row)
