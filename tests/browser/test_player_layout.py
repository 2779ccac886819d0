"""The player on a phone and in narrow windows: what matters is seen at once, whatever it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.player import listen, title
from tests.fixtures.browser.visit import PHONE, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

    from tests.fixtures.web.servers import Server

GAP = 4  # pixels
LONG = {
    "title": "The Unanswered Question and Other Pieces for Small Orchestra",
    "artist": "The Academy of St. Example and Friends",
    "album": "The Complete Recordings, Volume 17: Late Works, Fragments and Sketches (Remastered)",
}


def with_long_names(route: Route) -> None:
    """Answer with a song whose names are longer than a phone is wide."""
    answer = route.fetch().json()
    sentence = "You heard it two days ago and it is nearly fresh again; " * 3
    route.fulfill(
        json={**answer, "song": {**answer["song"], **LONG}, "note": sentence, "why": None}
    )


def is_above(place: Locator, foot: Locator) -> bool:
    """Return whether something is in the window, above what stands at its foot."""
    box, end = place.bounding_box(), foot.bounding_box()
    assert box is not None
    assert end is not None
    return box["y"] >= 0 and box["y"] + box["height"] + GAP <= end["y"]


def important(page: Page) -> list[Locator]:
    """Return what must be seen without scrolling."""
    return [
        page.locator(".player-cover"),
        title(page),
        page.get_by_role("button", name="5 stars"),
        page.get_by_role("slider", name="Position"),
        page.get_by_role("button", name="Pause"),
        page.get_by_role("button", name="Next", exact=True),
        page.locator(".player-actions"),
    ]


@pytest.mark.parametrize("has_mouse", [False, True])
@pytest.mark.parametrize("is_long", [False, True])
def test_everything_important_is_seen_at_once(
    chromium: Browser, server: Server, *, has_mouse: bool, is_long: bool
) -> None:
    options: dict[str, Any] = {} if has_mouse else {"is_mobile": True, "has_touch": True}
    with visit(chromium, server, size=PHONE, **options) as watched:
        if is_long:
            watched.page.route("**/api/next*", with_long_names)
        page = listen(watched)
        if is_long:
            expect(title(page)).to_have_text(LONG["title"])
        foot = page.locator("#foot")
        assert [one for one in important(page) if not is_above(one, foot)] == []
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert watched.complaints == []


def test_an_album_has_one_line_and_its_whole_name(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, size=PHONE) as watched:
        watched.page.route("**/api/next*", with_long_names)
        line = listen(watched).locator(".player-album")
        assert line.evaluate("(line) => line.getClientRects().length") == 1
        assert line.evaluate("(line) => line.offsetHeight") < 30
        expect(line).to_have_attribute("title", LONG["album"] + " · " + line.inner_text()[-4:])
