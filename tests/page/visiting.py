"""Visits of the page in a real browser, and whatever the page should not have done."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pytest

from bandstand.web import cookies
from bandstand.web.access import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

    from tests.web.serving import Server

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}

# Where the routes of the page are; ids of a song and a playlist are filled in by whoever asks.
PAGES = ("", "taste", "library", "playlists", "history", "settings", "people", "scan")


class Watched:
    """A page of a browser, and its complaints: dialogs, errors, requests to anywhere else."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(f"{self.address}/"):
            self.complaints.append(f"outside: {request.url}")

    def open(self, route: str = "") -> Page:
        """Go to one of the page's own routes, as by typing its address."""
        self.page.goto(f"{self.address}/#/{route}")
        return self.page

    def ask(self, path: str) -> Any:
        """Return what the API answers to whoever is logged in here."""
        return self.page.request.get(f"{self.address}{path}").json()

    def last_event(self) -> dict[str, Any]:
        """Return the newest event of whoever is logged in here; empty if there is none."""
        found = self.ask("/api/history?limit=1")["events"]
        return dict(found[0]) if found else {}

    def wait_for_event(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return the newest event once there is another one than before."""
        for _ in range(200):
            found = self.last_event()
            if found.get("seq") != before.get("seq"):
                return found
            self.page.wait_for_timeout(50)
        pytest.fail(f"the page must have told the server something after {before}")

    def until(self, condition: str, *, seconds: float = 60) -> None:
        """Wait for something in the page; its policy forbids the usual way, which is good."""
        for _ in range(round(seconds / 0.05)):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"the page must come to {condition}")

    def until_playing(self) -> None:
        """Wait until some sound is being played."""
        self.until(IS_PLAYING)


IS_PLAYING = (
    "[...document.querySelectorAll('audio')]"
    ".some((audio) => !audio.paused && audio.currentTime > 0.2)"
)


@contextmanager
def visit(
    browser: Browser,
    server: Server,
    name: str | None = "ben",
    *,
    size: dict[str, int] = DESK,
    theme: Literal["light", "dark"] = "light",
    **options: Any,
) -> Iterator[Watched]:
    """Give a tab of a browser in which somebody is logged in; nobody for None."""
    context = browser.new_context(
        viewport=size,  # type: ignore[arg-type]
        color_scheme=theme,
        **options,
    )
    with context:
        if name is not None:
            log_in(context, server, name)
        yield Watched(context.new_page(), server.address)


def log_in(context: BrowserContext, server: Server, name: str) -> None:
    """Give a browser the session of somebody."""
    cookie = {"name": cookies.name_of(Access()), "value": server.tokens[name]}
    context.add_cookies([{**cookie, "url": server.address}])  # type: ignore[typeddict-item]
