from __future__ import annotations

import asyncio
import logging
import sys
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from bandstand.settings import Settings
from bandstand.web.logs import set_up_logging

if TYPE_CHECKING:
    from collections.abc import Iterator


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
