"""Scans by the real command in a process of its own, and what the store holds afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.catalogue.matrix import open_latest
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import data_folder
from bandstand.store.songs import files, songs
from tests.cli.running import Outcome, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bandstand.store.songs.songs import SongRecord
    from bandstand.types import Vector

# No scan here takes a minute; one that takes so long has not ended by itself.
TOO_LONG = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a store knows of the library."""

    songs: dict[bytes, SongRecord]  # that are present, by path
    descriptors: dict[str, Vector]  # of these, by id
    problems: dict[bytes, str]  # why a file that is there cannot be read
    missing: dict[bytes, str | None]  # files that are gone, with the ids of their songs
    known: frozenset[str]  # the ids of all songs, those that cannot be played included

    @property
    def ids(self) -> dict[bytes, str]:
        """The id of the song of each file that is present."""
        return {path: song.id for path, song in self.songs.items()}

    @property
    def facts(self) -> dict[bytes, object]:
        """All that two stores must agree on, descriptors to the last bit; not when it was added."""
        there = {
            path: (replace(song, added_at=0), self.descriptors[song.id].tobytes())
            for path, song in self.songs.items()
        }
        gone = {path: ("missing", song_id) for path, song_id in self.missing.items()}
        return {**there, **self.problems, **gone}


def command(*folders: Path, store: Path, options: Sequence[str] = ("--json",)) -> list[str]:
    """Return the command that scans folders into a store, with a report as JSON."""
    paths = [str(folder) for folder in folders]
    start = [sys.executable, "-m", "bandstand", "scan"]
    return [*start, *options, "--store", str(store), "--", *paths]


def scan_apart(
    *folders: Path,
    store: Path,
    options: Sequence[str] = ("--json",),
    prepare: Callable[[], None] | None = None,
    **variables: str,
) -> Outcome:
    """Scan folders in a process of its own, which does `prepare` before it begins."""
    done = subprocess.run(
        command(*folders, store=store, options=options),
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=TOO_LONG,
        preexec_fn=prepare,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def scanned(*folders: Path, store: Path) -> dict[str, Any]:
    """Return the report of a scan that went well."""
    outcome = scan_apart(*folders, store=store)
    assert outcome.code == 0, outcome.err
    report: dict[str, Any] = json.loads(outcome.out)
    return report


def contents(store: Path) -> Contents:
    """Return what the store knows of the library."""
    with open_store(str(store)) as opened, opened.reading() as connection:
        records = list(files.under(connection, b"/"))
        return Contents(
            songs={song.path: song for song in songs.present(connection)},
            descriptors=dict(songs.descriptors(connection, VERSION)),
            problems={it.path: it.problem for it in records if it.problem and not it.missing},
            missing={it.path: it.song_id for it in records if it.missing},
            known=frozenset(it.song_id for it in records if it.song_id is not None),
        )


def matrix(store: Path) -> tuple[list[bytes], bytes]:
    """Return the ids and the rows of the catalogue that the last scan left beside the store."""
    catalogue = open_latest(data_folder(str(store)))
    assert catalogue is not None
    return catalogue.ids.tolist(), catalogue.features.tobytes()
