"""`bandstand user`: the accounts of a store."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from bandstand._util.words import printable
from bandstand.cli._options import (
    named_account,
    opened_store,
    require_store,
    store_exists,
    store_option,
)
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.store.accounts import Account

T = TypeVar("T")

_ROLES: Final = ("listener", "admin")  # as in store.accounts
_SCOPES: Final = ("read", "play", "rate")  # as in store.app_passwords
_MAX_INPUT: Final = 4_096  # characters; no password is as long

_from_input: Final = click.option(
    "--password-stdin",
    "from_input",
    is_flag=True,
    help="Read the password from standard input, up to the end of its first line.",
)


@click.group()
def user() -> None:
    """Add, list, change and remove the accounts of listeners and admins."""


@user.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="An admin, who manages accounts and scans.")
@_from_input
@store_option
def add(*, name: str, admin: bool, from_input: bool, store: str | None) -> None:
    """Add an account; the password is asked for twice."""
    from bandstand._util.clock import system_clock
    from bandstand.store import accounts

    accounts.checked_name(name)
    with opened_store(store) as opened:
        with opened.reading() as connection:
            if accounts.by_name(connection, name) is not None:
                msg = f"a name that is free was expected, got {printable(name)}, which is taken"
                raise InvalidInputError(msg)
        hashed = _hashed(name, from_input=from_input)
        with opened.writing() as connection:
            made = accounts.create(
                connection,
                name=name,
                role="admin" if admin else "listener",
                password_hash=hashed,
                now=system_clock(),
            )
    click.echo(f"Added the {made.role} {printable(made.name)}.")


@user.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@store_option
def list_(*, as_json: bool, store: str | None) -> None:
    """List all accounts by name."""
    from bandstand.store import accounts

    found: list[Account] = []
    if store_exists(store):
        with opened_store(store) as opened, opened.reading() as connection:
            found = accounts.all_accounts(connection)
    if as_json:
        click.echo(json.dumps([_plain(account) for account in found], indent=2))
    elif not found:
        click.echo("There is no account yet; `bandstand user add NAME --admin` adds the first.")
    else:
        for account in found:
            click.echo(
                f"{account.id}  {account.role:8}  {printable(account.name)}{_state(account)}"
            )


@user.command()
@click.argument("name")
@_from_input
@store_option
def password(*, name: str, from_input: bool, store: str | None) -> None:
    """Change an account's password, and log it out everywhere."""
    from bandstand.store import accounts

    require_store(store)
    with opened_store(store) as opened:
        with opened.reading() as connection:
            account = named_account(connection, name)
        hashed = _hashed(account.name, from_input=from_input)
        with opened.writing() as connection:
            accounts.set_password(connection, account.id, hashed)
    click.echo(f"{printable(account.name)} has another password and is logged out everywhere.")


@user.command()
@click.argument("name")
@click.argument("new_name")
@store_option
def rename(*, name: str, new_name: str, store: str | None) -> None:
    """Give an account another name."""
    from bandstand.store import accounts

    _change(store, name, lambda it, account: accounts.rename(it, account.id, new_name))
    click.echo(f"{printable(name)} is called {printable(new_name.strip())} now.")


@user.command()
@click.argument("name")
@click.argument("role", type=click.Choice(_ROLES))
@store_option
def role(*, name: str, role: Any, store: str | None) -> None:
    """Make an account a listener or an admin."""
    from bandstand.store import accounts

    account, _ = _change(store, name, lambda it, account: accounts.set_role(it, account.id, role))
    click.echo(f"{printable(account.name)} is {'an' if role == 'admin' else 'a'} {role} now.")


@user.command()
@click.argument("name")
@store_option
def disable(*, name: str, store: str | None) -> None:
    """Lock an account and log it out everywhere; nothing of it is lost."""
    from bandstand.store import accounts

    account, _ = _change(
        store, name, lambda it, account: accounts.set_disabled(it, account.id, disabled=True)
    )
    click.echo(f"{printable(account.name)} is logged out everywhere and cannot log in any more.")


@user.command()
@click.argument("name")
@store_option
def enable(*, name: str, store: str | None) -> None:
    """Unlock an account that was disabled."""
    from bandstand.store import accounts

    account, _ = _change(
        store, name, lambda it, account: accounts.set_disabled(it, account.id, disabled=False)
    )
    click.echo(f"{printable(account.name)} can log in again.")


@user.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Without asking.")
@store_option
def remove(*, name: str, yes: bool, store: str | None) -> None:
    """Remove an account with its log and its playlists. This cannot be undone."""
    from bandstand.store import accounts

    if not yes:
        question = (
            f"Remove {printable(name)} with all ratings and playlists? This cannot be undone."
        )
        click.confirm(question, abort=True, err=True)
    account, _ = _change(store, name, lambda it, account: accounts.delete(it, account.id))
    click.echo(f"{printable(account.name)} is removed, with all its data.")


@user.group("app-password")
def app_password() -> None:
    """Make, list and revoke the passwords of an account's apps and devices."""


