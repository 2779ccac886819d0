"""Studies in the store: opening one, reading one as a whole, checking all of them.

A study is opened once: from then on neither its design nor its songs change. Opening it again
continues it, and another design under the same title is refused: ratings given under different
rules cannot be compared.
"""

from collections.abc import Iterator

from bandstand._util.clock import Clock
from bandstand.core.registry import RETIRED
from bandstand.errors import BandstandError, InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.store.studies import ArmRow, SongRow, StudyRow
from bandstand.study.design import Design, differences
from bandstand.study.protocol import SECOND
from bandstand.study.records import (
    Participant,
    Record,
    SongSnapshot,
    StudyData,
    from_bytes,
    to_bytes,
)


def open_study(store: Store, catalogue: Catalogue, design: Design, *, clock: Clock) -> StudyRow:
    """Open the study with this design, or continue it if it is open.

    Raises InvalidInputError, and changes nothing, if it was closed, if it has another design,
    if there are too few songs, if an algorithm is retired, or if another study is open.
    """
    with store.writing() as connection:
        before = studies.by_title(connection, design.title)
        if before is not None:
            _check_same(before, design)
            return before
        if retired := RETIRED.intersection(design.algorithms):
            msg = f"a new study must have no retired algorithm, got {', '.join(sorted(retired))}"
            raise InvalidInputError(msg)
        return studies.create(
            connection,
            title=design.title,
            design=design.as_json(),
            catalogue=to_bytes(_songs(catalogue, design)),
            now=clock(),
        )


def design_of(row: StudyRow) -> Design:
    """Return the design that a study was opened with."""
    return Design.from_mapping(row.design, f"the study {row.title!r} in the store")


def _check_same(before: StudyRow, design: Design) -> None:
    check_design(before, design)
    if before.closed_at is not None:
        msg = f"the study {before.title!r} must be open, got one that was closed"
        raise InvalidInputError(msg)


def check_design(before: StudyRow, design: Design) -> None:
    """Refuse a study that was opened with another design."""
    changed = differences(design_of(before), design)
    if changed:
        msg = (
            f"the study {before.title!r} must keep the design that it was opened with, "
            f"got another: {'; '.join(changed)}"
        )
        raise InvalidInputError(msg)


def _songs(catalogue: Catalogue, design: Design) -> SongSnapshot:
    """Return the analysed songs of a catalogue, if they are enough."""
    analysed = [
        song for song, has in zip(catalogue.ids, catalogue.has_features, strict=True) if has
    ]
    if catalogue.sound is None or len(analysed) < design.least_songs:
        msg = (
            f"the study {design.title!r} must have at least {design.least_songs} analysed songs, "
            f"got {len(analysed)}"
        )
        raise InvalidInputError(msg)
    return SongSnapshot.of(analysed, catalogue.sound.song_features.features[catalogue.has_features])


def study_data(store: Store, study: str) -> StudyData:
    """Return the study with an id, as of this moment, by participant, place and number.

    It has neither people who were only invited nor songs that wait for their rating.
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


def unreadable_studies(store: Store) -> Iterator[str]:
    """Yield what cannot be read of the studies of a store, open or closed, in sentences."""
    with store.reading() as connection:
        rows = studies.all_studies(connection)
    for row in rows:
        yield from _problems(row)


def _problems(row: StudyRow) -> Iterator[str]:
    try:
        design_of(row)
    except BandstandError as problem:
        yield f"study {row.id}: its design cannot be read: {problem}"
    try:
        from_bytes(row.catalogue)
    except BandstandError as problem:
        yield f"study {row.id}: its songs cannot be read: {problem}"
