"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bandstand._util.words import printable
from bandstand.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--store URL`, the same for every command that uses a store."""
    return click.option(
        "--store",
        metavar="URL",
        envvar="BANDSTAND_STORE",
        help="SQLite file or postgresql:// address; SQLite in your data folder unless given.",
    )(command)


def opened_store(url: str | None) -> Store:
    """Return the store at an address, brought up to date; a new one if there is none."""
    from bandstand.store.database.connection import open_store

    return open_store(url)


def named_account(connection: Connection, name: str) -> Account:
    """Return the account with a name or an id."""
    from bandstand.store import accounts

    found = accounts.by_name(connection, name) or accounts.get(connection, name)
    if found is None:
        msg = f"the name of an account was expected, got {printable(name)}, which no account has"
        raise NotFoundError(msg)
    return found


def store_exists(url: str | None) -> bool:
    """Return whether something is at a store's address; a server's is taken for granted.

    So a command that has nothing to put into a store need not make one.
    """
    from bandstand.store.database.location import SqliteLocation, parse_location

    location = parse_location(url)
    if not isinstance(location, SqliteLocation):
        return True
    try:
        location.path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # opening it says what is wrong
        return True
    return True


def require_store(url: str | None) -> None:
    """Refuse an address where there is no store, for a command that only reads one."""
    if not store_exists(url):
        msg = "a store was expected, found none; `bandstand scan DIR` makes one"
        raise click.UsageError(msg)
