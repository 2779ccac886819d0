"""Who may use a route: everybody, listeners, or administrators.

    @router.get("/api/next", dependencies=[LISTENER])
    async def next_song(context: ContextDep, me: Me) -> …

Every route declares exactly one of PUBLIC, LISTENER and ADMIN; `check_policies` refuses an app
with one that does not, so nothing is open because somebody forgot (default deny). The decision
hangs on the route that was found, never on what a path looks like.
"""

# FastAPI reads these annotations when the program runs.
from typing import Annotated, Final, Literal

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from bandstand.store import accounts
from bandstand.store.accounts import Account
from bandstand.web.http.problems import Problem, login_required
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.security import cookies

Policy = Literal["public", "listener", "admin"]


async def _public() -> None:
    """Let everybody in."""


async def visitor(request: Request, context: ContextDep) -> Account | None:
    """Return who sends a request; None for a stranger."""
    token = cookies.token_of(request, context.access)
    account = None if token is None else await context.sessions.account_of(token)
    # In a demo also with a cookie that is worth nothing: browsers share them among all ports of
    # a computer, and it may be one of another server.
    if account is None and context.guest is not None:
        return await context.workers.run(_guest, context)
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
