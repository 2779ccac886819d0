"""Everything needs a login except a written list (PROMISES E1), for every route there is."""

import secrets
from collections.abc import Callable

import pytest
from fastapi import APIRouter, Depends, FastAPI
from starlette.routing import Route

from bandstand.store import accounts
from bandstand.web.app import create_app, find_routers
from bandstand.web.requests import authentication
from bandstand.web.requests.authentication import ADMIN, LISTENER, PUBLIC, Caller
from bandstand.web.security.browser_sessions import NAME, SECURE_NAME
from tests.fixtures.web.requests import Client
from tests.fixtures.web.walking import Operation, operations
from tests.fixtures.web.worlds import World

PUBLIC_LIST = {
    "GET /",
    "HEAD /",
    "GET /health",
    "HEAD /health",
    "GET /openapi.json",
    "HEAD /openapi.json",
    "GET /static/{version}/{path}",
    "HEAD /static/{version}/{path}",
    "POST /api/session",
    "POST /api/session/setup",
}


def with_cookie(world: World, token: str) -> Client:
    client = world.stranger()
    client.cookies[NAME] = token
    return client


def with_an_account_id(world: World) -> Client:
    return with_cookie(world, world.account(f"id {secrets.token_hex(4)}").id)


def with_an_expired_session(world: World) -> Client:
    client = world.member(world.account(f"late {secrets.token_hex(4)}"), days=1)
    world.clock.now += 86_400_000
    return client


def of_a_disabled_account(world: World) -> Client:
    account = world.account(f"out {secrets.token_hex(4)}")
    client = world.member(account)
    with world.store.writing() as connection:
        accounts.set_disabled(connection, account.id, disabled=True)
        # Even if its session had stayed.
    return client


def of_a_removed_account(world: World) -> Client:
    account = world.account(f"gone {secrets.token_hex(4)}")
    client = world.member(account)
    with world.store.writing() as connection:
        accounts.delete(connection, account.id)
    return client


def with_the_cookie_of_tls(world: World) -> Client:
    client = world.member(world.account(f"tls {secrets.token_hex(4)}"))
    client.cookies = {SECURE_NAME: client.cookies[NAME]}
    return client


STRANGERS: dict[str, Callable[[World], Client]] = {
    "nobody": lambda world: world.stranger(),
    "with garbage": lambda world: with_cookie(world, "x" * 43),
    "with a random token": lambda world: with_cookie(world, secrets.token_urlsafe(32)),
    "with an empty token": lambda world: with_cookie(world, ""),
    "with an account's id": with_an_account_id,
    "with an expired session": with_an_expired_session,
    "of a disabled account": of_a_disabled_account,
    "of a removed account": of_a_removed_account,
    "with the cookie of TLS": with_the_cookie_of_tls,
}


def let_in(client: Client, song: str) -> list[str]:
    """Return the operations that do not ask who is there."""
    ids = {"song_id": song}
    return [
        str(operation)
        for operation in operations()
        if str(operation) not in PUBLIC_LIST
        and client.ask(operation.method, operation.target(ids)).status != 401
    ]


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_strangers_get_nothing_but_the_written_list(
    shared_world: World, stranger: Callable[[World], Client]
) -> None:
    assert let_in(stranger(shared_world), shared_world.songs[0]) == []


def test_the_written_list_is_what_the_routes_declare() -> None:
    public = {str(operation) for operation in operations() if operation.policy == "public"}
    assert public == PUBLIC_LIST


def test_an_app_whose_guard_is_gone_is_found_out(shared_world: World) -> None:
    """The twin: with the guard replaced, the same walk finds the doors open."""
    app = create_app(shared_world.context)
    somebody = shared_world.account(f"anybody {secrets.token_hex(4)}", "admin")
    app.dependency_overrides[authentication._caller] = lambda: Caller(account=somebody)
    client = Client(app, shared_world.runner)
    opened = let_in(client, shared_world.songs[0])
    assert set(opened) == {str(one) for one in operations() if one.policy != "public"}


def test_every_path_of_the_app_is_one_of_a_router(shared_world: World) -> None:
    app: FastAPI = create_app(shared_world.context)
    described = {
        f"{method.upper()} {path}"
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    assert described <= {str(operation) for operation in operations()}
    assert all(not isinstance(route, Route) for route in app.router.routes)


@pytest.mark.parametrize(
    "declared", [[], [PUBLIC, LISTENER], [ADMIN, ADMIN], [Depends(lambda: None)]]
)
def test_a_route_that_does_not_say_whom_it_is_for_stops_the_start(
    shared_world: World, declared: list[object]
) -> None:
    router = APIRouter()

    @router.get("/api/forgotten", dependencies=declared)  # type: ignore[arg-type]
    async def forgotten() -> None: ...

    with pytest.raises(ValueError, match="/api/forgotten must declare one of"):
        create_app(shared_world.context, [*find_routers(), router])


def test_a_route_that_no_router_of_ours_made_stops_the_start(shared_world: World) -> None:
    router = APIRouter()
    router.routes.append(Route("/api/raw", lambda _: None))
    with pytest.raises(ValueError, match="declared by a router of ours"):
        create_app(shared_world.context, [router])


def test_a_declared_route_starts(shared_world: World) -> None:
    router = APIRouter()

    @router.get("/api/declared", dependencies=[LISTENER])
    async def declared() -> None: ...

    assert "/api/declared" in create_app(shared_world.context, [router]).openapi()["paths"]


@pytest.mark.parametrize(
    "operation",
    [one for one in operations() if one.policy == "admin"],
    ids=str,
)
def test_listeners_are_no_administrators(shared_world: World, operation: Operation) -> None:
    client = shared_world.listener(f"plain {secrets.token_hex(4)}")
    answer = client.ask(operation.method, operation.target())
    assert answer.status == 403
    assert operation.method == "HEAD" or answer.code == "forbidden"


def test_all_of_the_administration_is_for_administrators() -> None:
    admins = {one for one in operations() if one.path.startswith("/api/admin")}
    assert admins
    assert {one.policy for one in admins} == {"admin"}


def test_nobody_uses_a_method_that_a_path_does_not_have(shared_world: World) -> None:
    client = shared_world.listener(f"odd {secrets.token_hex(4)}")
    answer = client.ask("PUT", "/api/next", json={})
    assert answer.status == 405
    assert answer.code == "method_not_allowed"
    assert answer.header("allow") == "GET"


def test_a_refused_method_is_told_all_that_there_are(shared_world: World) -> None:
    answer = shared_world.stranger().ask("OPTIONS", "/api/session")
    assert (answer.status, answer.header("allow")) == (405, "DELETE, GET, POST")
