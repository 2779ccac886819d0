"""Sessions: which browsers are logged in to which account.

A session is a random token of 256 bits that a browser keeps; the store has only its hash, so
that a copy of the store gives no access.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert, select
from sqlalchemy import delete as delete_from

from bandstand.errors import InvalidInputError
from bandstand.store import accounts
from bandstand.store.accounts import Account, token_hash
from bandstand.store.database.schema import ACCOUNT, SESSION, checked_integer, checked_text

_TOKEN_BYTES: Final = 32
_MAX_CLIENT_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One place where an account is logged in."""

    created_at: int  # UTC, in milliseconds
    expires_at: int
    client: str  # what the browser calls itself
    is_current: bool  # whether it is the one that asks


def create(connection: Connection, *, account: str, now: int, expires_at: int, client: str) -> str:
    """Create a session and return its token, which is not stored."""
    accounts.existing(connection, account)
    if checked_integer(expires_at, "expires_at") <= checked_integer(now, "now"):
        msg = f"a session must end after it begins, got {expires_at} after {now}"
        raise InvalidInputError(msg)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    row = {
        "token_hash": token_hash(token),
        "account_id": account,
        "created_at": now,
        "expires_at": expires_at,
        "client": _clean(client),
    }
    connection.execute(insert(SESSION).values(row))
    return token


def account_of(connection: Connection, token: str, *, now: int) -> Account | None:
    """Return the account of a token; None if it is unknown or expired, or the account disabled."""
    joined = select(*accounts.COLUMNS).join(SESSION, SESSION.c.account_id == ACCOUNT.c.id)
    valid = joined.where(
        SESSION.c.token_hash == token_hash(token),
        SESSION.c.expires_at > checked_integer(now, "now"),
        ACCOUNT.c.disabled.is_(False),
    )
    row = connection.execute(valid).mappings().one_or_none()
    return None if row is None else accounts.of_row(row)


def delete(connection: Connection, token: str) -> None:
    """End the session of a token, if there is one."""
    connection.execute(delete_from(SESSION).where(SESSION.c.token_hash == token_hash(token)))


def delete_all(connection: Connection, account: str, *, keep: str | None = None) -> None:
    """End all sessions of an account, but for the one of the token `keep`."""
    accounts.end_sessions(connection, checked_text(account, "account"), keep=keep)


def prune(connection: Connection, now: int) -> int:
    """Delete expired sessions; return their number."""
    over = SESSION.c.expires_at <= checked_integer(now, "now")
    return connection.execute(delete_from(SESSION).where(over)).rowcount


def of(connection: Connection, account: str, *, current: str | None = None) -> list[SessionRecord]:
    """Return where an account is logged in, newest first; `current` is the token that asks."""
    columns = SESSION.c["created_at", "expires_at", "client", "token_hash"]
    own = select(*columns).where(SESSION.c.account_id == checked_text(account, "account"))
    mine = None if current is None else token_hash(current)
    newest = own.order_by(SESSION.c.created_at.desc(), SESSION.c.token_hash)
    return [
        SessionRecord(created_at=created, expires_at=expires, client=client, is_current=key == mine)
        for created, expires, client, key in connection.execute(newest)
    ]


def _clean(client: str) -> str:
    """Return what a browser calls itself, untrusted, as text that fits on one line."""
    shown = client[:_MAX_CLIENT_CHARS]
    return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in shown)
