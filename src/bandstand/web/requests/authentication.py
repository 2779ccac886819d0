"""Authentication by password, and the policy of each route: public, listener or admin.

    @router.get("/api/next", dependencies=[LISTENER])
    async def next_song(context: ContextDep, me: Me) -> …

Every route declares exactly one of PUBLIC, LISTENER and ADMIN; `check_policies` refuses an app
with a route that does not (default deny). The decision depends on the route that was matched,
never on the spelling of a path.

Passwords are compared here and nowhere else. A slot of the throttle is taken before the lookup.
An unknown name, an account without a password and a disabled one take the same path, and the same
time, as a wrong password.
"""

# No postponed annotations: FastAPI reads them when the program runs.
import json
import logging
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection
from starlette.routing import BaseRoute

from bandstand.errors import BandstandError
from bandstand.store import accounts
from bandstand.store.accounts import Account
from bandstand.web.http.problems import Problem, login_required, too_many
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.security import browser_sessions

LOG: Final = logging.getLogger("bandstand.login")
_MAX_NAME_SHOWN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Proof of knowing the password of an account, with the hash that was compared."""

    account: Account
    kept: str

    def check(self, connection: Connection) -> None:
        """Raise Problem if the account was disabled, or got another password, in the meantime.

        To be called in the transaction that the proof is for: checking a password takes a while,
        and an account that was disabled during that time must not get a session.
        """
        account = accounts.get(connection, self.account.id)
        kept = accounts.password_hash(connection, self.account.id)
        if account is None or account.disabled or kept != self.kept:
            raise _wrong_password()


async def authenticate(context: Context, address: str, name: str, password: str) -> Proof:
    """Check a name and a password; Problem if they belong to no account."""
    slot = context.throttle.take(address, name)
    if isinstance(slot, float):
        raise too_many(slot)
    try:
        account, kept = await context.pool.run(_look_up, context, name)
        verdict = await context.password_pool.check(kept, password)
    except (Problem, BandstandError):  # too busy to check: the guess was not answered
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
    """Ask for the password of a logged-in account again; Problem if it is wrong."""
    proof = await authenticate(context, address, account.name, password)
    if proof.account.id != account.id:
        raise _wrong_password()
    return proof


def note_failure(address: str, name: str) -> None:
    """Log a failed login on one line, for programs such as fail2ban."""
    LOG.warning("login failed address=%s name=%s", address, json.dumps(name[:_MAX_NAME_SHOWN]))


def _look_up(context: Context, name: str) -> tuple[Account | None, str | None]:
    with context.store.reading() as connection:
        account = accounts.by_name(connection, name)
        # Queried in any case, so that both cases take as long.
        kept = accounts.password_hash(connection, "" if account is None else account.id)
    return (None, None) if account is None or account.disabled else (account, kept)


async def _renew(context: Context, account: Account, old: str, password: str) -> str:
    new = await context.password_pool.hashed(password)
    await context.write(lambda to: accounts.renew_hash(to, account.id, old=old, new=new))
    return new


def _wrong_password() -> Problem:
    return Problem(401, "wrong_password", "no account has this name and password")


Policy = Literal["public", "listener", "admin"]


async def _public() -> None:
    """Let everybody in."""


async def visitor(request: Request, context: ContextDep) -> Account | None:
    """Return the account that sends a request; None without a session."""
    token = browser_sessions.session_token(request, context.access)
    account = None if token is None else await context.sessions.account_of(token)
    # In a demo also with an invalid cookie: browsers share cookies among all ports of a computer,
    # so it may be the cookie of another server.
    if account is None and context.guest is not None:
        return await context.pool.run(_guest, context)
    return account


def _guest(context: Context) -> Account | None:
    with context.store.reading() as connection:
        account = accounts.by_name(connection, str(context.guest))
    return None if account is None or account.disabled else account


async def _listener(account: Annotated[Account | None, Depends(visitor)]) -> Account:
    if account is None:
        raise login_required()
    return account


async def _admin(account: Annotated[Account, Depends(_listener)]) -> Account:
    if account.role != "admin":
        raise Problem(403, "forbidden", "only an administrator may do this")
    return account


PUBLIC: Final = Depends(_public)
LISTENER: Final = Depends(_listener)
ADMIN: Final = Depends(_admin)

Me = Annotated[Account, Depends(_listener)]  # on a LISTENER or ADMIN route

_POLICIES: Final[dict[object, Policy]] = {
    _public: "public",
    _listener: "listener",
    _admin: "admin",
}


def policy_of(route: BaseRoute) -> Policy:
    """Return the policy that a route declares; ValueError if it is not exactly one."""
    if not isinstance(route, APIRoute):
        msg = f"a route must be declared by a router of ours, got {route!r}"
        raise ValueError(msg)  # noqa: TRY004  # the type is right, its declaration is not
    calls = [dependency.dependency for dependency in route.dependencies]
    declared = [_POLICIES[call] for call in calls if call in _POLICIES]
    if len(declared) != 1:
        msg = f"{route.path} must declare one of PUBLIC, LISTENER and ADMIN, got {declared}"
        raise ValueError(msg)
    return declared[0]


def check_policies(routes: list[BaseRoute]) -> None:
    """Raise ValueError unless every route declares its policy."""
    for route in routes:
        policy_of(route)
