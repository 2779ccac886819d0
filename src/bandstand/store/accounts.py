"""Accounts, the hashes of their passwords, and their settings.

Every function keeps one rule: the last enabled admin with a password cannot be removed, disabled,
demoted or left without a password.

An account that is disabled, removed or gets another password is logged out at once: its sessions
end in the same transaction. Its app passwords end with the password.
"""

import json
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final, Literal, get_args

from sqlalchemy import ColumnElement, Connection, func, insert, select, text, update
from sqlalchemy import delete as delete_from

from bandstand.errors import (
    InvalidInputError,
    LastAdminError,
    NameTakenError,
    NotFoundError,
)
from bandstand.store.database.schema import (
    ACCOUNT,
    APP_PASSWORD,
    LOG_END,
    SESSION,
    checked_integer,
    checked_text,
    folded,
    json_to_text,
)
from bandstand.store.database.secure_erase import request_erase
from bandstand.store.events.values import FIRST_DIGEST


def token_hash(token: str) -> bytes:
    """Return what the store keeps of a token, so that a copy of the store gives no access.

    A plain hash is enough for 256 random bits.

    >>> token_hash("a").hex()[:16]
    'ca978112ca1bbdca'
    """
    # A request may hold any text, also with lone surrogates.
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


Role = Literal["listener", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)

MAX_NAME_CHARS: Final = 64

_SEED_COUNT: Final = 2**63
_NO_ACCOUNT: Final = "an account that exists was expected, got another id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account without its password and settings."""

    id: str
    name: str
    role: Role
    has_password: bool
    disabled: bool
    seed: int  # of what is drawn for this listener
    created_at: int  # UTC, in milliseconds

    @property
    def is_working_admin(self) -> bool:
        """Whether this account can log in and look after the others."""
        return self.role == "admin" and self.has_password and not self.disabled


# What `of_row` needs; for statements that join accounts with something else.
COLUMNS: Final = (
    *ACCOUNT.c["id", "name", "role", "disabled", "seed", "created_at"],
    ACCOUNT.c.password.is_not(None).label("has_password"),
)


def of_row(row: Mapping[Any, Any]) -> Account:
    """Return an account from a row with `COLUMNS`."""
    # SQLite gives 0 or 1 for an expression.
    return Account(**{**row, "has_password": bool(row["has_password"])})


def create(
    connection: Connection, *, name: str, role: Role, password_hash: str | None, now: int
) -> Account:
    """Return a new account with an empty log; NameTakenError where the name is taken."""
    clean = checked_name(name)
    checked_role(role)
    hashed = None if password_hash is None else checked_text(password_hash, "password_hash")
    _claim(connection)
    check_free(connection, clean)
    account = Account(
        id=secrets.token_hex(8),
        name=clean,
        role=role,
        has_password=hashed is not None,
        disabled=False,
        seed=secrets.randbelow(_SEED_COUNT),
        created_at=checked_integer(now, "now"),
    )
    row = asdict(account) | {"folded_name": folded(clean), "password": hashed, "settings": "{}"}
    del row["has_password"]
    connection.execute(insert(ACCOUNT).values(row))
    end = {"account_id": account.id, "seq": 0, "at": 0, "digest": FIRST_DIGEST}
    connection.execute(insert(LOG_END).values(end))
    return account


def get(connection: Connection, account: str) -> Account | None:
    """Return the account with an id; None where there is none."""
    return _one(connection, ACCOUNT.c.id == account)


def by_name(connection: Connection, name: str) -> Account | None:
    """Return the account with a name, in upper or lower case; None where there is none."""
    return _one(connection, ACCOUNT.c.folded_name == folded(name.strip()))


def all_accounts(connection: Connection) -> list[Account]:
    """Return all accounts by name."""
    rows = connection.execute(select(*COLUMNS).order_by(ACCOUNT.c.folded_name)).mappings()
    return [of_row(row) for row in rows]


def count(connection: Connection) -> int:
    """Return how many accounts there are."""
    return connection.scalar(select(func.count()).select_from(ACCOUNT)) or 0


def password_hash(connection: Connection, account: str) -> str | None:
    """Return the hash of an account's password; None without a password or an account."""
    return connection.scalar(select(ACCOUNT.c.password).where(ACCOUNT.c.id == account))


def set_password(
    connection: Connection, account: str, password_hash: str | None, *, keep: str | None = None
) -> None:
    """Set or remove a password; end app passwords, and sessions except the one of `keep`."""
    hashed = None if password_hash is None else checked_text(password_hash, "password_hash")
    _claim(connection)
    before = existing(connection, account)
    if hashed is None:
        _check_not_last(connection, before, "lose its password")
    _change(connection, account, password=hashed)
    end_sessions(connection, account, keep=keep)
    connection.execute(delete_from(APP_PASSWORD).where(APP_PASSWORD.c.account_id == account))


def renew_hash(connection: Connection, account: str, *, old: str, new: str) -> None:
    """Replace `old` by another hash of the same password, if it is still there."""
    is_old = (ACCOUNT.c.id == account, ACCOUNT.c.password == checked_text(old, "old"))
    connection.execute(update(ACCOUNT).where(*is_old).values(password=checked_text(new, "new")))


