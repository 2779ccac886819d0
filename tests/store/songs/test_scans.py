import pytest
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.songs import scans
from bandstand.store.songs.scans import ScanCounts, ScanRecord

COUNTS = ScanCounts(found=10, added=1, changed=2, moved=3, missing=4, failed=5, unchanged=6)


def test_a_scan_has_no_end_until_it_is_finished(store: Store) -> None:
    with store.writing() as connection:
        number = scans.begin(connection, now=100)
    with store.reading() as connection:
        expected = ScanRecord(number=1, started_at=100, finished_at=None, counts=ScanCounts())
        assert scans.latest(connection) == expected
    with store.writing() as connection:
        scans.finish(connection, number, COUNTS, now=200)
    with store.reading() as connection:
        expected = ScanRecord(number=1, started_at=100, finished_at=200, counts=COUNTS)
        assert scans.latest(connection) == expected


def test_a_scan_that_never_began_cannot_end(connection: Connection) -> None:
    scans.begin(connection, now=1)
    with pytest.raises(InvalidInputError, match="must begin before it ends, got number 2"):
        scans.finish(connection, 2, COUNTS, now=2)
