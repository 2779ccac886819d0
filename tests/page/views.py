"""The pages that are photographed and looked at, and how each of them comes about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.page.visiting import Watched
    from tests.web.serving import Server

HEARD: Final = 11.0  # seconds of the song when the picture is taken


def _as_it_is(watched: Watched) -> None:
    """Leave the page as it comes."""
    del watched


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page as somebody sees it."""

    name: str
    address: Callable[[Server], str]
    who: str | None = "ann"
    server: Literal["old", "new"] = "old"  # three months old, or without an account
    prepare: Callable[[Watched], None] = _as_it_is
    whole: bool = False  # all of it, where the interesting part is below the edge of the screen


def at(address: str) -> Callable[[Server], str]:
    """Return the same address for every server."""
    return lambda _server: address


def playing(watched: Watched) -> None:
    """Let the song play for a while, so that the picture shows it in the middle."""
    watched.until_playing()
    watched.page.evaluate(
        "(at) => { for (const audio of document.querySelectorAll('audio'))"
        " if (!audio.paused) audio.currentTime = at; }",
        HEARD,
    )
    audios = "[...document.querySelectorAll('audio')]"
    watched.until(f"{audios}.some((each) => !each.paused && each.currentTime > {HEARD + 0.2})")


def rated(watched: Watched) -> None:
    """Rate the song that plays; the picture shows the rating, but not the word about it."""
    watched.until_playing()
    watched.page.get_by_role("button", name="4 stars").first.click()
    watched.until("document.querySelector('#notices').childElementCount === 1")
    watched.until("document.querySelector('#notices').childElementCount === 0")
    playing(watched)


def explained(watched: Watched) -> None:
    """Open the reasons for the song that plays."""
    playing(watched)
    watched.page.get_by_role("button", name="Why this song?").first.click()


def _best_song(server: Server) -> str:
    songs = server.client("ann").get("/api/songs?sort=expected&limit=1").json()["songs"]
    return f"#/song/{songs[0]['id']}"


def _first_playlist(server: Server) -> str:
    found = server.client("ann").get("/api/playlists").json()["playlists"]
    return f"#/playlist/{found[0]['id']}"


def _searched(watched: Watched) -> None:
    box = watched.page.get_by_role("searchbox").first
    expect(box).to_be_visible()
    box.fill("train")
    watched.page.wait_for_timeout(800)


VIEWS: Final = (
    View(name="taste", address=at("#/taste"), whole=True),
    View(name="taste-empty", address=at("#/taste"), who="ben"),
    View(name="library", address=at("#/library")),
    View(name="search", address=at("#/library"), prepare=_searched),
    View(name="song", address=_best_song),
    View(name="playlists", address=at("#/playlists")),
    View(name="playlist", address=_first_playlist),
    View(name="history", address=at("#/history")),
    View(name="settings", address=at("#/settings")),
    View(name="people", address=at("#/people")),
    View(name="scan", address=at("#/scan")),
    View(name="why", address=at("#/"), prepare=explained),
    # After all others, since it adds a rating to the three hundred.
    View(name="player", address=at("#/"), prepare=rated),
    View(name="login", address=at(""), who=None),
    View(name="setup", address=at(""), who=None, server="new"),
)
