"""Whether what a store has of its studies can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.errors import BandstandError
from bandstand.store import studies
from bandstand.study.opening import design_of
from bandstand.study.song_snapshot import from_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.store.database.connection import Store
    from bandstand.store.studies import StudyRow


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
