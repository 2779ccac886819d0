"""What apps keep for an account beside the log: a play queue, ratings of albums, lists of songs.

Each is a JSON object under a name. It is state: it may be lost without harm, and is in no export.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select

from bandstand.store import accounts
from bandstand.store.database.schema import APP_STATE, checked_id, checked_short_text, json_to_text

MAX_STATE_CHARS: Final = 1_000_000
MAX_NAME_CHARS: Final = 64


def get(connection: Connection, account: str, name: str) -> dict[str, Any]:
    """Return what an account keeps under a name; an empty object where there is nothing."""
    text = connection.scalar(select(APP_STATE.c.content).where(*_of(account, name)))
    return {} if text is None else dict(json.loads(text))


def put(connection: Connection, account: str, name: str, content: Mapping[str, Any]) -> None:
    """Keep an object of an account under a name, in place of the one before."""
    text = json_to_text(content, name, most=MAX_STATE_CHARS)
    accounts.existing(connection, account)
    connection.execute(delete(APP_STATE).where(*_of(account, name)))
    if content:
        row = {"account_id": account, "name": name, "content": text}
        connection.execute(insert(APP_STATE).values(row))


def _of(account: str, name: str) -> tuple[Any, Any]:
    checked_short_text(name, "name", most=MAX_NAME_CHARS)
    own = APP_STATE.c.account_id == checked_id(account, "account")
    return own, APP_STATE.c.name == name
