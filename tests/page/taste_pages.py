"""A listener with a week of ratings, and what can be read off her taste page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.page.visiting import Watched
    from tests.web.serving import Server

RATINGS: Final = 60
PLOTS: Final = ("freshness", "certainty", "ratings", "repeats")
DAY: Final = 86_400  # seconds
TICKS = """async ([name, ...values]) => {
  const main = document.querySelector("script[type=module]").src;
  const ticks = await import(main.replace("app/main.js", "taste/ticks.js"));
  if (name !== "thinned") return ticks[name](...values);
  const [found, pixels] = values;
  return ticks.thinned(found, (at) => at * pixels, (text) => 7 * text.length);
}"""


def rate_for_a_week(server: Server) -> None:
    """Let ann rate the songs for a week, some of them often."""
    client = server.client("ann")
    songs = [song["id"] for song in client.get("/api/songs").json()["songs"]]
    for number in range(RATINGS):
        place = min(number * 7 % 12, number * 5 % 12)
        event = {
            "key": f"rating-{number}",
            "kind": "rating",
            "song": songs[place],
            "stars": 1 + (place + number % 2) * 5 // 13,
            "age_seconds": 7 * DAY * (1 - number / RATINGS) - 60,
        }
        assert client.post("/api/events", json=event).status_code == 201
    keep_out(server, "ann")


def keep_out(server: Server, name: str, *, is_private: bool = True) -> None:
    """Let what is played in the background leave no trace in what was learnt."""
    answer = server.client(name).patch("/api/settings", json={"private": is_private})
    assert answer.status_code == 200


def drawn(watched: Watched) -> None:
    """Wait until all plots are there."""
    watched.until(f"document.querySelectorAll('.plot canvas').length === {len(PLOTS)}")
    watched.until("[...document.querySelectorAll('.plot canvas')].every((one) => one.width > 100)")


def caption(page: Page, figure: str) -> str:
    found = page.locator(f"[data-figure={figure}] figcaption p").inner_text()
    return found.replace("\u00a0", " ")


def readout(page: Page, figure: str) -> str:
    found = page.locator(f"[data-figure={figure}] .plot-readout").inner_text()
    return found.replace("\u00a0", " ")
