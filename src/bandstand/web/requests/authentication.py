"""Authentication by password or app password, and the policy of each route.

    @router.get("/api/next", dependencies=[READ])
    async def next_song(context: ContextDep, me: Me) -> …

policy            open to
PUBLIC            everybody
READ, PLAY, RATE  listeners, and their apps with this scope or a wider one
LISTENER          listeners with a session
ADMIN             administrators with a session

Every route declares exactly one; `check_policies` refuses an app with a route that does not
(default deny). The decision depends on the route that was matched, never on the spelling of a
path. A request with a bearer token is judged by that alone, whatever cookie it brings.

Passwords and app passwords are compared here and nowhere else. For a password a slot of the
throttle is taken before the lookup. An unknown name, an account without a password and a disabled
one take the same path, and the same time, as a wrong password.
"""

# No postponed annotations: FastAPI reads them when the program runs.
import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, get_args

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection
from starlette.routing import BaseRoute

from bandstand.errors import BandstandError
from bandstand.store import accounts, app_passwords
from bandstand.store.accounts import Account
from bandstand.store.app_passwords import App, AppScope
from bandstand.web.http.problems import Problem, login_required, too_many
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.security import browser_sessions

LOG: Final = logging.getLogger("bandstand.login")
_MAX_NAME_SHOWN: Final = 64
# The protocol of ListenBrainz calls a bearer token a token.
_BEARER: Final = re.compile(r"(?:bearer|token) +([^ ]+)", re.IGNORECASE)


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


def bearer_of(request: Request) -> str | None:
    """Return the secret of an app in the header of a request, if there is one."""
    given = _BEARER.fullmatch(request.headers.get("authorization", ""))
    return None if given is None else given[1]


async def verify_secret(
    context: Context, address: str, secret: str, *, name: str | None = None
) -> App:
    """Return the app whose secret this is, of the account `name` if one is given, or raise Problem.

    The secret may be spelt `enc:` and hexadecimal digits, as some apps send it.
    """
    plain = _decoded(secret)
    return await _verified(
        context, address, name, lambda store: app_passwords.of_secret(store, plain, name=name)
    )


async def verify_token(context: Context, address: str, name: str, *, token: str, salt: str) -> App:
    """Return the app of an account of whose secret and `salt` this is the MD5, or raise Problem."""
    return await _verified(
        context,
        address,
        name,
        lambda store: app_passwords.of_token(store, name, token=token, salt=salt),
    )


async def _verified(
    context: Context, address: str, name: str | None, find: Callable[[Connection], App | None]
) -> App:
    """Return the app that is found. Each request asks anew, so that one that is revoked is out.

    Apps send many requests at once, so that a guess is counted only when it was wrong. A wait is
    for addresses from which none was right yet: an app that still has an old secret does not keep
    out the others of its household. Nor do guesses from elsewhere keep out anybody: there is no
    limit for a name, since 130 bits cannot be guessed from however many addresses.
    """
    apps = f"apps at {address}"
    wait = context.throttle.wait(address, apps)
    if wait > 0:
        raise too_many(wait)
    app = await context.read_pool.run(_read, context, find)
    if app is None:
        slot = context.throttle.take(address, apps)
        if isinstance(slot, float):
            raise too_many(slot)
        note_failure(address, name or "an app")
        raise _wrong_app_password()
    context.throttle.note_right(address, apps)
    now, used_at = context.clock(), app.password.used_at
    if used_at is None or now - used_at >= app_passwords.HOUR_MS:
        # Not waited for: an app can be heard also while nothing can be stored.
        context.radio.write(lambda store: app_passwords.note_use(store, app, now=now))
    return app


def _read(context: Context, find: Callable[[Connection], App | None]) -> App | None:
    with context.store.reading() as connection:
        return find(connection)


def _decoded(secret: str) -> str:
    if not secret.startswith("enc:"):
        return secret
    try:
        return bytes.fromhex(secret.removeprefix("enc:")).decode(errors="replace")
    except ValueError:
        return secret


def _wrong_app_password() -> Problem:
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    return Problem(401, "wrong_app_password", "no app has this password, or no longer", headers)


def check_scope(scope: AppScope | None, wanted: AppScope) -> None:
    """Raise Problem unless an app with `scope` may do what `wanted` is for; None may do it all."""
    if scope is not None and not app_passwords.allows(scope, wanted):
        raise _beyond_scope(scope, wanted=wanted)


def _beyond_scope(scope: AppScope, *, wanted: str) -> Problem:
    headers = {"WWW-Authenticate": 'Bearer error="insufficient_scope"'}
    return Problem(403, "beyond_scope", f"this is for {wanted}, this app may {scope}", headers)


Policy = Literal["public", "read", "play", "rate", "listener", "admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The account that sends a request, and the scope of its app; None for a session."""

    account: Account
    scope: AppScope | None = None


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


async def _caller(request: Request, context: ContextDep) -> Caller:
    secret = bearer_of(request)
    if secret is not None:
        app = await verify_secret(context, request.state.address, secret)
        # No app administers anything, whoever its owner is.
        account = replace(app.account, role="listener")
        return Caller(account=account, scope=app.password.scope)
    found = await visitor(request, context)
    if found is None:
        raise login_required()
    return Caller(account=found)


CallerDep = Annotated[Caller, Depends(_caller)]


def _guard(wanted: AppScope) -> Callable[[Caller], Awaitable[None]]:
    async def check(caller: CallerDep) -> None:
        check_scope(caller.scope, wanted)

    return check


_GUARDS: Final = {scope: _guard(scope) for scope in app_passwords.SCOPES}


async def _listener(caller: CallerDep) -> Account:
    if caller.scope is not None:
        raise _beyond_scope(caller.scope, wanted="a session in the page")
    return caller.account


async def _admin(account: Annotated[Account, Depends(_listener)]) -> Account:
    if account.role != "admin":
        raise Problem(403, "forbidden", "only an administrator may do this")
    return account


async def _me(caller: CallerDep) -> Account:
    return caller.account


PUBLIC: Final = Depends(_public)
READ: Final = Depends(_GUARDS["read"])
PLAY: Final = Depends(_GUARDS["play"])
RATE: Final = Depends(_GUARDS["rate"])
LISTENER: Final = Depends(_listener)
ADMIN: Final = Depends(_admin)

Me = Annotated[Account, Depends(_me)]  # on any route but a PUBLIC one

_POLICIES: Final[dict[object, Policy]] = {
    _public: "public",
    **{guard: scope for scope, guard in _GUARDS.items()},
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
        names = ", ".join(policy.upper() for policy in get_args(Policy))
        msg = f"{route.path} must declare one of {names}, got {declared}"
        raise ValueError(msg)
    return declared[0]


def check_policies(routes: list[BaseRoute]) -> None:
    """Raise ValueError unless every route declares its policy."""
    for route in routes:
        policy_of(route)
