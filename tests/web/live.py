"""A real browser, for what only a browser can tell."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tests.programs import require_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

# As root it has no sandbox of its own; sound may begin without a click, and nobody hears it.
_OPTIONS = ("--no-sandbox", "--autoplay-policy=no-user-gesture-required", "--mute-audio")


@contextmanager
def browser() -> Iterator[Browser]:
    """Give a Chromium without a window."""
    found = require_program("chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(_OPTIONS))
        try:
            yield chromium
        finally:
            chromium.close()
