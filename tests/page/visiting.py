"""Visits of the page in a real browser, and whatever the page should not have done."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pytest

from bandstand.web import cookies
from bandstand.web.access import Access
from tests.web.live import PATIENCE, open_context, wait_for_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        self._under_way: list[Request] = []
        self._cut_off: list[str] = []  # addresses that were asked for when the network went
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.on("requestfinished", self._answered)
        page.on("requestfailed", self._answered)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        address = message.location["url"]
        if "ERR_INTERNET_DISCONNECTED" in message.text and address in self._cut_off:
            self._cut_off.remove(address)
        elif message.type in {"error", "warning"}:
            self.complaints.append(f"{message.type}: {message.text} ({address})")

    def _request(self, request: Request) -> None:
        self._under_way.append(request)
        if not request.url.startswith(f"{self.address}/"):
            self.complaints.append(f"outside: {request.url}")

    def _answered(self, request: Request) -> None:
        if request in self._under_way:
            self._under_way.remove(request)

    def go_offline(self) -> None:
        """Let the network be gone, once what comes and its pictures are there.

        Of what is under way nevertheless the browser complains, which is nobody's fault.
        """
        self.until("document.querySelector('.coming')?.ariaBusy !== 'true'")
        self.page.wait_for_timeout(100)  # a picture is asked for when its place is drawn
        self.until_so(lambda: not self._has_pictures_to_come, "have all its pictures")
        before = list(self._under_way)
        self.page.context.set_offline(True)
        self._cut_off = [each.url for each in {*before, *self._under_way}]

    @property
    def _has_pictures_to_come(self) -> bool:
        return any(each.resource_type == "image" for each in self._under_way)

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
        until = time.monotonic() + PATIENCE / 1_000
        while time.monotonic() < until:
            found = self.last_event()
            if found.get("seq") != before.get("seq"):
                return found
            self.page.wait_for_timeout(50)
        pytest.fail(f"the page must have told the server something after {before}")

    def until(self, condition: str) -> None:
        """Wait for something in the page; its policy forbids the usual way, which is good."""
        kept = "JSON.stringify(localStorage)"
        until_so(
            self.page,
            lambda: bool(self.page.evaluate(condition)),
            condition,
            found=lambda: f"{self.page.evaluate(kept)}, complaints {self.complaints}",
        )

    def until_so(self, is_so: Callable[[], bool], words: str) -> None:
        """Wait for something that is told here, such as a request that the page makes."""
        until_so(self.page, is_so, words)

    def until_playing(self) -> None:
        """Wait until some sound is being played."""
        self.until(IS_PLAYING)


def until_so(
    page: Page, is_so: Callable[[], bool], words: str, found: Callable[[], str] | None = None
) -> None:
    """Wait for something that comes of a page; `found` tells what there was instead."""
    until = time.monotonic() + PATIENCE / 1_000
    while not is_so():
        if time.monotonic() > until:
            pytest.fail(f"the page must come to {words}" + (f"; kept: {found()}" if found else ""))
        page.wait_for_timeout(50)


# The songs here last for seconds, and on a slow machine any test takes longer: no song comes to
# its end before it is told to (`playing.hurry`, `playing.near_the_end`).
STAY = """{
  const known = new WeakSet();
  const keep = (audio) => {
    if (known.has(audio)) return;
    known.add(audio);
    audio.loop = true;
    audio.addEventListener("ended", () => (audio.loop = true));
  };
  new MutationObserver(() => document.querySelectorAll("audio").forEach(keep))
    .observe(document, { childList: true, subtree: true });
}"""
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
    with open_context(browser, viewport=size, color_scheme=theme, **options) as context:
        context.set_default_timeout(PATIENCE)
        context.add_init_script(STAY)
        if name is not None:
            log_in(context, server, name)
        page = context.new_page()
        wait_for_frame(page)
        yield Watched(page, server.address)


def log_in(context: BrowserContext, server: Server, name: str) -> None:
    """Give a browser the session of somebody."""
    cookie = {"name": cookies.name_of(Access()), "value": server.tokens[name]}
    context.add_cookies([{**cookie, "url": server.address}])  # type: ignore[typeddict-item]
