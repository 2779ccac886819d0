"""One shape for every error, and nothing in it that is the server's own business (E17)."""

import logging
from concurrent.futures import Future
from typing import Any

import pytest

from bandstand.errors import (
    ConvergenceError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StudyUnreadableError,
)
from tests.fixtures.web.requests import Answer
from tests.fixtures.web.worlds import World

PLANTED = "/srv/secret/radio.db SELECT password FROM account"


def failing(error: Exception) -> Any:
    def fail(*_args: object, **_kwargs: object) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(error)
        return future

    return fail


def tell(world: World, error: Exception, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Return the answer to a rating that the store fails to keep."""
    ann = world.listener()
    monkeypatch.setattr(world.context.radio, "submit", failing(error))
    event = {"key": "1", "kind": "rating", "song": world.songs[0], "stars": 5}
    return ann.ask("POST", "/api/events", json=event)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreFullError(PLANTED), 507, "store_full"),
        (StoreLockedError(PLANTED), 503, "store_busy"),
        (StoreFailedError(PLANTED), 503, "store_failed"),
        (StudyUnreadableError(PLANTED), 503, "study_unreadable"),
        (StoreError(PLANTED), 503, "store_unavailable"),
        (ConvergenceError(PLANTED), 500, "internal"),
        (RuntimeError(PLANTED), 500, "internal"),
        (KeyError(PLANTED), 500, "internal"),
        (RecursionError(PLANTED), 500, "internal"),
        (MemoryError(PLANTED), 500, "internal"),
    ],
)
def test_what_fails_is_told_without_details(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    answer = tell(world, error, monkeypatch)
    assert (answer.status, answer.code) == (status, code)
    for word in ("secret", "SELECT", "Traceback", ".py", type(error).__name__):
        assert word.encode() not in answer.body
    if code == "store_busy":
        assert int(answer.header("retry-after") or 0) >= 1


def test_the_log_knows_where_by_the_request_id(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = tell(world, RuntimeError(PLANTED), monkeypatch)
    request_id = answer.json()["error"]["request_id"]
    (line,) = [r.getMessage() for r in caplog.records if r.name == "bandstand.web"]
    assert line.startswith(f"{request_id} RuntimeError")
    assert "routes/listening.py" in line
    assert PLANTED not in line


def test_health_says_when_nothing_can_be_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = world.stranger()
    assert client.ask("GET", "/health").json()["status"] == "ok"
    assert client.ask("HEAD", "/health").status == 200
    monkeypatch.setattr(type(world.context.radio), "failure", property(lambda _: PLANTED))
    answer = client.ask("GET", "/health")
    assert answer.status == 503
    assert answer.json()["status"] == "failed"
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/health/", 404, "not_found"),
        ("DELETE", "/health", 405, "method_not_allowed"),
        ("BREW", "/health", 405, "method_not_allowed"),
        ("GET", "/api/next", 401, "login_required"),
        ("POST", "/api/session", 415, "not_json"),
        ("GET", "/docs", 404, "not_found"),
        ("GET", "/redoc", 404, "not_found"),
    ],
)
def test_every_refusal_has_the_one_shape(
    shared_world: World, method: str, path: str, status: int, code: str
) -> None:
    answer = shared_world.stranger().ask(method, path)
    assert (answer.status, answer.code) == (status, code)
    assert answer.header("content-type") == "application/json"


def test_request_ids_are_our_own(shared_world: World) -> None:
    client = shared_world.stranger()
    ids = {
        client.ask("GET", "/health", headers={"X-Request-Id": "mine"}).header("x-request-id")
        for _ in range(50)
    }
    assert len(ids) == 50
    assert "mine" not in ids
