"""A study is opened once: from then on neither its design nor its songs change.

To open it again goes on with it, and another design under the same title is refused: ratings
that were given under different rules cannot be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.errors import InvalidInputError
from bandstand.store import studies
from bandstand.study.design import Design, differences
from bandstand.study.records import FrozenSongs
from bandstand.study.song_snapshot import to_bytes

if TYPE_CHECKING:
    from bandstand._util.clock import Clock
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.store.database.connection import Store
    from bandstand.store.studies import StudyRow


def open_study(store: Store, shelf: Catalogue, design: Design, *, clock: Clock) -> StudyRow:
    """Return the study with this design's title: opened now, or going on if it was before.

    Raises InvalidInputError, and changes nothing, if it was closed, if it has another design,
    if there are too few songs, or if another study is open.
    """
    with store.writing() as connection:
        before = studies.by_title(connection, design.title)
        if before is not None:
            _check_same(before, design)
            return before
        return studies.create(
            connection,
            title=design.title,
            design=design.as_json(),
            catalogue=to_bytes(_songs(shelf, design)),
            now=clock(),
        )


def found_study(store: Store, design: Design) -> StudyRow | None:
    """Return the study with this design's title; None where there is none.

    Raises InvalidInputError if it has another design; one that is closed is returned.
    """
    with store.reading() as connection:
        before = studies.by_title(connection, design.title)
    if before is not None:
        _check_design(before, design)
    return before


def design_of(row: StudyRow) -> Design:
    """Return the design that a study was opened with."""
    return Design.from_mapping(row.design, f"the study {row.title!r} in the store")


def _check_same(before: StudyRow, design: Design) -> None:
    _check_design(before, design)
    if before.closed_at is not None:
        msg = f"the study {before.title!r} must be open, got one that was closed for good"
        raise InvalidInputError(msg)


def _check_design(before: StudyRow, design: Design) -> None:
    changed = differences(design_of(before), design)
    if changed:
        msg = (
            f"the study {before.title!r} must keep the design that it was opened with, "
            f"got another: {'; '.join(changed)}"
        )
        raise InvalidInputError(msg)


def _songs(shelf: Catalogue, design: Design) -> FrozenSongs:
    """Return the analysed songs of a shelf, if they are enough."""
    analysed = [song for song, has in zip(shelf.ids, shelf.has_features, strict=True) if has]
    if shelf.song_features is None or len(analysed) < design.least_songs:
        msg = (
            f"the study {design.title!r} must have at least {design.least_songs} analysed songs, "
            f"got {len(analysed)}"
        )
        raise InvalidInputError(msg)
    return FrozenSongs.of(analysed, shelf.song_features.features[shelf.has_features])
