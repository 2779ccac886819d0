"""Clicks and loads of the page, timed where they happen: inside a real browser.

A click is timed from the event that the mouse caused to the frame after the new title was written.
A load is timed from the start of navigation to the moment when the song has a title and can be
rated, and counted by what came over the wire. The page says itself which log its next song takes
into account (`data-seq`), so that an answer that names the same song again is noticed too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.page.large_library import large_library
from tests.page.visiting import PAGES, visit
from tests.web.live import browser

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.page.visiting import Watched
    from tests.web.serving import Server

NEXT_UP: Final = "[data-next-up]"
NOW_PLAYING: Final = "[data-now-playing]"
_PATIENCE: Final = 20_000  # milliseconds

# Resolves with the milliseconds from the next click to the frame that shows what was waited for.
_WATCH: Final = """
([selector, least, patience]) => {
  const shown = () => {
    const place = document.querySelector(selector);
    return place ? `${place.dataset.seq}/${place.textContent}` : "";
  };
  const seq = () => Number(document.querySelector(selector)?.dataset.seq ?? -1);
  const before = shown();
  window.measured = new Promise((resolve) => {
    let began = null;
    const onClick = (event) => (began ??= event.timeStamp);
    addEventListener("click", onClick, { capture: true, once: true });
    const finish = (value) => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(value);
    };
    const observer = new MutationObserver(() => {
      if (began === null || (least === null ? shown() === before : seq() < least)) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => finish(performance.now() - began);
        channel.port2.postMessage(null);
      });
    });
    const everything = { subtree: true, childList: true, attributes: true, characterData: true };
    observer.observe(document.body, everything);
    const timer = setTimeout(() => finish(null), patience);
  });
}
"""

# Notes when the page could be used; the clock of performance.now() starts with the navigation.
_READY: Final = """
(() => {
  const look = () => {
    const title = document.querySelector("[data-now-playing]");
    const star = document.querySelector("main [aria-label='4 stars'], main [value='4']");
    if (!title?.textContent.trim() || !star || star.disabled) return;
    observer.disconnect();
    window.readyAt ??= performance.now();
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributes: true });
})();
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long is waited, in milliseconds."""

    listens: tuple[int, int] = (500, 2_500)  # before a click: somebody who is in a hurry
    afterwards: int = 1_500  # in which whatever is fetched late comes


PACE: Final = Pace()


@dataclass(slots=True, kw_only=True)
class Load:
    """One load of the page, as the network saw it."""

    ready: float = 0.0  # milliseconds
    requests: int = 0  # that went out, without sound
    size: int = 0  # bytes that came over the wire for those, headers included
    sound: int = 0  # bytes of songs
    addresses: dict[str, str] = field(default_factory=dict)  # by the browser's number


@dataclass(slots=True, kw_only=True)
class Figures:
    """All that was measured; times in milliseconds."""

    songs: int
    ratings: list[float] = field(default_factory=list)
    skips: list[float] = field(default_factory=list)
    cold: list[Load] = field(default_factory=list)
    warm: list[Load] = field(default_factory=list)
    everything: Load = field(default_factory=Load)  # all pages, one after the other
    complaints: list[str] = field(default_factory=list)  # of the page, requests elsewhere included


def measure(
    home: Path, *, songs: int, ratings: int, clicks: int, loads: int, pace: Pace = PACE
) -> Figures:
    """Return how quick the page is with so many songs."""
    figures = Figures(songs=songs)
    with large_library(home, songs=songs, ratings=ratings) as server, browser() as chromium:
        for _ in range(loads):
            _load(chromium, server, figures, pace)
        _click(chromium, server, figures, clicks, pace)
        _walk(chromium, server, figures, pace)
    return figures


# ── Clicks ──────────────────────────────────────────────────────────────────────────────────


def _click(chromium: Browser, server: Server, figures: Figures, clicks: int, pace: Pace) -> None:
    rng = random.Random(17)  # noqa: S311
    with visit(chromium, server, "ann") as watched:
        page = watched.open()
        watched.until_playing()
        for _ in range(clicks):
            stars = rng.randint(1, 5)
            name = "1 star" if stars == 1 else f"{stars} stars"
            seq = int(watched.last_event().get("seq", 0)) + 1
            figures.ratings.append(_timed(page, NEXT_UP, name, least=seq))
            page.wait_for_timeout(rng.uniform(*pace.listens))
            figures.skips.append(_timed(page, NOW_PLAYING, "Next"))
            watched.until_playing()
            page.wait_for_timeout(rng.uniform(*pace.listens))
        figures.complaints += watched.complaints


def _timed(page: Page, place: str, button: str, *, least: int | None = None) -> float:
    """Return the milliseconds from a click on a button to the change that it brings."""
    page.evaluate(_WATCH, [place, least, _PATIENCE])
    page.get_by_role("main").get_by_role("button", name=button, exact=True).click()
    took = page.evaluate("window.measured")
    assert took is not None, f"a click on {button!r} was expected to change {place}"
    return float(took)


# ── Loads ───────────────────────────────────────────────────────────────────────────────────


def _load(chromium: Browser, server: Server, figures: Figures, pace: Pace) -> None:
    """Load the page in a browser that has never seen it, then once more."""
    with visit(chromium, server, "ann") as watched:
        watched.page.add_init_script(_READY)
        for kind in (figures.cold, figures.warm):
            kind.append(_loaded(watched, pace))
            watched.page.goto("about:blank")
        figures.complaints += [each for each in watched.complaints if "about:blank" not in each]


def _loaded(watched: Watched, pace: Pace) -> Load:
    load = Load()
    _count(watched.page, load)
    watched.open()
    watched.until("window.readyAt !== undefined")
    watched.page.wait_for_timeout(pace.afterwards)
    load.ready = float(watched.page.evaluate("window.readyAt"))
    return load


def _walk(chromium: Browser, server: Server, figures: Figures, pace: Pace) -> None:
    """Look at every page, and count what that takes in all."""
    with visit(chromium, server, "ann") as watched:
        _count(watched.page, figures.everything)
        for route in PAGES:
            watched.open(route)
            watched.page.wait_for_timeout(pace.afterwards)
        figures.complaints += watched.complaints


def _count(page: Page, load: Load) -> None:
    """Let a load count what comes over the wire from now on."""
    network = page.context.new_cdp_session(page)

    def sent(event: dict[str, Any]) -> None:
        load.addresses[event["requestId"]] = event["request"]["url"]

    def came(event: dict[str, Any]) -> None:
        size = int(event["encodedDataLength"])
        if load.addresses.get(event["requestId"], "").endswith("/audio"):
            load.sound += size
        elif size:  # what the cache gives has none
            load.size += size
            load.requests += 1

    network.on("Network.requestWillBeSent", sent)
    network.on("Network.loadingFinished", came)
    network.send("Network.enable")
