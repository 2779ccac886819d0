"""A tab in which music plays, and what there is to see and to press."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.page.visiting import Watched
    from tests.web.serving import Server

PLAYING: Final = "document.querySelector('audio[data-role=playing]')"
PREPARED: Final = "document.querySelector('audio[data-role=next]')"
KEPT: Final = "Object.keys(localStorage).filter((name) => name.includes('outbox')).length"
# Whether anything that waits there was sent already, and may have arrived.
TRIED: Final = (
    "Object.entries(localStorage).some("
    "([name, kept]) => name.includes('outbox') && JSON.parse(kept).isTried)"
)


def log_of(server: Server, name: str) -> list[dict[str, Any]]:
    """Return all events of somebody, the oldest first, as the API tells them."""
    found = server.client(name).get("/api/history?limit=500").json()["events"]
    return list(reversed(found))


def listen(watched: Watched) -> Page:
    """Return the player with music in it."""
    page = watched.open()
    watched.until_playing()
    expect(next_up(page)).to_be_visible()
    return page


def title(page: Page) -> Locator:
    """Return what is played."""
    return page.locator("[data-now-playing]")


def next_up(page: Page) -> Locator:
    """Return what is to be played next."""
    return page.locator("[data-next-up]")


def toast(page: Page) -> Locator:
    """Return where short messages appear."""
    return page.get_by_role("status")


def choose(page: Page, menu: str, item: str) -> None:
    """Open one of the song's menus and choose from it."""
    page.get_by_role("button", name=menu, exact=True).click()
    page.get_by_role("menuitem", name=item, exact=True).click()


def hurry(watched: Watched) -> None:
    """Let the song that plays be heard to its end, as fast as a browser can play."""
    watched.until(f"{PLAYING}.duration > 0")
    watched.page.evaluate(f"{PLAYING}.loop = false, {PLAYING}.playbackRate = 16")


def near_the_end(watched: Watched) -> None:
    """Let the song that plays come to its end at once, without having been heard."""
    watched.until(f"{PLAYING}.duration > 0")
    end = f"{PLAYING}.currentTime = {PLAYING}.duration - 0.3"
    watched.page.evaluate(f"{PLAYING}.loop = false, {end}")
