"""Animation frames that stop, planted: the click goes on, and without the watch it would not."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.fixtures.web.chromium import PATIENCE, gpu_processes, open_context

PAGE: Final = "data:text/html,<button onclick='this.textContent = 1 + +this.textContent'>1</button>"
STALLED_SECONDS: Final = 2


@contextmanager
def no_frames() -> Iterator[list[int]]:
    """Hold the processes that draw."""
    held = gpu_processes()
    for process in held:
        os.kill(process, signal.SIGSTOP)
    try:
        yield held
    finally:
        for process in {*held}.intersection(gpu_processes()):
            os.kill(process, signal.SIGCONT)


def test_frames_that_stop_come_back_and_every_page_keeps_its_state(chromium: Browser) -> None:
    contexts = [open_context(chromium, stalled_seconds=STALLED_SECONDS) for _ in range(3)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.goto(PAGE)
        page.click("button")
    with no_frames() as held:
        assert len(held) == 1
        for page in pages:
            page.click("button", timeout=PATIENCE)
            assert page.inner_text("button") == "3"
        assert len(gpu_processes()) == 1
        assert gpu_processes() != held
    for context in contexts:
        context.close()


def test_without_the_watch_a_click_never_ends(chromium: Browser) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(PAGE)
        page.click("button")
        with no_frames(), pytest.raises(PlaywrightTimeoutError, match="enabled and stable"):
            page.click("button", timeout=1_000 * 2 * STALLED_SECONDS)
        page.click("button")
        assert page.inner_text("button") == "3"