@app_password.command("add")
@click.argument("name")
@click.argument("app")
@click.option("--scope", type=click.Choice(_SCOPES), default="rate", help="What it may do.")
@store_option
def add_app(*, name: str, app: str, scope: Any, store: str | None) -> None:
    """Make a password for APP, and print it: it is shown only this once.

    `read` looks at the library and the listener's own lists, `play` also streams and notes what was
    heard, `rate` (the default) also rates, marks, bans, takes back and changes playlists.
    """
    from bandstand._util.clock import system_clock
    from bandstand.store import app_passwords

    def create(connection: Connection, account: Account) -> str:
        return app_passwords.create(
            connection, account=account.id, name=app, scope=scope, now=system_clock()
        )[1]

    click.echo(_change(store, name, create)[1])


@app_password.command("list")
@click.argument("name")
@store_option
def list_apps(*, name: str, store: str | None) -> None:
    """List an account's apps: id, scope, when each was made and last used, name."""
    from bandstand.store import app_passwords

    _, found = _change(store, name, lambda it, account: app_passwords.all_of(it, account.id))
    for one in found:
        used = "never used" if one.used_at is None else f"used {_day(one.used_at)}"
        made = f"made {_day(one.created_at)}"
        click.echo(f"{one.id}  {one.scope:4}  {made}  {used:15}  {printable(one.name)}")


@app_password.command("remove")
@click.argument("name")
@click.argument("app_id")
@store_option
def remove_app(*, name: str, app_id: str, store: str | None) -> None:
    """Revoke an app's password, by its id: it opens nothing from now on."""
    from bandstand.store import app_passwords

    _change(store, name, lambda it, account: app_passwords.delete(it, account.id, app_id))
    click.echo("It opens nothing any more.")


@user.group()
def scrobbling() -> None:
    """Send what an account hears to other servers, list these, and stop that."""


@scrobbling.command("add")
@click.argument("name")
@click.argument("url")
@click.option(
    "--token-stdin",
    "from_input",
    is_flag=True,
    help="Read the token from standard input, up to the end of its first line.",
)
@store_option
def add_target(*, name: str, url: str, from_input: bool, store: str | None) -> None:
    """Send what NAME hears from now on to the server at URL, which speaks ListenBrainz.

    URL is https://api.listenbrainz.org or that of a server of the same kind, without the `/1`. One
    that gets the plays already gets another token.
    """
    from bandstand.radio.scrobbling.transport import checked_address
    from bandstand.settings import load_settings
    from bandstand.store import scrobble_targets

    hosts = load_settings(options={}, environment=os.environ).scrobble_hosts
    place = checked_address(url, hosts)
    token = _from_standard_input() if from_input else _asked("Token", is_new=False)
    _change(store, name, lambda it, account: scrobble_targets.put(it, account.id, place, token))
    click.echo(f"What {printable(name)} hears from now on is sent to {printable(place)}.")


@scrobbling.command("list")
@click.argument("name")
@store_option
def list_targets(*, name: str, store: str | None) -> None:
    """List the servers that get what an account hears: id, address, how it goes."""
    from bandstand.store import scrobble_targets

    _, found = _change(store, name, lambda it, account: scrobble_targets.all_of(it, account.id))
    for one in found:
        since = "nothing yet" if one.delivered_at is None else f"last {_day(one.delivered_at)}"
        state = printable("; ".join(it for it in (since, one.problem, one.refusal) if it))
        click.echo(f"{one.id}  {printable(one.url)}  {state}")


@scrobbling.command("remove")
@click.argument("name")
@click.argument("target_id")
@store_option
def remove_target(*, name: str, target_id: str, store: str | None) -> None:
    """Send nothing more to a server, by its id, and forget its token."""
    from bandstand.store import scrobble_targets

    _change(store, name, lambda it, account: scrobble_targets.delete(it, account.id, target_id))
    click.echo("It gets nothing more.")


def _change(
    store: str | None, name: str, change: Callable[[Connection, Account], T]
) -> tuple[Account, T]:
    require_store(store)
    with opened_store(store) as opened, opened.writing() as connection:
        account = named_account(connection, name)
        return account, change(connection, account)


def _hashed(name: str, *, from_input: bool) -> str:
    """Return the hash of a password that was entered and passed the checks for `name`."""
    from bandstand.web.security.passwords import checked_password, hashed

    given = _from_standard_input() if from_input else _asked()
    return hashed(checked_password(given, name=name))


def _from_standard_input() -> str:
    try:
        return sys.stdin.readline(_MAX_INPUT).rstrip("\r\n")
    except UnicodeDecodeError:
        msg = "a password must be text in UTF-8, got other bytes"
        raise InvalidInputError(msg) from None


def _asked(what: str = "Password", *, is_new: bool = True) -> str:
    if not sys.stdin.isatty():
        option = f"--{what.lower()}-stdin"
        msg = f"a {what.lower()} is asked for on a terminal; without one, use {option}"
        raise click.UsageError(msg)
    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_new, err=True))


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1_000, tz=UTC):%Y-%m-%d}"


def _plain(account: Account) -> dict[str, Any]:
    return {name: value for name, value in asdict(account).items() if name != "seed"}


def _state(account: Account) -> str:
    if account.disabled:
        return "  (disabled)"
    return "" if account.has_password else "  (has no password yet)"
