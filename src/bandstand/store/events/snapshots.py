"""Cached folds of an account's log.

A snapshot can be lost at any time: it is the fold of the log up to `seq`, as the program of one
`version` writes it.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, select, text

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import SNAPSHOT, checked_id, checked_integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was known after event `seq`, in bytes whose meaning is their writer's business."""

    seq: int
    content: bytes


# Not beyond the end of the log, and nothing for an account that went in the meantime.
_SAVE: Final = text("""
    INSERT INTO snapshot (account_id, seq, version, content)
    SELECT account_id, :seq, :version, :content FROM log_end
    WHERE account_id = :account AND seq >= :seq
    ON CONFLICT (account_id) DO UPDATE
    SET seq = excluded.seq, version = excluded.version, content = excluded.content
    WHERE excluded.seq >= snapshot.seq
""")


def save(connection: Connection, account: str, *, seq: int, version: int, content: bytes) -> bool:
    """Return whether a snapshot was kept: not if there is one of a later event."""
    if not isinstance(content, bytes):
        msg = f"content must be bytes, got {type(content).__name__}"
        raise InvalidInputError(msg)
    values = {
        "account": checked_id(account, "account"),
        "seq": checked_integer(seq, "seq", least=0),
        "version": checked_integer(version, "version", least=0),
        "content": content,
    }
    return connection.execute(_SAVE, values).rowcount == 1


def get(connection: Connection, account: str, version: int) -> Snapshot | None:
    """Return an account's snapshot, if there is one of this version."""
    statement = select(SNAPSHOT.c.seq, SNAPSHOT.c.content).where(
        SNAPSHOT.c.account_id == checked_id(account, "account"),
        SNAPSHOT.c.version == checked_integer(version, "version", least=0),
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else Snapshot(seq=row.seq, content=row.content)


def delete_all(connection: Connection) -> None:
    """Forget all snapshots; they can be made again."""
    connection.execute(delete(SNAPSHOT))