def set_role(connection: Connection, account: str, role: Role) -> None:
    """Make an account a listener or an admin."""
    checked_role(role)
    _claim(connection)
    before = existing(connection, account)
    if role != "admin":
        _check_not_last(connection, before, "become a listener")
    _change(connection, account, role=role)


def set_disabled(connection: Connection, account: str, *, disabled: bool) -> None:
    """Disable an account and end its sessions, or enable it again; its data stays."""
    _claim(connection)
    before = existing(connection, account)
    if disabled:
        _check_not_last(connection, before, "be disabled")
        end_sessions(connection, account, keep=None)
    _change(connection, account, disabled=bool(disabled))


def rename(connection: Connection, account: str, name: str) -> None:
    """Give an account another name; NameTakenError where it is taken."""
    clean = checked_name(name)
    _claim(connection)
    existing(connection, account)
    check_free(connection, clean, but=account)
    _change(connection, account, name=clean, folded_name=folded(clean))


def delete(connection: Connection, account: str) -> None:
    """Remove an account with its log, sessions, settings, playlists and studies' ratings.

    The rows are securely erased from a SQLite file when the transaction has ended.
    """
    _claim(connection)
    _check_not_last(connection, existing(connection, account), "be removed")
    connection.execute(delete_from(ACCOUNT).where(ACCOUNT.c.id == account))
    request_erase(connection)


def end_sessions(connection: Connection, account: str, *, keep: str | None) -> None:
    """End all sessions of an account, except the one of the token `keep`."""
    ended = delete_from(SESSION).where(SESSION.c.account_id == account)
    if keep is not None:
        ended = ended.where(SESSION.c.token_hash != token_hash(keep))
    connection.execute(ended)


def existing(connection: Connection, account: str) -> Account:
    """Return the account with an id; NotFoundError where there is none."""
    found = get(connection, account)
    if found is None:
        raise NotFoundError(_NO_ACCOUNT)
    return found


def checked_name(name: Any) -> str:
    """Return the name of an account without spaces around it, if it can be one.

    >>> checked_name(" Ann ")
    'Ann'
    """
    clean = checked_text(name, "a name").strip()
    if not 1 <= len(clean) <= MAX_NAME_CHARS or not folded(clean):
        msg = f"a name must have 1 to {MAX_NAME_CHARS} characters, got {len(clean)}"
        raise InvalidInputError(msg)
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"} for letter in clean):
        msg = "a name must have no control characters, got one with some"
        raise InvalidInputError(msg)
    return clean


def checked_role(role: Any) -> Role:
    """Return a role, if it is one."""
    if role not in ROLES:
        msg = f"a role must be {' or '.join(ROLES)}, got {str(role)[:80]!r}"
        raise InvalidInputError(msg)
    return role  # type: ignore[no-any-return]


def check_free(connection: Connection, name: str, *, but: str | None = None) -> None:
    """Raise NameTakenError where an account, other than `but`, has a name."""
    known = by_name(connection, name)
    if known is not None and known.id != but:
        msg = f"the name {name!r} is taken"
        raise NameTakenError(msg)


def _one(connection: Connection, which: ColumnElement[bool]) -> Account | None:
    row = connection.execute(select(*COLUMNS).where(which)).mappings().one_or_none()
    return None if row is None else of_row(row)


def _change(connection: Connection, account: str, **values: Any) -> None:
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account).values(values))


def _check_not_last(connection: Connection, account: Account, what: str) -> None:
    if not account.is_working_admin:
        return
    if sum(one.is_working_admin for one in all_accounts(connection)) == 1:
        msg = f"another admin who can log in must exist before {account.name!r} can {what}"
        raise LastAdminError(msg)


def _claim(connection: Connection) -> None:
    """Wait until no other transaction changes accounts, until this one ends.

    So two admins cannot remove each other at the same time. SQLite has one writer anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE"))


_MAX_SETTINGS_CHARS: Final = 64 * 1024  # characters


def settings(connection: Connection, account: str, *, is_to_change: bool = False) -> dict[str, Any]:
    """Return the settings of an account; NotFoundError where there is none."""
    wanted = select(ACCOUNT.c.settings).where(ACCOUNT.c.id == account)
    content = connection.scalar(wanted.with_for_update() if is_to_change else wanted)
    if content is None:
        raise NotFoundError(_NO_ACCOUNT)
    return dict(json.loads(content))


def change_settings(
    connection: Connection, account: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of an account after `changes`; None removes an entry."""
    merged = {**settings(connection, account, is_to_change=True), **changes}
    kept = {name: value for name, value in merged.items() if value is not None}
    _change(connection, account, settings=settings_to_text(kept))
    return kept


def settings_to_text(values: Mapping[str, Any]) -> str:
    """Return settings as one line of JSON, the same for equal settings."""
    return json_to_text(values, "settings", most=_MAX_SETTINGS_CHARS)
