"""Stores of released versions, kept as SQL: `python -m tests.store.released_stores VERSION > FILE`.

Run once, when a version is released, and never again for that version: the file is what its users
have. `tests/store/released` holds one for each version.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select

from bandstand.store import accounts, playlists, studies
from bandstand.store.database.connection import open_store
from bandstand.store.database.migrate import MIGRATIONS
from bandstand.store.database.schema import SONG
from bandstand.store.database.sqlite_file import APPLICATION_ID
from bandstand.store.events import events, snapshots
from bandstand.store.songs import files, projections, scans
from bandstand.store.songs.save_analysis import record_analyses, record_problem
from tests.store.examples import analysis
from tests.store.sample_log import NOW as EVENTS_AT
from tests.store.sample_log import every_kind
from tests.store.sample_study import add_study, joined, play

if TYPE_CHECKING:
    from sqlalchemy import Connection

FOLDER = Path(__file__).parent / "released"
NOW = 1_750_000_000_000
HASH = "as argon2id writes it"
PEOPLE_SINCE = 2  # the version that has accounts
STUDIES_SINCE = 3


def released() -> list[int]:
    """Return the versions of which a store is kept."""
    return sorted(int(file.stem.removeprefix("version_")) for file in FOLDER.glob("*.sql"))


def load(version: int, path: Path) -> None:
    """Make a file the store of a released version."""
    script = (FOLDER / f"version_{version}.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return everything that a SQLite file holds, by table, in an order of its own."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {
            table: sorted(connection.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)  # noqa: S608
            for (table,) in tables.fetchall()
        }


def add_people(connection: Connection) -> None:
    """Add two accounts, of which one has done everything that there is to do."""
    songs = [str(it) for it in connection.scalars(select(SONG.c.id).order_by(SONG.c.id))]
    ann = accounts.create(connection, name="Ann", role="admin", password_hash=HASH, now=NOW).id
    accounts.create(
        connection,
        name="Bo\N{LATIN SMALL LETTER SHARP S}",
        role="listener",
        password_hash=None,
        now=NOW,
    )
    accounts.change_settings(connection, ann, {"dial": 0.25, "\N{BELL}": ["'", None]})
    for new in every_kind(ann, songs):
        events.append(connection, new, now=EVENTS_AT)
    snapshots.save(connection, ann, seq=3, version=1, content=b"\0snapshot\xff")
    playlists.create(connection, account=ann, name="Mine", songs=songs[::-1], now=NOW)


def add_studies(connection: Connection) -> None:
    """Add a study in which somebody has begun, and has rated all songs."""
    songs = [str(it) for it in connection.scalars(select(SONG.c.id).order_by(SONG.c.id))]
    cy = accounts.create(connection, name="Cy", role="listener", password_hash=None, now=NOW).id
    first, _ = joined(connection, add_study(connection).id, cy)
    studies.begin(connection, first.id, NOW)
    play(connection, first.id, songs)


def main(version: str) -> None:
    """Print the store of a version as SQL."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "radio.db"
        with open_store(str(path), steps=MIGRATIONS[: int(version)], now=NOW) as store:
            with store.writing() as connection:
                scans.begin(connection, now=NOW)
                found = [
                    (b"/music/one.ogg", analysis(1)),
                    (b"/music/\xff\xfe.mp3", analysis(2, title="Ænima \N{BELL}", year=1996)),
                    (b"/music/'quoted'\n.flac", analysis(3, track_gain=-6.25, artist=None)),
                ]
                record_analyses(connection, found, scan=1, now=NOW)
                problem = {"size": 7, "modified_ns": 8, "reason": "no sound", "version": 1}
                record_problem(connection, b"/music/bad.wav", **problem, scan=1)  # type: ignore[arg-type]
                scans.finish(connection, 1, scans.ScanCounts(found=4, added=3, failed=1), now=NOW)
                projections.save(
                    connection, descriptor_version=1, songs=3, columns=2, content=b"\0\xff", now=NOW
                )
            with store.writing() as connection:
                number = scans.begin(connection, now=NOW + 1)
                files.mark_seen(connection, [b"/music/one.ogg"], number)
                files.mark_missing(connection, b"/music", number)
                if int(version) >= PEOPLE_SINCE:
                    add_people(connection)
                if int(version) >= STUDIES_SINCE:
                    add_studies(connection)
        with closing(sqlite3.connect(path)) as connection:
            print(f"PRAGMA application_id = {APPLICATION_ID};")  # noqa: T201
            for line in connection.iterdump():
                print(line)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
