"""App passwords: one secret for each app or device of an account, with what it may do.

scope      may
`read`     look at the library, and at the listener's own lists, history and taste
`play`     the same; hear songs, and say what was heard: listens and skips
`rate`     the same; rate, mark favourites, ban, take events back, and change playlists

Each scope contains those above it. None of them reaches the account itself: passwords, sessions,
app passwords, settings, the whole export and administration.

A secret is drawn here, 130 random bits, and shown once. The store keeps it as it is: an app of
the OpenSubsonic kind proves that it knows the secret by the MD5 of it and a salt, and that can
only be checked against the secret itself. It is no password of a person, opens no more than its
scope, and is in no backup and no export.
"""

import hmac
import secrets
from dataclasses import asdict, dataclass
from hashlib import md5
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, Select, func, insert, select, update
from sqlalchemy import delete as delete_from

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts
from bandstand.store.accounts import Account, token_hash
from bandstand.store.database.schema import (
    ACCOUNT,
    APP_PASSWORD,
    checked_integer,
    checked_text,
    folded,
)

AppScope = Literal["read", "play", "rate"]

SCOPES: Final[tuple[AppScope, ...]] = get_args(AppScope)  # each contains those before it
MAX_APP_PASSWORDS: Final = 50  # of one account
# Without i, l, o and u, which are misread. 26 of these 32 signs are 130 bits.
_SIGNS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_SECRET_SIGNS: Final = 26
HOUR_MS: Final = 3_600_000

_COLUMNS: Final = APP_PASSWORD.c["id", "name", "scope", "created_at", "used_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPassword:
    """An app password without its secret."""

    id: str
    name: str  # of the app or device
    scope: AppScope
    created_at: int  # UTC, in milliseconds
    used_at: int | None  # or up to an hour later; None: never


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An account, and the app password that a request has proved to know."""

    account: Account
    password: AppPassword


def allows(scope: AppScope, wanted: AppScope) -> bool:
    """Return whether an app password of one scope may do what another is for.

    >>> allows("play", "read"), allows("play", "rate")
    (True, False)
    """
    return SCOPES.index(scope) >= SCOPES.index(wanted)


def create(
    connection: Connection, *, account: str, name: str, scope: AppScope, now: int
) -> tuple[AppPassword, str]:
    """Return a new app password of an account, and its secret."""
    if scope not in SCOPES:
        msg = f"a scope must be one of {', '.join(SCOPES)}, got {scope!r}"
        raise InvalidInputError(msg)
    made = AppPassword(
        id=secrets.token_hex(8),
        name=accounts.checked_name(name),
        scope=scope,
        created_at=checked_integer(now, "now"),
        used_at=None,
    )
    accounts.existing(connection, account)
    owned = select(func.count()).where(APP_PASSWORD.c.account_id == account)
    if (connection.scalar(owned) or 0) >= MAX_APP_PASSWORDS:
        msg = f"an account can have {MAX_APP_PASSWORDS} app passwords, got one more"
        raise ConflictError(msg)
    secret = "".join(secrets.choice(_SIGNS) for _ in range(_SECRET_SIGNS))
    kept = {"account_id": account, "secret": secret, "secret_hash": token_hash(secret)}
    connection.execute(insert(APP_PASSWORD).values(asdict(made) | kept))
    return made, secret


def all_of(connection: Connection, account: str) -> list[AppPassword]:
    """Return the app passwords of an account, in the order in which they were made."""
    own = select(*_COLUMNS).where(APP_PASSWORD.c.account_id == checked_text(account, "account"))
    rows = connection.execute(own.order_by(APP_PASSWORD.c.created_at, APP_PASSWORD.c.id))
    return [AppPassword(**row) for row in rows.mappings()]


def delete(connection: Connection, account: str, app_password: str) -> None:
    """Revoke an app password of an account: from now on it opens nothing."""
    own = (APP_PASSWORD.c.account_id == account, APP_PASSWORD.c.id == app_password)
    if connection.execute(delete_from(APP_PASSWORD).where(*own)).rowcount == 0:
        msg = "an app password of this account was expected, got another id"
        raise NotFoundError(msg)


def of_secret(connection: Connection, secret: str, *, name: str | None = None) -> App | None:
    """Return the app that a secret belongs to; with `name` only if it is that account's.

    It is looked up by its hash, of which a guess cannot approach one byte by byte.
    """
    wanted = _enabled().where(APP_PASSWORD.c.secret_hash == token_hash(secret))
    if name is not None:
        wanted = wanted.where(_is_called(name))
    row = connection.execute(wanted).mappings().one_or_none()
    return None if row is None else _app(row)


def of_token(connection: Connection, name: str, *, token: str, salt: str) -> App | None:
    """Return the app of the account `name` whose secret, and then the salt, have this MD5.

    All secrets of the account are compared, each in the same time.
    """
    given = token.lower().encode(errors="surrogatepass")
    behind = salt.encode(errors="surrogatepass")
    found = None
    for row in connection.execute(_enabled().where(_is_called(name))).mappings():
        expected = md5(row["secret"].encode() + behind, usedforsecurity=False).hexdigest()
        if hmac.compare_digest(expected.encode(), given):
            found = _app(row)
    return found


def note_use(connection: Connection, app: App, *, now: int) -> None:
    """Note that an app password was used, if it is still there."""
    own = APP_PASSWORD.c.id == app.password.id
    connection.execute(update(APP_PASSWORD).where(own).values(used_at=checked_integer(now, "now")))


def _enabled() -> Select[Any]:
    """Return the selection of all app passwords whose account is not disabled."""
    own = (column.label(f"app_{column.name}") for column in _COLUMNS)
    joined = select(*accounts.COLUMNS, *own, APP_PASSWORD.c.secret).join(
        APP_PASSWORD, APP_PASSWORD.c.account_id == ACCOUNT.c.id
    )
    return joined.where(ACCOUNT.c.disabled.is_(False))


def _is_called(name: str) -> Any:
    return ACCOUNT.c.folded_name == folded(name.strip())


def _app(row: Any) -> App:
    of_account = {column.name: row[column.name] for column in accounts.COLUMNS}
    own = {column.name: row[f"app_{column.name}"] for column in _COLUMNS}
    return App(account=accounts.of_row(of_account), password=AppPassword(**own))
