"""A whole study from the store, as the analysis and the export read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.errors import NotFoundError
from bandstand.store import studies
from bandstand.study.opening import design_of
from bandstand.study.protocol import SECOND
from bandstand.study.records import Participant, Record, StudyData
from bandstand.study.song_snapshot import from_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.store.database.connection import Store
    from bandstand.store.studies import ArmRow, SongRow


def study_data(store: Store, study: str) -> StudyData:
    """Return the study with an id, as of this moment, by participant, place and number.

    Whoever was only invited is not in it, nor is a song that waits for its rating.
    """
    with store.reading(limit=None) as connection:
        row = studies.get(connection, study)
        if row is None:
            msg = f"there must be a study with that id, got {study!r}"
            raise NotFoundError(msg)
        people = studies.participants(connection, study)
        records = tuple(
            record
            for person, arm, songs in studies.rows(connection, study)
            for record in _records(person.number, arm, songs)
        )
    return StudyData(
        design=design_of(row),
        study=row.id,
        catalogue=from_bytes(row.catalogue),
        records=records,
        participants=tuple(
            Participant(number=person.number, joined_at=person.joined_at)
            for person in people
            if person.joined_at is not None
        ),
        simulated=False,
    )


def _records(participant: int, arm: ArmRow, songs: list[SongRow]) -> Iterator[Record]:
    for song in songs:
        if song.stars is None or song.known is None or song.rated_at is None:
            continue
        yield Record(
            participant=participant,
            algorithm=arm.algorithm,
            place=arm.place,
            number=song.number,
            song=song.song,
            stars=song.stars,
            known=song.known,
            offered_at=song.offered_at,
            rated_at=song.rated_at,
            played_seconds=None if song.played_ms is None else song.played_ms / SECOND,
            choose_seconds=song.choose_ms / SECOND,
        )
