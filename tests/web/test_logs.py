"""No secret in any log line (PROMISES E16), and one fixed line for failed logins."""

import asyncio
import logging
import re
import sys
from collections.abc import Iterator
from io import StringIO

import pytest

from bandstand.settings import Settings
from bandstand.web.logs import set_up_logging
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.web.walking import operations
from tests.fixtures.web.worlds import World

SECRET = "planted-secret-7f3a"
QUERY = ("password", "token", "q", "p", "t", "s", "apiKey")
# As docs/security.md gives it to fail2ban, whose <HOST> is an address.
FAIL2BAN = r"login failed address=(?P<host>[0-9a-fA-F:.]+) name="


def requests(world: World) -> None:
    """Ask everything with a secret wherever there can be one."""
    app = world.app_of(world.account("Bob"))
    clients = [world.stranger("203.0.113.7"), world.listener("Ann"), world.admin(), app]
    body = {
        "name": "Ann", "password": SECRET, "old": SECRET, "new": SECRET, "token": SECRET,
        "key": SECRET, "kind": SECRET,
    }  # fmt: skip
    headers = {"Authorization": SECRET, "X-Api-Key": SECRET, "Referer": f"http://x/?t={SECRET}"}
    for client in clients:
        for operation in operations():
            query = "&".join(f"{name}={SECRET}" for name in QUERY)
            target = f"{operation.target()}?{query}"
            if operation.method in {"GET", "HEAD"}:
                client.ask(operation.method, target, headers=headers)
            elif str(operation) != "DELETE /api/session":
                client.ask(operation.method, target, json=body, headers=headers)
                for part in ("name", "old", "token", "key", "password"):
                    client.ask(operation.method, target, json={part: SECRET}, headers=headers)


def test_no_secret_of_any_request_is_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        requests(world)
        stranger = world.stranger()
        stranger.cookies[NAME] = SECRET
        stranger.ask("GET", f"/api/next?after={SECRET}")
        stranger.secret = SECRET
        stranger.ask("GET", "/api/next")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) > 100
    assert [line for line in lines if SECRET in line] == []


def test_a_secret_in_an_unexpected_error_is_not_either(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError(SECRET) from ValueError(SECRET)

    monkeypatch.setattr("bandstand.web.routes.session.authenticate", fail)
    with caplog.at_level(logging.DEBUG):
        body = {"name": "Ann", "password": SECRET}
        assert world.stranger().ask("POST", "/api/session", json=body).status == 500
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "name", ["Ann", 'An"n', "Ann\nlogin failed address=1.2.3.4 name=", "Bj\xf6rk \u202e", "x" * 200]
)
def test_a_failed_login_is_one_line_that_nobody_can_forge(
    world: World, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with caplog.at_level(logging.WARNING):
        body = {"name": name, "password": "wrong"}
        world.stranger("203.0.113.7").ask("POST", "/api/session", json=body)
    (record,) = [record for record in caplog.records if record.name == "bandstand.login"]
    line = record.getMessage()
    assert "\n" not in line
    assert line.isascii()
    assert line.isprintable()
    assert len(line) < 500
    matches = list(re.finditer("^" + FAIL2BAN, line))
    assert [match["host"] for match in matches] == ["203.0.113.7"]


def test_the_access_log_says_who_asked_what_and_what_came_of_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        world.stranger("203.0.113.7").ask("GET", "/api/next%0aforged?x=1")
    (line,) = [r.getMessage() for r in caplog.records if r.name == "bandstand.access"]
    assert re.fullmatch(r"203\.0\.113\.7 GET /api/next%0aforged 404 \d+ ms [0-9a-f]{16}", line)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave logging as it was."""
    root, own = logging.getLogger(), logging.getLogger("uvicorn.error")
    access = logging.getLogger("bandstand.access")
    handlers, level, filters = list(root.handlers), root.level, list(own.filters)
    yield
    root.handlers[:], own.filters[:], access.disabled = handlers, filters, False
    root.setLevel(level)
    own.setLevel(logging.NOTSET)


def test_messages_are_lines_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(Settings(log_level="info"))
    logging.getLogger("bandstand.x").info("two\nlines\r%s", "here")
    logging.getLogger("bandstand.x").debug("too much")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" INFO two lines here")


def test_requests_are_logged_unless_that_is_switched_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for access_log, lines in ((True, 1), (False, 0)):
        set_up_logging(Settings(access_log=access_log))
        logging.getLogger("bandstand.access").info("GET /")
        assert len(capsys.readouterr().err.splitlines()) == lines


def test_a_stream_that_ends_with_the_server_is_no_mistake(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up_logging(Settings())
    own = logging.getLogger("uvicorn.error")
    own.error("Cancel %s running task(s), timeout graceful shutdown exceeded", 3)
    own.error("Exception in ASGI application\n", exc_info=asyncio.CancelledError())
    assert capsys.readouterr().err == ""
    own.error("Exception in ASGI application\n", exc_info=ZeroDivisionError())
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_whoever_stands_in_for_standard_error_gets_the_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_up_logging(Settings())
    other = StringIO()
    monkeypatch.setattr(sys, "stderr", other)
    logging.getLogger("bandstand.x").warning("hello")
    assert other.getvalue().endswith("WARNING hello\n")
