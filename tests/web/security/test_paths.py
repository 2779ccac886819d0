"""No decision about access hangs on what a path or a header looks like (PROMISES E2)."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bandstand.web.app import create_app
from bandstand.web.requests.authentication import Caller, _caller
from tests.fixtures.web.requests import HOST, Client
from tests.fixtures.web.walking import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fixtures.web.worlds import World

OPEN = ["/", "/health", "/openapi.json", "/static/0/icon.svg"]

PREFIXES = [
    "", "/", "//", "/.", "/./", "/static/..", "/static/../", "/health/..", "/%2e%2e",
    "/static%2f..", "/..;/", "/static/%2e%2e", "/\\", "/static/..\\", "/%5c", "/;", "/health;",
    "/openapi.json/..", "http://localhost:8260", "/api/session/../..", "/%2f",
    "/static/0/icon.svg/../..", "/~", "/*",
]  # fmt: skip
SUFFIXES = [
    "", "/", ".", "..", "%2e", "/.", "/..", ";", ";x=/health", ";jsessionid=1", "%00", "%00.js",
    "%20", ".json", ".js", "/static/0/icon.svg", "?r=/health", "?r=/static/", "?/static/0/icon.svg",
    "??", "#/health", "%3f", "%23", "/%2e%2e/health", "?_method=GET", "?token=" + "a" * 43,
    "?guest=1", "&x", "\\..\\health",
]  # fmt: skip
HEADERS: list[dict[str, str]] = [
    {},
    {"X-Original-URL": "/health"},
    {"X-Rewrite-URL": "/health"},
    {"X-Forwarded-Host": "localhost"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"X-Forwarded-Prefix": "/static"},
    {"X-HTTP-Method-Override": "GET"},
    {"Authorization": "Bearer x"},
    {"Authorization": "Basic YWRtaW46YWRtaW4="},
    {"Cookie": "bandstand_session=; bandstand_session=x"},
    {"Cookie": "bandstand_session=" + "a" * 5_000},
    {"Referer": "http://localhost:8260/static/"},
    {"Host": "localhost/health?"},
    {"Host": "localhost:8260/static/0/icon.svg#"},
    {"Host": "localhost:8260@health"},
    {"Host": "evil.example"},
    {"Host": ""},
    {"Host": "[::1]:8260"},
]


def changed(path: str, draw: random.Random) -> str:
    """Return a path written differently: letters in upper case, some of them encoded."""
    kind = draw.randrange(4)
    if kind == 0:
        return path.upper()
    if kind == 1:
        return "".join(f"%{ord(one):02x}" if draw.random() < 0.2 else one for one in path)
    if kind == 2:
        at = draw.randrange(len(path) + 1)
        return (
            path[:at] + draw.choice(["/", "%2f", "%252f", ";", "%00", "\u00b7", "//"]) + path[at:]
        )
    return path


def requests(count: int, seed: int, song: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield methods, targets and headers that try to look like something public."""
    draw = random.Random(seed)  # nobody guesses it
    closed = [one for one in operations() if one.policy != "public"]
    for _ in range(count):
        operation = draw.choice(closed)
        path = operation.target({"song_id": song})
        # One trick at a time as often as many: too many at once lead nowhere at all.
        if draw.random() < 0.5:
            path = changed(path, draw)
        if draw.random() < 0.5:
            path = draw.choice(PREFIXES) + path
        if draw.random() < 0.7:
            path += draw.choice(SUFFIXES)
        others = ["HEAD", "OPTIONS", "TRACE", "get", "FOO"]
        method = draw.choice(others) if draw.random() < 0.2 else operation.method
        headers = draw.choice(HEADERS) if draw.random() < 0.5 else {}
        yield method, quote(path, safe="%/?#;=&\\.~*:[]@!$'()+,"), headers


def bypasses(client: Client, count: int, seed: int, song: str) -> list[str]:
    """Return the requests that were answered with something that is not public."""
    public = {client.ask("GET", path).body for path in OPEN}
    found = []
    for method, target, headers in requests(count, seed, song):
        answer = client.ask(method, target, headers=headers)
        assert answer.status < 500, (method, target, headers)
        if method == "HEAD" and answer.status < 400:
            answer = client.ask("GET", target, headers=headers)
        if answer.status < 400 and answer.body not in public:
            found.append(f"{method} {target} {headers}")
    return found


@pytest.mark.parametrize(
    ("count", "seed"),
    [(600, 1), pytest.param(10_000, secrets.randbits(32), marks=pytest.mark.long, id="many")],
)
def test_odd_addresses_open_nothing(shared_world: World, count: int, seed: int) -> None:
    client = shared_world.stranger()
    assert bypasses(client, count, seed, shared_world.songs[0]) == []


def test_an_app_without_a_guard_is_found_out(shared_world: World) -> None:
    """The twin: the same addresses open something where nothing is closed."""
    app = create_app(shared_world.context)
    somebody = shared_world.account("Anybody", "admin")
    app.dependency_overrides[_caller] = lambda: Caller(account=somebody)
    client = Client(app, shared_world.runner)
    assert bypasses(client, 600, 1, shared_world.songs[0])


def test_an_app_that_looks_at_paths_is_found_out(shared_world: World) -> None:
    """Another twin: whoever lets everything through that mentions a public path."""
    inner = create_app(shared_world.context)
    somebody = shared_world.account("By path", "admin")
    opened = create_app(shared_world.context)
    opened.dependency_overrides[_caller] = lambda: Caller(account=somebody)

    async def naive(scope, receive, send) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        whole = scope["path"] + "?" + scope["query_string"].decode("latin-1")
        app = opened if "/static/" in whole or "/health" in whole else inner
        await app(scope, receive, send)

    assert bypasses(Client(naive, shared_world.runner), 600, 1, shared_world.songs[0])


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "localhost:8260, evil.example", "", "a b", "[x]"],
)
@pytest.mark.parametrize("path", ["/", "/health", "/api/next", "/nothing"])
def test_names_that_are_not_ours_are_not_answered(
    shared_world: World, host: str, path: str
) -> None:
    answer = shared_world.stranger().ask("GET", path, headers={"Host": host})
    assert (answer.status, answer.code) == (400, "unknown_host")


def test_two_host_headers_are_one_too_many(shared_world: World) -> None:
    client = shared_world.stranger()
    make_scope: Callable[..., dict[str, object]] = client._scope

    def doubled(*args: object) -> dict[str, object]:
        scope = make_scope(*args)
        scope["headers"] = [*scope["headers"], (b"host", b"localhost")]  # type: ignore[misc]
        return scope

    client._scope = doubled  # type: ignore[method-assign,assignment]
    assert client.ask("GET", "/health").code == "unknown_host"


def test_our_own_names_are(shared_world: World) -> None:
    for host in (HOST, "127.0.0.1", "[::1]:8260", "192.168.0.9:80"):
        assert shared_world.stranger().ask("GET", "/health", headers={"Host": host}).status == 200
