"""The library and the page of a song, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.silence import give_silence
from tests.fixtures.browser.visit import PHONE, visit
from tests.fixtures.web.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page, Route

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server

SONGS = 320


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """More songs than are fetched at once: ten to an album, twenty to an artist."""
    with serving(tmp_path_factory.mktemp("home"), invented=SONGS) as found:
        yield found


@pytest.fixture
def listener(chromium: Browser, large: Server) -> Iterator[Watched]:
    with visit(chromium, large, "ben") as watched:
        give_silence(watched.page)
        yield watched
    assert watched.complaints == []


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Songs").get_by_role("listitem")


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Search the library").fill(text)


def test_a_search_narrows_the_list_and_the_address_keeps_it(listener: Watched) -> None:
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    search(page, "artist song 31")
    expect(rows(page)).to_have_count(3 + 10)  # 31, 131, 231, and 310 to 319
    expect(page).to_have_url(re.compile(r"#/library\?q=artist\+song\+31$"))
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("artist song 31")
    expect(rows(page)).to_have_count(13)


def test_a_list_that_is_narrowed_tells_how_much_it_is(listener: Watched) -> None:
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    expect(page.locator(".found")).to_have_count(0)
    page = listener.open("library?artist=Artist+3")
    expect(page.locator(".found")).to_have_text(re.compile(r"^20 songs · \d+ (minutes|hours)$"))
    page.get_by_role("combobox", name="Order").select_option("expected")
    expect(page.locator(".found")).to_have_text(re.compile(r"^20 songs · "))


@pytest.mark.parametrize("name", ["Which songs", "Order"])
def test_what_narrows_the_list_is_as_wide_as_the_list_on_a_phone(
    chromium: Browser, large: Server, name: str
) -> None:
    """What a browser leaves free inside of a select is all that sticks out."""
    with visit(chromium, large, "ben", size=PHONE) as watched:
        page = watched.open("library")
        expect(rows(page)).to_have_count(100)
        field = page.locator(".search").bounding_box()
        select = page.get_by_role("combobox", name=name).bounding_box()
        assert field is not None
        assert select is not None
        left = abs(select["x"] - field["x"])
        right = abs(select["x"] + select["width"] - field["x"] - field["width"])
        assert min(left, right) == pytest.approx(4)


def test_nothing_found_offers_a_way_back(listener: Watched) -> None:
    page = listener.open("library")
    search(page, "no such thing")
    expect(page.get_by_text("Nothing found for “no such thing”.")).to_be_visible()
    page.get_by_role("button", name="Show all songs").click()
    expect(rows(page)).to_have_count(100)
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_answers_to_what_was_typed_before_are_dropped(listener: Watched) -> None:
    """The first question is held back until the second has been answered."""
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    held: list[Route] = []
    page.route("**/api/songs?q=song&**", lambda route: held.append(route))  # noqa: PLW0108
    search(page, "song")
    listener.until_so(lambda: len(held) == 1, "ask for what was typed")
    search(page, "song 123")
    expect(rows(page)).to_have_count(1)
    held[0].abort()
    page.wait_for_timeout(200)
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("Song 123")
    listener.complaints.clear()  # that a request was cut off


def test_the_list_grows_to_its_end(listener: Watched) -> None:
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    to_its_end = (
        "(scrollTo(0, document.body.scrollHeight), document.querySelectorAll('.song').length)"
    )
    listener.until(f"{to_its_end} === {SONGS}")
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    titles = page.locator(".song-title").all_text_contents()
    assert len(set(titles)) == SONGS


def test_an_artist_leads_to_its_songs_and_a_chip_lets_it_go(listener: Watched) -> None:
    page = listener.open("library")
    page.get_by_role("button", name="Artists", exact=True).click()
    expect(page.get_by_text("16 artists", exact=True)).to_be_visible()
    search(page, "artist 7")
    page.get_by_role("link", name="Artist 7 20 songs").click()
    expect(rows(page)).to_have_count(20)
    page.go_back()
    expect(page.get_by_role("list", name="Artists").get_by_role("listitem")).to_have_count(1)
    page.go_forward()
    page.get_by_role("button", name="Remove artist “Artist 7”").click()
    expect(rows(page)).to_have_count(100)


def test_an_album_and_a_genre_are_found_too(listener: Watched) -> None:
    page = listener.open("library?view=albums&q=album+12")
    page.get_by_role("link", name=re.compile("^Album 12 ")).click()
    expect(rows(page)).to_have_count(10)
    expect(page.get_by_role("button", name="Remove album “Album 12 by Artist 6”")).to_be_visible()
    page = listener.open("library?view=genres")
    page.get_by_role("link", name=re.compile("^Genre 3 ")).click()
    expect(rows(page)).to_have_count(SONGS // 10)


def test_back_from_a_song_finds_the_list_as_it_was(listener: Watched) -> None:
    page = listener.open("library?sort=title")
    expect(rows(page)).to_have_count(100)
    row = rows(page).nth(90)
    row.scroll_into_view_if_needed()
    expect(rows(page)).not_to_have_count(100)  # it has grown meanwhile
    top, title = page.evaluate("scrollY"), row.locator(".song-title").inner_text()
    row.get_by_role("link", name=title).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.go_back()
    expect(rows(page).nth(90)).to_contain_text(title)
    expect(page.get_by_role("link", name=title, exact=True)).to_be_focused()
    assert abs(page.evaluate("scrollY") - top) < 100


def test_orders_are_kept(listener: Watched, large: Server) -> None:
    song = listener.ask("/api/songs?limit=1")["songs"][0]
    rating = {"key": "an order", "kind": "rating", "song": song["id"], "stars": 5}
    large.client("ben").post("/api/events", json=rating)
    page = listener.open("library")
    page.get_by_role("combobox", name="Order").select_option("By title")
    expect(page).to_have_url(re.compile("sort=title"))
    expect(rows(page).first).to_contain_text("Song 0")
    page.get_by_role("combobox", name="Order").select_option("For you")
    expect(page.locator(".song-expected").first).to_have_text(re.compile(r"^[1-5]\.\d$"))
    page.go_back()
    expect(page.get_by_role("combobox", name="Order")).to_have_value("title")


def test_the_menu_of_a_song_works_by_keyboard(listener: Watched) -> None:
    page = listener.open("library?q=song+123")
    button = page.get_by_role("button", name="More for “Song 123”")
    button.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Play now")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("menuitem", name="Never again")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Play next")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(button).to_be_focused()


def test_never_again_is_told_and_can_be_ended_at_the_song(listener: Watched) -> None:
    before = listener.last_event()
    page = listener.open("library?q=song+200")
    page.get_by_role("button", name="More for “Song 200”").click()
    page.get_by_role("menuitem", name="Never again").click()
    event = listener.wait_for_event(before)
    assert (event["kind"], event["scope"]) == ("ban", "song")
    page.get_by_role("link", name="Song 200", exact=True).click()
    expect(page.get_by_text("This song is never played.")).to_be_visible()
    page.get_by_role("button", name="Play it again").click()
    expect(page.get_by_text("This song is never played.")).to_have_count(0)
    assert listener.wait_for_event(event)["kind"] == "retract"


def test_a_song_is_rated_from_its_page_and_the_rating_taken_back(listener: Watched) -> None:
    song = listener.ask("/api/songs?q=song+142")["songs"][0]
    page = listener.open(f"song/{song['id']}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Song 142")
    expect(page.get_by_text("You have not heard it here yet.")).to_be_visible()
    rating = page.locator("main").get_by_role("group", name="Your rating")
    rating.get_by_role("button", name="4 stars").click()
    expect(rating.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text(re.compile(r"^[1-5]\.\d ± \d\.\d stars$"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ % fresh$"))).to_be_visible()
    expect(page.get_by_text("You heard it just now.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Undo: 4 stars, ")).click()
    # In the list below; a notice says "Undone." for a while, too.
    expect(page.get_by_text(re.compile("· undone$"))).to_be_visible()
    expect(rating.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "false")


def test_an_address_without_a_song_says_so(listener: Watched) -> None:
    page = listener.open("song/0000000000000000")
    expect(page.get_by_role("heading", name="No such song")).to_be_visible()
    page.get_by_role("link", name="Go to the library").click()
    expect(rows(page)).to_have_count(100)
    assert all("404" in it for it in listener.complaints)
    listener.complaints.clear()  # the browser says of every 404 that it was one


def test_a_phone_shows_it_all_without_scrolling_sideways(chromium: Browser, large: Server) -> None:
    for route in ("library", "library?view=albums", "library?artist=Artist+3&genre=Genre+1"):
        with visit(chromium, large, "ben", size=PHONE) as watched:
            page = watched.open(route)
            expect(page.get_by_role("listitem").nth(6)).to_be_visible()
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width == PHONE["width"], route


def test_an_empty_library_says_what_will_happen(tmp_path: Path, chromium: Browser) -> None:
    (tmp_path / "music").mkdir()
    with (
        serving(tmp_path, folders=[tmp_path / "music"]) as server,
        visit(chromium, server, "ben") as watched,
    ):
        page = watched.open("library")
        expect(page.get_by_text("There are no songs here yet.")).to_be_visible()
    assert watched.complaints == []


# ── Answers that are cut off ─────────────────────────────────────────────────────────────

# Asks by the page's own module, while the body of the answer ends before it is whole.
_CUT_OFF = """
async (how) => {
  const main = document.querySelector('script[type="module"]').src;
  const { call } = await import(main.replace("app/main.js", "app/api.js"));
  const leaving = new AbortController();
  const start = (body) => {
    body.enqueue(new TextEncoder().encode('{"songs": 1'));
    if (how === "whole") body.enqueue(new TextEncoder().encode("}"));
    if (how === "whole" || how === "lost") body.close();
    else {
      leaving.abort();
      body.error(leaving.signal.reason);
    }
  };
  const real = window.fetch;
  const ours = () => new Response(new ReadableStream({ start }), { status: 200 });
  window.fetch = async (where, ...rest) =>
    where === "/api/cut-off" ? ours() : real(where, ...rest);
  try {
    return await call("GET", "/api/cut-off", undefined, { signal: leaving.signal });
  } catch (problem) {
    return problem.name === "AbortError" ? problem.name : problem.message;
  }
}
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [("whole", {"songs": 1}), ("left", "AbortError"), ("lost", "The server cannot be reached.")],
)
def test_half_an_answer_is_not_an_empty_one(ben: Watched, how: str, expected: object) -> None:
    ben.open()
    assert ben.page.evaluate(_CUT_OFF, how) == expected
