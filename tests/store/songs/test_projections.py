from typing import Any

import pytest
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.songs import projections
from bandstand.store.songs.projections import ProjectionRecord

GIVEN: dict[str, Any] = {
    "descriptor_version": 1,
    "songs": 213,
    "columns": 91,
    "content": bytes(range(256)) * 1_000,
    "now": 77,
}


def test_every_version_is_kept_as_it_was(store: Store) -> None:
    with store.writing() as connection:
        assert projections.save(connection, **GIVEN) == 1
        assert projections.save(connection, **{**GIVEN, "content": b""}) == 2
    with store.reading() as connection:
        first, second = projections.get(connection, 1), projections.latest(connection)
        assert first == ProjectionRecord(
            version=1,
            created_at=77,
            descriptor_version=1,
            songs=213,
            columns=91,
            content=GIVEN["content"],
        )
        assert second is not None
        assert (second.version, second.content) == (2, b"")
        assert projections.get(connection, 3) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content", "text"),
        ("songs", -1),
        ("columns", 0),
        ("descriptor_version", None),
        ("now", 1.5),
    ],
)
def test_what_is_no_projection_is_refused(connection: Connection, name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=name):
        projections.save(connection, **{**GIVEN, name: value})
    assert projections.latest(connection) is None
