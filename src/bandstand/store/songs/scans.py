"""Scans of the library and their results."""

from dataclasses import asdict, dataclass, fields
from typing import Final

from sqlalchemy import Connection, func, insert, select, update

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import SCAN, checked_integer
from bandstand.store.songs.changes import claim


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCounts:
    """How many files a scan found, and what became of them."""

    found: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    missing: int = 0
    failed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRecord:
    """One scan; what was interrupted has no end and no counts."""

    number: int
    started_at: int  # UTC, in milliseconds
    finished_at: int | None
    counts: ScanCounts


_COUNTS: Final = tuple(field.name for field in fields(ScanCounts))


def begin(connection: Connection, *, now: int) -> int:
    """Return the number of a scan that begins; each is larger than all before."""
    claim(connection)
    number = 1 + (connection.scalar(select(func.max(SCAN.c.number))) or 0)
    row = {"number": number, "started_at": checked_integer(now, "now"), "finished_at": None}
    connection.execute(insert(SCAN).values({**row, **asdict(ScanCounts())}))
    return number


def finish(connection: Connection, number: int, counts: ScanCounts, *, now: int) -> None:
    """Note what a scan found, at its end."""
    values = {name: checked_integer(n, name, least=0) for name, n in asdict(counts).items()}
    values["finished_at"] = checked_integer(now, "now")
    scan = SCAN.c.number == checked_integer(number, "number")
    if connection.execute(update(SCAN).where(scan).values(values)).rowcount != 1:
        msg = f"a scan must begin before it ends, got number {number}"
        raise InvalidInputError(msg)


def latest(connection: Connection) -> ScanRecord | None:
    """Return the scan that began last, finished or not; None before the first."""
    last = select(SCAN).order_by(SCAN.c.number.desc()).limit(1)
    row = connection.execute(last).mappings().one_or_none()
    if row is None:
        return None
    counts = ScanCounts(**{name: row[name] for name in _COUNTS})
    times = {name: row[name] for name in ("number", "started_at", "finished_at")}
    return ScanRecord(**times, counts=counts)
