"""Whether somebody is who they say: the one place where a password is compared.

A slot of the throttle is taken before anything is looked up. A name that nobody has, an account
without a password and one that is disabled go the same way as a wrong password, as far and as
long.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError
from bandstand.store import accounts
from bandstand.web.http.problems import Problem, too_many

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.accounts import Account
    from bandstand.web.requests.context import Context

LOG: Final = logging.getLogger("bandstand.login")
_LONGEST_SHOWN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That somebody knows the password of an account, as it is kept."""

    account: Account
    kept: str

    def check(self, connection: Connection) -> None:
        """Raise Problem if the account was disabled, or got another password, in the meantime.

        To be asked in the transaction that the proof is for: checking a password takes a while,
        and whoever was shut out during that time must not come in by it.
        """
        account = accounts.get(connection, self.account.id)
        kept = accounts.password_hash(connection, self.account.id)
        if account is None or account.disabled or kept != self.kept:
            raise _wrong_password()


async def authenticate(context: Context, address: str, name: str, password: str) -> Proof:
    """Return whose account a name and a password open; Problem if they open none."""
    slot = context.throttle.take(address, name)
    if isinstance(slot, float):
        raise too_many(slot)
    try:
        account, kept = await context.workers.run(_look_up, context, name)
        verdict = await context.desk.check(kept, password)
    except (Problem, BandstandError):  # too busy to look: nothing was found out
        context.throttle.give_back(slot)
        raise
    if account is None or kept is None or not verdict.matches:
        note_failure(address, name)
        raise _wrong_password()
    context.throttle.succeed(slot)
    if verdict.is_outdated:
        kept = await _renew(context, account, kept, password)
    return Proof(account=account, kept=kept)


async def confirm(context: Context, address: str, account: Account, password: str) -> Proof:
    """Let somebody who is logged in prove it again; Problem if the password is wrong."""
    proof = await authenticate(context, address, account.name, password)
    if proof.account.id != account.id:
        raise _wrong_password()
    return proof


def note_failure(address: str, name: str) -> None:
    """Write the one line that programs which lock out addresses look for."""
    LOG.warning("login failed address=%s name=%s", address, json.dumps(name[:_LONGEST_SHOWN]))


def _look_up(context: Context, name: str) -> tuple[Account | None, str | None]:
    with context.store.reading() as connection:
        account = accounts.by_name(connection, name)
        # Asked in any case, so that both cases take as long.
        kept = accounts.password_hash(connection, "" if account is None else account.id)
    return (None, None) if account is None or account.disabled else (account, kept)


async def _renew(context: Context, account: Account, old: str, password: str) -> str:
    new = await context.desk.hashed(password)
    await context.write(lambda to: accounts.renew_hash(to, account.id, old=old, new=new))
    return new


def _wrong_password() -> Problem:
    return Problem(401, "wrong_password", "no account has this name and password")
