"""A walk through all pages of a hostile radio, and what each of them has to show verbatim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from tests.page.payloads import PAYLOADS
from tests.page.trap import missing, odd_elements, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx
    from playwright.sync_api import Page

    from tests.page.hostile import Hostile

_PATIENCE: Final = 20.0  # seconds without anything new on a page


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A page, and the names that are on it once all of it is there."""

    way: str  # after "#/"
    names: Sequence[str] = ()
    who: str = "ann"


def stops(world: Hostile, *, songs: int, words: int) -> Iterator[Stop]:
    """Yield all pages; of the songs' own pages, and of searches, so many."""
    client = world.server.client("ann")
    found = every_song(client)
    shown = {name for song in found for name in (song["title"], song["artist"]) if name}
    yield Stop(way="", names=())
    yield Stop(way="taste")
    yield Stop(way="library", names=sorted(shown))
    for view, of in (("artists", "artist"), ("albums", "album"), ("genres", "genre")):
        yield Stop(way=f"library?view={view}", names=names_of(client, of))
    for song in spread(found, songs):
        told = [song[key] for key in ("title", "artist", "album", "genre") if song[key]]
        yield Stop(way=f"song/{song['id']}", names=told)
    for payload in spread(PAYLOADS, words):
        for key in ("q", "artist", "album", "genre"):
            yield Stop(way=f"library?{urlencode({key: payload})}", names=[payload][key == "q" :])
    yield Stop(way="playlists", names=world.playlists)
    yield Stop(way=f"playlist/{world.playlist}", names=[*PAYLOADS])
    yield Stop(way="history", names=[*PAYLOADS])
    yield Stop(way="history", names=[*PAYLOADS], who="ben")
    # What a device says it is has lost its invisible letters in the store.
    yield Stop(way="settings", names=[one[:60] for one in PAYLOADS if one.isprintable()])
    yield Stop(way="settings", names=[*PAYLOADS], who="ben")
    yield Stop(way="people", names=world.people)
    yield Stop(way="scan", names=[*PAYLOADS])


def every_song(client: httpx.Client) -> list[dict[str, Any]]:
    """Return all songs, as the library lists them."""
    found: list[dict[str, Any]] = []
    after = None
    while True:
        query = {"limit": "200", **({"after": after} if after else {})}
        page = client.get("/api/songs", params=query).json()
        found += page["songs"]
        after = page["next"]
        if after is None:
            return found


def names_of(client: httpx.Client, of: str) -> list[str]:
    """Return all names of artists, albums or genres."""
    found: list[str] = []
    after = None
    while True:
        query = {"of": of, "limit": "200", **({"after": after} if after else {})}
        page = client.get("/api/songs/names", params=query).json()
        found += [one["name"] for one in page["names"]]
        after = page["next"]
        if after is None:
            return found


def spread(things: Sequence[Any], count: int) -> Sequence[Any]:
    """Return so many of them, from everywhere."""
    return things[:: max(1, len(things) // count)] if count else ()


def see(page: Page, stop: Stop) -> list[str]:
    """Go to a page, let it show everything, and return what is wrong with it."""
    page.evaluate("(hash) => { location.hash = hash; }", f"#/{stop.way}")
    lacking = shown_at_last(page, list(stop.names))
    return [f"not verbatim: {name}" for name in lacking] + odd_elements(page)


def shown_at_last(page: Page, names: list[str]) -> list[str]:
    """Return the names that are missing when nothing more comes, whatever is asked for."""
    page.wait_for_timeout(60)
    before, quiet = "", 0.0
    while True:
        lacking = missing(page, names)
        text = text_of(page)
        if (not lacking and page.locator("main h1").count()) or quiet > _PATIENCE:
            return lacking
        quiet = 0.0 if text != before else quiet + 0.1
        before = text
        more = page.get_by_role("button", name="Show more")
        if more.count() and more.first.is_visible():
            more.first.evaluate("(button) => button.disabled || button.click()")
        page.wait_for_timeout(100)
